"""A frozen data set, for those who read it."""

from __future__ import annotations

from pathlib import Path

from tidelake.datasets.freeze import facts, record_at, record_of, table_of
from tidelake.datasets.values import DataSetFacts, ExportResult
from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid
from tidelake.model.schema import Schema
from tidelake.plan.target import Target
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest
from tidelake.session.session import Session
from tidelake.verify.checks.data_sets import changed_rows
from tidelake.verify.values import VerifyReport

_ROWS = "_tidelake_rows"


class DataSet(LazyRows):
    """The rows of a frozen data set, with the same `to_*` methods as a Scan, and what is known of
    them. In SQL, in Spark and for DuckDB it is the table `frozen."name"`."""

    def __init__(self, session: Session, known: DataSetFacts) -> None:
        self._session = session
        self.facts = known
        self._table = session.namespace.parse(known.table)

    @staticmethod
    def named(session: Session, name: str) -> DataSet:
        with session.reading() as reader:
            record = record_of(session, reader, name)
            table = session.table_info(reader, session.at(reader), table_of(session, name))
        return DataSet(session, facts(session, record, table.name))

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def table(self) -> str:
        """The table that has its rows, as `lake.table` and SQL name it."""
        return self.facts.table

    @property
    def rows(self) -> int:
        """How many rows it was frozen with."""
        return self.facts.rows

    @property
    def fingerprint(self) -> str:
        """Of all its rows, whatever their order: another set with the same one has the same rows
        and columns."""
        return self.facts.fingerprint

    @property
    def schema(self) -> Schema:
        with self._session.reading() as reader:
            at = self._session.at(reader)
            return self._session.table_info(reader, at, self._table).schema

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        return engine.read(self._session.plan(self._table, None))

    def verify(self) -> VerifyReport:
        """Read all rows, and compare them with the fingerprint."""
        with self._session.reading() as reader:
            record = record_at(self._session, reader, self._table, self.name)
        problems = changed_rows(self._session, record, self._table)
        return VerifyReport(tuple(problems), {"data sets": 1, "rows": record.rows}, deep=True)

    def export(self, path: str | Path) -> ExportResult:
        """Write the rows as Parquet files into a folder, on disk or in an object store, which
        must be empty or not there yet. Executors write where the lake's engine is Spark."""
        session = self._session
        folder = _folder(path)
        if (walls := session.local.confinement) is not None:
            walls.check([folder])
        if next(iter(session.store.walk(folder)), None) is not None:
            raise Invalid(f"{folder} is not empty", hint="name a folder that is not there yet")
        columns = self.schema.columns
        names = {below.id: below.name for column in columns for below in column.walk()}
        target = Target(self._table, folder, columns, names)
        plan = session.plan(self._table, None, ReadRequest())
        engine = session.engine if session.engine.holds(columns) else session.local
        with engine.job(f"cannot export {self.name}") as job:
            job.scan(_ROWS, plan)
            files = job.write(f"SELECT * FROM {_ROWS}", target)
        return ExportResult(
            tuple(file.path for file in files),
            sum(file.rows for file in files),
            sum(file.bytes for file in files),
        )

    def __repr__(self) -> str:
        return f"<DataSet {self.facts}>"


def _folder(path: str | Path) -> str:
    """Complete, with a slash at the end."""
    given = str(path)
    place = given if "://" in given else str(Path(given).expanduser().absolute())
    return place if place.endswith("/") else f"{place}/"
