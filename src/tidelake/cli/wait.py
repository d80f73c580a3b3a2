"""Waiting for what is expected: `wait`."""

from __future__ import annotations

import re

import click

from tidelake.cli import lake_names, render
from tidelake.cli.coverage_options import entities_of, entity_option, moment_of
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@entity_option
@click.option("--start", metavar="TIME", help="From this on [default: the first row].")
@click.option(
    "--until", metavar="TIME", help="Wait for what is expected before this [default: by now]."
)
@click.option("--timeout", metavar="SPAN", help="Give up after this: 600 (seconds), or 10m.")
@click.option(
    "--require",
    type=float,
    default=1.0,
    show_default=True,
    metavar="RATIO",
    help="Which share is enough, up to 1.",
)
@click.option(
    "--poll",
    metavar="SPAN",
    default="1s",
    show_default=True,
    help="How often to look for a new snapshot.",
)
@global_options
@pass_options
def wait(
    options: Options,
    /,
    table: str,
    entities: tuple[str, ...],
    start: str | None,
    until: str | None,
    timeout: str | None,
    require: float,
    poll: str,
) -> None:
    """Wait until a table has everything expected.

    Wait until TABLE has everything that is expected of it. Ends with 0, or with 2 if it does
    not come in time.

    \b
    Example:
        tidelake wait prices --until 2024-03-15T21:00:00 --timeout 2h \\
            && python report.py
        tidelake wait prices --entity ACME --until 2024-03-15 --require 0.99 \\
            --timeout 10m
    """
    from tidelake.cli.render.coverage import as_dict
    from tidelake.coverage.values.series import Series

    with options.lake() as lake:
        chosen = lake.table(table)
        series = Series.maybe(chosen.info)
        found = chosen.wait_complete(
            moment_of(series, until, "until"),
            None if timeout is None else _length(timeout),
            entity=entities_of(chosen, entities),
            start=moment_of(series, start, "start"),
            require=require,
            poll=_length(poll),
        )
    if options.as_json:
        render.document(as_dict(found))
    else:
        render.line(found.heading)


def _length(text: str) -> float | str:
    """Seconds, or a length of time."""
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d+)?", text, re.ASCII) else text
