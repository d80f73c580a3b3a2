"""A table at a moment: its schema, history, files and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Unpack

from tidelake.drawing.sheet import Sheet
from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid, Unsupported
from tidelake.lake.scan import Scan
from tidelake.lake.table_coverage import TableCoverage
from tidelake.lake.table_history import TableHistory
from tidelake.lake.table_upkeep import TableUpkeep
from tidelake.lake.table_writes import TableWrites
from tidelake.model.event_time import EventTime, as_moment
from tidelake.model.file import DataFile
from tidelake.model.misfit import naming_misfits
from tidelake.model.predicate import Predicate
from tidelake.model.reflexes import OF_TABLES
from tidelake.model.schema import Schema
from tidelake.model.settings import Settings
from tidelake.model.table import PartitionSpec, SortKey, TableInfo
from tidelake.model.terms import CommitTerms, Purpose, Terms
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import ROWS, LazyRows, Subquery
from tidelake.session.source import Source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

    from tidelake.coverage.values.coverage_settings import CoverageSettings
    from tidelake.event_time.explanation import Explanation


@naming_misfits
class Table(TableHistory, TableUpkeep, TableCoverage, TableWrites, LazyRows):
    """A table of a lake. Unpinned, every call sees the newest snapshot; `known_at` pins it to
    another, and `as_of` to a moment of event time.

    A table keeps its identity when it is renamed: a handle follows the name it was asked for.
    """

    _reflexes = ("t", OF_TABLES)

    def __init__(self, source: Source) -> None:
        self.source = source
        self._session = source.session

    @property
    def name(self) -> str:
        """The qualified name, quoted where SQL needs it."""
        return str(self.source.name)

    @property
    def schema(self) -> Schema:
        """The columns, with their types."""
        return self.info.schema

    @property
    def comment(self) -> str | None:
        """The comment of the table, as `set_comment` set it."""
        return self.info.comment

    @property
    def tags(self) -> dict[str, str]:
        """DuckLake's tags of the table, in which settings are kept; `lake.tags()` name
        snapshots."""
        return dict(self.info.tags)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that were declared as key; none if none were."""
        info = self.info
        names = {column.id: column.name for column in info.schema}
        return tuple(names[each] for each in Settings.of(info.tags).key if each in names)

    @property
    def event_time(self) -> str | None:
        """The column that was declared as event time, if one was."""
        info = self.info
        names = {column.id: column.name for column in info.schema}
        declared = Settings.of(info.tags).event_time
        return None if declared is None else names.get(declared)

    @property
    def coverage_settings(self) -> CoverageSettings | None:
        """How the coverage of the table is kept; None if it is not."""
        from tidelake.coverage.values.coverage_settings import CoverageSettings

        return CoverageSettings.of(self.info)

    @property
    def partitioning(self) -> PartitionSpec | None:
        """How files are divided; None if they are not."""
        return self.info.partitioning

    @property
    def sorting(self) -> tuple[SortKey, ...]:
        """How rows are sorted inside files; empty if they are not."""
        return self.info.sorting

    @property
    def info(self) -> TableInfo:
        """Everything that the catalog says about the table at this moment."""
        return self.source.declared()

    def known_at(self, moment: int | str | date) -> Table:
        """The table as the lake knew it: at a snapshot id, a time (UTC if it has no zone), or a
        tag."""
        return Table(self.source.known_at(moment))

    def as_of(self, moment: str | date, *, require: float | bool | None = None) -> Table:
        """The table's state as of a moment of event time (UTC if it has no zone): for every key
        the last fact up to then, unless that is a tombstone. With `known_at`: as far as the lake
        knew it then.

        With `require` (up to 1, or True) a read raises Incomplete if less than that share of the
        expected buckets is there. The error lists what is missing.
        """
        found = as_moment(moment)
        with self.source.session.reading() as reader:
            at = self.source.at(reader)
            EventTime.of(self.source.info(reader, at), at)
        return Table(_requiring(replace(self.source, as_of=found), require))

    def files(self) -> list[DataFile]:
        """All data files of the table at this moment."""
        return self.scan().files()

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
        require: float | bool | None = None,
    ) -> Scan:
        """A lazy read of some columns and rows; `where` is SQL text or a `col(…)` condition. With
        `as_of`, a condition is one on the state as of then. With `require` (up to 1, or True) a
        read raises Incomplete if less than that share of the expected buckets is there, up to
        `as_of` or now: for the entities that `where` names by `=` or `IN`, else for all.
        """
        table = self if known_at is None else self.known_at(known_at)
        table = table if as_of is None else table.as_of(as_of)
        wanted = columns if columns is None or isinstance(columns, str) else tuple(columns)
        return Scan(_requiring(table.source, require), wanted, where)

    def explain(self) -> Explanation:
        """Which files a read of all rows would open, why it would skip others, and how complete the
        rows are.
        """
        return self.scan().explain()

    def count(self) -> int:
        return self.scan().count()

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        return engine.read(self.scan().plan())

    def _asked(self) -> Subquery:
        return Subquery(f"SELECT * FROM {ROWS}", {ROWS: self.scan().plan()})

    def _sheet(self) -> Sheet:
        info = self.info
        known = self.source.session.row_count(self.source.name, self.source.snapshot_id)
        is_part = self.source.as_of is not None or self.source.known_by is not None
        sheet = Sheet.of(
            repr(self).strip("<>"),
            rows=None if known is None or is_part else f"{known:,}",
            key=", ".join(self.key) or None,
            event_time=self.event_time,
            coverage=None if (kept := self.coverage_settings) is None else _in_words(kept),
            comment=info.comment,
        )
        columns = [
            (column.name, column.duckdb_type, "" if column.nullable else "not null", column.comment)
            for column in info.schema
        ]
        told = any(comment for *_, comment in columns)
        headed = ("column", "type", "", "comment")[: 4 if told else 3]
        rows = [[*given, comment or ""][: len(headed)] for *given, comment in columns]
        return sheet.with_grid(headed, rows).with_note("head() reads a few rows")

    def to_pyarrow_dataset(self) -> pyarrow.dataset.Dataset:
        """The table's files as they are, as pyarrow's own dataset, at this moment for good.
        Unsupported if rows were deleted or are in the catalog, columns were renamed, or files are
        encrypted, not the lake's own, or in an object store. `to_dataset` works there too.
        """
        from tidelake.engine.dataset import files_dataset

        if self.source.session.is_sandbox:
            raise Unsupported("a sandbox gives no files", hint="to_dataset() gives rows")
        plan = self.scan().plan()
        if not isinstance(plan, ScanPlan) or plan.where is not None:
            raise Unsupported("no file has a state of a moment", hint="to_dataset() gives rows")
        return files_dataset(plan, self._arrow_schema())

    def _arrow_schema(self) -> pa.Schema:
        return self.scan()._arrow_schema()

    def _narrowed(self, columns: Sequence[str] | None, where: Predicate | None) -> LazyRows:
        return self.scan(columns, where)

    def clone(
        self,
        name: str,
        *,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
        **terms: Unpack[CommitTerms],
    ) -> Table:
        """Make another table with the same rows, columns and settings, at this table's moments or
        at these. Whole files are linked on disk, or copied by the store; other rows are written
        anew. From then on the tables are independent.
        """
        from tidelake.datasets.clone import clone
        from tidelake.session.replay import write

        table = self if known_at is None else self.known_at(known_at)
        source = (table if as_of is None else table.as_of(as_of)).source
        if source.session.is_transaction:
            raise Invalid(
                "clone() cannot be in a transaction", hint="call it on a table of the lake itself"
            )
        namespace = source.session.namespace
        target = namespace.parse(name)
        namespace.check_own(target)
        write(
            source.session,
            lambda tx: clone(tx, source, target),
            terms=Terms.of(terms),
            purpose=Purpose("clone", (str(target),)),
        )
        return Table(Source(source.session, target, source.session.pinned))

    def __repr__(self) -> str:
        return repr(self.source)


def _requiring(source: Source, require: float | bool | None) -> Source:
    """With what must be there for rows to be read; Invalid if nobody could tell whether it is."""
    if require is None:
        return source
    from tidelake.coverage.requirement import check_kept, required_ratio

    wanted = required_ratio(require)
    check_kept(source)
    return replace(source, required=wanted)


def _in_words(kept: CoverageSettings) -> str:
    by = f" by {', '.join(kept.entity)}" if kept.entity else ""
    return f"buckets of {kept.bucket}{by}"
