"""A copy for bad days: `backup`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@click.argument("path")
@click.option("--files", is_flag=True, help="Copy the lake's files too.")
@global_options
@pass_options
def backup(options: Options, path: str, files: bool) -> None:
    """Write the whole catalog into a new folder.

    Write all of the catalog, at one moment, into the folder PATH, which must be new. It may be
    in an object store.

    \b
    Example:
        tidelake backup backups/lake-2024-03-15
        tidelake backup s3://elsewhere/lake-2024-03-15 --files
    """
    with options.lake() as lake:
        done = lake.backup(path, files=files)
    if options.as_json:
        render.document(asdict(done))
    else:
        render.line(str(done))
