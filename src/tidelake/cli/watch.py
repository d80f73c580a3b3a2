"""The same answer again and again: `--watch`."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from tidelake.errors import Unavailable

_LEAST_S = 0.1

watch_option = click.option(
    "--watch",
    type=click.FloatRange(min=_LEAST_S),
    metavar="SECONDS",
    help="Show it again after so many seconds, until Ctrl-C.",
)


def repeat(show: Callable[[], None], every: float | None) -> None:
    """Show it once; or that often, on a terminal in place of what was there. Ctrl-C is how that
    ends, and no error. A lake that does not answer for a while does not end it."""
    if every is None:
        show()
        return
    try:
        while True:
            click.clear()
            try:
                show()
            except Unavailable as error:
                click.echo(f"error: {error.message}; trying again", err=True)
            time.sleep(every)
    except KeyboardInterrupt:
        return
