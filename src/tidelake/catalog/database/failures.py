"""What database drivers raise, told in our words; recognised by code, not by message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tidelake.catalog.database.url import CatalogUrl
from tidelake.duck import interrupt_in
from tidelake.errors import Corrupt, Invalid, TidelakeError, Unavailable
from tidelake.model.address import without_secrets


class Failure(NamedTuple):
    """The error that a driver's becomes, what is said of the catalog in it, and the hint."""

    error: type[TidelakeError]
    what: str
    hint: str
    passing: bool = False


def lost_race(what: str, hint: str) -> Failure:
    """The transaction came to nothing, or nobody knows: the same change may be tried again."""
    return Failure(Unavailable, what, hint, passing=True)


LOCKED = "another process is writing to it; try again when it has finished"
PASSWORD = "check the user and password in the catalog address"
SERVER = "is the server running, and are host and port right?"
RACE = "another commit came first; try again"

_SHOWN = 100
_UNEXPECTED = Failure(Corrupt, "gave an unexpected error", "is it a DuckLake 1.0 catalog?")


@contextmanager
def translate_driver_errors(
    url: CatalogUrl, failure_of: Callable[[Any], Failure | None], drivers: Collection[str]
) -> Iterator[None]:
    """Whatever a driver raises inside comes out as an error of our own tree."""
    try:
        yield
    except TidelakeError:
        raise
    except RuntimeError as error:
        raise (interrupt_in(error) or error) from error.__cause__
    except TypeError as error:
        if "unexpected keyword argument" not in str(error) or url.is_embedded:
            raise
        said = without_secrets(str(error).rpartition(" ")[2], url.url or "")
        raise Invalid(
            f"the address {url} has an option that its driver does not know: {said}",
            hint="check what stands behind the question mark",
        ) from None
    except UnicodeEncodeError as error:
        raise _no_text(error.object) from None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in drivers:
            raise
        cause = getattr(error, "orig", None) or error
        told = _explain(url, cause, failure_of(cause) or _UNEXPECTED)
        quotes = without_secrets(str(error), url.url or "") != str(error)
        raise told from (None if quotes else error)


def _explain(url: CatalogUrl, cause: Any, failure: Failure) -> TidelakeError:
    text = without_secrets(str(cause).strip(), url.url or "")
    detail = text.splitlines()[0] if text else type(cause).__name__
    message = f"the catalog {url} {failure.what}: {detail}"
    if failure.passing:
        return Unavailable(message, hint=failure.hint, passing=True)
    return failure.error(message, hint=failure.hint)


def _no_text(text: str) -> Invalid:
    shown = text if len(text) < _SHOWN else f"{text[:_SHOWN]}…"
    return Invalid(
        f"{shown!r} holds characters that no database takes", hint="leave out lone surrogates"
    )
