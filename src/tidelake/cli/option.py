"""How the lake, a schema or a table is kept: `option`."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@click.argument("name")
@click.argument("value")
@click.option("--table", metavar="TABLE", help="For this table alone.")
@click.option("--schema", metavar="NAME", help="For the tables of this schema.")
@global_options
@pass_options
def option(options: Options, name: str, value: str, table: str | None, schema: str | None) -> None:
    """Set an option of the lake. NAME is one of DuckLake's, such as target_file_size. This makes
    no snapshot.

    \b
    Example:
        tidelake option parquet_compression zstd
        tidelake option target_file_size 134217728 --table prices
    """
    with options.writable() as lake:
        lake.set_option(name, value, table=table, schema=schema)
    if options.as_json:
        render.document({"name": name, "value": value, "table": table, "schema": schema})
    else:
        render.line(f"{name} = {value}")
