"""Statistics of foreign files, in DuckLake's text form: exact, or not there at all.

DuckDB answers MIN and MAX from these numbers and leaves out files by them, so a bound that a
writer has cut short, or that leaves NaN out of account, is no bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.engine.parquet.footer import INT96, NULLS, Chunk, Footer, FooterField
from tidelake.engine.parquet.match_fields import Match
from tidelake.errors import Invalid
from tidelake.model.change import ColumnFacts
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, TIMESTAMPS, is_decimal

if TYPE_CHECKING:
    import duckdb

_BOUNDED = INTEGERS | TIMESTAMPS | {"boolean", "date", "time", "varchar", "uuid"}
_BOOLEANS = {"true": "1", "false": "0"}
# Polars cuts texts at 64 bytes, at the end of a character, and does not say so.
_NEVER_CUT = 60


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one leaf column in one file, before its bounds are compared.

    `lows` and `highs` hold a text for every row group that has values; None means unknown.
    """

    path: str
    column: Column
    values: int | None
    nulls: int | None
    bytes: int | None = None
    lows: tuple[str, ...] | None = None
    highs: tuple[str, ...] | None = None
    contains_nan: bool | None = None


def evidence(footer: Footer, match: Match) -> list[Evidence]:
    """Of every leaf column of the table, whether the file has it or not."""
    found = [of_field(footer, column, field) for column, field in match.leaves]
    found += [constant(footer, column, value) for column, value in match.folders]
    for column, is_top in match.absent:
        found += _of_absent(footer, column, is_top=is_top)
    return found


def constant(footer: Footer, column: Column, value: str | None) -> Evidence:
    """A column that has the same value in every row."""
    if value is None:
        return Evidence(footer.path, column, 0, footer.rows, 0, contains_nan=_no_nan(column))
    is_nan = column.type in FLOATS and value.lower() == "nan"
    bounds = None if is_nan or not _is_bounded(column, constant=True) else (value,)
    nan = is_nan if column.type in FLOATS else None
    return Evidence(footer.path, column, footer.rows, 0, 0, bounds, bounds, nan)


def _of_absent(footer: Footer, column: Column, *, is_top: bool) -> list[Evidence]:
    """Within a struct nobody knows how many structs there are, nor how many are null."""
    if is_top and not column.is_nested:
        return [constant(footer, column, column.initial_default)]
    has_default = any(below.initial_default is not None for below in column.walk())
    values = None if has_default else 0
    nulls = footer.rows if is_top and not has_default else None
    return [
        Evidence(
            footer.path,
            leaf,
            values,
            nulls,
            bytes=0,
            contains_nan=_no_nan(leaf) if values == 0 else None,
        )
        for leaf in column.leaves()
    ]


def of_field(footer: Footer, column: Column, field: FooterField) -> Evidence:
    assert field.leaf is not None
    chunks = footer.chunks.get(field.leaf, ())
    nulls = _total(_nulls(chunk, field) for chunk in chunks)
    values = None if nulls is None else sum(chunk.values for chunk in chunks) - nulls
    if field.is_repeated and values == 0:
        # DuckDB counts a null in a list of structs twice, so that there may be values after all.
        values = nulls = None
    lows = highs = None
    if field.leaf in footer.ordered and field.type != INT96 and _is_bounded(column):
        full = [chunk for chunk in chunks if chunk.low or _nulls(chunk, field) != chunk.values]
        lows = _known(_whole(c.low, c.low_is_exact, column) for c in full)
        highs = _known(_whole(c.high, c.high_is_exact, column) for c in full)
    size = sum(chunk.bytes for chunk in chunks)
    nan = _no_nan(column) if values == 0 else None
    return Evidence(footer.path, column, values, nulls, size, lows, highs, nan)


def _no_nan(column: Column) -> bool | None:
    return False if column.type in FLOATS else None


def _nulls(chunk: Chunk, field: FooterField) -> int | None:
    if field.type == NULLS:
        return chunk.values
    if chunk.nulls is None:
        return None
    return chunk.nulls if 0 <= chunk.nulls <= chunk.values else None


def _is_bounded(column: Column, *, constant: bool = False) -> bool:
    """Bounds of floats say nothing about NaN, which is greater than all of them."""
    return (
        column.type in _BOUNDED
        or is_decimal(column.type)
        or (constant and column.type in FLOATS | {"time_ns"})
    )


def _whole(text: str | None, is_exact: bool | None, column: Column) -> str | None:
    if text is None or is_exact is False or "\0" in text:
        return None
    if column.type == "varchar" and not is_exact and len(text.encode()) > _NEVER_CUT:
        return None
    return text


def _known(texts: Iterable[str | None]) -> tuple[str, ...] | None:
    found = tuple(texts)
    return None if not found or None in found else tuple(t for t in found if t is not None)


def _total(counts: Iterable[int | None]) -> int | None:
    found = list(counts)
    return None if None in found else sum(count for count in found if count is not None)


def column_facts(
    connection: duckdb.DuckDBPyConnection, found: Sequence[Evidence]
) -> list[ColumnFacts]:
    """The facts behind each piece of evidence, in order.

    Requires: the connection's time zone is UTC.
    """
    lows = _bounds(connection, "min", found, [e.lows for e in found])
    highs = _bounds(connection, "max", found, [e.highs for e in found])
    return [
        ColumnFacts(
            column_id=each.column.id,
            bytes=each.bytes,
            values=each.values,
            nulls=each.nulls,
            min=lows.get(place),
            max=highs.get(place),
            contains_nan=each.contains_nan,
        )
        for place, each in enumerate(found)
    ]


def _bounds(
    connection: duckdb.DuckDBPyConnection,
    function: str,
    found: Sequence[Evidence],
    texts: Sequence[tuple[str, ...] | None],
) -> dict[int, str]:
    """The least or greatest text of each list, compared and spelled as the column's type."""
    by_type: dict[str, list[tuple[int, str]]] = {}
    for place, (each, known) in enumerate(zip(found, texts, strict=True)):
        for text in known or ():
            by_type.setdefault(each.column.duckdb_type, []).append((place, text))
    bounds = {}
    for kind, pairs in by_type.items():
        rows = connection.execute(
            f"SELECT place, CAST({function}(TRY_CAST(text AS {kind})) AS VARCHAR),"
            f" count(*) = count(TRY_CAST(text AS {kind}))"
            " FROM (SELECT unnest($1) AS place, unnest($2) AS text) GROUP BY place",
            [[place for place, _ in pairs], [text for _, text in pairs]],
        ).fetchall()
        for place, bound, fits in rows:
            if not fits:
                raise _misfit(found[place], texts[place])
            bounds[place] = _BOOLEANS.get(bound, bound) if kind == "BOOLEAN" else bound
    return bounds


def _misfit(found: Evidence, texts: Sequence[str] | None) -> Invalid:
    column = found.column
    shown = ", ".join(repr(text) for text in (texts or ())[:3])
    return Invalid(
        f"{found.path}: column {column.name} has values that are no {column.duckdb_type}, such"
        f" as one of {shown}",
        hint="correct the file or its folder, or give the column a type that holds them",
    )
