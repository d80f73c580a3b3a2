"""Where a lake of a test is, in a form that can be handed to another process."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tidelake
from tidelake.testing.duck import duck_connection

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Place:
    kind: str
    url: str
    data_path: str

    def open(self, **options: Any) -> tidelake.Lake:
        return tidelake.connect(self.url, self.data_path, **options)

    @property
    def files(self) -> Path:
        return Path(self.data_path)

    @property
    def duck_reads(self) -> bool:
        """DuckDB cannot use a MySQL catalog in earnest."""
        return self.kind in ("sqlite", "postgresql")

    def duck(self) -> "duckdb.DuckDBPyConnection":
        """A DuckDB connection with the lake attached as `lake`."""
        connection = duck_connection()
        connection.execute(
            f"ATTACH 'ducklake:{self._duck_catalog()}' AS lake (DATA_PATH '{self.data_path}')"
        )
        return connection

    def _duck_catalog(self) -> str:
        if self.kind == "sqlite":
            return f"sqlite:{self.url.removeprefix('sqlite:///')}"
        return f"postgres:{self.url}"
