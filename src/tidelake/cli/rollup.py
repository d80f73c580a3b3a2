"""States kept for reads as of a moment: `rollup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, global_options, pass_options, signature_options
from tidelake.model.terms import Terms

if TYPE_CHECKING:
    from tidelake.event_time.values.rollup import Rollup
    from tidelake.lake.lake import Lake
    from tidelake.lake.table import Table


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.option("--as-of", metavar="TIME", help="Keep the state as of this moment of event time.")
@click.option("--every", metavar="SPAN", help='A policy: a span such as "1mo", "1 week" or "6h".')
@click.option("--keep", type=int, metavar="N", help="With --every: only for the last N boundaries.")
@click.option("--list", "listing", is_flag=True, help="List the rollups there are.")
@click.option("--drop", is_flag=True, help="Drop all rollups of the table, and the policy.")
@click.option("--dry-run", is_flag=True, help="With --drop: say what would be dropped.")
@signature_options
@global_options
@pass_options
def rollup(
    options: Options,
    table: str,
    as_of: str | None,
    every: str | None,
    keep: int | None,
    listing: bool,
    drop: bool,
    dry_run: bool,
    author: str | None,
    message: str | None,
) -> None:
    """Keep states of a table, for quick reads as of a moment.

    Keep the state of TABLE as of a moment, so that reads as of then or later need not look at
    older events. No answer changes, only how long it takes. With --every, `compact` keeps
    making them.

    \b
    Example:
        tidelake rollup prices --as-of 2024-03-01
        tidelake rollup prices --every 1mo --keep 36
        tidelake rollup prices --list
        tidelake rollup prices --drop
    """
    if sum(map(bool, (as_of, every, listing, drop))) != 1:
        raise click.UsageError("give one of --as-of, --every, --list and --drop")
    if keep is not None and not every:
        raise click.UsageError("--keep goes with --every")
    if dry_run and not drop:
        raise click.UsageError("--dry-run goes with --drop")
    terms = Terms(author=author, message=message)
    if listing or dry_run:
        with options.lake() as lake:
            _show(options, lake.table(table).rollups())
    elif drop:
        with options.writable() as lake:
            _drop(options, lake, table, terms)
    else:
        with options.writable() as lake:
            _show(options, _made(lake.table(table), as_of, (every, keep), terms))


def _made(
    table: Table, as_of: str | None, policy: tuple[str | None, int | None], terms: Terms
) -> list[Rollup]:
    every, keep = policy
    if every is None:
        return [table.rollup(as_of=str(as_of))]
    return table.rollup(every=every, keep=keep, author=terms.author, message=terms.message)


def _drop(options: Options, lake: Lake, table: str, terms: Terms) -> None:
    gone = lake.table(table).drop_rollups(policy=True, author=terms.author, message=terms.message)
    if options.as_json:
        render.document({"dropped": gone})
    else:
        render.line(f"dropped {gone:,} rollups of {table}")


def _show(options: Options, found: list[Any]) -> None:
    told = [rollup.facts() for rollup in found]
    if options.as_json:
        render.document({"rollups": told})
        return
    names = ["as of", "snapshot", "rows", "files", "bytes", "usable"]
    keys = ("as_of", "snapshot_id", "rows", "files", "bytes", "usable")
    render.grid(names, [[_cell(each[key]) for key in keys] for each in told])


def _cell(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value
