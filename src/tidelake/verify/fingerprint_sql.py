"""The lives of rows as DuckDB SQL: from which snapshot to which each was there, and its hash.

How a row is hashed is part of the format (docs/format.md): changing it here would make every
fingerprint that was ever kept look like a changed past.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.engine.parquet.deletions import DELETED_AT, deletions_sql
from tidelake.model.file import DataFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION, ROW_SNAPSHOT, Column
from tidelake.model.types import FLOATS
from tidelake.plan.scan import ScanPlan
from tidelake.verify.values import Content

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Epoch:
    """A time in which a table has the same columns: snapshots from `since` on, before `until`."""

    columns: tuple[Column, ...]
    since: int
    until: int = FOREVER


def live(
    work: Workbench,
    name: str,
    plan: ScanPlan,
    epoch: Epoch,
    ends: Sequence[tuple[int, int, int]],
    *,
    hashed: bool,
    without: str | None = None,
) -> None:
    """A view of (id, born, died, upper, lower): every row that the epoch has seen, but for those at
    positions in a relation (pos) `without` which it is to be. It is read as often as it is asked: a
    file may have more rows than memory has room for.

    Requires: the plan's files have their whole lives, and it filters nothing. `ends` are of
    rows in the catalog: (row id, begin, end).
    """
    connection = work.connection
    every = _without_deletes(plan)
    rows = work.scan(every)
    if without is not None:
        rows = f"SELECT r.* FROM ({rows}) AS r ANTI JOIN {without} AS w ON w.pos = r.{ROW_POSITION}"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {name}_rows AS {rows}")
    gone = deletions_sql(work, plan.files)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name}_gone AS {gone}")
    _keep(work, f"{name}_files", _file_values(plan.files))
    _keep(work, f"{name}_ends", ends)
    digest = _digest(every.columns) if hashed else "repeat('0', 32)"
    own = f"CASE WHEN f.c = 1 THEN r.{ROW_SNAPSHOT} ELSE 0 END"
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT id, born, died,"
        " ('0x' || substring(digest, 1, 16))::UBIGINT::HUGEINT AS upper,"
        " ('0x' || substring(digest, 17, 16))::UBIGINT::HUGEINT AS lower"
        f" FROM (SELECT r.{ROW_NUMBER} AS id, {digest} AS digest,"
        f" greatest(COALESCE(f.b, r.{ROW_SNAPSHOT}), {own}, {epoch.since}) AS born,"
        f" least(d.{DELETED_AT}, f.d, e.c, {epoch.until}) AS died FROM {name}_rows r"
        f" LEFT JOIN {name}_files f ON f.a = r.{ROW_FILE}"
        f" LEFT JOIN {name}_gone d ON d.{ROW_FILE} = r.{ROW_FILE}"
        f" AND d.{ROW_POSITION} = r.{ROW_POSITION}"
        f" LEFT JOIN {name}_ends e ON r.{ROW_FILE} IS NULL AND e.a = r.{ROW_NUMBER}"
        f" AND e.b = r.{ROW_SNAPSHOT}) WHERE born < died"
    )


def _without_deletes(plan: ScanPlan) -> ScanPlan:
    """All rows of the files, their columns under names that no row's lineage has."""
    renamed = tuple(replace(c, name=f"v{c.id}") for c in plan.columns)
    bare = tuple(f._replace(deletes=(), deleted_positions=(), deleted_at=()) for f in plan.files)
    lineage = (ROW_NUMBER, ROW_FILE, ROW_POSITION, ROW_SNAPSHOT)
    output = (*(c.name for c in renamed), *lineage)
    return replace(plan, snapshot_id=FOREVER, columns=renamed, output=output, files=bare)


def _file_values(files: Sequence[DataFile]) -> list[tuple[int, int, int, int]]:
    """Id, first snapshot, whether rows have their own, last snapshot."""
    return [
        (
            file.id,
            file.begin_snapshot,
            int(file.partial_max is not None),
            FOREVER if file.end_snapshot is None else file.end_snapshot,
        )
        for file in files
    ]


def _keep(work: Workbench, name: str, rows: Sequence[tuple[int, ...]]) -> None:
    """A table with columns a, b, c, d as far as there are values."""
    work.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {name} (a BIGINT, b BIGINT, c BIGINT, d BIGINT)"
    )
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        marks = ", ".join(f"unnest(${place}::BIGINT[])" for place in range(1, len(columns) + 1))
        names = ", ".join("abcd"[: len(columns)])
        work.connection.execute(f"INSERT INTO {name} ({names}) SELECT {marks}", columns)


def shared_ids(work: Workbench, name: str, most: int = 1000) -> list[tuple[int, int, int]]:
    """Rows of which another with the same id was there at the same time: id, and since and until
    when both were."""
    return work.connection.execute(
        "SELECT id, born, least(died, before) FROM (SELECT *, max(died) OVER (PARTITION BY id"
        " ORDER BY born, died ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
        f" FROM {name}) WHERE before > born ORDER BY id, born LIMIT {most}"
    ).fetchall()


def differences(work: Workbench, name: str, epoch: Epoch) -> dict[int, Content]:
    """What came and went at each snapshot, as what to add to the content before."""
    rows = work.connection.execute(
        "WITH spans AS MATERIALIZED (SELECT born, died, count(*) AS n, sum(upper) AS u,"
        f" sum(lower) AS l FROM {name} GROUP BY born, died)"
        " SELECT snapshot, sum(n), sum(u), sum(l) FROM ("
        "SELECT born AS snapshot, n, u, l FROM spans UNION ALL"
        f" SELECT died, -n, -u, -l FROM spans WHERE died < {epoch.until})"
        " GROUP BY snapshot ORDER BY snapshot"
    ).fetchall()
    return {row[0]: Content(int(row[1]), int(row[2]), int(row[3])) for row in rows}


def _digest(columns: Sequence[Column]) -> str:
    own = Column(0, ROW_NUMBER, "int64")
    return digest_sql([(each, f"r.{quote(each.name)}") for each in (own, *columns)])


def digest_sql(values: Iterable[tuple[Column, str]]) -> str:
    """The hash of values, each of a column, as 32 hexadecimal digits."""
    parts = [_framed_value(column, value, 0) for column, value in values]
    return f"md5({' || '.join(parts)})"


def _framed(text: str) -> str:
    """`n` for NULL, else the text with its length before it, so that nothing runs together. The
    lambda names the text, which would otherwise double at every depth."""
    return f"list_transform([{text}], lambda t: COALESCE(length(t) || ':' || t, 'n'))[1]"


def _framed_value(column: Column, value: str, depth: int) -> str:
    text = canonical(column, value, depth)
    if column.is_nested:
        return _framed(text)
    return f"COALESCE(length({text}) || ':' || {text}, 'n')"


def canonical(column: Column, value: str, depth: int) -> str:
    """A VARCHAR expression that differs where values do; NULL for NULL."""
    kind = column.type
    if kind == "struct":
        inside = " || ".join(
            _framed_value(c, f"struct_extract({value}, {text_literal(c.name)})", depth)
            for c in column.children
        )
        return f"CASE WHEN {value} IS NOT NULL THEN {inside} END"
    if kind == "list":
        return _many(column.children[0], value, depth)
    if kind == "map":
        keys = _many(column.children[0], f"map_keys({value})", depth)
        values = _many(column.children[1], f"map_values({value})", depth)
        return f"CASE WHEN {value} IS NOT NULL THEN {_framed(keys)} || {_framed(values)} END"
    form = _FORMS.get("float" if kind in FLOATS else kind, "CAST({0} AS VARCHAR)")
    return form.format(value)


def _many(element: Column, value: str, depth: int) -> str:
    x = f"x{depth}"
    inside = _framed_value(element, x, depth + 1)
    return f"array_to_string(list_transform({value}, lambda {x}: {inside}), '')"


# Text of floats is not the same in every version; a zone may be lost on the way through Parquet.
_FORMS = {
    "float": "CASE WHEN isnan({0}) THEN 'nan' ELSE CAST(CAST({0} AS BIT) AS VARCHAR) END",
    "blob": "hex({0})",
    "geometry": "hex(ST_AsWKB({0}))",
    "variant": "variant_typeof({0}) || ' ' || CAST({0} AS VARCHAR)",
    "timestamptz": "CASE WHEN isfinite({0}) THEN CAST(epoch_us({0}) AS VARCHAR)"
    " ELSE CAST({0} AS VARCHAR) END",
    "timetz": "CAST((epoch_us(CAST({0} AS TIME)) - date_part('timezone', {0}) * 1000000"
    " + 86400000000) % 86400000000 AS VARCHAR)",
}
