"""A first look at Parquet files that somebody else wrote, before DuckDB opens them.

DuckDB believes what a footer says of its own size: a file of a few bytes may make it take all
memory, and one whose schema is nested deeply enough ends the process. Arrow has limits for both, so
its reader is asked first, of the footer alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING

from tidelake.errors import Invalid, NotFound
from tidelake.model.tuning import Tuning
from tidelake.store.files import Store

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_LIMITS = Tuning()
_MAGIC = b"PAR1"
_END = 8
_USUAL = 64 * 1024
_AT_ONCE = 16
_KEPT = 100_000
_seen: set[str] = set()
_HINT = "it was not written by a program that means well; restore it from a copy, or leave it out"


def look_first(store: Store, paths: Iterable[str]) -> None:
    """Raise Invalid for a file whose footer is too much for a reader, or none. What is not there,
    is no Parquet file at all, or is encrypted, DuckDB says itself. Files are looked at once."""
    fresh = [path for path in dict.fromkeys(paths) if path not in _seen]
    if len(_seen) + len(fresh) > _KEPT:
        _seen.clear()
    if len(fresh) == 1:
        _check(store, fresh[0])
    elif fresh:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda path: _check(store, path), fresh))


def _check(store: Store, path: str) -> None:
    try:
        footer = _footer(store, path)
    except NotFound:
        return
    if footer is not None:
        _check_footer(path, footer)
    _seen.add(path)


def _check_footer(path: str, footer: bytes) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    end = struct.pack("<I", len(footer)) + _MAGIC
    try:
        _check_claims(path, pq.read_metadata(BytesIO(_MAGIC + footer + end)))
    except (pa.ArrowException, OSError) as error:
        raise Invalid(
            f"the footer of {path} cannot be read: {str(error).splitlines()[0]}", hint=_HINT
        ) from None


def _footer(store: Store, path: str) -> bytes | None:
    """None if there is none that can be looked at."""
    tail = store.tail(path, _USUAL)
    if len(tail) <= _END or tail[-4:] != _MAGIC:
        return None
    size = struct.unpack("<I", tail[-_END:-4])[0]
    if size > _LIMITS.largest_footer:
        raise Invalid(
            f"the footer of {path} has {size:,} bytes, more than the {_LIMITS.largest_footer:,}"
            " that are read",
            hint=_HINT,
        )
    if size > len(tail) - _END:
        tail = store.tail(path, size + _END)
    if size > len(tail) - _END:
        raise Invalid(f"{path} is shorter than its footer says", hint="restore it from a copy")
    return tail[-_END - size : -_END]


def _check_claims(path: str, told: pq.FileMetaData) -> None:
    if told.num_columns > _LIMITS.most_columns:
        raise Invalid(
            f"{path} has {told.num_columns:,} columns, more than the {_LIMITS.most_columns:,} that"
            " are read",
            hint=_HINT,
        )
    rows = [told.row_group(place).num_rows for place in range(told.num_row_groups)]
    if told.num_rows < 0 or any(each < 0 for each in rows) or sum(rows) != told.num_rows:
        raise Invalid(
            f"{path} says that it has {told.num_rows:,} rows, and its parts have {sum(rows):,}",
            hint=_HINT,
        )
