"""Where the lake's files are now: `move`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, author_option, global_options, pass_options


@click.command()
@click.option("--force", is_flag=True, help="Even if files are missing there.")
@author_option
@global_options
@pass_options
def move(options: Options, force: bool, author: str | None) -> None:
    """Record that the lake's files are at --data-path now. Move or copy them there first:
    only the catalog changes. Nobody else should have the lake open.

    \b
    Example:
        mv lake_data moved_data
        tidelake move --data-path moved_data
    """
    from tidelake.lake.address import resolve
    from tidelake.lake.connect import connect

    if options.data_path is None:
        raise click.UsageError("say where the files are now: --data-path PATH")
    with connect(options.catalog, options.data_path, create=False, override_data_path=True) as lake:
        done = lake.move(options.data_path, force=force, author=author)
    if options.as_json:
        render.document(asdict(done))
    else:
        render.line(str(done))
    named = resolve(options.catalog, None, None)
    if named.file is not None and named.data_path not in (None, done.data_path):
        told = f'hint: write data_path = "{done.data_path}" into {named.file} too'
        click.echo(told, err=True)
