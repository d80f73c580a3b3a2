"""Who follows the lake's changes: `consumers`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.cli.watch import repeat, watch_option
from tidelake.errors import NotFound

if TYPE_CHECKING:
    from tidelake.history.values import ConsumerState


@click.command()
@click.option("--drop", metavar="NAME", help="Forget a consumer and how far it has come.")
@click.option("--dry-run", is_flag=True, help="With --drop: say what would be forgotten.")
@watch_option
@global_options
@pass_options
def consumers(options: Options, drop: str | None, dry_run: bool, watch: float | None) -> None:
    """List who follows the lake's changes.

    List who follows the lake's changes: how far each has come, and who holds it. Snapshots that
    a consumer has not taken yet do not expire.

    \b
    Example:
        tidelake consumers
        tidelake consumers --watch 5
        tidelake consumers --drop billing
    """
    if watch is not None and drop is not None:
        raise click.UsageError("--watch does not go with --drop")
    if dry_run and drop is None:
        raise click.UsageError("--dry-run goes with --drop")
    if drop is None:
        with options.lake() as lake:
            repeat(lambda: _list(options, lake.consumers()), watch)
        return
    with options.lake() as lake:
        found = lake.consumers()
    state = next((each for each in found if each.name == drop), None)
    if state is None:
        raise NotFound(f"there is no consumer {drop!r}", hint="tidelake consumers")
    if not dry_run:
        with options.writable() as lake:
            take = lake.consumer if state.members is None else lake.consumer_group
            with take(drop) as holder:
                holder.drop()
    if options.as_json:
        render.document({"dry_run": dry_run, "dropped": asdict(state)})
    else:
        render.line(f"{'would forget' if dry_run else 'forgot'} {state}")


def _list(options: Options, found: list[ConsumerState]) -> None:
    if options.as_json:
        render.document({"consumers": [asdict(each) for each in found]})
        return
    names = ["consumer", "snapshot", "behind", "held by", "until (UTC)"]
    render.grid(names, [_row(each) for each in found])


def _row(state: ConsumerState) -> list[str | int | None]:
    until = f"{state.lease_until:%H:%M:%S}" if state.lease_until else ""
    holder = state.owner or ""
    if state.members is not None:
        holder = f"a group of {len(state.members)}"
    return [state.name, state.snapshot_id, state.lag, holder, until]
