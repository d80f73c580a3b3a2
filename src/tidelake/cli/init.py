"""Make a lake."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@click.option(
    "--share-data-path", is_flag=True, help="Allow a place where another lake has its files."
)
@global_options
@pass_options
def init(options: Options, share_data_path: bool) -> None:
    """Create an empty lake.

    Create an empty lake, or make one that DuckDB made quick to plan.

    A lake that is there already keeps all it has; indexes and summaries that speed up
    planning are added beside it. With an SQLite or DuckDB catalog the files of a new lake go
    to a folder beside it unless --data-path says otherwise; on a server --data-path is needed.

    \b
    Example:
        tidelake init --catalog sqlite:///lake.db --data-path lake_data/
    """
    from tidelake.lake.connect import connect

    with connect(
        options.catalog,
        options.data_path,
        create=True,
        override_data_path=options.override_data_path,
        share_data_path=share_data_path,
    ) as lake:
        lake.reindex()
        facts = {
            "catalog": lake.url,
            "data_path": lake.data_path,
            "snapshot_id": lake.snapshots()[-1].snapshot_id,
            "tables": len(lake.tables()),
        }
    if options.as_json:
        render.document(facts)
    else:
        render.facts("The lake is ready.", facts)
