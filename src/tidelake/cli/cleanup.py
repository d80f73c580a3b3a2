"""Letting go of files that nobody needs: `cleanup`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, author_option, global_options, pass_options

_SHOWN = 20


@click.command()
@click.option(
    "--older-than",
    metavar="SPAN|TIME",
    help="Files not needed for so long [default: the lake's delete_older_than, 2 days].",
)
@click.option(
    "--orphans/--no-orphans", default=True, help="Remove files of no snapshot too, or not."
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@author_option
@global_options
@pass_options
def cleanup(
    options: Options, older_than: str | None, orphans: bool, dry_run: bool, author: str | None
) -> None:
    """Remove files that no snapshot needs any more.

    Remove files that no snapshot needs any more, and orphans: files that unfinished writes left
    behind. Only the lake's own files are deleted: registered and imported files stay, unless
    they were handed over. --older-than must be longer than the longest read or write.

    \b
    Example:
        tidelake cleanup --dry-run
        tidelake cleanup --older-than "12 hours"
    """
    with options.lake() if dry_run else options.writable() as lake:
        result = lake.cleanup(older_than, orphans=orphans, dry_run=dry_run, author=author)
    if options.as_json:
        render.document(asdict(result))
        return
    render.line(str(result))
    if dry_run:
        for path in result.paths[:_SHOWN]:
            render.line(f"  {path}")
        if len(result.paths) > _SHOWN:
            render.line(f"  … and {len(result.paths) - _SHOWN:,} more (all with --json)")
