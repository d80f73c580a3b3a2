"""What a lake of the corpus is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place


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
    catalogs: tuple[str, ...] = ("sqlite", "duckdb", "postgresql")
    prepare: Callable[[Path], None] | None = None
    after: str = ""

    def limits(self) -> list[int]:
        """The inlining limits to run with: 10 is DuckDB's own default."""
        return [0, 10] if self.inline is None else [self.inline]

    def make(self, oracle: Oracle, place: Place, limit: int, *, tolerant: bool = False) -> None:
        """The lake, at a place. A tolerant run leaves out the statements that DuckDB refuses."""
        files = place.folder / "files"
        files.mkdir()
        if self.prepare:
            self.prepare(files)
        options = f", DATA_INLINING_ROW_LIMIT {limit}{self.attach}"
        oracle.run(place, _filled(self.sql, files, place), options=options, tolerant=tolerant)
        if self.after:
            oracle.edit(place, _filled(self.after, files, place))


def _filled(text: str, files: Path, place: Place) -> str:
    return text.replace("$FILES", str(files)).replace("$DATA", str(place.data))


def script(name: str, sql: str, tags: str = "", **more: object) -> Script:
    return Script(name, sql, frozenset(tags.split()), **more)  # type: ignore[arg-type]
