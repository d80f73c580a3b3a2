"""What a table is: `declare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.cli.row_options import split_columns
from tidelake.model.terms import CommitTerms

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.lake.table import Table
    from tidelake.model.change import WriteResult

_BESIDE_EVENT_TIME = ("key", "tombstone", "valid_to", "knowledge_time")


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.option("--event-time", metavar="X", help="Since when a fact holds; with --key or --bucket.")
@click.option("--key", metavar="A,B", help="The key, of facts or of merges.")
@click.option("--tombstone", metavar="X", help="The boolean column that ends a key.")
@click.option("--valid-to", metavar="X", help="Until when a fact holds, where it is not null.")
@click.option("--knowledge-time", metavar="X", help="When a row became known.")
@click.option("--no-event-time", is_flag=True, help="No longer a table of facts in time.")
@click.option("--bucket", metavar="WIDTH", help="Keep coverage in buckets of 1m, 1h, 1d …")
@click.option("--entity", metavar="A,B", help="The entity columns.")
@click.option("--clock", metavar="X", help="The time of coverage [default: the event time].")
@click.option("--overlap", metavar="POLICY", help="allow, reject, skip or replace.")
@click.option("--no-coverage", is_flag=True, help="Stop keeping coverage.")
@click.option("--partition-by", metavar="KEY", multiple=True, help="A key; again for others.")
@click.option("--no-partitions", is_flag=True, help="Stop partitioning new files.")
@click.option("--sort-by", metavar="KEY", multiple=True, help="A key; again for others.")
@click.option("--no-sorting", is_flag=True, help="Stop sorting new files.")
@click.option("--comment", metavar="TEXT", help="A comment; an empty one takes it away.")
@commit_options
@global_options
@pass_options
def declare(options: Options, /, table: str, terms: CommitTerms, **given: Any) -> None:
    """Declare key, event time, coverage and layout of a table.

    Say what TABLE is: its key and event time, its coverage, how files are partitioned and
    sorted. All in one snapshot. Other settings stay as they are.

    \b
    Example:
        tidelake declare quotes --event-time ts --key symbol
        tidelake declare bars --bucket 1m --entity symbol --clock ts \\
            --overlap reject
        tidelake declare prices --partition-by "year(ts)" --sort-by symbol
    """
    _check(given)

    def change(lake: Lake) -> WriteResult:
        with lake.transaction(**terms) as tx:
            if not tx.is_done:
                _declare(tx.table(table), given)
        assert tx.result is not None
        return tx.result

    options.write(change)


def _check(given: dict[str, Any]) -> None:
    if not any(value not in (None, False, ()) for value in given.values()):
        raise click.UsageError("Nothing to declare: give --event-time, --bucket or another.")
    for name in _BESIDE_EVENT_TIME:
        if name != "key" and given[name] and not given["event_time"]:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --event-time")
    for name in ("entity", "clock", "overlap"):
        if given[name] and not given["bucket"]:
            raise click.UsageError(f"--{name} goes with --bucket")
    for name, none in (
        ("event_time", "no_event_time"),
        ("bucket", "no_coverage"),
        ("partition_by", "no_partitions"),
        ("sort_by", "no_sorting"),
    ):
        if given[name] and given[none]:
            said = [each.replace("_", "-") for each in (name, none)]
            raise click.UsageError(f"--{said[0]} and --{said[1]} exclude each other")


def _is_for_coverage_alone(given: dict[str, Any]) -> bool:
    """Without a key there are no facts: then the event time is that of the coverage."""
    facts = any(given[name] for name in _BESIDE_EVENT_TIME)
    return bool(given["event_time"] and given["bucket"]) and not facts


def _declare(table: Table, given: dict[str, Any]) -> None:
    if _is_for_coverage_alone(given) and not table.key:
        given = given | {"event_time": None, "clock": given["clock"] or given["event_time"]}
    if given["event_time"] or given["no_event_time"]:
        beside = {name: given[name] for name in _BESIDE_EVENT_TIME if given[name]}
        if "key" in beside:
            beside["key"] = split_columns(beside["key"])
        table.set_event_time(given["event_time"], **beside)
    elif given["key"]:
        if table.event_time is not None:
            raise click.UsageError(f"--key goes with --event-time {table.event_time}")
        table.set_event_time(None, key=split_columns(given["key"]))
    if given["bucket"] or given["no_coverage"]:
        table.set_coverage(
            given["bucket"],
            entity=split_columns(given["entity"]) if given["entity"] else (),
            event_time=given["clock"],
            overlap=given["overlap"],
        )
    if given["partition_by"] or given["no_partitions"]:
        table.set_partitioning(list(given["partition_by"]))
    if given["sort_by"] or given["no_sorting"]:
        table.set_sorting(list(given["sort_by"]))
    if given["comment"] is not None:
        table.set_comment(given["comment"] or None)
