"""Where a lake of a test is, what lies there, and a proof that a refusal changes nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import tidelake
from tidelake.errors import Invalid, TidelakeError
from tidelake.lake.address import resolve
from tidelake.lake.connect import Wishes, open_lake
from tidelake.model.tuning import Tuning
from tidelake.testing.duck import duck_connection

if TYPE_CHECKING:
    import duckdb

_FILES = {"sqlite": "lake.db", "duckdb": "lake.duckdb"}


class Server(Protocol):
    """A database server that makes empty databases, and gives their addresses."""

    def new_database(self) -> str: ...


def files_below(folder: Path) -> list[Path]:
    """All files below a folder, but for those that say whose it is."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if path.parent.name != "_tidelake"]


@dataclass(frozen=True)
class Place:
    """An address of a lake that need not exist yet; it can be sent to another process.

    `kind` is that of the catalog: sqlite, duckdb, postgresql or mariadb. `folder` holds everything
    that the lake may write, and nothing else.
    """

    kind: str
    url: str
    folder: Path
    tuning: Tuning = field(default_factory=Tuning)

    @classmethod
    def at(cls, kind: str, folder: Path, server: Server | None = None) -> "Place":
        """A place in a folder, which is made; `server` is for the kinds that need one."""
        folder = folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if kind in _FILES:
            return cls(kind, f"{kind}:///{folder / _FILES[kind]}", folder)
        assert server is not None, f"a catalog of {kind} needs a server"
        return cls(kind, server.new_database(), folder)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def catalog_file(self) -> Path:
        """The catalog, if it is a file."""
        return self.folder / _FILES[self.kind]

    @property
    def ducklake(self) -> str | None:
        """What DuckDB attaches; None where it cannot use the catalog in earnest."""
        match self.kind:
            case "sqlite":
                return f"ducklake:sqlite:{self.catalog_file}"
            case "duckdb":
                return f"ducklake:{self.catalog_file}"
            case "postgresql":
                return f"ducklake:postgres:{self.url}"
        return None

    @property
    def exclusive(self) -> bool:
        """Whether only one of Tidelake and DuckDB can have the catalog open."""
        return self.kind == "duckdb"

    @property
    def shared(self) -> bool:
        """Whether DuckDB can use the catalog while Tidelake does."""
        return self.ducklake is not None and not self.exclusive

    def tuned(self, **limits: float) -> "Place":
        """The same place, where lakes are opened with other limits: fields of `Tuning`."""
        tuning = replace(self.tuning, **cast(Any, limits))
        return replace(self, tuning=tuning)

    def open(self, **options: object) -> tidelake.Lake:
        """The lake, as `connect` opens it with these options."""
        given = cast(dict[str, Any], options)
        address = resolve(self.url, f"{self.data}/", given.pop("storage_options", None))
        return open_lake(address, Wishes(tuning=self.tuning, **given))

    def duck(self) -> "duckdb.DuckDBPyConnection":
        """A DuckDB connection with the lake attached as `lake`."""
        connection = duck_connection()
        connection.execute(f"ATTACH '{self.ducklake}' AS lake (DATA_PATH '{self.data}/')")
        return connection

    def files(self) -> set[str]:
        """Every file there is, but for the catalog's own, and the mark of the data path."""
        found = (p for p in files_below(self.folder) if p.parent != self.folder)
        return {str(path.relative_to(self.folder)) for path in found}

    def state(self) -> tuple[set[str], list[str]]:
        """All files, and all that an SQLite catalog holds."""
        if self.kind != "sqlite" or not self.catalog_file.exists():
            return self.files(), []
        with closing(sqlite3.connect(self.catalog_file)) as catalog:
            return self.files(), list(catalog.iterdump())

    def catalog(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of an SQLite catalog; or a change of it."""
        with closing(sqlite3.connect(self.catalog_file)) as connection, connection:
            return connection.execute(sql, values).fetchall()

    def unknown_files(self) -> set[str]:
        """Files under the data path that an SQLite catalog says nothing of."""
        known = self.catalog("SELECT path FROM ducklake_data_file")
        known += self.catalog("SELECT path FROM ducklake_delete_file")
        known += self.catalog("SELECT path FROM ducklake_files_scheduled_for_deletion")
        names = {Path(str(row[0])).name for row in known}
        return {str(path) for path in files_below(self.data) if path.name not in names}

    @contextmanager
    def refuses(
        self, kind: type[TidelakeError] = Invalid, match: str = "", *, hint: bool = True
    ) -> Iterator[None]:
        """The body must raise this, and leave the lake exactly as it was."""
        before, caught = self.state(), None
        try:
            yield
        except TidelakeError as error:
            caught = error
        assert caught is not None, f"nothing was refused, and {kind.__name__} was expected"
        assert isinstance(caught, kind), caught
        assert match in str(caught), caught
        assert caught.hint or not hint, f"no hint: {caught}"
        files, catalog = self.state()
        assert files == before[0]
        assert catalog == before[1]
