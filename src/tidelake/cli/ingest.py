"""Files that come, each once: `ingest`."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.file_options import csv_form, csv_options
from tidelake.cli.program import Options, global_options, pass_options, signature_options
from tidelake.cli.row_options import split_columns
from tidelake.errors import Conflict, Unavailable

if TYPE_CHECKING:
    from tidelake.ingestion.values import IngestResult

_LISTS = ("key", "entity", "sort_by")


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.argument("patterns", nargs=-1, required=True)
@click.option(
    "--format", type=click.Choice(["csv", "json", "parquet"]), help="The format of all files."
)
@click.option(
    "--type", "types", metavar="X=TYPE", multiple=True, help="The type of a new table's column."
)
@click.option(
    "--new-columns",
    type=click.Choice(["refuse", "add", "ignore"]),
    default="refuse",
    show_default=True,
    help="Columns that the table lacks.",
)
@click.option(
    "--bad-records",
    type=click.Choice(["quarantine", "refuse"]),
    default="quarantine",
    show_default=True,
    help="Records that do not fit.",
)
@click.option("--quarantine", metavar="NAME", help="Their table [default: TABLE_quarantine].")
@click.option(
    "--changed",
    type=click.Choice(["refuse", "again", "ignore"]),
    default="refuse",
    show_default=True,
    help="Files that have changed since they were taken.",
)
@click.option("--batch-files", type=click.IntRange(min=1), default=1000, show_default=True,
              help="How many files a commit takes.")  # fmt: skip
@click.option("--batch-bytes", type=click.IntRange(min=1), default=256 << 20, show_default=True,
              help="How many bytes a commit takes.")  # fmt: skip
@click.option("--key", metavar="A,B", help="The key of a new table.")
@click.option("--event-time", metavar="X", help="The event time of a new table.")
@click.option("--tombstone", metavar="X", help="The tombstone column of a new table.")
@click.option("--entity", metavar="A,B", help="The entity columns of a new table.")
@click.option("--bucket", metavar="WIDTH", help="The buckets of a new table: 1m, 1h, 1d …")
@click.option(
    "--overlap", metavar="POLICY", help="The policy of a new table: allow, reject, skip, replace."
)
@click.option("--partition-by", metavar="KEY", multiple=True, help="A partition of a new table.")
@click.option("--sort-by", metavar="A,B", help="The order of a new table.")
@csv_options
@click.option("--watch", type=click.FloatRange(min=0.01), metavar="SECONDS",
              help="Look again after so many seconds, until Ctrl-C.")  # fmt: skip
@signature_options
@global_options
@pass_options
def ingest(
    options: Options,
    /,
    table: str,
    patterns: tuple[str, ...],
    watch: float | None,
    **given: Any,
) -> None:
    """Take files into a table, each once.

    Take CSV, JSON or Parquet files into TABLE, each once, however often you run this. PATTERNS
    are files, folders or patterns such as "incoming/*.csv". The lake remembers which files it
    has taken. If there is no such table, it is made. Records that do not fit go to a
    quarantine.

    \b
    Example:
        tidelake ingest prices "incoming/*.csv" --type "price=DECIMAL(10,2)"
        tidelake ingest prices s3://bucket/incoming/ --new-columns add --watch 30
    """
    from tidelake.lake.ingest import ingest as take

    wanted = _wanted(given)
    with options.writable() as lake:
        while True:
            try:
                _show(take(lake, table, patterns, **wanted), options.as_json, quiet=bool(watch))
            except (Unavailable, Conflict) as error:
                if watch is None:
                    raise
                click.echo(f"error: {error.message}; trying again", err=True)
            if watch is None:
                return
            time.sleep(watch)


def _wanted(given: dict[str, Any]) -> dict[str, Any]:
    """What was said, as the library takes it."""
    form = csv_form(*(given.pop(name) for name in ("delimiter", "header", "encoding", "null")))
    wanted = {name: value for name, value in given.items() if value not in (None, ())}
    for name in _LISTS:
        if name in wanted:
            wanted[name] = split_columns(wanted[name])
    wanted["types"] = dict(_pair(text) for text in given["types"])
    return wanted | {"csv": form}


def _pair(text: str) -> tuple[str, str]:
    name, found, kind = text.partition("=")
    if not found:
        raise click.UsageError(f"--type takes column=type, not {text!r}.")
    return name, kind


def _show(done: IngestResult, as_json: bool, *, quiet: bool) -> None:
    if quiet and not done.files:
        return
    if as_json:
        render.document(asdict(done))
    else:
        at = f"snapshot {done.snapshots[-1]}: " if done.snapshots else ""
        render.line(f"{at}{done}")
