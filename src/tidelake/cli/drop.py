"""What is there no longer: `drop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.errors import TidelakeError
from tidelake.model.terms import CommitTerms

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake


@click.command()
@click.argument("name", shell_complete=lake_names.tables)
@click.option("--dry-run", is_flag=True, help="Say what would be dropped, and drop nothing.")
@click.option("--if-exists", is_flag=True, help="One that is not there is no error.")
@commit_options
@global_options
@pass_options
def drop(options: Options, name: str, dry_run: bool, if_exists: bool, terms: CommitTerms) -> None:
    """Drop a table or a view. NAME stays readable with --known-at, and `undrop` brings it back.

    \b
    Example:
        tidelake drop prices --dry-run
        tidelake drop prices --message "no longer delivered"
    """
    if not dry_run:
        options.write(lambda lake: lake.drop(name, if_exists=if_exists, **terms))
        return
    with options.lake() as lake:
        is_view = _is_view(lake, name)
        is_there = is_view or not if_exists or lake.exists(name)
        rows = lake.table(name).count() if is_there and not is_view else None
    if options.as_json:
        kind = ("view" if is_view else "table") if is_there else None
        render.document({"dry_run": True, "name": name, "kind": kind, "rows": rows})
    elif not is_there:
        render.line(f"there is no {name}: nothing would be dropped")
    elif is_view:
        render.line(f"the view {name} would be dropped")
    else:
        render.line(f"the table {name} would be dropped: {rows:,} {'row' if rows == 1 else 'rows'}")


def _is_view(lake: Lake, name: str) -> bool:
    try:
        lake.view(name)
    except TidelakeError:
        return False
    return True
