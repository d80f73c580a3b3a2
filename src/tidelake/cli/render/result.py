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
        render.line(str(result))


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
            render.line("done" if each is None else str(getattr(each, "facts", each)))


def _plain(result: object) -> object:
    if isinstance(result, list):
        return [_plain(each) for each in result]
    found = getattr(result, "facts", result)  # of a data set
    if is_dataclass(found) and not isinstance(found, type):
        return asdict(found)
    name = getattr(result, "name", None)  # of a table
    return result if name is None else {"table": str(name)}
