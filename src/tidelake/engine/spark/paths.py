"""How Spark spells the paths of files."""

from __future__ import annotations

import posixpath
import re
import string
import unicodedata
from urllib.parse import quote, unquote

_GLOB = re.compile(r"([\\\[\]{}*?])")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_UNQUOTED = frozenset(string.ascii_letters + string.digits + "-_.!~*'():@&=+$,;/")


def scheme_and_host(path: str) -> tuple[str, str]:
    """Where a path lives: ('file', '') for a plain one."""
    found = _URI.fullmatch(path)
    return (found[1], found[2]) if found else ("file", "")


def with_scheme(path: str, scheme: str) -> str:
    """The path as a URI of `scheme`, whatever the session's default file system is."""
    found = _URI.fullmatch(path)
    host, rest = (found[2], found[3]) if found else ("", path)
    return f"{scheme}://{host}{rest}"


def escape_globs(path: str) -> str:
    """A path that `spark.read` takes literally."""
    return _GLOB.sub(r"\\\1", path)


def metadata_path(path: str) -> str:
    """The text that `_metadata.file_path` has for a file read by this URI.

    Hadoop normalises the path, and Java's URI quotes it: `%` too, but not letters beyond ASCII.
    """
    found = _URI.fullmatch(path)
    assert found is not None, path
    scheme, host, rest = found.groups()
    clean = posixpath.normpath(re.sub("/+", "/", rest))
    quoted = "".join(c if _stays(c) else quote(c, safe="") for c in clean)
    return f"{scheme}:{quoted}" if scheme == "file" else f"{scheme}://{host}{quoted}"


def plain_path(uri: str) -> str:
    """What users call a file that Spark names in a message."""
    rest = uri.removeprefix("file:")
    return uri if rest == uri else f"/{unquote(rest).lstrip('/')}"


def _stays(character: str) -> bool:
    if character.isascii():
        return character in _UNQUOTED
    return unicodedata.category(character) not in ("Zs", "Zl", "Zp", "Cc")


def is_readable_name(path: str) -> bool:
    """Whether Spark would read a file of this name: it takes some for hidden, and Hadoop's local
    file system cannot open a name with a colon."""
    name = path.rsplit("/", 1)[-1]
    return not name.startswith(("_", ".")) and not name.endswith("._COPYING_") and ":" not in name
