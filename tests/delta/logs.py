"""Delta tables made by hand: logs with just what a test is about, and what they mean."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import tidelake
from tidelake.delta.log.vectors import encode_vector, file_name
from tidelake.testing.place import Place

Action = dict[str, Any]
Row = tuple[Any, ...]
INTS = [("x", "integer")]
FAR = 4096
"""From here on a vector that is to be large enough for a file names every second row."""


class Log:
    """A table that is written action by action."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "_delta_log"
        self.folder.mkdir(parents=True)
        self.version = -1

    def commit(self, *actions: Action, operation: str = "WRITE", **said: Any) -> int:
        self.version += 1
        info = {"commitInfo": {"operation": operation, **said}}
        text = "\n".join(json.dumps(each) for each in [info, *actions]) + "\n"
        (self.folder / f"{self.version:020d}.json").write_text(text)
        return self.version

    def begin(
        self,
        columns: Sequence[tuple[str, Any]] = INTS,
        *actions: Action,
        features: Sequence[str] = (),
        **more: Any,
    ) -> int:
        return self.commit(
            protocol(features), metadata(columns, **more), *actions, operation="CREATE TABLE"
        )

    def add(
        self,
        values: Mapping[str, Any] | pa.Table,
        name: str | None = None,
        *,
        path: str | None = None,
        stats: Mapping[str, Any] | str | None = None,
        partition: Mapping[str, str | None] | None = None,
        gone: Iterable[int] | None = None,
        **more: Any,
    ) -> Action:
        """Write a file, and the action that adds it."""
        name = name or f"part-{uuid.uuid4().hex}.parquet"
        table = values if isinstance(values, pa.Table) else pa.table(values)
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place)
        told = {"numRecords": table.num_rows} if stats is None else stats
        found = {
            "path": path or quote(name, safe="/="),
            "partitionValues": dict(partition or {}),
            "size": place.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": told if isinstance(told, str) else json.dumps(told),
        }
        if gone is not None:
            found["deletionVector"] = self.vector(gone)
        return {"add": found | more}

    def vector(self, positions: Iterable[int], *, filed: bool = False) -> Action:
        own = uuid.uuid4()
        listed = list(positions)
        made, body = encode_vector([*listed, *range(FAR, FAR + 9000, 2)], own)
        if not filed:
            made, body = encode_vector(listed, own)
        if body is not None:
            (self.root / file_name(own)).write_bytes(body)
        return made.fields()


def again(action: Action, vector: Action | None) -> Action:
    """The same file with another deletion vector."""
    rest = {key: value for key, value in action["add"].items() if key != "deletionVector"}
    return {"add": rest | ({} if vector is None else {"deletionVector": vector})}


def remove(action: Action, **more: Any) -> Action:
    added = action["add"]
    found = {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}
    if "deletionVector" in added:
        found["deletionVector"] = added["deletionVector"]
    return {"remove": found | more}


def protocol(features: Sequence[str] = (), reader: int = 1, writer: int = 2) -> Action:
    said: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    if features:
        said = {"minReaderVersion": 3, "minWriterVersion": 7}
        said |= {"readerFeatures": list(features), "writerFeatures": list(features)}
    return {"protocol": said}


def metadata(
    columns: Sequence[Any],
    partitioned_by: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    **more: Any,
) -> Action:
    fields = [each if isinstance(each, dict) else column(*each) for each in columns]
    said = {
        "id": "0d3c1c3e-0000-4000-8000-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": list(partitioned_by),
        "configuration": dict(configuration or {}),
        "createdTime": 0,
    }
    return {"metaData": said | more}


def column(name: str, kind: Any, *, nullable: bool = True, **said: Any) -> Action:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": said}


def mapped(name: str, kind: Any, number: int, physical: str) -> Action:
    said = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return column(name, kind, **said)


def lake_at(place: Path) -> tidelake.Lake:
    return Place.at("sqlite", place).open()


def brought(place: Path, log: Log, **options: Any) -> list[Row]:
    """The rows of a table that is imported whole, sorted."""
    with lake_at(place) as lake:
        tidelake.import_delta(lake, str(log.root), "t", **options)
        report = lake.verify(deep=True)
        assert report.ok, str(report)
        return rows(lake, "t")


def rows(lake: tidelake.Lake, table: str, at: int | None = None) -> list[Row]:
    found = lake.table(table) if at is None else lake.table(table).known_at(at)
    return plain(found.to_arrow())


def plain(table: pa.Table) -> list[Row]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def snapshots_by_version(lake: tidelake.Lake, table: str) -> dict[int, int]:
    """The snapshot of every Delta version that was imported."""
    found = {}
    for snapshot in lake.table(table).snapshots():
        if (snapshot.message or "").startswith("Delta version "):
            said = (snapshot.message or "").removeprefix("Delta version ").partition(":")[0]
            found[int(said)] = snapshot.snapshot_id
    return found


def checkpoint(log: Log, version: int, name: str | None = None, **changes: Any) -> Path:
    """A checkpoint of all JSON commits up to a version, by DuckDB from the actions themselves.
    `changes` may give other columns for adds."""
    live: dict[tuple[str, str], Action] = {}
    others: dict[str, Action] = {}
    for number in range(version + 1):
        for line in (log.folder / f"{number:020d}.json").read_text().splitlines():
            ((kind, said),) = json.loads(line).items()
            key = (said.get("path", ""), json.dumps(said.get("deletionVector")))
            if kind == "add":
                live[key] = said
            elif kind == "remove":
                live.pop(key, None)
            elif kind in ("protocol", "metaData"):
                others[kind] = said
    adds = [changes.get("adds", lambda add: add)(dict(add)) for add in live.values()]
    lines = [{kind: said} for kind, said in others.items()] + [{"add": add} for add in adds]
    lines += changes.get("more", [])
    place = log.folder / (name or f"{version:020d}.checkpoint.parquet")
    place.parent.mkdir(exist_ok=True)
    write_checkpoint(place, lines)
    return place


def write_checkpoint(place: Path, lines: Sequence[Action]) -> None:
    """Actions as rows of a Parquet file; what none of them has is no column of it."""
    text = place.with_suffix(".ndjson")
    text.write_text("\n".join(json.dumps(line) for line in lines))
    maps = ("partitionValues", "configuration")
    with duckdb.connect() as connection:
        source = f"read_json('{text}', format = 'newline_delimited', map_inference_threshold = -1)"
        found = connection.sql(f"SELECT * FROM {source}")
        chosen = []
        for kind, shape in zip(found.columns, found.types, strict=True):
            parts = []
            for name, _ in shape.children:
                value = f'"{kind}"."{name}"'
                if name in maps:
                    value = f"CAST(to_json({value}) AS MAP(VARCHAR, VARCHAR))"
                parts.append(f'"{name}" := {value}')
            packed = f"struct_pack({', '.join(parts)})"
            chosen.append(f'CASE WHEN "{kind}" IS NULL THEN NULL ELSE {packed} END AS "{kind}"')
        connection.execute(f"COPY (SELECT {', '.join(chosen)} FROM {source}) TO '{place}'")
    text.unlink()
