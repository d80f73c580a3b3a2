"""The lake in a browser: `ui`."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.model.extras import require


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Where to listen, on this machine alone; 0 for any port that is free.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--write", is_flag=True, help="Let the page change the lake: upkeep and rollback.")
@global_options
@pass_options
def ui(options: Options, port: int, no_browser: bool, write: bool) -> None:
    """Open the lake in the browser.

    Open the lake in the browser: its tables and their health, both clocks, history, files,
    coverage, SQL, and what others do with it. It listens on this machine alone, and changes
    nothing unless --write allows it.

    \b
    Example:
        tidelake ui
        tidelake ui --port 0 --no-browser
    """
    for package in ("starlette", "jinja2", "uvicorn"):
        require("ui", "the page", package)
    from tidelake.web.local import run

    def ready(address: str) -> None:
        if options.as_json:
            render.document({"address": address, "writable": write})
        else:
            render.line(f"The lake is at {address} (Ctrl C ends it)")
        if not no_browser:
            click.launch(address)

    with options.writable() if write else options.lake() as lake:
        run(lake, port, writable=write, ready=ready)
