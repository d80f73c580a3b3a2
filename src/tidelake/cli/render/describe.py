"""A table in words: what `show` says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tidelake.cli import render
from tidelake.cli.render import log
from tidelake.model.settings import PREFIX
from tidelake.plan.partitioning.transforms import transform_of

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.model.schema import Column, Schema
    from tidelake.model.table import PartitionSpec, SortKey


def table(lake: Lake, name: str, *, last: int) -> dict[str, Any]:
    """All of it, as `--json` prints it. Requires: the lake is pinned."""
    found = lake.table(name)
    info = found.info
    files = found.files()
    snapshots = found.snapshots()
    return {
        "name": found.name,
        "known_at": lake.snapshots()[-1].snapshot_id,
        "comment": info.comment,
        "columns": columns(info.schema),
        "key": list(found.key),
        "event_time": found.event_time,
        "coverage": asdict(kept) if (kept := found.coverage_settings) else None,
        "partitioning": _partitioning(info.partitioning, info.schema),
        "sorting": [_sort_key(key) for key in info.sorting],
        "tags": {key: value for key, value in info.tags.items() if key != "comment"},
        "rows": found.count(),
        "files": len(files),
        "bytes": sum(file.bytes for file in files),
        "files_with_deletes": sum(file.has_deletes for file in files),
        "path": info.path,
        "uuid": info.uuid,
        "snapshots": log.entries(lake, snapshots[-last:][::-1]),
    }


def columns(schema: Schema) -> list[dict[str, Any]]:
    return [_column(column) for column in schema]


def _column(column: Column) -> dict[str, Any]:
    return {
        "id": column.id,
        "name": column.name,
        "type": column.type.upper() if column.is_nested else column.duckdb_type,
        "nullable": column.nullable,
        "default": column.default,
        "comment": column.comment,
        "fields": [_column(child) for child in column.children],
    }


def _partitioning(spec: PartitionSpec | None, schema: Schema) -> list[str]:
    """`day(ts)`, `bucket(8, symbol)`, or the column's name alone."""
    names = {column.id: column.name for column in schema}
    return [
        transform_of(key.transform).shown(names.get(key.column_id, f"column {key.column_id}"))
        for key in (spec.keys if spec else ())
    ]


def _sort_key(key: SortKey) -> str:
    return f"{key.expression} {key.direction} {key.nulls.replace('_', ' ')}"


def print_table(facts: dict[str, Any]) -> None:
    render.line(f"{facts['name']}  (known at snapshot {facts['known_at']})")
    if facts["comment"]:
        render.line(render.cell(facts["comment"]))
    render.line("")
    print_columns(facts["columns"])
    render.line("")
    kept = facts["coverage"]
    summary = {
        "key": ", ".join(facts["key"]),
        "event time": facts["event_time"],
        "coverage": kept and _kept(kept),
        "partitioned by": ", ".join(facts["partitioning"]),
        "sorted by": ", ".join(facts["sorting"]),
        **{
            f"tag {key}": value
            for key, value in facts["tags"].items()
            if not key.startswith(PREFIX)
        },
        "rows": facts["rows"],
        "files": facts["files"],
        "bytes": facts["bytes"],
        "with deletes": facts["files_with_deletes"],
        "path": facts["path"],
    }
    render.facts(None, {name: value for name, value in summary.items() if value not in ("", None)})
    render.line("")
    log.print_log(facts["snapshots"])


def _kept(coverage: dict[str, Any]) -> str:
    of = f" of {', '.join(coverage['entity'])}" if coverage["entity"] else ""
    return f"buckets of {coverage['bucket']}{of} by {coverage['event_time']}"


def print_columns(found: list[dict[str, Any]]) -> None:
    render.grid(["column", "type", "null", "default", "comment"], list(_lines(found, depth=0)))


def _lines(found: list[dict[str, Any]], depth: int) -> Iterator[list[str]]:
    """A line for each column, with what is inside it indented below."""
    for column in found:
        yield [
            "  " * depth + column["name"],
            column["type"],
            "" if column["nullable"] or depth else "not null",
            column["default"] or "",
            column["comment"] or "",
        ]
        yield from _lines(column["fields"], depth + 1)
