"""Another name for a table: `rename`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("name", shell_complete=lake_names.tables)
@click.argument("new")
@commit_options
@global_options
@pass_options
def rename(options: Options, name: str, new: str, terms: CommitTerms) -> None:
    """Give a table another name or another schema.

    Give the table NAME the name NEW, in its schema or (schema.name) in another.

    \b
    Example:
        tidelake rename prices ticks
        tidelake rename ticks archive.ticks --message "kept, no longer written"
    """
    options.write(lambda lake: lake.rename(name, new, **terms))
