"""The lake for a team: `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.model.extras import require
from tidelake.model.namespace import ROLES

if TYPE_CHECKING:
    from tidelake.web.serve import Service


_PORT = click.IntRange(0, 65535)


@click.command()
@click.option("--host", metavar="ADDRESS", help="Where to listen [default: 127.0.0.1].")
@click.option("--port", type=_PORT, help="The port of page, metrics and health [default: 8080].")
@click.option("--flight-port", type=_PORT, help="The port of Arrow Flight SQL [default: 8815].")
@click.option("--tokens", "tokens_file", metavar="FILE", help="The file of tokens; see `tokens`.")
@click.option("--tls-cert", metavar="FILE", help="The certificate, as PEM.")
@click.option("--tls-key", metavar="FILE", help="The key of the certificate, as PEM.")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    help="The role of everybody if there are no tokens [default: write].",
)
@click.option("--queries", type=int, help="Queries at once [default: 8].")
@click.option("--memory", type=int, metavar="BYTES", help="The most of one query [default: 1 GB].")
@click.option("--seconds", type=float, help="The most of one query [default: 60].")
@click.option(
    "--cache",
    type=int,
    metavar="BYTES",
    help="Memory for rows that are read often [default: 256 MB].",
)
@click.option("--log-sql", is_flag=True, default=None, help="Log statements too, values included.")
@global_options
@pass_options
def serve(options: Options, /, **given: Any) -> None:
    """Serve the lake: page, Arrow Flight SQL, metrics.

    Serve the lake: its page, Arrow Flight SQL, metrics and health, until Ctrl-C.

    On this machine alone nobody needs a token. Any other address needs TLS and tokens. Options
    can stand in the part [serve] of tidelake.toml too. Logs are lines of JSON on standard error.

    \b
    Example:
        tidelake serve
        tidelake serve --role read --port 9000 --flight-port 9001
        tidelake tokens add ann --role write
        tidelake serve --host 0.0.0.0 --tokens tidelake-tokens.toml \\
            --tls-cert cert.pem --tls-key key.pem
    """
    require("ui", "tidelake serve", "starlette", "uvicorn", "prometheus_client")
    from tidelake.lake.address import resolve
    from tidelake.lake.connect import Wishes, open_lake
    from tidelake.web.logs import write_logs
    from tidelake.web.serve import serve as run
    from tidelake.web.settings import ServeSettings

    address = resolve(options.catalog, options.data_path, None)
    settings = ServeSettings.of(address.serve, address.folder, given)
    wishes = Wishes(
        create=False,
        override_data_path=options.override_data_path,
        sandbox=settings.sandbox,
    )
    write_logs()
    run(open_lake(address, wishes), settings, lambda service: _tell(options, service))


def _tell(options: Options, service: Service) -> None:
    scheme = "http" if service.settings.tls is None else "https"
    flight = "grpc" if service.settings.tls is None else "grpc+tls"
    host = service.settings.host
    places = {
        "page": f"{scheme}://{host}:{service.port}/",
        "flight": f"{flight}://{host}:{service.flight.port}",
    }
    if options.as_json:
        render.document(places)
    else:
        render.line(f"page and metrics  {places['page']}\nArrow Flight SQL  {places['flight']}")
