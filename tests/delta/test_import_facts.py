"""What statistics of a Delta log become, read column by column, against a plain reading of one
value after the other."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelake.delta.importing.adopt import parsed_stats
from tidelake.delta.importing.facts import FactsReader
from tidelake.delta.importing.numbering import ColumnNumbering
from tidelake.delta.log.types import DeltaField, fields_of
from tidelake.model.change import ColumnFacts

KINDS = (
    "byte",
    "integer",
    "long",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(38,0)",
    "string",
    "date",
    "timestamp",
    "timestamp_ntz",
    "boolean",
    "binary",
    "void",
)
WHOLE = ("byte", "integer", "long")
NAMES = ("a", "b", "c d", "é")
DAY = "2024-02-29"
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, -(2**63), 2**64, 10**40),
    *(0.0, -0.0, 1.10, 1e300, float("nan"), float("inf"), float("-inf")),
    *("", "x", "y", "12", "-0.10", "1.23456789012345", "1.234567890123456", "1e3", "NaN", "٣"),
    *("a" * 31, "a" * 32, "b\x7f", "b\U0010ffff", "a\0b", "z\ud800", "\n", "é"),
    *(DAY, "2024-03-01", "٢024-01-01", "2024-1-1", f"{DAY}\n", f"{DAY}T", f"{DAY} 00:00:00"),
    *(
        f"{DAY}T01:02:03.{end}"
        for end in ("123Z", "1234Z", "123400Z", "123456", "000000Z", "1234567")
    ),
    *(f"{DAY} 01:02:03.1234{end}" for end in ("", "+00:00", "+0000", "+01:00", " Z", "Z\n")),
    *([], [1], {}, {"a": 1}),
]


def structs(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    inside = st.dictionaries(st.sampled_from(NAMES), children, min_size=1, max_size=3)
    return inside.map(lambda found: {"struct": found})


TYPES = st.recursive(
    st.sampled_from([*KINDS, {"array": "long"}, {"map": "string"}]), structs, max_leaves=6
)
SCHEMAS = st.dictionaries(st.sampled_from(NAMES), TYPES, min_size=1, max_size=4)


def declared(kind: Any) -> Any:
    if isinstance(kind, str):
        return kind
    if "array" in kind:
        return {"type": "array", "elementType": kind["array"], "containsNull": True}
    if "map" in kind:
        return {
            "type": "map",
            "keyType": "string",
            "valueType": kind["map"],
            "valueContainsNull": True,
        }
    return schema(kind["struct"])


def schema(columns: dict[str, Any]) -> dict[str, Any]:
    fields = [
        {"name": name, "type": declared(kind), "nullable": True, "metadata": {}}
        for name, kind in columns.items()
    ]
    return {"type": "struct", "fields": fields}


def parts_of(draw: Any, columns: dict[str, Any], values: st.SearchStrategy[Any]) -> Any:
    """What one part of statistics says: most columns, some of them oddly, and one that is none."""
    found: dict[str, Any] = {"nobody": 1} if draw(st.booleans()) else {}
    for name, kind in columns.items():
        is_struct = isinstance(kind, dict) and "struct" in kind
        how = draw(st.integers(0, 9))
        if is_struct and how:
            found[name] = parts_of(draw, kind["struct"], values)
        elif how:
            found[name] = draw(values)
    return found


@st.composite
def tables(draw: Any) -> tuple[Any, list[str | None], list[int], dict[str, list[str | None]]]:
    """A schema, statistics of files, their rows, and what partitions say of some columns."""
    columns = draw(SCHEMAS)
    rows = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    plain = st.one_of(
        st.integers(-3, 3),
        st.sampled_from(["a", "b", DAY, f"{DAY}T01:02:03.123456Z", "1.50", "2"]),
    )
    values = st.one_of(plain, plain, st.sampled_from(ODD))
    nulls = st.one_of(st.integers(0, 3), st.integers(0, 3), st.sampled_from([*ODD, 4]))
    texts = []
    for count in rows:
        said: dict[str, Any] = {"numRecords": count}
        for name, of in {"minValues": values, "maxValues": values, "nullCount": nulls}.items():
            if draw(st.integers(0, 9)):
                said[name] = parts_of(draw, columns, of)
            elif draw(st.booleans()):
                said[name] = draw(st.sampled_from(ODD))
        tight = draw(st.sampled_from([None, None, None, True, False, 0, "false"]))
        said |= {} if tight is None else {"tightBounds": tight}
        text = json.dumps(said)
        texts.append(
            draw(st.sampled_from([text, text, text, text, text, text[:-1], None, "", "[]", "3"]))
        )
    told = {}
    for name, kind in columns.items():
        if isinstance(kind, str) and draw(st.integers(0, 4)) == 0:
            told[name] = [draw(st.sampled_from([None, "1", "x", DAY])) for _ in rows]
    return columns, texts, rows, told


def plainly(
    field: DeltaField, parts: list[Any], rows: int, told: dict[int, str | None]
) -> list[ColumnFacts]:
    """One column of one file, and those inside."""
    column = field.column
    low, high, nulls = (
        part.get(field.physical) if isinstance(part, dict) else None for part in parts
    )
    if field.void:
        return [ColumnFacts(column.id, values=0, nulls=rows)]
    if column.id in told:
        value = told[column.id]
        if value is None:
            return [ColumnFacts(column.id, values=0, nulls=rows)]
        kept = (
            None
            if column.type in ("float32", "float64", "boolean", "blob", "timestamptz")
            else value
        )
        return [ColumnFacts(column.id, values=rows, nulls=0, min=kept, max=kept)]
    if column.type == "struct":
        return [
            each
            for child in field.children
            for each in plainly(child, [low, high, nulls], rows, {})
        ]
    if column.children:
        return []
    if type(nulls) is not int or not 0 <= nulls <= rows:
        return [ColumnFacts(column.id, None, None, None, *bounds(column.type, low, high))]
    found = bounds(column.type, low, high) if nulls < rows else (None, None)
    return [ColumnFacts(column.id, None, rows - nulls, nulls, *found)]


def bounds(kind: str, low: Any, high: Any) -> tuple[str | None, str | None]:
    spelled = spell(kind, low), spell(kind, high)
    has_order = kind == "varchar" or kind.startswith("int")
    if None in spelled or (has_order and low > high):
        return None, None
    is_cut = kind == "varchar" and high[-1:] in ("\x7f", "\U0010ffff")
    return (None, None) if is_cut else spelled


def spell(kind: str, value: Any) -> str | None:
    is_text = isinstance(value, str)
    if kind.startswith("int"):
        return str(value) if type(value) is int else None
    if kind.startswith("decimal"):
        text = str(value) if is_text or type(value) is int else ""
        plain = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text)
        return text if plain and len(re.sub(r"[-.]", "", text)) <= 15 else None
    if kind == "varchar" and is_text:
        cut = len(value) >= 32 or "\0" in value
        return None if cut else value
    if kind == "date" and is_text:
        return value if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value) else None
    if kind in ("timestamp", "timestamptz") and is_text:
        day, clock = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}"
        moment = rf"({day})[T ]({clock})\.([0-9]{{4,6}})(Z|\+00:00|\+0000)?"
        found = re.fullmatch(moment, value)
        if found:
            fraction = found[3].rstrip("0")
            clock = found[2] + (f".{fraction}" if fraction else "")
            return f"{found[1]} {clock}" + ("+00" if kind == "timestamptz" else "")
    return None


def check(columns: Any, texts: Any, rows: Any, told: dict[str, list[str | None]]) -> None:
    fields = ColumnNumbering().numbered(fields_of(json.dumps(schema(columns)), "none"))
    ids = {field.physical: field.column.id for field in fields}
    partition = {ids[name]: values for name, values in told.items()}
    parsed = [parsed_stats(text) for text in texts]
    found = FactsReader(fields).facts(parsed, rows, partition)
    assert len(found) == len(rows)
    for place, (stats, count) in enumerate(zip(parsed, rows, strict=True)):
        sure = stats.get("tightBounds") is not False
        parts = [stats.get(name) if sure else {} for name in ("minValues", "maxValues")]
        parts.append(stats.get("nullCount"))
        mine = {column_id: values[place] for column_id, values in partition.items()}
        plain = [each for field in fields for each in plainly(field, parts, count, mine)]
        if not sure:
            plain = [e if e.nulls in (0, count) else ColumnFacts(e.column_id) for e in plain]
        assert list(found[place]) == plain, texts[place]


@settings(deadline=None, max_examples=200)
@given(tables())
def test_statistics_of_many_files_say_what_those_of_each_do(table: Any) -> None:
    check(*table)


@pytest.mark.parametrize("kind", KINDS)
def test_any_two_ends_of_a_type(kind: str) -> None:
    ends = [(low, high) for low in ODD for high in ODD]
    texts = [
        json.dumps({"minValues": {"a": low}, "maxValues": {"a": high}, "nullCount": {"a": 1}})
        for low, high in ends
    ]
    check({"a": kind}, texts, [2] * len(ends), {})


@pytest.mark.parametrize("kind", ["long", "double", "void", {"struct": {"b": "long"}}])
def test_any_number_of_nulls(kind: Any) -> None:
    """Also of files that have lost rows since they were counted."""
    cases = [
        (tight, nulls, rows)
        for tight in (None, True, False, 0)
        for nulls in [*ODD, 2, 3]
        for rows in (0, 1, 2)
    ]
    inside: Any = (lambda value: {"b": value}) if isinstance(kind, dict) else (lambda value: value)
    texts = [
        json.dumps(
            {"minValues": {"a": inside(4)}, "maxValues": {"a": inside(5)}}
            | {"nullCount": {"a": inside(nulls)}, "tightBounds": tight}
        )
        for tight, nulls, _ in cases
    ]
    check({"a": kind}, texts, [rows for _, _, rows in cases], {})


@pytest.mark.parametrize("kind", ["long", {"struct": {"b": "long"}}])
def test_statistics_that_are_none(kind: Any) -> None:
    odd = [None, "", "[]", "3", "{", '{"minValues": {"a": 1}', '{"numRecords": 1}']
    parts = ("minValues", "maxValues", "nullCount")
    odd += [json.dumps(dict.fromkeys(parts, value)) for value in ([], [1], 3, "a", None, {})]
    for inside in ([], {"b": []}, {"b": 1}):
        odd.append(json.dumps({part: {"a": inside} for part in parts}))
    check({"a": kind}, odd, [1] * len(odd), {})


def test_statistics_are_read_as_json() -> None:
    whole = '{"numRecords": 1, "minValues": {"a": 1.10}}'
    blanks = ["", " ", "\n\t\r ", "\x0b", "\xa0", "x", "{}", ","]
    for text in (before + whole + after for before in blanks for after in blanks):
        try:
            plain = json.loads(text, parse_float=str)
        except ValueError:
            plain = {}
        assert parsed_stats(text) == plain
    assert parsed_stats("{" * 100_000) == parsed_stats('{"a":' * 100_000) == {}
