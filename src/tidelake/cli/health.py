"""What is worth a look: `health`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@global_options
@pass_options
def health(options: Options) -> None:
    """Show what needs attention, and the command that helps.

    Show what needs attention in the lake, and the command that helps: small files, deleted
    rows, snapshots that can expire, files that wait for cleanup, useless rollups, late consumers
    and mirrors, coverage below its threshold.

    \b
    Example:
        tidelake health
        tidelake health --json
    """
    with options.lake() as lake:
        found = lake.health()
    if options.as_json:
        signals = [
            {**asdict(each), "command": each.remedy.command if each.remedy else None}
            for each in found.signals
        ]
        render.document({"snapshot_id": found.snapshot_id, "ok": found.ok, "signals": signals})
    else:
        render.line(str(found))
