"""Delta tables brought into the lake: `import`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command("import")
@click.argument("path")
@click.option("--table", required=True, metavar="NS.NAME", help="What it is to be called here.")
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
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and import nothing.")
@global_options
@pass_options
def import_table(
    options: Options,
    path: str,
    table: str,
    mode: str,
    up_to_version: int | None,
    resume: bool,
    take_over: bool,
    places: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Make the Delta table at PATH a table of the lake. Its files stay where they are: the lake
    reads them, and never deletes them, unless --take-over hands them over. What cannot be read
    exactly is refused before anything is written.

    \b
    Example:
        tidelake import s3://bucket/events --table raw.events --dry-run
        tidelake import old/prices --table prices --mode full-history
    """
    from tidelake.lake.import_delta import import_delta

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
        )
    if options.as_json:
        render.document(asdict(done))
    else:
        render.line(str(done))
