"""Tables that tenants may read: `share`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, author_option, global_options, pass_options

if TYPE_CHECKING:
    from tidelake.tenants.share import Share


@click.command()
@click.argument("table", required=False, shell_complete=lake_names.tables)
@click.option(
    "--with", "tenants", metavar="TENANT", multiple=True, help="Only this one; again for others."
)
@click.option("--as", "name", metavar="NAME", help="The name that tenants see: shared.NAME.")
@click.option("--end", is_flag=True, help="Stop sharing: with all, or with those of --with.")
@author_option
@global_options
@pass_options
def share(
    options: Options,
    table: str | None,
    tenants: tuple[str, ...],
    name: str | None,
    end: bool,
    author: str | None,
) -> None:
    """Let tenants read a table of the lake.

    They find it as shared.NAME, with its past, once their lake is opened again. Without TABLE,
    tables that are shared are listed.

    \b
    Example:
        tidelake share prices
        tidelake share quotes --with acme --as ticks
        tidelake share
        tidelake share quotes --end --with acme
    """
    if table is None:
        if tenants or name or end or author:
            raise click.UsageError("say which TABLE")
        with options.lake() as lake:
            _list(options, lake.shares())
        return
    if end and name is not None:
        raise click.UsageError("--end takes no --as")
    with options.writable() as lake:
        if end:
            lake.unshare(table, tenants or None, author=author)
            told: dict[str, object] = {"ended": table, "with": list(tenants)}
            line = f"{table} is no longer shared with {', '.join(tenants) or 'anybody'}"
        else:
            made = lake.share(table, tenants or "*", name=name, author=author)
            told = asdict(made)
            line = f"{made.table} is shared as shared.{made.name}"
    if options.as_json:
        render.document(told)
    else:
        render.line(line)


def _list(options: Options, found: list[Share]) -> None:
    if options.as_json:
        render.document({"shares": [asdict(each) for each in found]})
        return
    rows = [[each.table, f"shared.{each.name}", ", ".join(each.with_tenants)] for each in found]
    render.grid(["table", "name", "tenants"], rows)
