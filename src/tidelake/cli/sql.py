"""Statements, read or written: `sql`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli.program import (
    Options,
    as_of_option,
    commit_options,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render.result import show_any
from tidelake.cli.render.stream import print_rows
from tidelake.cli.row_options import limit_option

if TYPE_CHECKING:
    from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("query", required=False)
@click.option(
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="The value of $NAME in the query, as text; again for others.",
)
@limit_option
@as_of_option
@known_at_option
@commit_options
@global_options
@pass_options
def sql(
    options: Options,
    query: str | None,
    parameters: tuple[str, ...],
    limit: int | None,
    as_of: str | None,
    known_at: str | None,
    terms: CommitTerms,
) -> None:
    """Run statements, or open a shell for them.

    QUERY is a SELECT over tables and views, a write such as INSERT, UPDATE, DELETE, MERGE,
    CREATE TABLE or ALTER TABLE, or a CALL of what the lake can do; with `;` between them, several.
    Without QUERY, or with -, statements come from standard input; on a terminal a shell asks for
    them. Each that writes is a snapshot of its own; the first error ends a script.

    A table that is read may be followed by FOR VALID_TIME AS OF t, and by FOR SYSTEM_TIME
    AS OF, VERSION AS OF or AT (VERSION => n). --as-of and --known-at hold for the others.

    \b
    Example:
        tidelake sql "SELECT symbol, max(price) FROM prices GROUP BY symbol"
        tidelake sql 'SELECT * FROM prices WHERE symbol = $s' --param s=ACME \\
            --known-at 2
        tidelake sql "SELECT count(*) FROM prices AT (VERSION => 2)"
        tidelake sql "UPDATE prices SET price = 11.5 WHERE symbol = 'ACME'" \\
            --message "late news"
        tidelake sql "CALL compact('prices', dry_run => true)"
        echo "SELECT 1 AS one; SELECT 2 AS two" | tidelake sql --json
    """
    if query is None and sys.stdin.isatty() and sys.stdout.isatty():
        if parameters or limit is not None:
            raise click.UsageError("--param and --limit go with a QUERY")
        _refuse_single(terms, "the shell, where statements are many")
        _open_shell(options, as_of, known_at, terms)
        return
    text = sys.stdin.read() if query in (None, "-") else str(query)
    _run(options, text, Wish(dict(map(_pair, parameters)), limit, as_of, known_at, terms))


@dataclass(frozen=True, slots=True)
class Wish:
    """What the options say of every statement."""

    parameters: dict[str, str]
    limit: int | None
    as_of: str | None
    known_at: str | None
    terms: CommitTerms


def _run(options: Options, text: str, wish: Wish) -> None:
    """Statement by statement. What only reads opens the lake only to read."""
    from tidelake.cli.shell.statements import script
    from tidelake.sql.run import is_query

    statements = script(text) or [text]
    if len(statements) > 1:
        _refuse_single(wish.terms, "several statements")
    writes = [not is_query(each) for each in statements]
    with options.writable() if any(writes) else options.lake() as lake:
        for statement, is_write in zip(statements, writes, strict=True):
            given = _own(statement, wish.parameters) if len(statements) > 1 else wish.parameters
            terms = _given(wish.terms) if is_write else {}
            done = lake.sql(
                statement, given or None, as_of=wish.as_of, known_at=wish.known_at, **terms
            )
            if is_write:
                show_any(done, options.as_json)
            else:
                print_rows(done, wish.limit, options.as_json)


def _given(terms: CommitTerms) -> dict[str, Any]:
    """What was said: a CALL takes no others."""
    return {name: value for name, value in terms.items() if value is not None}


def _own(statement: str, given: dict[str, str]) -> dict[str, str]:
    """Of what is given for a whole script, the parameters that a statement has."""
    from tidelake.syntax.tokens import tokens

    names = {token.text[1:] for token in tokens(statement) if token.kind == "parameter"}
    return {name: value for name, value in given.items() if name in names}


def _refuse_single(terms: CommitTerms, place: str) -> None:
    for name in ("once", "expected"):
        if terms.get(name) is not None:
            raise click.UsageError(f"--{name} does not go with {place}")


def _open_shell(
    options: Options, as_of: str | None, known_at: str | None, terms: CommitTerms
) -> None:
    from tidelake.cli.shell.loop import Shell, run

    with options.writable() as lake:
        shell = Shell(lake, as_json=options.as_json, terms=_given(terms))
        shell.settings.clocks.set_as_of(as_of)
        shell.settings.clocks.set_known_at(lake, known_at)
        run(shell)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise click.UsageError(f"--param {text} is not NAME=VALUE")
    return name, value
