"""A Delta table of the same files: a log with one checkpoint and no data."""

import json
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bench.catalogs import BYTES_PER_FILE, ROWS_PER_FILE, bounds, path_of

_TYPES = {"id": "long", "ts": "timestamp_ntz", "symbol": "string", "price": "double"}
_MADE_AT = 1_704_067_200_000


def delta_table(folder: Path, files: int) -> Path:
    """Its path; made on first use and kept in `folder`."""
    from deltalake import DeltaTable

    path = folder / f"delta-{files}"
    if (path / "_delta_log" / "_last_checkpoint").exists():
        return path
    shutil.rmtree(path, ignore_errors=True)
    log = path / "_delta_log"
    log.mkdir(parents=True)
    with (log / f"{0:020}.json").open("w") as commit:
        commit.writelines(f"{json.dumps(action)}\n" for action in _actions(files))
    DeltaTable(path).create_checkpoint()
    return path


def _actions(files: int) -> Iterator[dict[str, object]]:
    feature = ["timestampNtz"]
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    yield {"protocol": {**versions, "readerFeatures": feature, "writerFeatures": feature}}
    yield {"metaData": _metadata()}
    for number in range(files):
        yield {"add": _add(number)}


def _metadata() -> dict[str, object]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _TYPES.items()
    ]
    return {
        "id": "018f0000-0000-7000-8000-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": _MADE_AT,
    }


def _add(number: int) -> dict[str, object]:
    limits = bounds(number)
    stats = {
        "numRecords": ROWS_PER_FILE,
        "minValues": {name: _json(low) for name, (low, _) in limits.items()},
        "maxValues": {name: _json(high) for name, (_, high) in limits.items()},
        "nullCount": dict.fromkeys(limits, 0),
    }
    return {
        "path": path_of(number),
        "partitionValues": {},
        "size": BYTES_PER_FILE,
        "modificationTime": _MADE_AT,
        "dataChange": True,
        "stats": json.dumps(stats),
    }


def _json(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
