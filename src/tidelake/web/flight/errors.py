"""Our errors as those of Flight: a code that clients know, our message, our hint in SQL, no
traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pyarrow as pa
import pyarrow.flight as fl

from tidelake.drawing.hints import in_sql
from tidelake.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    TidelakeError,
    Unavailable,
    Unsupported,
)
from tidelake.web.logs import LOG


class _Told:
    """Arrow adds Python's traceback to the message of an error that is not Flight's own, and only
    the name of its class where there is no traceback to be had."""

    @property
    def __cause__(self) -> NoReturn:
        raise AttributeError("what led to this is not for clients")


class InvalidRequest(_Told, pa.ArrowInvalid):  # type: ignore[misc]
    """INVALID_ARGUMENT."""


class MissingThing(_Told, pa.ArrowKeyError):  # type: ignore[misc]
    """NOT_FOUND."""

    def __str__(self) -> str:
        return str(self.args[0])


class NotOffered(_Told, NotImplementedError):  # type: ignore[misc]
    """UNIMPLEMENTED."""


_KINDS: tuple[tuple[type[TidelakeError], type[Exception]], ...] = (
    (NotFound, MissingThing),
    (Unsupported, NotOffered),
    (Invalid, InvalidRequest),
    (Denied, fl.FlightUnauthorizedError),
    (Unavailable, fl.FlightUnavailableError),
    (Corrupt, fl.FlightInternalError),
    (Conflict, fl.FlightServerError),
)


def as_flight_error(error: TidelakeError) -> Exception:
    found = next((theirs for ours, theirs in _KINDS if isinstance(error, ours)), None)
    hint = f" (hint: {in_sql(error.hint)})" if error.hint else ""
    return (found or fl.FlightServerError)(f"{_kind(error)}: {error.message}{hint}")


def _kind(error: TidelakeError) -> str:
    classes = type(error).__mro__
    return next(each.__name__ for each in classes if each.__module__ == TidelakeError.__module__)


@contextmanager
def telling() -> Iterator[None]:
    """Whatever goes wrong inside is told as one of Flight's errors. What nobody expected goes to
    the log whole, and to the client by its name alone."""
    try:
        yield
    except TidelakeError as error:
        raise as_flight_error(error) from None
    except (pa.ArrowException, NotOffered):
        raise
    except Exception as error:
        LOG.exception("unexpected error")
        raise fl.FlightInternalError(f"the server failed: {type(error).__name__}") from None
