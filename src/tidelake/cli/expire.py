"""Letting go of the past: `expire`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, author_option, global_options, pass_options


@click.command()
@click.option(
    "--older-than", metavar="SPAN|TIME", help='Those older than "7 days", or than a time.'
)
@click.option("--keep-last", type=click.IntRange(min=1), metavar="N", help="Keep the newest N.")
@click.option("--force", is_flag=True, help="Also snapshots that a consumer still needs.")
@click.option("--dry-run", is_flag=True, help="Say what would expire, and expire nothing.")
@author_option
@global_options
@pass_options
def expire(
    options: Options,
    older_than: str | None,
    keep_last: int | None,
    force: bool,
    dry_run: bool,
    author: str | None,
) -> None:
    """Forget old snapshots, and all that no other snapshot sees. With both --older-than and
    --keep-last, only snapshots that both allow go. Without either, the lake's option
    expire_older_than counts. The newest snapshot and tagged ones stay.

    \b
    Example:
        tidelake expire --older-than "7 days" --dry-run
        tidelake expire --keep-last 100
    """
    with options.lake() if dry_run else options.writable() as lake:
        result = lake.expire(older_than, keep_last, force=force, dry_run=dry_run, author=author)
    if options.as_json:
        render.document(asdict(result))
    else:
        render.line(str(result))
