"""What a lake of the corpus is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Script:
    """SQL that DuckDB runs, statement by statement, inside an attached DuckLake named `lake`.

    In the text `$FILES` is a folder for files that are not the lake's own, `$DATA` its data
    path; `prepare` puts files into the former before the first statement.
    `inline` is the row limit for data inlining, or None for "both with and without".
    `attach` are more options of ATTACH. `catalogs` are the kinds it can run on.
    `after` runs once the lake has been detached, on the catalog database attached as `meta`:
    forms that the specification allows and DuckDB reads but never writes.
    """

    name: str
    sql: str
    tags: frozenset[str] = frozenset()
    inline: int | None = None
    attach: str = ""
    catalogs: tuple[str, ...] = ("sqlite", "duckdb", "postgres")
    prepare: Callable[[Path], None] | None = None
    after: str = ""

    def limits(self) -> list[int]:
        """The inlining limits to run with: 10 is DuckDB's own default."""
        return [0, 10] if self.inline is None else [self.inline]


def script(name: str, sql: str, tags: str = "", **more: object) -> Script:
    return Script(name, sql, frozenset(tags.split()), **more)  # type: ignore[arg-type]
