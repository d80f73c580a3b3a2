"""Changes of columns, and every reason to refuse one."""

from dataclasses import replace

import pytest

from tidelake.errors import Invalid, NotFound
from tidelake.model.evolve import Evolution, evolve, find
from tidelake.model.schema import Column

A = Column(1, "a", "int32")
B = Column(2, "b", "varchar", nullable=False, comment="old")
S = Column(3, "s", "struct", children=(Column(4, "x", "int32"), Column(5, "y", "date")))
L = Column(
    6,
    "l",
    "list",
    children=(Column(7, "element", "struct", children=(Column(8, "z", "int16"),)),),
)
M = Column(9, "m", "map", children=(Column(10, "key", "varchar"), Column(11, "value", "float32")))
DOTTED = Column(12, "odd.name", "struct", children=(Column(13, 'quo"te', "int32"),))
COLUMNS = (A, B, S, L, M, DOTTED)
NEXT = 20


def changed(**changes):
    return evolve(COLUMNS, NEXT, Evolution(**changes))


def shape(columns):
    """Names and ids, nested."""
    return {
        c.name: (c.id, shape(c.children)) if c.children and c.is_nested else c.id for c in columns
    }


def test_nothing_changes_nothing():
    assert changed() == COLUMNS


def test_rename():
    after = changed(rename={"a": "c", "s.x": "w", "l.element.z": '"new.z"', '"odd.name"': "even"})
    assert [c.name for c in after] == ["c", "b", "s", "l", "m", "even"]
    assert shape(after)["s"] == (3, {"w": 4, "y": 5})
    assert shape(after)["l"] == (6, {"element": (7, {"new.z": 8})})


def test_two_columns_swap_names():
    assert [c.id for c in changed(rename={"a": "b", "b": "a"})] == [c.id for c in COLUMNS]
    assert [c.name for c in changed(rename={"a": "b", "b": "a"})][:2] == ["b", "a"]


def test_a_name_may_change_in_case_only():
    assert changed(rename={"A": "A"})[0].name == "A"


def test_drop():
    after = changed(drop=["b", "s.y", "odd.name"])
    assert shape(after) == {
        "a": 1,
        "s": (3, {"x": 4}),
        "l": (6, {"element": (7, {"z": 8})}),
        "m": (9, {"key": 10, "value": 11}),
    }


def test_add_numbers_depth_first_and_appends():
    point = Column(0, "", "struct", children=(Column(0, "p", "int8"), Column(0, "q", "int8")))
    after = changed(
        add={
            "new": point,
            "s.deep": Column(0, "", "list", children=(Column(0, "element", "uuid"),)),
            "l.element.n": Column(0, "", "int8", default="5", initial_default="5"),
            '"new.one"': Column(0, "", "int8", False, default="5", initial_default="5"),
        }
    )
    assert shape(after) == {
        "a": 1,
        "b": 2,
        "s": (3, {"x": 4, "y": 5, "deep": (23, {"element": 24})}),
        "l": (6, {"element": (7, {"z": 8, "n": 25})}),
        "m": (9, {"key": 10, "value": 11}),
        "odd.name": (12, {'quo"te': 13}),
        "new": (20, {"p": 21, "q": 22}),
        "new.one": 26,
    }
    assert find(after, '"new.one"').initial_default == "5"


def test_a_column_is_replaced_in_one_step():
    after = changed(drop=["a"], add={"a": Column(0, "", "varchar")})
    assert after[-1] == Column(NEXT, "a", "varchar")
    kept = changed(rename={"a": "a_old"}, add={"a": Column(0, "", "varchar")})
    assert (kept[0].name, kept[-1].id) == ("a_old", NEXT)


def test_widen():
    wide = {"a": "int64", "s.y": "timestamp", "m.value": "float64", "l.element.z": "float32"}
    after = changed(widen=wide)
    assert {path: find(after, path).type for path in wide} == wide


def test_nullable_default_and_comment():
    like = Column(0, "", "int32", default="now()", default_is_expression=True)
    after = changed(
        nullable={"a": False, "b": True, "s.x": True},
        default={"a": like, "b": Column(0, "", "varchar", default="x", initial_default="x")},
        comment={"a": "new", "b": None, "s.x": "inside"},
    )
    assert after[0] == replace(
        A, nullable=False, default="now()", default_is_expression=True, comment="new"
    )
    assert after[1] == replace(B, nullable=True, default="x", comment=None)
    assert find(after, "s.x").comment == "inside"


def test_order_names_the_columns_as_they_will_be():
    after = changed(rename={"m": "map"}, add={"new": A}, drop=["b"], order=["new", "map"])
    assert [c.name for c in after] == ["new", "map", "a", "s", "l", "odd.name"]


def test_everything_at_once():
    after = changed(
        rename={"a": "c"}, widen={"a": "int64"}, nullable={"a": False}, comment={"a": "id"}
    )
    assert after[0] == Column(1, "c", "int64", nullable=False, comment="id")


def test_columns_that_differ_in_case_already_stay():
    columns = (Column(1, "é", "int32"), Column(2, "É", "int32"), Column(3, "x", "int32"))
    assert evolve(columns, 4, Evolution(rename={"x": "y"}))[2].name == "y"
    assert evolve(columns, 4, Evolution(drop=["É"])) == (columns[0], columns[2])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"drop": ["nope"]}, "no column 'nope'"),
        ({"drop": ["s.nope"]}, r"no column 's\.nope'"),
        ({"drop": ["a.x"]}, r"no column 'a\.x'"),
        ({"rename": {"l.z": "y"}}, r"no column 'l\.z'"),
        ({"widen": {"nope": "int64"}}, "no column 'nope'"),
        ({"nullable": {"nope": True}}, "no column 'nope'"),
        ({"default": {"nope": A}}, "no column 'nope'"),
        ({"comment": {"nope": "x"}}, "no column 'nope'"),
        ({"add": {"nope.x": A}}, r"no column 'nope\.x'"),
        ({"order": ["nope"]}, "no column 'nope'"),
        ({"rename": {"a": "c"}, "drop": ["c"]}, "no column 'c'"),
    ],
)
def test_what_is_not_there_is_not_found(changes, reason):
    with pytest.raises(NotFound, match=reason):
        changed(**changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"drop": ["a", "b", "s", "l", "m", '"odd.name"']}, "a table needs a column"),
        ({"drop": ["s.x", "s.y"]}, "struct 's' needs a column"),
        ({"drop": ["l.element"]}, "belongs to its list"),
        ({"drop": ["m.key"]}, "belongs to its map"),
        ({"drop": ["a"], "widen": {"a": "int64"}}, "'a' is dropped and changed"),
        ({"drop": ["s"], "rename": {"s.x": "w"}}, "'s' is dropped and changed"),
        ({"drop": ["s"], "add": {"s.n": A}}, "that is dropped"),
        ({"drop": ['"']}, "names no column"),
        ({"drop": [5]}, "names no column"),
        ({"rename": {"a": "B"}}, "'B' and 'b'"),
        ({"rename": {"s.x": "Y"}}, "'Y' and 'y'"),
        ({"rename": {"l.element": "e"}}, "belongs to its list"),
        ({"rename": {"s.x": "s.w"}}, r"'s\.w'.*new name alone"),
        ({"rename": {"a": ""}}, "cannot be renamed to ''"),
        ({"rename": {"a": "_ducklake_internal_row_id"}}, "is taken"),
        ({"widen": {"a": "int16"}}, "'a'.*int32 to int16.*add a new column, fill it with update"),
        ({"widen": {"b": "int32"}}, "'b'.*varchar to int32.*add a new column"),
        ({"widen": {"s": "int32"}}, r"'s' is a struct.*s\.x"),
        ({"widen": {"a": "struct"}}, "'a'.*int32 to struct"),
        ({"nullable": {"s.x": False}}, r"'s\.x' cannot be required"),
        ({"add": {"A": A}}, "'a' and 'A'"),
        ({"add": {"n": replace(A, nullable=False)}}, "'n' cannot be added as required.*DEFAULT"),
        (
            {"add": {"n": replace(A, nullable=False, default="now()", default_is_expression=True)}},
            "'n' cannot be added as required",
        ),
        ({"add": {"s.n": replace(A, nullable=False, initial_default="1")}}, "always be null"),
        ({"add": {"a.n": A}}, "'a' is no struct"),
        ({"add": {"l.n": A}}, "'l' is no struct"),
        ({"add": {"m.value.n": A}}, "'value' is no struct"),
        ({"add": {"_tidelake_row": A}}, "is taken"),
        ({"add": {"": A}}, "names no column"),
        ({"order": ["a", "A"]}, "named twice"),
        ({"order": ["s.x"]}, "inside a column"),
    ],
)
def test_what_loses_or_contradicts_is_refused(changes, reason):
    with pytest.raises(Invalid, match=reason) as caught:
        changed(**changes)
    assert caught.value.hint
