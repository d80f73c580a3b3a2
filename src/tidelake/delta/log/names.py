"""What files of a Delta log are called, and how logs spell the paths of data files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

LOG = "_delta_log/"
HINT = "_last_checkpoint"
SIDECARS = "_sidecars/"

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-fA-F-]{36}))?\.(parquet|json)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SAFE = "-._~/="


@dataclass(frozen=True, slots=True)
class CheckpointName:
    """A file of a checkpoint: the only one, one of several `parts`, or one with a `uuid`."""

    name: str
    version: int
    part: int = 1
    parts: int = 1
    uuid: str | None = None


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def checkpoint_name(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def commit_version(name: str) -> int | None:
    """The version of a commit's file; None if it is none."""
    found = _COMMIT.fullmatch(name)
    return int(found.group(1)) if found else None


def parse_checkpoint(name: str) -> CheckpointName | None:
    found = _CHECKPOINT.fullmatch(name)
    if found is None or (found.group(5) == "json" and found.group(4) is None):
        return None
    version, part, parts, uuid, _ = found.groups()
    return CheckpointName(name, int(version), int(part or 1), int(parts or 1), uuid)


def quote_path(relative: str) -> str:
    """A path below the table's root as logs spell it: readers decode it once."""
    return quote(relative, safe=_SAFE)


def is_absolute(path: str) -> bool:
    return path.startswith("/") or _SCHEME.match(path) is not None


def locate(path: str, root: str) -> str:
    """Where a file is that a log calls so. `root` ends in a slash."""
    if not is_absolute(path):
        return root + unquote(path)
    plain = re.sub(r"^file:(?:/{2,3}(?=/)|/{2}localhost(?=/))?", "", unquote(path))
    return re.sub(r"^s3[an]://", "s3://", plain)
