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
    """Tell what is worth a look, and the command that helps.

    Tell what of the lake is worth a look, and the command that helps: small files, deleted
    rows, snapshots that can expire, files that wait for cleanup, rollups that are of no use,
    consumers and mirrors that fall behind, coverage under its threshold.

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
