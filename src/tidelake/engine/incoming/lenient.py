"""Rows of files that are taken one by one: those that do not fit are set apart, with the reason.

The values are those that `conform` makes; where it would end with an error, the row is bad.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelake.engine.incoming.conform import DataShape, expression, filler_sql, match
from tidelake.model.names import fold, text_literal
from tidelake.model.schema import Column

FILE, LINE, REASON, RAW = "file", "line", "reason", "raw"
_ERROR = "error("


def lenient_sql(
    source: str,
    shapes: Sequence[DataShape],
    columns: Sequence[Column],
    place: str,
    kind: str,
    *,
    ignores: bool,
) -> str:
    """A SELECT of `t0`, `t1` … for the table's columns, and for every row its `file`, its `line`
    if that can be told, a `reason` if it is bad, and then `raw`, which is what it was. The source
    gives the data's columns and the name of the file. `ignores`: columns
    that the table has not are passed over. Invalid if the data has no column that a row must
    have."""
    found = _match(shapes, columns, place, ignores=ignores)
    tried, reasons = [], []
    for at, column in enumerate(columns):
        if at not in found:
            tried.append(f"{filler_sql(column, place, defaults=True)} AS t{at}")
            continue
        ref = f"c{found[at]}"
        value = expression(column, shapes[found[at]], ref, f"{place}: column {column.name!r}")
        tried.append(f"{value if column.is_nested else without_errors(value)} AS t{at}")
        reasons += _reasons(column, f"t{at}", ref)
    fields = [f"c{n}" for n in range(len(shapes))]
    numbered = kind == "parquet"
    names = [*fields, FILE]
    line = f"r.file_row_number + 1 AS {LINE}" if numbered else f"NULL::BIGINT AS {LINE}"
    reason = f"CASE {' '.join(reasons)} END" if reasons else "NULL"
    inner = (
        f"SELECT {', '.join([*tried, *fields, FILE, line])} FROM {source} AS r({', '.join(names)})"
    )
    raw = _as_json(fields, shapes) if numbered else f"[{', '.join(fields)}]"
    outer = [f"t{at}" for at in range(len(columns))]
    told = f"SELECT *, CAST({reason} AS VARCHAR) AS {REASON} FROM ({inner})"
    return (
        f"SELECT {', '.join([*outer, FILE, LINE, REASON])},"
        f" CASE WHEN {REASON} IS NOT NULL THEN {raw} END AS {RAW} FROM ({told})"
    )


def _match(
    shapes: Sequence[DataShape], columns: Sequence[Column], place: str, *, ignores: bool
) -> dict[int, int]:
    """Where the data has each of the table's columns."""
    known = {fold(column.name) for column in columns}
    wanted = [at for at, s in enumerate(shapes) if not ignores or fold(s.name) in known]
    found = match([shapes[at].name for at in wanted], columns, place)
    return {column: wanted[at] for column, at in found.items()}


def _as_json(fields: Sequence[str], shapes: Sequence[DataShape]) -> str:
    packed = ", ".join(
        f"{text_literal(shape.name)}, {field}" for field, shape in zip(fields, shapes, strict=True)
    )
    return f"[CAST(json_object({packed}) AS VARCHAR)]"


def _reasons(column: Column, value: str, ref: str) -> list[str]:
    told = text_literal(f"column {column.name!r}: ")
    shown = f"left(CAST({ref} AS VARCHAR), 100)"
    kind = text_literal(f" does not fit {column.duckdb_type}")
    found = [f"WHEN {value} IS NULL AND {ref} IS NOT NULL THEN concat({told}, {shown}, {kind})"]
    if not column.nullable:
        null = text_literal(f"column {column.name!r} may not be null")
        found.append(f"WHEN {ref} IS NULL THEN {null}")
    return found


def without_errors(sql: str) -> str:
    """The expression with NULL where it would raise an error."""
    made, at = [], 0
    while (start := sql.find(_ERROR, at)) >= 0:
        end = _closing(sql, start + len(_ERROR))
        made += [sql[at:start], "NULL"]
        at = end
    return "".join([*made, sql[at:]])


def _closing(sql: str, at: int) -> int:
    """Behind the bracket that closes the one before this place. Texts are in single quotes."""
    depth, quoted = 1, False
    while depth:
        if sql[at] == "'":
            quoted = not quoted
        elif not quoted:
            depth += (sql[at] == "(") - (sql[at] == ")")
        at += 1
    return at
