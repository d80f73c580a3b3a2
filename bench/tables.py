"""The everyday work of one table, in process, by everybody who can do it, in turns."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from bench.report import Part, Verdict, milliseconds
from bench.timing import medians

_ROWS = 2_000_000
_APPENDED = 200_000
_SHARE = _ROWS // 100
_ROUNDS = 5
_OURS = "Tidelake"


class Table(Protocol):
    """A table of `id`, `symbol`, `price` and `ts`, as one of them keeps it."""

    def append(self, rows: Any) -> None: ...

    def read(self) -> int: ...

    def some(self, first: int, last: int) -> int: ...

    def delete(self, first: int, last: int) -> None: ...


def run(folder: Path) -> Part:
    place = folder / "tables"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    rows, more = _rows(0, _ROWS), _rows(_ROWS, _APPENDED)
    tables: dict[str, Table] = {
        _OURS: Tidelake(place / "tidelake", rows),
        "DuckDB's ducklake": Ducklake(place / "ducklake", rows),
        "deltalake": Delta(place / "delta", rows),
        "pyiceberg": Iceberg(place / "iceberg", rows),
        "raw Parquet": Parquet(place / "parquet", rows),
    }
    part = Part("Tables in process, ms", ["work", *tables])
    _work(part, tables, "read all", lambda table, _: table.read())
    _work(part, tables, "read 1 %", lambda table, n: table.some(n * _SHARE, (n + 1) * _SHARE))
    _work(part, tables, f"append {_APPENDED:,}", lambda table, _: table.append(more))
    del tables["raw Parquet"]
    _work(part, tables, "delete 1 %", lambda table, n: table.delete(n * _SHARE, (n + 1) * _SHARE))
    _work(part, tables, "read after deletes", lambda table, _: table.read())
    counts = {name: table.read() for name, table in tables.items()}
    assert len(set(counts.values())) == 1, counts
    part.notes = [
        f"{_ROWS:,} rows of four columns, given and read as Arrow tables; {_versions()}",
        "catalogs in SQLite on a disk that syncs (deltalake has none); raw Parquet: pyarrow writes"
        " and reads files in a folder, and nobody else may look meanwhile",
        f"medians of {_ROUNDS} that took turns; in the end all have the same number of rows",
        *_who_is_faster(part),
    ]
    return part


def _work(
    part: Part, tables: dict[str, Table], what: str, work: Callable[[Table, int], object]
) -> None:
    def doing(table: Table) -> Callable[[], object]:
        turns = count()
        return lambda: work(table, next(turns))

    found = medians({name: doing(table) for name, table in tables.items()}, _ROUNDS)
    part.numbers[what] = found
    times = [milliseconds(found.get(name)) for name in part.header[1:]]
    part.rows.append([what, *times])
    peer = min(taken for name, taken in found.items() if name not in (_OURS, "raw Parquet"))
    part.verdicts.append(Verdict(f"{what}, against the fastest peer", found[_OURS] / peer, 1.1))


def _who_is_faster(part: Part) -> list[str]:
    said = []
    for what, found in part.numbers.items():
        faster = [name for name, taken in found.items() if taken < found[_OURS]]
        if faster:
            said.append(f"{what}: {' and '.join(faster)} took less time than Tidelake")
    return said


def _versions() -> str:
    from importlib.metadata import version

    return ", ".join(f"{name} {version(name)}" for name in ("duckdb", "deltalake", "pyiceberg"))


def _rows(first: int, rows: int) -> Any:
    import duckdb

    return duckdb.sql(
        f"SELECT i AS id, 'SYM' || i * 7919 % 5000 AS symbol, i * 37 % 1000 / 8 AS price,"
        " TIMESTAMP '2024-01-01' + to_milliseconds(i) AS ts"
        f" FROM range({first}, {first + rows}) AS r(i)"
    ).to_arrow_table()


class Tidelake:
    def __init__(self, place: Path, rows: Any) -> None:
        import tidelake

        place.mkdir()
        self._lake = tidelake.connect(f"sqlite:///{place}/lake.db")
        self._table = self._lake.create_table("t", rows.schema)
        self._table.append(rows)

    def append(self, rows: Any) -> None:
        self._table.append(rows)

    def read(self) -> int:
        return int(self._table.to_arrow().num_rows)

    def some(self, first: int, last: int) -> int:
        return int(self._table.scan(where=f"id >= {first} AND id < {last}").to_arrow().num_rows)

    def delete(self, first: int, last: int) -> None:
        self._table.delete(f"id >= {first} AND id < {last}")


class Ducklake:
    def __init__(self, place: Path, rows: Any) -> None:
        from tidelake.testing.duck import duck_connection

        place.mkdir()
        # Kept open: closing it is the end of the benchmark.
        self._opened = duck_connection(extensions=("ducklake", "sqlite_scanner"))
        self._duck = self._opened.__enter__()
        self._duck.execute(
            f"ATTACH 'ducklake:sqlite:{place}/lake.db' AS lake (DATA_PATH '{place}/data')"
        )
        self._duck.register("given", rows)
        self._duck.execute("CREATE TABLE lake.t AS FROM given")

    def append(self, rows: Any) -> None:
        self._duck.register("more", rows)
        self._duck.execute("INSERT INTO lake.t FROM more")

    def read(self) -> int:
        return int(self._duck.execute("FROM lake.t").to_arrow_table().num_rows)

    def some(self, first: int, last: int) -> int:
        sql = f"FROM lake.t WHERE id >= {first} AND id < {last}"
        return int(self._duck.execute(sql).to_arrow_table().num_rows)

    def delete(self, first: int, last: int) -> None:
        self._duck.execute(f"DELETE FROM lake.t WHERE id >= {first} AND id < {last}")


class Delta:
    def __init__(self, place: Path, rows: Any) -> None:
        self._path = str(place)
        self.append(rows)

    def append(self, rows: Any) -> None:
        import deltalake

        deltalake.write_deltalake(self._path, rows, mode="append")

    def read(self) -> int:
        return int(self._table().to_pyarrow_table().num_rows)

    def some(self, first: int, last: int) -> int:
        only = [("id", ">=", first), ("id", "<", last)]
        return int(self._table().to_pyarrow_table(filters=only).num_rows)

    def delete(self, first: int, last: int) -> None:
        self._table().delete(f"id >= {first} AND id < {last}")

    def _table(self) -> Any:
        import deltalake

        return deltalake.DeltaTable(self._path)


class Iceberg:
    def __init__(self, place: Path, rows: Any) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        place.mkdir()
        where = {"uri": f"sqlite:///{place}/catalog.db", "warehouse": f"file://{place}"}
        catalog = SqlCatalog("bench", **where)
        catalog.create_namespace("bench")
        self._table = catalog.create_table("bench.t", schema=rows.schema)
        self._table.append(rows)

    def append(self, rows: Any) -> None:
        self._table.append(rows)

    def read(self) -> int:
        return int(self._table.scan().to_arrow().num_rows)

    def some(self, first: int, last: int) -> int:
        only = f"id >= {first} and id < {last}"
        return int(self._table.scan(row_filter=only).to_arrow().num_rows)

    def delete(self, first: int, last: int) -> None:
        self._table.delete(f"id >= {first} and id < {last}")


class Parquet:
    def __init__(self, place: Path, rows: Any) -> None:
        place.mkdir()
        self._place, self._numbers = place, count()
        self.append(rows)

    def append(self, rows: Any) -> None:
        import pyarrow.parquet as pq

        pq.write_table(rows, self._place / f"{next(self._numbers)}.parquet")

    def read(self) -> int:
        import pyarrow.parquet as pq

        return int(pq.read_table(self._place).num_rows)

    def some(self, first: int, last: int) -> int:
        import pyarrow.parquet as pq

        only = [("id", ">=", first), ("id", "<", last)]
        return int(pq.read_table(self._place, filters=only).num_rows)

    def delete(self, first: int, last: int) -> None:
        raise NotImplementedError("files alone have no deletes")
