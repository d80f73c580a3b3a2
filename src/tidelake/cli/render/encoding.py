"""What a terminal, or a pipe, has no letters for."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

_ESCAPES = "tidelake.escapes"


def spell_out() -> None:
    """Where output is not UTF-8, letters that it lacks are printed as `\\u00e9`: so JSON stays
    JSON."""
    codecs.register_error(_ESCAPES, _escaped)
    if isinstance(sys.stdout, TextIOWrapper) and not _is_utf8(sys.stdout.encoding):
        sys.stdout.reconfigure(errors=_ESCAPES)


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[place : place + 2].hex() for place in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end
