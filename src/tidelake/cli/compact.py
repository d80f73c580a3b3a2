"""Fewer and fuller files: `compact`."""

from __future__ import annotations

from dataclasses import asdict
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, global_options, pass_options, signature_options

if TYPE_CHECKING:
    from tidelake.upkeep.values import CompactResult


@click.command()
@click.argument("tables", nargs=-1, shell_complete=lake_names.tables)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@signature_options
@global_options
@pass_options
def compact(
    options: Options,
    tables: tuple[str, ...],
    dry_run: bool,
    author: str | None,
    message: str | None,
) -> None:
    """Merge small files; every snapshot reads as before.

    Merge the small files of TABLES (without any, of all tables), rewrite those that are mostly
    deleted, and take rows out of the catalog into files. What any snapshot sees stays as it is.
    Then make the rollups that are due.

    \b
    Example:
        tidelake compact --dry-run
        tidelake compact prices
    """
    with options.lake() if dry_run else options.writable() as lake:
        if tables:
            chosen = [lake.table(name) for name in tables]
            done = [
                table.compact(dry_run=dry_run, author=author, message=message) for table in chosen
            ]
            result = reduce(add, done)
        else:
            result = lake.compact(dry_run=dry_run, author=author, message=message)
    if options.as_json:
        render.document(_document(result))
    else:
        render.line(str(result))


def _document(result: CompactResult) -> dict[str, object]:
    counts = (
        "rows_flushed",
        "deletes_flushed",
        "files_rewritten",
        "files_merged",
        "rollups_made",
        "rollups_dropped",
    )
    return asdict(result) | {name: getattr(result, name) for name in counts}
