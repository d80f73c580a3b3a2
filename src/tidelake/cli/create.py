"""Make a lake."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@global_options
@pass_options
def init(options: Options) -> None:
    """Create an empty lake; a lake that is there already is left as it is.

    With an SQLite or DuckDB catalog the files go to a folder beside it unless
    --data-path says otherwise; on a server --data-path is needed.

    \b
    Example:
        tidelake init --catalog sqlite:///lake.db --data-path lake_data/
    """
    from tidelake.session.lake import connect

    with connect(options.catalog, options.data_path) as lake:
        facts = {
            "data_path": lake.data_path,
            "snapshot_id": lake.snapshots()[-1].snapshot_id,
            "tables": len(lake.tables()),
        }
    if options.as_json:
        render.document(facts)
    else:
        render.facts("The lake is ready.", facts)
