"""A service of a test, and clients of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow.flight as fl
from adbc_driver_flightsql import dbapi

import tidelake
from tidelake.testing.place import Place
from tidelake.web.flight import messages
from tidelake.web.limits import Limits
from tidelake.web.serve import Service
from tidelake.web.settings import ServeSettings


@contextmanager
def running(place: Place, limits: Limits | None = None, **said: Any) -> Iterator[Service]:
    """Flight answers on a port of its own; HTTP is asked without a port."""
    settings = ServeSettings(port=0, flight_port=0, grace=2.0, **said)
    lake = tidelake.connect(place.url, str(place.data), sandbox=settings.sandbox)
    service = Service(lake, settings, limits)
    try:
        yield service
    finally:
        assert service.close()


def address(service: Service) -> str:
    return f"grpc://127.0.0.1:{service.flight.port}"


def adbc(service: Service, token: str | None = None, **said: Any) -> Any:
    """A connection of ADBC's driver, which commits each statement unless it is told otherwise."""
    headers = {
        f"adbc.flight.sql.rpc.call_header.{name.replace('_', '-')}": value
        for name, value in said.pop("headers", {}).items()
    }
    if token is not None:
        headers["adbc.flight.sql.authorization_header"] = f"Bearer {token}"
    said.setdefault("autocommit", True)
    return dbapi.connect(address(service), db_kwargs=headers, **said)


def rows_of(service: Service, sql: str, token: str | None = None, **said: Any) -> Any:
    """What ADBC's driver reads, as a table."""
    with adbc(service, token, **said) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


def info_of(client: fl.FlightClient, sql: str) -> fl.FlightInfo:
    command = messages.new("CommandStatementQuery", query=sql)
    return client.get_flight_info(fl.FlightDescriptor.for_command(messages.pack(command)))
