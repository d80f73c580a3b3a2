"""DuckDB's exceptions, told in Tidelake's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelake.duck import interrupt_in
from tidelake.engine.incoming.csv_files import problem as csv_problem
from tidelake.errors import Corrupt, Denied, Invalid, NotFound, TidelakeError, Unavailable

_OBSTORE = "Error performing"
_ABSENT = re.compile(r"HTTP (code )?404\b|: 404 \(|\b404 Not Found")
_REFUSED = re.compile(r"HTTP (code )?40[13]\b")
RESTORE = "the file is damaged; restore it from a copy or a backup"
_VERIFY = "lake.verify(deep=True) says which it is; restore it from a copy or a backup"
_NAMELESS = ("Out of buffer", "don't know what type:")
"""What DuckDB says of pages that make no sense, without the name of the file."""
_QUOTED = re.compile(r'"([^"]+)"')
_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".gz", ".zst")
_FEW = 5
_BROKEN_STREAM = re.compile(r"get_next failed\(\):|reading the stream registered as '.*?' failed:")
_START, _HINT, _END = "\x02", "\x1f", "\x03"


def refusal(message: str, hint: str = "") -> str:
    """A message for DuckDB to carry (through `error(…)`, or out of a stream that it reads), which
    `translate_duckdb_errors` turns into an Invalid that says just this."""
    return f"{_START}{message}{_HINT}{hint}{_END}"


def refusal_in(text: str) -> Invalid | None:
    """The error inside a text that carries a refusal."""
    if _START not in text:
        return None
    message, _, hint = text.split(_START, 1)[1].split(_END, 1)[0].partition(_HINT)
    return Invalid(message, hint=hint or None)


@contextmanager
def translate_duckdb_errors(doing: str) -> Iterator[None]:
    """Run a DuckDB call; whatever it raises comes out as an error of our own tree."""
    import duckdb

    try:
        yield
    except RuntimeError as error:
        raise (interrupt_in(error) or error) from None
    except duckdb.Error as error:
        raise _translate(doing, error) from error


def _translate(doing: str, error: Exception) -> TidelakeError:
    import duckdb

    text = str(error).strip().split("\n\nLINE")[0].split("\n\nDebug source:")[0]
    if told := refusal_in(text) or csv_problem(doing, text):
        return told
    if broken := _BROKEN_STREAM.search(text):
        reason = text[broken.end() :].split(" Detail: Python exception")[0]
        return Invalid(f"{doing}: the data could not be read:{reason}", hint="check its source")
    if _OBSTORE in text:
        return _from_obstore(doing, text)
    if isinstance(error, duckdb.HTTPException):
        return _from_httpfs(doing, text)
    if isinstance(error, duckdb.PermissionException):
        return Denied(f"{doing}: {text}", hint="a sandbox reads the lake's own files alone")
    if isinstance(error, duckdb.IOException):
        return _not_written_or_read(doing, text)
    if isinstance(error, duckdb.OutOfMemoryException):
        return Unavailable(f"{doing}: {text}", hint="read in batches with to_batches()")
    if isinstance(error, duckdb.InvalidInputException) and _is_broken_file(text):
        return Corrupt(f"{doing}: {text}", hint=RESTORE)
    if type(error) is duckdb.Error and text in _NAMELESS:
        return Corrupt(f"{doing}: a data file is damaged: {text}", hint=_VERIFY)
    if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException):
        return Invalid(f"{doing}: {text}", hint="a value does not fit the type asked for")
    said = f"{doing}: {_shortened(text)}"
    return Invalid(said, hint="check the SQL, the filter and the column names")


def _from_httpfs(doing: str, text: str) -> TidelakeError:
    if _REFUSED.search(text):
        return Denied(f"{doing}: {text}", hint="check the storage_options")
    if _ABSENT.search(text):
        return missing_file(doing, text)
    return Unavailable(f"{doing}: {text}", hint="check the endpoint in storage_options")


def _from_obstore(doing: str, text: str) -> TidelakeError:
    said = _first_said(text.partition(": <?xml")[0].splitlines())
    if any(f"status code: {code}" in text for code in (401, 403)):
        return Denied(f"{doing}: {said}", hint="check the storage_options")
    return Unavailable(f"{doing}: {said}", hint="check the storage_options, then try again")


def _first_said(lines: list[str]) -> str:
    """DuckDB 2 gives the traceback first that Python had, and then the error."""
    if not lines[0].startswith("Traceback"):
        return lines[0]
    return next(line for line in (*lines[1:], lines[0]) if not line.startswith(" "))


def _not_written_or_read(doing: str, text: str) -> TidelakeError:
    if "No files found" in text or "No such file" in text:
        named = _QUOTED.search(text)
        if named and _is_of_the_query(named[1]):
            return NotFound(f"{doing}: there is no file {named[1]}", hint="check the path")
        return missing_file(doing, text)
    if "No space left" in text:
        return Unavailable(f"{doing}: {text}", hint="free some space, then try again")
    if "Permission denied" in text:
        return Denied(f"{doing}: {text}", hint="check the permissions of the data path")
    if "do not support negative intervals" in text:
        return Invalid(f"{doing}: {text}", hint="keep an interval positive, and its sign apart")
    return Unavailable(f"{doing}: {text}", hint="check that the data path can be reached")


def _is_broken_file(text: str) -> bool:
    signs = ("parquet", "Parquet", "magic bytes", "footer", "AES", "snappy", "thrift", "TProtocol")
    return any(sign in text for sign in signs)


def _is_of_the_query(path: str) -> bool:
    """Whether nobody but a query can have named it: files of a catalog are Parquet, and their
    paths are complete."""
    return not (path.startswith("/") or ":" in path) or path.lower().endswith(_ENDINGS)


def _shortened(text: str) -> str:
    """Of the functions that DuckDB might have taken, which can be dozens, the first."""
    head, title, listed = text.partition("\n\tCandidate functions:\n")
    lines = listed.splitlines()
    more = len(lines) - _FEW
    if more <= 0:
        return text
    return "\n".join((head + title.rstrip("\n"), *lines[:_FEW], f"\t… and {more} more"))


def missing_file(doing: str, text: str) -> Corrupt:
    """Of a file that the catalog names; the text says which it is."""
    return Corrupt(
        f"{doing}: a data file that the catalog names is missing: {text}",
        hint="was the data moved, or cleaned up by another tool? Check data_path and restore it",
    )
