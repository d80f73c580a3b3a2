"""Back to an earlier snapshot: `rollback`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.option(
    "--to", "moment", metavar="N|TIME|TAG", required=True, help="The snapshot to go back to."
)
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@commit_options
@global_options
@pass_options
def rollback(
    options: Options,
    table: str,
    moment: str,
    dry_run: bool,
    terms: CommitTerms,
) -> None:
    """Bring a table back to an earlier snapshot.

    Bring TABLE back to what it was: its rows, their ids, and its columns. This is one more
    commit; what has been since stays readable with --known-at.

    \b
    Example:
        tidelake rollback prices --to 12 --dry-run
        tidelake rollback prices --to eod-2024-03-15 \\
            --message "the 16th was loaded twice"
    """
    if not dry_run:
        options.write(lambda lake: lake.table(table).rollback(moment, **terms))
        return
    with options.writable() as lake, lake.transaction() as tx:
        would = tx.table(table).rollback(moment)
        tx.rollback()
    if options.as_json:
        render.document({"dry_run": True, **asdict(would)})
    else:
        render.line(f"would make a snapshot{would.counted}")
