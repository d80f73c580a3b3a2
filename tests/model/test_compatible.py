"""The table of rules in `is_compatible`, both ways, and the words for what breaks them."""

import doctest

import pytest

import tidelake
from tidelake.errors import Invalid
from tidelake.lake import columns as compatible
from tidelake.model.compatible import MODES
from tidelake.model.schema import Column, Schema

YES, NO = True, False


@pytest.mark.parametrize(
    ("old", "new", "backward", "forward"),
    [
        ("a INT", "a INT", YES, YES),
        ("a INT, b INT", "b INT, a INT", YES, YES),
        ("a INT", "A INT", YES, YES),
        ("a INT", "a INT, b INT", YES, YES),
        ("a INT", "a INT, b INT NOT NULL DEFAULT 5", YES, YES),
        ("a INT", "a INT, b TIMESTAMP NOT NULL DEFAULT now()", YES, YES),
        ("a INT", "a INT, b INT NOT NULL", NO, YES),
        ("a INT, b INT", "a INT", YES, NO),
        ("a INT, b INT NOT NULL DEFAULT 5", "a INT", YES, NO),
        ("a INT, b INT NOT NULL", "a INT", YES, NO),
        ("a INT", "a BIGINT", YES, NO),
        ("a BIGINT", "a INT", NO, YES),
        ("a INT", "a VARCHAR", NO, NO),
        ("a TIMESTAMP", "a TIMESTAMPTZ", NO, NO),
        ("a TIMESTAMP", "a TIMESTAMP_NS", NO, NO),
        ("a INT NOT NULL", "a INT", YES, NO),
        ("a INT", "a INT NOT NULL", NO, YES),
        ("a INT NOT NULL", "b INT NOT NULL", NO, NO),
        ("a INT", "b INT", YES, NO),
        ("s STRUCT(x INT)", "s STRUCT(x INT, y INT)", YES, YES),
        ("s STRUCT(x INT)", "s STRUCT(x BIGINT)", YES, NO),
        ("s STRUCT(x INT, y INT)", "s STRUCT(y INT)", YES, NO),
        ("s STRUCT(x INT)", "s INT", NO, NO),
        ("l INT[]", "l BIGINT[]", YES, NO),
        ("l INT[]", "l STRUCT(x INT)[]", NO, NO),
        ("m MAP(VARCHAR, INT)", "m MAP(VARCHAR, VARCHAR)", NO, NO),
        ("a INT, b BIGINT", "a BIGINT, b INT", NO, NO),
    ],
)
def test_rules(old, new, backward, forward):
    answers = {mode: tidelake.is_compatible(old, new, mode=mode) for mode in MODES}
    assert bool(answers["backward"]) is backward
    assert bool(answers["forward"]) is forward
    assert bool(answers["full"]) is (backward and forward)
    assert bool(tidelake.is_compatible(old, new)) is backward
    for answer in answers.values():
        assert bool(answer.reasons) is not bool(answer)
        assert all(reason in str(answer) for reason in answer.reasons)


@pytest.mark.parametrize(
    ("old", "new", "mode", "reason"),
    [
        ("a INT", "a INT, b INT NOT NULL", "backward", "'b' is required by the new schema"),
        ("a INT, b INT NOT NULL", "a INT", "forward", "'b' is gone: who still names it"),
        ("a INT, b INT", "a INT", "full", "'b' is gone: who still names it"),
        ("a INT", "b INT", "forward", "'a' is gone: who still names it cannot read new data (if"),
        ("s STRUCT(x INT, y INT)", "s STRUCT(y INT)", "forward", "'s.x' is gone"),
        ("a INT NOT NULL", "b INT NOT NULL", "backward", "'a' was renamed"),
        (
            "a BIGINT",
            "a INT",
            "backward",
            "'a' cannot be read as int32 where it was written as int64",
        ),
        (
            "a INT",
            "a BIGINT",
            "forward",
            "'a' cannot be read as int32 where it was written as int64",
        ),
        ("s STRUCT(x INT[])", "s STRUCT(x DATE[])", "backward", "'s.x.element' cannot be read"),
        ("s STRUCT(x INT)", "s INT[]", "backward", "'s' is struct in the old schema and list"),
        ("a INT", "a INT NOT NULL", "backward", "'a' may be null in the old schema"),
    ],
)
def test_reasons_name_the_column(old, new, mode, reason):
    (found,) = tidelake.is_compatible(old, new, mode=mode).reasons
    assert found.startswith(reason) or reason in found


def test_full_says_everything_once():
    answer = tidelake.is_compatible("a INT, b INT NOT NULL", "a VARCHAR, c INT NOT NULL", "full")
    assert len(answer.reasons) == len(set(answer.reasons)) == 4
    assert str(answer).startswith("not full compatible:\n- ")


def test_what_duckdb_says_of_null_inside_columns_does_not_count():
    """It marks renamed fields as required although they are not."""
    plain = Column(1, "s", "struct", children=(Column(2, "x", "int32"),))
    marked = Column(1, "s", "struct", children=(Column(2, "x", "int32", nullable=False),))
    assert tidelake.is_compatible(Schema((plain,)), Schema((marked,)), mode="full")
    assert str(tidelake.is_compatible(Schema((plain,)), [marked])) == "backward compatible"


def test_a_bad_mode_is_refused():
    with pytest.raises(Invalid, match=r"'sideways'.*backward, forward, full"):
        tidelake.is_compatible("a INT", "a INT", mode="sideways")


def test_the_example_in_the_documentation():
    assert doctest.testmod(compatible) == (0, 1)
