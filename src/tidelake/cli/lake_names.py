"""What Tab offers in a command: tables, columns and tags of the lake.

A shell waits for the answer with every press, and shows what is printed: where no lake is found,
or it does not answer soon, there is nothing to offer and nothing to say."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from threading import Thread
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_PATIENCE_S = 2.0
"""How long a server is waited for; a file is there, or it is not."""
_MAIN = "main."


def tables(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Tables and views; those of `main` by their own name."""
    return _that(begun, _asked(context, _relations))


def columns(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Those of the table that the command is about; in a list, for its last name."""
    # Where an option still lacks its value, click has not come to the arguments yet.
    table = context.params.get("table") or next(iter(context.args), None)
    if not isinstance(table, str):
        return []
    before, comma, last = begun.rpartition(",")
    found = _asked(context, lambda lake: [each.name for each in lake.table(table).schema])
    return [f"{before}{comma}{name}" for name in _that(last, found)]


def tags(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    return _that(begun, _asked(context, lambda lake: [tag.name for tag in lake.tags()]))


def _relations(lake: Lake) -> list[str]:
    return [name.removeprefix(_MAIN) for name in (*lake.tables(), *lake.views())]


def _that(begun: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower().startswith(begun.lower())]


def _asked(context: click.Context, question: Callable[[Lake], list[str]]) -> list[str]:
    """What the lake answers in time; whoever is late is left behind when the program ends."""
    given = [getattr(context.obj, name, None) for name in ("catalog", "data_path")]
    override = bool(getattr(context.obj, "override_data_path", False))
    found: list[str] = []

    def ask() -> None:
        from tidelake.lake.connect import connect

        try:
            with connect(*given, read_only=True, override_data_path=override) as lake:
                found.extend(question(lake))
        except Exception:  # whatever it is, a shell is no place to tell it
            return

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if _is_file(*given):
            ask()
            return found
        asking = Thread(target=ask, daemon=True)
        asking.start()
        asking.join(_PATIENCE_S)
    return list(found)


def _is_file(catalog: str | None, data_path: str | None) -> bool:
    from tidelake.catalog.database.address import parse_url
    from tidelake.errors import TidelakeError
    from tidelake.lake.address import resolve

    try:
        address = resolve(catalog, data_path, None)
        return parse_url(address.catalog, address.folder).path is not None
    except TidelakeError:
        return True
