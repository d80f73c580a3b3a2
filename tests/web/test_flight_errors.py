"""Errors of the lake as drivers of Flight get them."""

import pytest

from tidelake.errors import Invalid, NotFound
from tidelake.web.flight.errors import InvalidRequest, MissingThing, as_flight_error


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            NotFound("there is no main.x", hint="lake.tables() lists them"),
            MissingThing,
            "NotFound: there is no main.x (hint: SHOW TABLES lists them)",
        ),
        (Invalid("n=0 is not 1 or more"), InvalidRequest, "Invalid: n=0 is not 1 or more"),
    ],
)
def test_hints_are_sql(error, kind, told):
    found = as_flight_error(error)
    assert isinstance(found, kind)
    assert str(found) == told
