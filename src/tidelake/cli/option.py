"""How the lake, a schema or a table is kept: `option`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, author_option, global_options, pass_options
from tidelake.errors import NotFound


@click.command()
@click.argument("name", required=False)
@click.argument("value", required=False)
@click.option(
    "--table", metavar="TABLE", shell_complete=lake_names.tables, help="For this table alone."
)
@click.option("--schema", metavar="NAME", help="For the tables of this schema.")
@author_option
@global_options
@pass_options
def option(
    options: Options,
    name: str | None,
    value: str | None,
    table: str | None,
    schema: str | None,
    author: str | None,
) -> None:
    """Show or set the options of the lake.

    NAME is one of DuckLake's, such as target_file_size. Without VALUE it is shown, and without
    NAME all options that hold. Setting one makes no snapshot.

    \b
    Example:
        tidelake option
        tidelake option parquet_compression zstd
        tidelake option target_file_size 134217728 --table prices
        tidelake option target_file_size --table prices
    """
    if value is None or name is None:
        _show(options, name, table, schema)
        return
    with options.writable() as lake:
        lake.set_option(name, value, table=table, schema=schema, author=author)
    if options.as_json:
        render.document({"name": name, "value": value, "table": table, "schema": schema})
    else:
        render.line(f"{name} = {value}")


def _show(options: Options, name: str | None, table: str | None, schema: str | None) -> None:
    with options.lake() as lake:
        found = lake.options(table=table, schema=schema)
    if name is not None and name not in found:
        raise NotFound(f"there is no option {name!r}", hint=f"there are: {', '.join(found)}")
    shown = found if name is None else {name: found[name]}
    if options.as_json:
        render.document({"options": shown, "table": table, "schema": schema})
        return
    for each in sorted(shown):
        render.line(f"{each} = {shown[each]}")
