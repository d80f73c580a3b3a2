"""Delta tables brought into the lake: `import`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options, signature_options


@click.command("import")
@click.argument("path", required=False)
@click.option("--table", metavar="NS.NAME", help="The name of the table here.")
@click.option(
    "--mode",
    type=click.Choice(["fast", "full-history"]),
    default="fast",
    show_default=True,
    help="The table as it is, or every version as a snapshot.",
)
@click.option("--up-to-version", type=int, metavar="N", help="The last version to import.")
@click.option("--resume", is_flag=True, help="Go on with an import, or bring what has come since.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Hand its files over to the lake, which deletes them when no snapshot needs them.",
)
@click.option(
    "--place",
    "places",
    multiple=True,
    metavar="FOLDER",
    help="Another folder whose files its log may name, as that of a shallow clone.",
)
@click.option("--log-dir", metavar="FOLDER", help="Where the log is, if not in PATH.")
@click.option("--table-location", metavar="FOLDER", help="Where the files are, if not in PATH.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and import nothing.")
@click.option(
    "--check", is_flag=True, help="Compare what was imported with its log. Change nothing."
)
@click.option("--all", "every", is_flag=True, help="With --check: all tables that were imported.")
@click.option(
    "--lag-threshold-seconds",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="With --check: for how long the log may be ahead.",
)
@signature_options
@global_options
@click.pass_context
@pass_options
def import_table(
    options: Options,
    context: click.Context,
    /,
    path: str | None,
    table: str | None,
    mode: str,
    up_to_version: int | None,
    resume: bool,
    take_over: bool,
    places: tuple[str, ...],
    log_dir: str | None,
    table_location: str | None,
    dry_run: bool,
    check: bool,
    every: bool,
    lag_threshold_seconds: float,
    author: str | None,
    message: str | None,
) -> None:
    """Make the Delta table at PATH a table of the lake. Its files stay where they are: the lake
    reads them, and never deletes them, unless --take-over hands them over. What cannot be read
    exactly is refused before anything is written.

    With --check a table that was imported is compared with its log. Ends with 0 if they are the
    same, 2 if they differ, 3 if the log has only gone on, and 1 if that cannot be told.

    \b
    Example:
        tidelake import s3://bucket/events --table raw.events --dry-run
        tidelake import old/prices --table imported --mode full-history
        tidelake import --check --table imported
        tidelake import --check --all
    """
    from tidelake.lake.import_delta import import_delta

    if check:
        asked = _Check(path, table, log_dir, table_location, places, lag_threshold_seconds)
        context.exit(_compare(options, asked, every=every))
    if path is None or table is None or every:
        raise click.UsageError("give PATH and --table; or --check, with --table or --all")
    with options.lake() if dry_run else options.writable() as lake:
        done = import_delta(
            lake,
            path,
            table,
            mode=mode,
            up_to_version=up_to_version,
            resume=resume,
            take_over=take_over,
            dry_run=dry_run,
            places=places,
            log_dir=log_dir,
            table_location=table_location,
            author=author,
            message=message,
        )
    if options.as_json:
        render.document(asdict(done))
    else:
        render.line(str(done))


@dataclass(frozen=True, slots=True)
class _Check:
    path: str | None
    table: str | None
    log_dir: str | None
    table_location: str | None
    places: tuple[str, ...]
    lag_threshold_seconds: float


def _compare(options: Options, asked: _Check, *, every: bool) -> int:
    """Show how tables and their logs differ; the code to end with, which is the gravest."""
    from tidelake.lake.import_delta import diff_delta, diff_every_import

    if every == (asked.table is not None) or (every and asked.path is not None):
        raise click.UsageError("--check takes --table, or --all alone")
    with options.lake() as lake:
        if asked.table is None:
            found = diff_every_import(lake, asked.lag_threshold_seconds)
        else:
            found = [
                diff_delta(
                    lake,
                    asked.table,
                    asked.path,
                    log_dir=asked.log_dir,
                    table_location=asked.table_location,
                    places=asked.places,
                    lag_threshold_seconds=asked.lag_threshold_seconds,
                )
            ]
    if options.as_json:
        render.document([each.as_dict() for each in found])
    else:
        render.line("\n".join(map(str, found)) or "no table was imported")
    codes = {each.exit_code for each in found}
    return next((code for code in (2, 3) if code in codes), 0)
