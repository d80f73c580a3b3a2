"""An engine without DuckDB or Spark, for tests of what is planned: files are lists of dicts that it
keeps, a query is the name of a relation, and a plan gives all rows of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelake.engine import Engine, Job, Reading
from tidelake.engine.incoming.bring import IncomingData
from tidelake.model.change import ColumnFacts, NewFile
from tidelake.model.closable import Closable
from tidelake.plan.target import Target
from tidelake.store.files import Store

Row = Mapping[str, Any]


def _unasked(*_: Any, **__: Any) -> Any:
    raise AssertionError("who plans does not ask an engine for this")


@dataclass
class FakeReading:
    count: Callable[[], int]
    to_arrow = to_batches = to_pandas = to_polars = to_duckdb = to_spark = _unasked


class FakeJob(Closable):
    in_process = True

    def __init__(self, files: dict[str, Sequence[Row]]) -> None:
        self._files, self._relations = files, dict[str, Sequence[Row]]()

    def close(self) -> None:
        self._relations.clear()

    def bring(self, name: str, data: Any, *_: Any, **__: Any) -> IncomingData:
        self._relations[name] = data
        return IncomingData(name, frozenset(data[0]), rereadable=True)

    def write(self, sql: str, target: Target, **__: Any) -> tuple[NewFile, ...]:
        rows, path = self._relations[sql], f"{target.path}{len(self._files)}.parquet"
        self._files[path] = rows
        facts = tuple(_facts(c.id, [row.get(c.name) for row in rows]) for c in target.columns)
        return (NewFile(path, len(rows), bytes=1, footer_size=1, columns=facts),)

    scan = relation = deletions = define = number = gather = pick = hold = keep = take = _unasked
    columns = shapes = reading = rows = catalog_rows = over = meet = pieces = run = delete = (
        beside
    ) = _unasked


def _facts(column_id: int, values: Sequence[Any]) -> ColumnFacts:
    known = sorted(value for value in values if value is not None)
    low, high = (str(known[0]), str(known[-1])) if known else (None, None)
    return ColumnFacts(column_id, 1, len(known), len(values) - len(known), low, high)


class FakeEngine:
    name, session, bytes_at_once = "local", None, 1

    def __init__(self, *_: object) -> None:
        self.store, self.files = Store({}), dict[str, Sequence[Row]]()

    def read(self, plan: Any) -> FakeReading:
        return FakeReading(lambda: sum(len(self.files[file.path]) for file in plan.files))

    def job(self, *_: str) -> FakeJob:
        return FakeJob(self.files)

    holds = close = staticmethod(lambda *_: True)
    query = described = incoming = _unasked


_PROVEN: tuple[type[Engine], type[Job], type[Reading]] = (FakeEngine, FakeJob, FakeReading)
