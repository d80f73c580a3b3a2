"""Facts, one or a few: `put`."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.model.names import fold
from tidelake.model.terms import CommitTerms

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.model.change import WriteResult


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.argument("facts", nargs=-1, required=True)
@commit_options
@global_options
@pass_options
def put(options: Options, table: str, facts: tuple[str, ...], terms: CommitTerms) -> None:
    """Add facts to TABLE as one small commit. Each of FACTS is a JSON object; - reads objects,
    one on a line, from standard input. A fact with the key and the event time of another is a
    correction of it.

    \b
    Example:
        tidelake put quotes \\
            '{"symbol": "ACME", "ts": "2024-03-12T09:00:00", "bid": 10.0}'
    """
    lines = sys.stdin.read().splitlines() if facts == ("-",) else facts
    rows = [_fact(line) for line in lines if line.strip()]

    def add(lake: Lake) -> WriteResult:
        found = lake.table(table)
        exact = {fold(each.name) for each in found.schema if each.type.startswith("decimal")}
        return found.put([_typed(row, exact) for row in rows], **terms)

    options.write(add)


def _fact(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise click.UsageError(f"{text!r} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.UsageError(f"{text!r} is not an object with a value for each column")
    return found


def _typed(row: dict[str, Any], exact: set[str]) -> dict[str, Any]:
    """Numbers keep all their digits in columns that can hold them; elsewhere they are floats."""
    return {
        name: value if fold(name) in exact else _with_floats(value) for name, value in row.items()
    }


def _with_floats(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_with_floats(each) for each in value]
    if isinstance(value, dict):
        return {name: _with_floats(each) for name, each in value.items()}
    return value
