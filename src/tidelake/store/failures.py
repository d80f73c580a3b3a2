"""What stores raise, told in our words."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelake.errors import Denied, Invalid, TidelakeError, Unavailable
from tidelake.model.address import mask_secrets, without_secrets

_REFUSED = re.compile(r"status: 40[13]\b|\(code: AccessDenied\)")
"""Of a listing, or of one of many deletes, that was refused, obstore tells no more than this."""
_SHOWN = 200


@contextmanager
def reporting(verb: str, uri: str) -> Iterator[None]:
    """Whatever a store raises comes out as an error of our own, but for what is not there."""
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    shown = mask_secrets(uri)
    try:
        yield
    except (FileNotFoundError, TidelakeError):
        raise
    except ValueError as error:
        raise _nameless(shown) from error
    except (PermissionError, PermissionDeniedError, UnauthenticatedError) as error:
        raise Denied(f"may not {verb} {shown}", hint=_allowed_by(uri)) from error
    except (OSError, BaseError) as error:
        number = getattr(error, "errno", None)
        if number == errno.ENAMETOOLONG:
            raise _nameless(shown) from error
        if number == errno.ENOSPC or "No space left" in str(error):
            raise Unavailable(
                f"cannot {verb} {shown}: the disk is full", hint="free some space, then try again"
            ) from error
        if _REFUSED.search(str(error)):
            raise Denied(f"may not {verb} {shown}", hint="check the storage_options") from error
        said = without_secrets(str(error).partition("\n")[0], uri)
        hint = "is its endpoint right, and does it answer?" if "://" in uri else "try again later"
        raise Unavailable(f"cannot {verb} {shown}: {said}", hint=hint) from error


@contextmanager
def opening(root: str) -> Iterator[None]:
    """Storage options that a store cannot be opened with are Invalid."""
    from obstore.exceptions import BaseError, UnknownConfigurationKeyError

    shown = mask_secrets(root)
    try:
        yield
    except UnknownConfigurationKeyError as error:
        raise Invalid(
            f"storage_options has a key that {root.partition('://')[0]}:// does not know:"
            f" {str(error).partition(chr(10))[0]}",
            hint="give keys of another store with its name before them: aws_…, google_…, azure_…",
        ) from error
    except (BaseError, ValueError) as error:
        said = without_secrets(str(error).partition("\n")[0], root)
        raise Invalid(
            f"{shown} cannot be reached with these storage_options: {said}",
            hint="give the account and its keys, in storage_options or in the environment",
        ) from error


def _allowed_by(uri: str) -> str:
    if "://" in uri and not uri.startswith("file://"):
        return "check the storage_options"
    return "check the permissions of the file and its folder"


def _nameless(shown: str) -> Invalid:
    name = shown if len(shown) < _SHOWN else f"{shown[:_SHOWN]}…"
    return Invalid(f"{name!r} cannot be the name of a file", hint="is it short, and without NUL?")
