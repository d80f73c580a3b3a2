"""Changes of columns in the forms that callers write."""

import datetime

import pyarrow as pa
import pytest

from tidelake.engine.declare.changes import evolve_columns
from tidelake.engine.declare.columns import columns_of
from tidelake.errors import Invalid, Unsupported
from tidelake.model.schema import Column

COLUMNS = columns_of("a INT, s STRUCT(x DATE), b VARCHAR DEFAULT 'x'")


def test_add_from_a_dict_of_paths():
    after = evolve_columns(
        COLUMNS,
        9,
        add={"n": int, "s.y": "DOUBLE DEFAULT 1.5", '"odd.n"': "int8 NOT NULL DEFAULT 5"},
    )
    assert after[3:] == (
        Column(9, "n", "int64"),
        Column(11, "odd.n", "int8", nullable=False, default="5", initial_default="5"),
    )
    field = Column(10, "y", "float64", default="1.5", initial_default="1.5")
    assert after[1].children[1] == field


def test_add_from_any_schema():
    assert evolve_columns(COLUMNS, 9, add="n INT, o DATE")[3:] == (
        Column(9, "n", "int32"),
        Column(10, "o", "date"),
    )
    odd = pa.schema([pa.field("a.b", pa.int8(), metadata={"comment": "odd"})])
    assert evolve_columns(COLUMNS, 9, add=odd)[3] == Column(9, "a.b", "int8", comment="odd")


def test_types_and_defaults_in_any_form():
    after = evolve_columns(
        COLUMNS,
        9,
        widen={"a": pa.int64(), "s.x": datetime.datetime},
        default={"a": 2**40, "s.x": datetime.date(2024, 1, 1), "b": None},
    )
    assert (after[0].type, after[0].default, after[0].initial_default) == (
        "int64",
        str(2**40),
        None,
    )
    assert after[1].children[0].type == "timestamp"
    assert after[1].children[0].default == "2024-01-01 00:00:00"
    assert (after[2].default, after[2].initial_default) == (None, "x")


def test_a_single_name_needs_no_list():
    assert evolve_columns(COLUMNS, 9, drop="a") == COLUMNS[1:]
    assert [c.name for c in evolve_columns(COLUMNS, 9, order="b")] == ["b", "a", "s"]


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"default": {"a": "x"}}, Invalid, "'a'.*'x'"),
        ({"default": {"a": 2**40}}, Invalid, "'a'.*1099511627776"),
        ({"default": {"s": {}}}, Unsupported, "'s'.*struct"),
        ({"add": {"n": "FOO"}}, Invalid, "FOO"),
        ({"add": {"s.n": "BIT"}}, Unsupported, r"'s\.n'.*BIT"),
        ({"widen": {"a": "STRUCT(x INT)"}}, Invalid, "'a'.*int32 to struct"),
        ({"widen": ["a"]}, Invalid, "widen= takes a dict"),
        ({"rename": "a"}, Invalid, "rename= takes a dict"),
    ],
)
def test_bad_input_is_refused_by_name(changes, error, reason):
    with pytest.raises(error, match=reason):
        evolve_columns(COLUMNS, 9, **changes)
