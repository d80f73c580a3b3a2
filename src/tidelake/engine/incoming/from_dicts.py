"""Rows that come as dicts: they have no types, so the table's own are taken.

A few rows become part of the SELECT's text, which is by far the quickest way for a single one;
more become an Arrow table. Either way the values have been converted here, so that an error names
its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from tidelake.duck import settle
from tidelake.engine.declare.type_fit import INTEGERS, WIDE
from tidelake.engine.incoming.arrow_shapes import scan
from tidelake.engine.incoming.conform import converted_sql, default, filler_sql, unknown
from tidelake.engine.incoming.python_values import Converter, converter, is_missing
from tidelake.engine.local.errors import refusal
from tidelake.errors import Invalid
from tidelake.model.literal import sql_literal
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_LITERALS = 240
CHUNK = 10_000
_MISSING = object()

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Field:
    """How one column is filled: values are converted, then cast to its type."""

    column: Column
    convert: Converter


@dataclass(frozen=True, slots=True)
class _Plan:
    fields: tuple[_Field, ...]
    names: frozenset[str]
    folded: Mapping[str, str]


@lru_cache(maxsize=128)
def plan_of(columns: tuple[Column, ...]) -> _Plan:
    fields = tuple(_Field(column, converter(column)) for column in columns)
    names = frozenset(column.name for column in columns)
    return _Plan(fields, names, {fold(column.name): column.name for column in columns})


@dataclass(frozen=True, slots=True)
class _Taken:
    """Converted values by column; `missing` are flags by row, for columns that not all rows had;
    `absent` are columns that no row had."""

    values: list[list[Any]]
    missing: dict[int, list[bool]]
    absent: frozenset[int]


def rows_sql(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    rows: Sequence[Row],
    columns: Sequence[Column],
    place: str,
    *,
    defaults: bool,
) -> tuple[str, frozenset[str]]:
    """A SELECT of the rows, and the names of the columns that they had."""
    plan = plan_of(tuple(columns))
    if not rows:
        return _nothing(plan), frozenset(plan.names)
    taken = take(plan, rows, 1, place, defaults=defaults)
    present = frozenset(
        field.column.name for at, field in enumerate(plan.fields) if at not in taken.absent
    )
    if len(rows) == 1:
        references = [
            _literal(f.column, v[0]) for f, v in zip(plan.fields, taken.values, strict=True)
        ]
        return _select(plan, references, taken, place, defaults), present
    references = [f"c{at}" for at in range(len(plan.fields))]
    select = _select(plan, references, taken, place, defaults)
    if len(rows) * len(plan.fields) <= _LITERALS:
        return f"{select} FROM {_values(plan, taken)}", present
    table = _arrow(plan, taken, taken.missing)
    settle(connection).register(name, table)
    return f"{select} FROM {scan(name, table.schema, table.column_names)}", present


def value_sql(column: Column, value: Any, place: str) -> str:
    """One value for a column, in SQL and in the column's type."""
    field = plan_of((column,)).fields[0]
    (found,) = _converted(field, [value], None, None, place)
    return converted_sql(column, _literal(column, found))


def converted_array(column: Column, values: list[Any], place: str) -> pa.Array:
    """Values for a column, one for each row, as `conform.converted_sql` takes them."""
    import pyarrow as pa

    field = plan_of((column,)).fields[0]
    return pa.array(_converted(field, values, None, 1, place), _transport(column))


def _nothing(plan: _Plan) -> str:
    chosen = (
        f"CAST(NULL AS {f.column.duckdb_type}) AS {quote(f.column.name)}" for f in plan.fields
    )
    return f"SELECT {', '.join(chosen)} WHERE false"


def rows_stream(
    name: str,
    first: list[Row],
    rest: Iterator[Row],
    columns: Sequence[Column],
    place: str,
    defaults: bool,
) -> tuple[pa.RecordBatchReader, str, frozenset[str]]:
    """A reader that converts rows as they are asked for, the SELECT over it under `name`, and the
    columns that the first rows had; when nothing has defaults, all must have the same."""
    import pyarrow as pa

    plan = plan_of(tuple(columns))
    begin = take(plan, first, 1, place, defaults=defaults)
    flagged = [at for at, f in enumerate(plan.fields) if defaults and f.column.default is not None]
    known = _Taken([], {at: [] for at in flagged}, frozenset() if defaults else begin.absent)
    batch = _arrow(plan, begin, flagged)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from batch.to_batches()
        number = len(first) + 1
        while chunk := list(islice(rest, CHUNK)):
            yield from _later(plan, chunk, number, place, known, defaults).to_batches()
            number += len(chunk)

    references = [f"c{at}" for at in range(len(plan.fields))]
    select = _select(plan, references, known, place, defaults)
    names = (f.column.name for at, f in enumerate(plan.fields) if at not in begin.absent)
    reader = pa.RecordBatchReader.from_batches(batch.schema, batches())
    source = scan(name, batch.schema, batch.column_names)
    return reader, f"{select} FROM {source}", frozenset(names)


def _later(
    plan: _Plan, rows: list[Row], number: int, place: str, known: _Taken, defaults: bool
) -> pa.Table:
    try:
        taken = take(plan, rows, number, place, defaults=defaults)
        if not defaults and taken.absent != known.absent:
            raise Invalid(
                f"{place}: rows from {number} on have other keys than those before",
                hint="give all rows the same keys",
            )
    except Invalid as error:
        raise ValueError(refusal(error.message, error.hint or "")) from error
    return _arrow(plan, taken, known.missing)


def take(plan: _Plan, rows: Sequence[Row], number: int, place: str, *, defaults: bool) -> _Taken:
    rows = [_spelled(plan, row, number + n, place) for n, row in enumerate(rows)]
    full = all(len(row) == len(plan.fields) for row in rows)
    values, missing, absent = [], {}, set()
    for at, field in enumerate(plan.fields):
        name = field.column.name
        given = [row.get(name, _MISSING) for row in rows]
        if not full and (flags := [value is _MISSING for value in given]).count(True):
            _check_missing(field.column, flags, number, place, defaults)
            given = [None if value is _MISSING else value for value in given]
            absent.update([at] if all(flags) else [])
            missing[at] = flags
        values.append(_converted(field, given, missing.get(at), number, place))
    return _Taken(values, missing, frozenset(absent))


def _spelled(plan: _Plan, row: Row, number: int, place: str) -> Row:
    """The row under the names that the table has for its columns."""
    if not isinstance(row, Mapping):
        raise Invalid(
            f"{place}: row {number} is a {type(row).__name__}, not a dict", hint="give dicts only"
        )
    if row.keys() <= plan.names:
        return row
    found: dict[str, Any] = {}
    for key, value in row.items():
        name = key if key in plan.names else plan.folded.get(fold(str(key)))
        if name is None:
            columns = [field.column for field in plan.fields]
            raise unknown([str(key)], columns, f"{place}: row {number}")
        if name in found:
            raise Invalid(
                f"{place}: row {number} has {name!r} twice", hint="case does not tell columns apart"
            )
        found[name] = value
    return found


def _check_missing(
    column: Column, flags: list[bool], number: int, place: str, defaults: bool
) -> None:
    at = number + flags.index(True)
    if not defaults and not all(flags):
        raise Invalid(
            f"{place}: row {at} has no {column.name!r}, and others have",
            hint="give all rows the same keys",
        )
    if defaults and not column.nullable and column.default is None:
        raise Invalid(
            f"{place}: row {at} has no {column.name!r}, which may not be null and has no default",
            hint=f"give the row a value for {column.name!r}",
        )


def _converted(
    field: _Field, given: list[Any], missing: list[bool] | None, number: int | None, place: str
) -> list[Any]:
    convert = field.convert
    found: list[Any] = []
    for at, value in enumerate(given):
        if value is None or is_missing(value):
            if not field.column.nullable and not (missing and missing[at]):
                raise Invalid(
                    f"{_spot(field, number, at, place)} may not be null",
                    hint="give it a value, or leave the row out",
                )
            found.append(None)
            continue
        try:
            found.append(convert(value))
        except (ValueError, TypeError) as error:
            raise Invalid(
                f"{_spot(field, number, at, place)}: {error}", hint=_type_hint(field.column, value)
            ) from error
    return found


def _type_hint(column: Column, value: object) -> str:
    """Who gives a list where one value is wanted may mean a whole column."""
    hint = f"the column is {column.duckdb_type}"
    several = isinstance(value, list | tuple) or bool(getattr(value, "shape", None))
    return f"{hint}; a dict is one row: pyarrow.table({{…}}) takes columns" if several else hint


def _spot(field: _Field, number: int | None, at: int, place: str) -> str:
    row = "" if number is None else f"row {number + at}: "
    return f"{place}: {row}column {field.column.name!r}"


def _select(
    plan: _Plan, references: Sequence[str], taken: _Taken, place: str, defaults: bool
) -> str:
    chosen = []
    for at, (field, reference) in enumerate(zip(plan.fields, references, strict=True)):
        value = converted_sql(field.column, reference)
        if at in taken.absent:
            value = filler_sql(field.column, place, defaults=defaults)
        elif at in taken.missing and field.column.default is not None:
            value = f"CASE WHEN d{at} THEN {default(field.column)} ELSE {value} END"
        chosen.append(f"{value} AS {quote(field.column.name)}")
    return "SELECT " + ", ".join(chosen)


def _values(plan: _Plan, taken: _Taken) -> str:
    written = [
        [_literal(field.column, value) for value in values]
        for field, values in zip(plan.fields, taken.values, strict=True)
    ]
    written += [[str(flag) for flag in flags] for flags in taken.missing.values()]
    names = [f"c{at}" for at in range(len(plan.fields))] + [f"d{at}" for at in taken.missing]
    rows = ", ".join(f"({', '.join(row)})" for row in zip(*written, strict=True))
    return f"(VALUES {rows}) AS r({', '.join(names)})"


def _literal(column: Column, value: Any) -> str:
    if value is None:
        return "NULL"
    if column.type == "struct":
        parts = (f"{quote(c.name)} := {_literal(c, value[c.name])}" for c in column.children)
        return f"struct_pack({', '.join(parts)})"
    if column.type == "list":
        return f"[{', '.join(_literal(column.children[0], item) for item in value)}]"
    if column.type == "map":
        key, inner = column.children
        pairs = (f"{_literal(key, k)}: {_literal(inner, v)}" for k, v in value)
        return f"MAP {{{', '.join(pairs)}}}"
    return sql_literal(value)


def _arrow(plan: _Plan, taken: _Taken, flagged: Iterable[int]) -> pa.Table:
    import pyarrow as pa

    arrays = [
        pa.array(values, _transport(field.column))
        for field, values in zip(plan.fields, taken.values, strict=True)
    ]
    count = len(taken.values[0]) if taken.values else 0
    names = [f"c{at}" for at in range(len(arrays))]
    for at in flagged:
        arrays.append(pa.array(taken.missing.get(at, [False] * count), pa.bool_()))
        names.append(f"d{at}")
    return pa.table(arrays, names)


def _transport(column: Column) -> pa.DataType:
    """Arrow's type for what the converters return."""
    import pyarrow as pa

    kind = column.type
    if kind == "struct":
        return pa.struct([(child.name, _transport(child)) for child in column.children])
    if kind == "list":
        return pa.list_(_transport(column.children[0]))
    if kind == "map":
        return pa.map_(*map(_transport, column.children))
    if kind == "boolean":
        return pa.bool_()
    if kind in INTEGERS or kind in WIDE:
        return pa.uint64() if kind == "uint64" else pa.int64()
    if kind in ("float32", "float64"):
        return pa.float64()
    return pa.binary() if kind == "blob" else pa.string()
