"""What a write did, in words."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING

from tidelake.cli import render

if TYPE_CHECKING:
    from tidelake.model.change import WriteResult


def show(result: WriteResult, as_json: bool) -> None:
    if as_json:
        render.document(asdict(result))
    else:
        render.line(f"{_landed(result)}{counts(result)}")


def show_any(result: object, as_json: bool) -> None:
    """What a statement gave that may be a write or a call."""
    from tidelake.model.change import WriteResult

    if isinstance(result, WriteResult):
        show(result, as_json)
    elif as_json:
        render.document(_plain(result))
    else:
        listed = result if isinstance(result, list) else [result]
        for each in listed:
            render.line("done" if each is None else str(each))


def _plain(result: object) -> object:
    if isinstance(result, list):
        return [_plain(each) for each in result]
    if is_dataclass(result) and not isinstance(result, type):
        return asdict(result)
    return result


def _landed(result: WriteResult) -> str:
    """Where there is nothing to commit there is no new snapshot."""
    at = f"snapshot {result.snapshot_id}"
    if result.duplicate and not result.attempts:
        return f"done before, at {at}"
    return at if result.attempts else f"nothing to do; the lake is at {at}"


def counts(result: WriteResult) -> str:
    """Rows and files, after a colon; nothing if there are none."""
    told = [
        f"{count:,} {'row' if count == 1 else 'rows'} {what}"
        for what in ("inserted", "updated", "deleted")
        if (count := getattr(result, what))
    ]
    if result.files:
        files = f"{result.files:,} {'file' if result.files == 1 else 'files'}"
        told.append(f"{files} of {result.bytes:,} bytes")
    return f": {', '.join(told)}" if told else ""
