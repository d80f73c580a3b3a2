"""The lines of text files, plain or compressed, on disk or in an object store."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from tidelake.errors import Invalid
from tidelake.model.tuning import Tuning
from tidelake.store.files import Store, is_local, local_path

LONGEST = Tuning().longest_record


@contextmanager
def open_text(store: Store, path: str, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """A text file, with newlines as they are written. What the encoding has no signs for comes
    as U+FFFD."""
    with _opened(store, path) as raw:
        plain = "utf-8-sig" if encoding == "utf-8" else encoding
        with _Lines(path, cast(Any, raw), plain) as text:
            yield text


class _Lines(io.TextIOWrapper):
    """Text whose lines have an end within sight: one without would fill the memory."""

    def __init__(self, path: str, raw: Any, encoding: str) -> None:
        super().__init__(raw, encoding=encoding, errors="replace", newline="")
        self._path = path

    def __next__(self) -> str:  # type: ignore[override]
        found = self.readline(LONGEST + 1)
        if not found:
            raise StopIteration
        if len(found) > LONGEST:
            raise Invalid(
                f"{self._path} has a line of more than {LONGEST:,} characters",
                hint="divide it into lines, each with a record",
            )
        return found


@contextmanager
def _opened(store: Store, path: str) -> Iterator[IO[bytes]]:
    source: Any = local_path(path).open("rb") if is_local(path) else io.BytesIO(store.read(path))
    with source:
        try:
            if path.endswith(".gz"):
                yield cast(IO[bytes], gzip.GzipFile(fileobj=source))
            elif path.endswith(".zst"):
                yield _decompressed(source)
            else:
                yield source
        except (EOFError, OSError, gzip.BadGzipFile) as error:
            raise Invalid(
                f"{path} cannot be read: {error}", hint="check that the file is whole"
            ) from error


def _decompressed(source: IO[bytes]) -> IO[bytes]:
    import pyarrow as pa

    return cast(
        IO[bytes], io.BufferedReader(cast(Any, pa.input_stream(source, compression="zstd")))
    )
