"""A lake from a backup: `restore`."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.drawing.amounts import quantity


@click.command()
@click.argument("path")
@click.option("--to", metavar="N|TIME|TAG", help="Bring tables back to what they were then.")
@click.option("--force", is_flag=True, help="Even if files are missing.")
@global_options
@pass_options
def restore(options: Options, path: str, to: str | None, force: bool) -> None:
    """Make a lake again from a backup.

    Make the lake of the backup PATH again, in the catalog of --catalog, which must be empty;
    its files are at --data-path, or where they were.

    \b
    Example:
        tidelake restore backups/lake-2024-03-15 --catalog sqlite:///again.db
        tidelake restore s3://elsewhere/lake --to eod \\
            --catalog postgresql://host/again
    """
    from tidelake.lake.restore import restore as bring_back

    with bring_back(path, options.catalog, options.data_path, to=to, force=force) as lake:
        tables, head = len(lake.tables()), lake.snapshots()[-1].snapshot_id
        told = {"catalog": lake.url, "tables": tables, "snapshot_id": head}
    if options.as_json:
        render.document(told)
    else:
        render.line(f"{told['catalog']}: {quantity(tables, 'table')}, snapshot {head}")
