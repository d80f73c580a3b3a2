"""The columns of a table: `schema show` and `schema evolve`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    commit_options,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render import describe
from tidelake.cli.row_options import split_columns
from tidelake.model.terms import CommitTerms

_PATH = re.compile(r'\s*((?:"(?:[^"]|"")*"|[^\s"=])+)\s*(.*)', re.DOTALL)


@click.group()
def schema() -> None:
    """Show or change the columns of a table.

    Show the columns of a table, or change them without touching data.

    \b
    Example:
        tidelake schema show prices
        tidelake schema evolve prices --add "venue varchar default 'XNYS'"
    """


@schema.command()
@click.argument("table", shell_complete=lake_names.tables)
@known_at_option
@global_options
@pass_options
def show(options: Options, table: str, known_at: str | None) -> None:
    """Show the columns of TABLE.

    \b
    Example:
        tidelake schema show prices
        tidelake schema show prices --known-at 3 --json
    """
    with options.lake(known_at) as lake:
        found = lake.table(table)
        columns = describe.columns(found.schema)
    if options.as_json:
        render.document({"name": found.name, "columns": columns})
    else:
        describe.print_columns(columns)


@schema.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.option("--add", metavar="'X TYPE'", multiple=True, help="A new column, as in CREATE TABLE.")
@click.option("--drop", metavar="X", multiple=True, help="A column to drop.")
@click.option("--rename", metavar="X=Y", multiple=True, help="A new name for a column.")
@click.option("--widen", metavar="X=TYPE", multiple=True, help="A wider type for a column.")
@click.option("--nullable", metavar="X", multiple=True, help="Allow nulls.")
@click.option("--required", metavar="X", multiple=True, help="Forbid nulls; there must be none.")
@click.option("--default", metavar="X=VALUE", multiple=True, help="A default for rows to come.")
@click.option("--comment", metavar="X=TEXT", multiple=True, help="A comment; X= takes it away.")
@click.option("--order", metavar="X,Y", help="The columns that come first.")
@commit_options
@global_options
@pass_options
def evolve(options: Options, /, table: str, terms: CommitTerms, **given: Any) -> None:
    """Change the columns of TABLE, all in one snapshot. Nothing is lost or reinterpreted: what
    would be is refused. A field inside a column is named by its path, as in depth.bid. Options
    may be given several times.

    \b
    Example:
        tidelake schema evolve prices --add "venue varchar" --rename price=px
        tidelake schema evolve prices --widen volume=int64 --required symbol \\
            --comment px="in EUR"
    """
    changes = _changes(given)
    options.write(lambda lake: lake.table(table).evolve(**changes, **terms))


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    if not any(given.values()):
        raise click.UsageError("Nothing to change: give --add, --drop, --rename or another.")
    nullable = dict.fromkeys(given["nullable"], True) | dict.fromkeys(given["required"], False)
    comments = _pairs("comment", given["comment"])
    return {
        "add": dict(_definition(text) for text in given["add"]),
        "drop": list(given["drop"]),
        "rename": _pairs("rename", given["rename"]),
        "widen": _pairs("widen", given["widen"]),
        "nullable": nullable,
        "default": _pairs("default", given["default"]),
        "comment": {column: text or None for column, text in comments.items()},
        "order": split_columns(given["order"]) if given["order"] else (),
    }


def _definition(text: str) -> tuple[str, str]:
    """`x int32 default 5` as its name and the rest."""
    match = _PATH.fullmatch(text)
    if match is None or not match[2]:
        raise click.UsageError(f"--add takes a name and a type, not {text!r}.")
    return match[1], match[2]


def _pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        match = _PATH.fullmatch(text)
        if match is None or not match[2].startswith("="):
            raise click.UsageError(f"--{option} takes column=…, not {text!r}.")
        found[match[1]] = match[2][1:]
    return found
