"""Somebody else who writes to a mirror's log although it is fenced off."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def log_of(root: str) -> Path:
    return Path(root, "_delta_log")


def newest(root: str) -> int:
    return max(int(path.stem) for path in log_of(root).glob("*.json"))


def commit(root: str, *actions: dict[str, Any], version: int | None = None) -> int:
    """Put a version into the log, the next one unless another is given."""
    number = newest(root) + 1 if version is None else version
    said = {"commitInfo": {"timestamp": 1, "operation": "WRITE", "engineInfo": "other"}}
    lines = "".join(json.dumps(action) + "\n" for action in (said, *actions))
    (log_of(root) / f"{number:020d}.json").write_text(lines)
    return number


def added(
    root: str, name: str, rows: Sequence[dict[str, Any]], schema: pa.Schema
) -> dict[str, Any]:
    """A new file, and the action that says so."""
    path = Path(root, name)
    pq.write_table(pa.Table.from_pylist(list(rows), schema), path)
    stats = json.dumps({"numRecords": len(rows)})
    told = {"path": name, "partitionValues": {}, "size": path.stat().st_size, "stats": stats}
    return {"add": told | {"modificationTime": 1, "dataChange": True}}


def shown(root: str) -> list[dict[str, Any]]:
    """What the log adds, in its last state, by its own words."""
    files: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted(log_of(root).glob("*.json")):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                files.pop(_key(action["remove"]))
        for action in actions:
            if "add" in action:
                files[_key(action["add"])] = action["add"]
    return list(files.values())


def _key(action: dict[str, Any]) -> tuple[str, str]:
    return action["path"], json.dumps(action.get("deletionVector"))


def removed(add: dict[str, Any]) -> dict[str, Any]:
    kept = {name: add[name] for name in ("path", "deletionVector") if name in add}
    return {"remove": kept | {"deletionTimestamp": 1, "dataChange": True}}
