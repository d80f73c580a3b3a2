"""Checks of files that read every row: what statistics, partition values and deletes claim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.engine.parquet.footer_shape import shapes
from tidelake.model.bounds import is_above, is_below
from tidelake.model.comparable import domain
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_FILE, Column
from tidelake.model.statistics import UNCOUNTED, ColumnStats
from tidelake.model.table import PartitionSpec
from tidelake.model.types import FLOATS
from tidelake.plan.partitioning.interface import Transform
from tidelake.plan.partitioning.sql import allow_keys, key_sql
from tidelake.plan.partitioning.transforms import transform_of
from tidelake.verify.footers import deleted_twice, problem
from tidelake.verify.values import CheckedFile, Problem

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_RESTORE = "restore the file from a copy"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column, and SQL for its values in one row: a value, or with `is_many` a list."""

    column: Column
    sql: str
    is_many: bool = False


def leaves(columns: Sequence[Column]) -> Iterator[Leaf]:
    """Every leaf of columns that a relation has under their own names."""
    for column in columns:
        yield from _below(Leaf(column, quote(column.name)))


def _below(leaf: Leaf) -> Iterator[Leaf]:
    column = leaf.column
    if column.type == "struct":
        for child in column.children:
            yield from _below(Leaf(child, *_inside(leaf, f"struct_extract({{}}, {_label(child)})")))
    elif column.type == "list" and column.children:
        yield from _below(_many(leaf, column.children[0], "{}"))
    elif column.type == "map" and len(column.children) == 2:
        yield from _below(_many(leaf, column.children[0], "map_keys({})"))
        yield from _below(_many(leaf, column.children[1], "map_values({})"))
    elif not column.is_nested:
        yield leaf


def _label(column: Column) -> str:
    return text_literal(column.name)


def _inside(leaf: Leaf, form: str) -> tuple[str, bool]:
    if not leaf.is_many:
        return form.format(leaf.sql), False
    return f"list_transform({leaf.sql}, lambda x: {form.format('x')})", True


def _many(leaf: Leaf, child: Column, form: str) -> Leaf:
    sql, was_many = _inside(leaf, form)
    return Leaf(child, f"flatten({sql})" if was_many else sql, is_many=True)


def check_rows(
    work: Workbench,
    relation: str,
    files: Sequence[CheckedFile],
    columns: Sequence[Column],
    partitions: Mapping[int, tuple[PartitionSpec, tuple[str | None, ...]]],
) -> Iterator[Problem]:
    """Compare files with a relation of all their rows, in the columns they were written with.

    `partitions` says for some files under which partitioning and with which values.
    """
    known = {column_id for file in files for column_id in file.statistics}
    wanted = [leaf for leaf in leaves(columns) if leaf.column.id in known]
    facts = ", ".join(part for leaf in wanted for part in _facts(leaf))
    rows = work.connection.execute(
        f"SELECT {ROW_FILE}, count(*){', ' if facts else ''}{facts} FROM {relation} GROUP BY 1"
    ).fetchall()
    found = {row[0]: row[1:] for row in rows}
    for file in files:
        count, *values = found.get(file.id, (0, *[None] * 5 * len(wanted)))
        if count != file.rows:
            what = f"{count:,} rows can be read, and the catalog says {file.rows:,}"
            yield problem("row-counts", file, what, _RESTORE)
        for place, leaf in enumerate(wanted):
            yield from _against(file, leaf, values[5 * place : 5 * place + 5], count)
    yield from _partition_values(work, relation, files, columns, partitions)


def _facts(leaf: Leaf) -> list[str]:
    """The least and the greatest, how many nulls, how many values, how many NaN."""
    is_float, sql = leaf.column.type in FLOATS, leaf.sql
    ordered = domain(leaf.column.type) is not None
    if leaf.is_many:
        kept = f"list_filter({sql}, lambda x: NOT isnan(x))" if is_float else sql
        low, high = f"min(list_min({kept}))", f"max(list_max({kept}))"
        nan = f"count(*) FILTER (len(list_filter({sql}, lambda x: isnan(x))) > 0)"
        nulls = values = "NULL"
    else:
        kept = f"CASE WHEN NOT isnan({sql}) THEN {sql} END" if is_float else sql
        low, high = f"min({kept})", f"max({kept})"
        nan = f"count(*) FILTER (isnan({sql}))"
        nulls, values = f"count(*) - count({sql})", f"count({sql})"
    bounds = [low, high] if ordered else ["NULL", "NULL"]
    if leaf.column.type == "timestamptz":
        bounds = [_exact_moment(bound) for bound in bounds]
    nan = nan if is_float else "0"
    return [*(f"CAST({bound} AS VARCHAR)" for bound in bounds), nulls, values, nan]


def _exact_moment(moment: str) -> str:
    """DuckDB writes moments by way of the zone's calendar, which is off far in the future."""
    plain = f"CAST(make_timestamp(epoch_us({moment})) AS VARCHAR) || '+00'"
    return f"CASE WHEN isfinite({moment}) THEN {plain} ELSE CAST({moment} AS VARCHAR) END"


def facts_of(
    work: Workbench, relation: str, columns: Sequence[Column]
) -> Iterator[tuple[Column, ColumnStats]]:
    """What all rows of a relation say of each leaf column."""
    wanted = list(leaves(columns))
    facts = ", ".join(part for leaf in wanted for part in _facts(leaf))
    row = work.connection.execute(f"SELECT {facts} FROM {relation}").fetchone()
    for place, leaf in enumerate(wanted):
        low, high, nulls, values, nans = (row or ())[5 * place : 5 * place + 5]
        yield leaf.column, ColumnStats(low, high, nulls, values, bool(nans))


def _against(file: CheckedFile, leaf: Leaf, seen: Sequence[Any], count: int) -> Iterator[Problem]:
    known = file.statistics.get(leaf.column.id)
    if known is None or not count:
        return
    wrong = list(_wrong(leaf, known, seen))
    if wrong:
        yield problem(
            "file-statistics",
            file,
            f"column {leaf.column.name} has {'; '.join(wrong)}",
            "set the column's row of ducklake_file_column_stats to what the file has, or delete"
            " that row",
        )


def _wrong(leaf: Leaf, known: ColumnStats, seen: Sequence[Any]) -> Iterator[str]:
    low, high, nulls, values, nans = seen
    kind = leaf.column.type
    if is_below(kind, low, known.min):
        yield f"the value {low!r} below the minimum {known.min!r}"
    if is_above(kind, high, known.max):
        yield f"the value {high!r} above the maximum {known.max!r}"
    if nans and known.contains_nan is False:
        yield f"{nans} NaN where the catalog says none"
    if kind in UNCOUNTED or leaf.is_many:
        return
    if known.null_count is not None and nulls != known.null_count:
        yield f"{nulls} nulls where the catalog says {known.null_count}"
    if known.value_count is not None and values != known.value_count:
        yield f"{values} values where the catalog says {known.value_count}"


def _partition_values(
    work: Workbench,
    relation: str,
    files: Sequence[CheckedFile],
    columns: Sequence[Column],
    partitions: Mapping[int, tuple[PartitionSpec, tuple[str | None, ...]]],
) -> Iterator[Problem]:
    by_spec: dict[PartitionSpec, list[CheckedFile]] = defaultdict(list)
    for file in files:
        if file.id in partitions:
            by_spec[partitions[file.id][0]].append(file)
    by_id = {column.id: column for column in columns}
    allow_keys(work.connection)
    for spec, group in by_spec.items():
        keys = []
        for place, key in enumerate(spec.keys):
            column = by_id.get(key.column_id)
            if column is not None and _is_certain(column, transform_of(key.transform)):
                keys.append((place, key_sql(column, key.transform, quote(column.name))))
        for place, sql in keys:
            rows = work.connection.execute(
                f"SELECT {ROW_FILE}, list(DISTINCT {sql}), count(*) > count({sql}) FROM {relation}"
                " GROUP BY 1"
            ).fetchall()
            seen = {row[0]: {*(row[1] or ()), *([None] if row[2] else [])} for row in rows}
            for file in group:
                said = partitions[file.id][1][place]
                others = seen.get(file.id, set()) - {said}
                if others:
                    yield problem(
                        "partition-values",
                        file,
                        f"rows of partition {sorted(map(str, others))[0]!r} are in a file of"
                        f" {said!r}",
                        "write these rows again (t.overwrite), or set the file's partition_id to"
                        " NULL and delete its values",
                    )


def _is_certain(column: Column, key: Transform) -> bool:
    """Parts of a timestamptz depend on the session that wrote them."""
    return column.type != "timestamptz" or not key.zoned


def check_deletes(work: Workbench, deletes: Sequence[CheckedFile]) -> Iterator[Problem]:
    """Positions stand in order, each once, and the catalog does not name them again."""
    plain = [f for f in deletes if f.format == "parquet" and not f.is_encrypted]
    found = shapes(work.connection, [file.path for file in plain]) if plain else {}
    groups: dict[str, list[CheckedFile]] = defaultdict(list)
    for file in plain:
        if len(found[file.path]) > 1:
            groups[found[file.path][1].name].append(file)
    for column, group in groups.items():
        listed = ", ".join(text_literal(file.path) for file in group)
        rows = work.connection.execute(
            f"SELECT file_index, count(*) FILTER (pos IS NULL OR pos <= before),"
            f" count(*) - count(DISTINCT pos) FROM (SELECT file_index, {quote(column)} AS pos,"
            f" lag({quote(column)}) OVER (PARTITION BY file_index ORDER BY file_row_number)"
            f" AS before FROM read_parquet([{listed}], hive_partitioning = false,"
            " file_row_number = true)) GROUP BY 1 HAVING count(*) FILTER"
            " (pos IS NULL OR pos <= before) > 0"
        ).fetchall()
        for place, _, repeated in rows:
            said = f", {repeated} of them twice" if repeated else ""
            yield problem(
                "delete-order",
                group[place],
                f"the positions in the file do not increase{said}: DuckDB gives up on it",
                "write the delete file again with positions in order, each once",
            )
        yield from _named_twice(work, column, [f for f in group if f.inlined_deletes])


def _named_twice(work: Workbench, column: str, files: Sequence[CheckedFile]) -> Iterator[Problem]:
    for file in files:
        rows = work.connection.execute(
            f"SELECT count(*) FROM read_parquet({text_literal(file.path)},"
            f" hive_partitioning = false) WHERE list_contains($1, {quote(column)})",
            [list(file.inlined_deletes)],
        ).fetchall()
        if rows[0][0]:
            yield deleted_twice(file, rows[0][0])
