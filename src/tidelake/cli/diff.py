"""What differs between two snapshots: `diff`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render.stream import print_rows
from tidelake.cli.row_options import limit_option
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.model.names import TableName

if TYPE_CHECKING:
    from tidelake.history.diff import LakeDiff, TableDiff
    from tidelake.lake.lake import Lake


@click.command()
@click.argument("a")
@click.argument("b", required=False)
@click.argument("table", required=False, shell_complete=lake_names.tables)
@click.option("--rows", is_flag=True, help="Print the rows of TABLE that differ.")
@click.option(
    "--late", is_flag=True, help="Of TABLE, print the keys whose state as of TIME differs."
)
@as_of_option
@click.option("--since", metavar="N|TIME|TAG", help="With --late: the snapshot to compare with.")
@known_at_option
@limit_option
@global_options
@pass_options
def diff(
    options: Options,
    /,
    a: str,
    b: str | None,
    table: str | None,
    rows: bool,
    limit: int | None,
    **late: Any,
) -> None:
    """Show what differs between two snapshots.

    Show what differs from snapshot A to snapshot B (without B: to now), in all tables or in
    TABLE: what is declared, how many rows, which files. A and B are numbers, times or tags; B may
    be older.

    With --late it is `diff TABLE --late --as-of TIME --since N`. It compares two answers for
    that moment: as known at that snapshot, and as known now, or at --known-at.

    \b
    Example:
        tidelake diff 12
        tidelake diff 12 15
        tidelake diff eod-thursday eod-friday prices
        tidelake diff 12 15 prices --rows --json
        tidelake diff prices --late --as-of 2024-03-15 --since eod-friday
    """
    _check(b, table, rows, late)
    if late.pop("late"):
        _print_late(options, a, limit, **late)
        return
    with options.lake() as lake:
        _refuse_order(lake, a, b, table)
        if table is None:
            _print_lake(lake.diff(a, b), options.as_json)
        elif rows:
            print_rows(_of_table(lake, table, a, b).rows, limit, options.as_json)
        else:
            _print_table(_of_table(lake, table, a, b), options.as_json)


def _refuse_order(lake: Lake, a: str, b: str | None, table: str | None) -> None:
    """Who begins with the table, or leaves a snapshot out, is told the order."""
    named = next((each for each in (a, b) if each is not None and _is_table(lake, each)), None)
    if named is not None:
        given = [each for each in (a, b, table) if each is not None and each != named]
        moments = [*given, "now"][:2] if given else ["A", "B"]
        raise Invalid(
            f"{named} is a table, and it comes after two snapshots",
            hint=f"tidelake diff {' '.join(moments)} {named}",
        )


def _is_table(lake: Lake, word: str) -> bool:
    if word.isdecimal() or any(tag.name == word for tag in lake.tags()):
        return False
    try:
        return lake.exists(word)
    except TidelakeError:  # a time
        return False


def _check(b: str | None, table: str | None, rows: bool, late: Mapping[str, Any]) -> None:
    """Which words go together."""
    given = [name for name, value in late.items() if name != "late" and value is not None]
    if late["late"]:
        if b is not None or rows:
            raise click.UsageError("--late wants a TABLE alone")
        if "as_of" not in given or "since" not in given:
            raise click.UsageError("--late wants --as-of and --since")
    elif given:
        raise click.UsageError(f"--{given[0].replace('_', '-')} wants --late")
    elif rows and table is None:
        raise click.UsageError("--rows wants a TABLE")


def _print_late(
    options: Options,
    table: str,
    limit: int | None,
    as_of: str,
    since: str,
    known_at: str | None,
) -> None:
    with options.lake(known_at) as lake:
        found = lake.table(table).as_of(as_of).changes_of_belief(since)
        print_rows(found, limit, options.as_json)


def _print_table(found: TableDiff, as_json: bool) -> None:
    if as_json:
        render.document(_told(found))
    else:
        render.line(str(found))


def _print_lake(found: LakeDiff, as_json: bool) -> None:
    if not as_json:
        render.line(str(found))
        return
    render.document(
        {
            "before": found.before,
            "after": found.after,
            "schema": [asdict(difference) for difference in found.schema],
            "tables": [_told(each) for each in found],
        }
    )


def _of_table(lake: Lake, name: str, a: str, b: str | None) -> TableDiff:
    """Of a table that may have been dropped by now."""
    try:
        return lake.table(name).diff(a, b)
    except NotFound:
        wanted = str(TableName.parse(name))
        found = [each for each in lake.diff(a, b) if each.table == wanted]
        if not found:
            raise
        return found[0]


def _told(found: TableDiff) -> dict[str, Any]:
    return {
        "table": found.table,
        "before": found.before,
        "after": found.after,
        "schema": [asdict(difference) for difference in found.schema],
        "rows": asdict(found.counts),
        "files": asdict(found.files),
    }
