"""SQL that turns what the data has into what a table's columns are, or refuses to.

Fields go by name at every depth. A cast that no value can lose anything by is made; one that some
values survive is made value by value, and the first that would change is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tidelake.engine.declare.type_fit import (
    INTEGERS,
    MOMENTS,
    WIDE,
    is_cast,
    may_fit,
    never_loses,
    scale,
    type_name,
)
from tidelake.engine.durations import interval_sql
from tidelake.engine.local.errors import refusal
from tidelake.errors import Invalid
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import Column
from tidelake.model.types import FRACTION_DIGITS
from tidelake.plan.expression import default_sql

_ALWAYS_CHECKED = {"json", "timetz", *WIDE}
ENCODED_VARIANT = "encoded variant"
"""Spark's variants: bytes of `metadata` and `value`, as Parquet has them."""
DURATION = "duration"
"""A number of seconds and less, whose days have 24 hours."""


@dataclass(frozen=True, slots=True)
class DataShape:
    """A column or field of the data. `type` is DuckLake's word where it has one; else null, enum,
    array, `duration`, `text` (a field of a CSV file), `converted` (a Python value as `row_values`
    hands it over) or DuckDB's own. `computed` are values of an expression: they are cast as SQL
    casts them, if they are the same afterwards."""

    name: str
    type: str
    children: tuple[DataShape, ...] = ()
    computed: bool = False


def match(names: Sequence[str], columns: Sequence[Column], place: str) -> dict[int, int]:
    """Where each of the columns is among the names; Invalid when a name is nobody's."""
    folded: dict[str, int] = {}
    for index, name in enumerate(names):
        first = folded.setdefault(fold(name), index)
        if first != index:
            raise Invalid(
                f"{place}: the data has two columns of one name, {names[first]!r} and {name!r}",
                hint="rename or leave out one of them; case does not tell columns apart",
            )
    found = {
        place_: folded[fold(column.name)]
        for place_, column in enumerate(columns)
        if fold(column.name) in folded
    }
    if len(found) < len(names):
        known = set(found.values())
        raise unknown([name for i, name in enumerate(names) if i not in known], columns, place)
    return found


def unknown(names: Iterable[str], columns: Sequence[Column], place: str) -> Invalid:
    found = list(names)
    listed = ", ".join(map(repr, found[:20])) + (", …" if len(found) > 20 else "")
    have = ", ".join(column.name for column in columns[:20]) + (", …" if len(columns) > 20 else "")
    return Invalid(
        f"{place}: there is no {listed}",
        hint=f"leave it out, or add it first with evolve(add=…); there are: {have}",
    )


def filler_sql(column: Column, place: str, *, defaults: bool) -> str:
    """What stands in for a column that the data has not."""
    if defaults and column.default is not None:
        return default(column)
    if defaults and not column.nullable:
        raise Invalid(
            f"{place}: column {column.name!r} is missing, may not be null and has no default",
            hint=f"give the data a column {column.name!r}",
        )
    return f"CAST(NULL AS {column.duckdb_type})"


def default(column: Column) -> str:
    text = column.default
    if text is None:
        value = "NULL"
    else:
        value = default_sql(text) if column.default_is_expression else text_literal(text)
    return f"CAST({value} AS {column.duckdb_type})"


def conformed_sql(
    column: Column,
    shape: DataShape,
    reference: str,
    place: str,
    beside: Sequence[tuple[str, str]] = (),
) -> str:
    """An expression of the column's type over the data's; null only where the column may be: else
    an error, which tells the row by what is `beside` the null, a name and an expression each."""
    value = expression(column, shape, reference, f"{place}: column {column.name!r}")
    if column.nullable:
        return value
    message = f"{place}: column {column.name!r} may not be null\0"
    before, after = refusal(message, "fill the nulls, or leave those rows out").split("\0")
    told = [text_literal(before), *_row(beside), text_literal(after)]
    return f"CASE WHEN {reference} IS NULL THEN error(concat({', '.join(told)})) ELSE {value} END"


def _row(beside: Sequence[tuple[str, str]]) -> Iterator[str]:
    for at, (name, reference) in enumerate(beside):
        yield text_literal(f"{', ' if at else ', in the row with '}{name} = ")
        yield f"coalesce(left(TRY(CAST({reference} AS VARCHAR)), 100), 'NULL')"


def expression(column: Column, shape: DataShape, ref: str, where: str, depth: int = 0) -> str:
    """`ref` itself where nothing has to be done."""
    if shape.type == "null":
        return f"CAST(NULL AS {column.duckdb_type})"
    if shape.type == "converted":
        return converted_sql(column, ref)
    if shape.type == DURATION:
        ref, shape = interval_sql(ref), replace(shape, type="interval")
    if column.type == "variant" and (shape.type == ENCODED_VARIANT or _is_encoded(shape)):
        return f"variant_bytes_to_variant({ref}.metadata || {ref}.value)"
    if column.type == "variant":
        return ref if shape.type == "variant" else f"CAST({ref} AS VARIANT)"
    if shape.type == "text" or (shape.computed and shape.type == "varchar"):
        return from_text(column, ref, where)
    kind = "list" if shape.type == "array" else shape.type
    if column.is_nested and column.type == kind:
        return _NESTED[kind](column, shape, ref, where, depth)
    if column.is_nested or shape.children:
        raise _mismatch(column, shape, where)
    return _scalar(column, shape, ref, where)


def converted_sql(column: Column, ref: str) -> str:
    """What `row_values` has made of a Python value for the column, in its type."""
    kind = column.duckdb_type
    if column.type == "geometry":
        binary = f"ST_GeomFromWKB(from_hex({ref}))"
        return (
            f"CASE WHEN regexp_full_match({ref}, '[0-9a-f]+') THEN {binary}"
            f" ELSE CAST({ref} AS GEOMETRY) END"
        )
    if any(below.type == "variant" for below in column.walk()):
        ref = f"CAST({ref} AS {_as_json(column).duckdb_type})"
    return f"CAST({ref} AS {kind})"


def _as_json(column: Column) -> Column:
    kind = "json" if column.type == "variant" else column.type
    return replace(column, type=kind, children=tuple(map(_as_json, column.children)))


def _is_encoded(shape: DataShape) -> bool:
    """Whether data has the form in which `to_arrow()` gives variants."""
    fields = {(child.name, child.type) for child in shape.children}
    return shape.type == "struct" and fields == {("metadata", "blob"), ("value", "blob")}


def _struct(column: Column, shape: DataShape, ref: str, where: str, depth: int) -> str:
    names = [child.name for child in shape.children]
    found = match(names, column.children, where)
    fields = []
    for place, child in enumerate(column.children):
        if place in found:
            below = shape.children[found[place]]
            inner = f"{ref}.{quote(below.name)}"
            value = expression(child, below, inner, f"{where}.{child.name!r}", depth)
        else:
            value = f"CAST(NULL AS {child.duckdb_type})"
        fields.append((child.name, value))
    if [(name, f"{ref}.{quote(name)}") for name in names] == fields:
        return ref
    packed = ", ".join(f"{quote(name)} := {value}" for name, value in fields)
    return f"CASE WHEN {ref} IS NULL THEN NULL ELSE struct_pack({packed}) END"


def _list(column: Column, shape: DataShape, ref: str, where: str, depth: int) -> str:
    item = f"x{depth}"
    element = expression(column.children[0], shape.children[0], item, f"{where}[]", depth + 1)
    if element == item:
        return ref if shape.type == "list" else f"CAST({ref} AS {column.duckdb_type})"
    return f"list_transform({ref}, lambda {item}: {element})"


def _map(column: Column, shape: DataShape, ref: str, where: str, depth: int) -> str:
    item = f"x{depth}"
    key, value = (
        expression(child, below, f"{item}.{part}", f"{where} ({part})", depth + 1)
        for child, below, part in zip(
            column.children, shape.children, ("key", "value"), strict=True
        )
    )
    if (key, value) == (f"{item}.key", f"{item}.value"):
        return ref
    pair = f"struct_pack(key := {key}, value := {value})"
    entries = f"list_transform(map_entries({ref}), lambda {item}: {pair})"
    return f"CASE WHEN {ref} IS NULL THEN NULL ELSE map_from_entries({entries}) END"


_NESTED = {"struct": _struct, "list": _list, "map": _map}


def _scalar(column: Column, shape: DataShape, ref: str, where: str) -> str:
    source = shape.type
    target = "timestamp" if column.type == "timestamp_us" else column.type
    kind = column.duckdb_type
    if source == target and target not in _ALWAYS_CHECKED:
        return ref
    if target in WIDE:
        return _wide(column, shape, ref, where)
    if source in MOMENTS and target in MOMENTS - {"date"}:
        return _moment(source, target, ref, where)
    if target == "timetz" and source in ("timetz", "varchar"):
        offset = f"extract('timezone' FROM TRY_CAST({ref} AS TIMETZ)) <> 0"
        bad = f"({ref} IS NOT NULL AND TRY_CAST({ref} AS TIMETZ) IS NULL) OR {offset}"
        return checked_sql(bad, ref, f"CAST({ref} AS TIMETZ)", where, "is not a time in UTC")
    if target == "json" and source in ("json", "varchar", "enum"):
        text = f"CAST({ref} AS VARCHAR)"
        bad = f"NOT json_valid({text})"
        return checked_sql(bad, ref, f"CAST({text} AS JSON)", where, "is not valid JSON")
    if target == "uuid" and source in ("varchar", "enum"):
        bad = f"TRY_CAST({ref} AS UUID) IS NULL AND {ref} IS NOT NULL"
        return checked_sql(bad, ref, f"CAST({ref} AS UUID)", where, "is not a UUID")
    if target == "geometry" and source in ("varchar", "blob"):
        made = f"ST_GeomFromWKB({ref})" if source == "blob" else f"CAST({ref} AS GEOMETRY)"
        made = f"TRY({made})"
        bad = f"{made} IS NULL AND {ref} IS NOT NULL"
        return checked_sql(bad, ref, made, where, "is neither WKB nor WKT")
    if (source, target) == ("time", "time_ns"):
        return f"CAST(CAST({ref} AS VARCHAR) AS TIME_NS)"
    if (source, target) == ("time_ns", "time"):
        bad = f"epoch_ns({ref}) % 1000 <> 0"
        return checked_sql(bad, ref, f"CAST({ref} AS TIME)", where, "does not fit TIME exactly")
    if never_loses(source, target):
        return f"CAST({ref} AS {kind})"
    if may_fit(source, target) or shape.computed:
        return _perhaps(column, shape, ref, where)
    raise _mismatch(column, shape, where)


def _perhaps(column: Column, shape: DataShape, ref: str, where: str) -> str:
    """A cast that some values survive. A computed double becomes the nearest of a FLOAT column,
    as a Python number does."""
    ways = (shape.type, column.type)
    if shape.computed and ways == ("float64", "float32"):
        there = f"TRY_CAST({ref} AS FLOAT)"
        bad = f"{there} IS NULL AND {ref} IS NOT NULL"
        return checked_sql(bad, ref, there, where, "is too large for FLOAT")
    if not may_fit(*ways) and not is_cast(*ways):
        raise _mismatch(column, shape, where)
    return _exact(ref, [type_name(shape.type), column.duckdb_type], where, shape)


def _wide(column: Column, shape: DataShape, ref: str, where: str) -> str:
    low, high = WIDE[column.type]
    good = f"CAST({ref} AS {column.duckdb_type})"
    if shape.type in INTEGERS:
        least, most = INTEGERS[shape.type]
        if low <= least and most <= high:
            return good
    elif shape.type not in WIDE and scale(shape.type) != 0:
        raise _mismatch(column, shape, where)
    bad = f"{ref} NOT BETWEEN {low} AND {high}"
    why = "is beyond 2^53, which files cannot hold exactly in this type"
    return checked_sql(bad, ref, good, where, why, "use a decimal(38,0) column")


def _moment(source: str, target: str, ref: str, where: str) -> str:
    """Without a zone means UTC, on either side."""
    if source == "timestamptz":
        source, ref = "timestamp", f"CAST({ref} AS TIMESTAMP)"
    unzoned = "timestamp" if target == "timestamptz" else target
    if source != unzoned:
        way = [source, *({"timestamp"} - {source, unzoned}), unzoned]
        ref = _exact(ref, [type_name(kind) for kind in way], where)
    return f"CAST({ref} AS TIMESTAMPTZ)" if target == "timestamptz" else ref


def _exact(ref: str, way: Sequence[str], where: str, shape: DataShape | None = None) -> str:
    """A cast, by way of these types, that must be undone by the way back.

    TRY_CAST raises on timestamps that do not fit, so it must be TRY, which is slower. What
    stands in a TRY may stand nowhere else: DuckDB would compute it once, outside.
    """
    attempt = any("TIMESTAMP" in kind for kind in way) and way != ["TIMESTAMP_NS", "TIMESTAMP"]
    there = _cast(ref, way[1:], attempt=attempt)
    bad = f"{_cast(there, way[-2::-1], attempt=attempt)} IS DISTINCT FROM {ref}"
    computed = shape is not None and shape.computed
    hint = _explicit(way[-1]) if computed else "correct the data"
    return checked_sql(bad, ref, there, where, f"does not fit {way[-1]} exactly", hint)


def _explicit(kind: str) -> str:
    return f"write CAST(… AS {kind}) where a value may change"


def _cast(ref: str, way: Sequence[str], *, attempt: bool) -> str:
    for kind in way:
        ref = f"{'CAST' if attempt else 'TRY_CAST'}({ref} AS {kind})"
    return f"TRY({ref})" if attempt else ref


def checked_sql(
    bad: str, ref: str, good: str, where: str, why: str, hint: str = "correct the data"
) -> str:
    """`good`, unless `bad` is true of a value: then an error that shows the value."""
    before, after = refusal(f"{where}: \0 {why}", hint).split("\0")
    shown = f"left(TRY(CAST({ref} AS VARCHAR)), 100)"
    told = f"concat({text_literal(before)}, {shown}, {text_literal(after)})"
    return f"CASE WHEN {bad} THEN error({told}) ELSE {good} END"


def _mismatch(column: Column, shape: DataShape, where: str) -> Invalid:
    given = shape.type if shape.children else type_name(shape.type)
    wanted = column.type if column.is_nested else column.duckdb_type
    hint = "convert it before writing"
    if shape.computed:
        hint = _explicit(wanted)
    elif given.startswith(("DOUBLE", "FLOAT")):
        hint = (
            "round or cast it before writing; a pandas column of integers with gaps is"
            " astype('Int64')"
        )
    elif given == "VARCHAR":
        hint = "parse the text before writing"
    what = "the expression gives" if shape.computed else "the data has"
    return Invalid(f"{where} is {wanted}, and {what} {given}", hint=hint)


_FRACTIONS = {
    kind: digits
    for kind, digits in FRACTION_DIGITS.items()
    if kind in MOMENTS - {"date"} or kind in ("time", "time_ns")
}


def from_text(column: Column, ref: str, where: str) -> str:
    """Text of a CSV file as the column's type: all of it, with no digit lost."""
    if column.type == "varchar":
        return ref
    if column.is_nested:
        return _nested_text(column, ref, where)
    if column.type in ("json", "uuid", "timetz", "geometry"):
        return _scalar(column, DataShape(column.name, "varchar"), ref, where)
    if column.type == "timestamp_us":
        column = replace(column, type="timestamp")
    kind = column.duckdb_type
    good = f"TRY(CAST({ref} AS {kind}))"
    bad = [f"{ref} IS NOT NULL AND {good} IS NULL"]
    if column.type in INTEGERS or column.type in WIDE:
        bad.append(f"NOT regexp_full_match({ref}, '\\s*[+-]?[0-9]+\\s*')")
    if column.type in WIDE:
        low, high = WIDE[column.type]
        bad.append(f"{good} NOT BETWEEN {low} AND {high}")
    if (most := scale(column.type)) is not None:
        digits = f"\\s*[+-]?[0-9]*(\\.[0-9]{{0,{most}}}0*)?\\s*"
        bad.append(f"NOT regexp_full_match({ref}, '{digits}')")
    if column.type == "date":
        bad.append(f"contains({ref}, ':')")
    if (digits_ := _FRACTIONS.get(column.type)) is not None:
        bad.append(f"regexp_matches({ref}, '\\.[0-9]{{{digits_}}}0*[1-9]')")
    if column.type == "timestamp_ns":
        bad.append(f"regexp_matches({ref}, ':[0-9.]*\\s*[+-]')")
    elif column.type in MOMENTS - {"date"}:
        good = f"TRY(CAST(CAST({ref} AS TIMESTAMPTZ) AS {kind}))"
        bad[0] = f"{ref} IS NOT NULL AND {good} IS NULL"
    bad = [f"({each})" for each in bad]
    return checked_sql(" OR ".join(bad), ref, good, where, f"does not fit {kind} exactly")


def _nested_text(column: Column, ref: str, where: str) -> str:
    """The text is taken apart first, so that each part is looked at as text."""
    parts = f"TRY(CAST({ref} AS {_of_text(column).duckdb_type}))"
    bad = f"{ref} IS NOT NULL AND {parts} IS NULL"
    good = expression(column, _text_shape(column), parts, where)
    return checked_sql(bad, ref, good, where, f"is not a {column.type}")


def _of_text(column: Column) -> Column:
    kind = column.type if column.is_nested else "varchar"
    return replace(column, type=kind, children=tuple(map(_of_text, column.children)))


def _text_shape(column: Column) -> DataShape:
    kind = column.type if column.is_nested else "text"
    return DataShape(column.name, kind, tuple(map(_text_shape, column.children)))
