"""What was dropped, back: `undrop`."""

from __future__ import annotations

import click

from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table")
@click.option("--as", "new", metavar="NAME", help="Another name, if its own is taken.")
@click.option(
    "--known-at", metavar="N|TIME|TAG", help="If several had the name: the one of this moment."
)
@commit_options
@global_options
@pass_options
def undrop(
    options: Options,
    table: str,
    new: str | None,
    known_at: str | None,
    terms: CommitTerms,
) -> None:
    """Bring a dropped table or view back.

    Bring a dropped TABLE (or view) back: rows, their ids, settings and past. Without
    --known-at it is the one that was dropped last. Its last snapshot must not have been expired.

    \b
    Example:
        tidelake undrop prices
        tidelake undrop quotes --known-at 12 --as quotes_of_march
    """
    options.write(lambda lake: lake.undrop(table, as_=new, known_at=known_at, **terms))
