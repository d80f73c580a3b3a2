"""Local files, whole or not there: one that is not finished is never seen under its name."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def create_file(path: Path, data: bytes, modified: int | None) -> bool:
    """Put a file in place if there is none; whether it was. It is dated, where that is given in
    milliseconds."""
    draft = _draft(path)
    try:
        _fill(draft, data)
        if modified is not None:
            os.utime(draft, ns=(modified * 1_000_000,) * 2)
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        _synced(path.parent)
        return True
    finally:
        draft.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in place, whatever was there."""
    draft = _draft(path)
    try:
        _fill(draft, data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _draft(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def _fill(draft: Path, data: bytes) -> None:
    with draft.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _synced(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
