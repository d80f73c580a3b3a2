"""Import: Delta tables of many files, and of many versions, become tables of a lake."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians, seconds

_FILES = 100_000
_LINKS = 50_000
_VERSIONS = 1_000
_ROUNDS = 3
_TYPES = {
    "id": "long",
    "a": "long",
    "b": "double",
    "s": "string",
    "d": "date",
    "t": "timestamp",
    "e": "integer",
}


def run(folder: Path) -> Part:
    part = Part("Import", ["Delta table", "files", "versions", "import, s"])
    many, long = _many(folder / "import-many"), _long(folder / "import-long")
    fast = medians({"import": lambda: _imported(folder, many, "fast")}, _ROUNDS)["import"]
    whole = seconds(lambda: _imported(folder, long, "full-history"))
    part.rows.append(["a checkpoint", f"{_FILES:,}", "1", f"{fast:.2f}"])
    part.rows.append(["its full history", f"{_VERSIONS:,}", f"{_VERSIONS:,}", f"{whole:.2f}"])
    part.numbers = {"checkpoint": fast, "history": whole}
    part.verdicts.append(Verdict("import of a checkpoint of 100,000 files", fast, 3, unit="s"))
    part.notes = [
        "SQLite, files on a local disk, statistics of seven columns",
        "the files of the checkpoint are hard links to a few: importing lists them all the same",
        f"the history appends one file with each of {_VERSIONS:,} versions; no target",
    ]
    return part


def _imported(folder: Path, root: Path, mode: str) -> None:
    import tidelake

    place = folder / "import-lake"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake:
        done = tidelake.import_delta(lake, str(root), "t", mode=mode)
        assert done.rewritten == 0
        assert lake.table("t").count() == done.rows


def _many(root: Path) -> Path:
    """A table of one checkpoint; made on first use and kept."""
    from deltalake import DeltaTable

    log = root / "_delta_log"
    if (log / "_last_checkpoint").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    log.mkdir(parents=True)
    size = _write(root / "0.parquet", 0)
    actions = [*_declared()]
    for number in range(_FILES):
        source = root / f"source-{number // _LINKS}.parquet"
        if not source.exists():
            shutil.copy(root / "0.parquet", source)
        os.link(source, root / f"part-{number:06}.parquet")
        actions.append(_add(f"part-{number:06}.parquet", number, size))
    _commit(log, 0, actions)
    DeltaTable(root).create_checkpoint()
    return root


def _long(root: Path) -> Path:
    log = root / "_delta_log"
    if (log / f"{_VERSIONS - 1:020}.json").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    log.mkdir(parents=True)
    for version in range(_VERSIONS):
        name = f"part-{version:06}.parquet"
        size = _write(root / name, version)
        _commit(log, version, [*(_declared() if not version else []), _add(name, version, size)])
    return root


def _write(path: Path, number: int) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {
        "id": pa.array([number], pa.int64()),
        "a": pa.array([2], pa.int64()),
        "b": pa.array([0.5]),
        "s": pa.array(["x"]),
        "d": pa.array([1], pa.date32()),
        "t": pa.array([1], pa.timestamp("us", "UTC")),
        "e": pa.array([3], pa.int32()),
    }
    pq.write_table(pa.table(row), path)
    return path.stat().st_size


def _declared() -> list[dict[str, Any]]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _TYPES.items()
    ]
    declared = {
        "id": "018f0000-0000-7000-8000-000000000002",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    return [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": declared},
    ]


def _add(path: str, number: int, size: int) -> dict[str, Any]:
    moment = "1970-01-01T00:00:00.000Z"
    values = {"id": number, "a": 2, "b": 0.5, "s": "x", "d": "1970-01-02", "t": moment, "e": 3}
    stats = {"numRecords": 1, "minValues": values, "maxValues": values}
    stats["nullCount"] = dict.fromkeys(values, 0)
    said = {
        "path": path,
        "partitionValues": {},
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(stats),
    }
    return {"add": said}


def _commit(log: Path, version: int, actions: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(action) for action in actions)
    (log / f"{version:020}.json").write_text(text + "\n")
