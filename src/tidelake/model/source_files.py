"""Files that rows are taken from, and how those are to be read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

from tidelake.errors import Invalid

_ENCODINGS = {"utf8": "utf-8", "utf16": "utf-16", "latin1": "latin-1", "iso88591": "latin-1"}


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How CSV files are written. `header` None: their first line names the columns, or if a new
    table is made of them, whatever it looks like. Without a header fields go by position. `null`
    is a text that stands for null, beside the empty one."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    null: str | None = None

    @property
    def has_header(self) -> bool:
        return self.header is not False

    @property
    def known_encoding(self) -> str:
        """The encoding by the name that DuckDB and Python both know."""
        if self.encoding is None:
            return "utf-8"
        plain = "".join(sign for sign in self.encoding.casefold() if sign.isalnum())
        if plain not in _ENCODINGS:
            raise Invalid(
                f"CSV files in the encoding {self.encoding!r} cannot be read",
                hint="these can: utf-8, utf-16, latin-1",
            )
        return _ENCODINGS[plain]


class CsvTerms(TypedDict, total=False):
    """The same, by name."""

    delimiter: str | None
    header: bool | None
    encoding: str | None
    null: str | None


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Paths or patterns of files, and how they are written if they are CSV."""

    paths: tuple[str, ...]
    csv: CsvFormat = CsvFormat()

    def with_header(self, header: bool) -> SourceFiles:
        return replace(self, csv=replace(self.csv, header=header))
