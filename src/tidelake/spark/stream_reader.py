"""Reading a table as a stream: its rows, then what comes, snapshot by snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from tidelake.catalog.read import file_history, snapshots
from tidelake.errors import NotFound
from tidelake.history.changes import (
    Span,
    check_same,
    facts_until,
    feed_columns,
    plan_changes,
    snapshots_between,
)
from tidelake.model.changes_made import touched_tables
from tidelake.spark.lakes import lake_of
from tidelake.spark.options import EARLIEST
from tidelake.spark.pieces import PieceReader, change_pieces, check_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from tidelake.catalog.database.database import Reader
    from tidelake.history.changes_sql import ChangePlan
    from tidelake.lake.lake import Lake
    from tidelake.model.snapshot import Snapshot
    from tidelake.spark.options import SourceOptions

Offset = dict[str, Any]
LATEST = "latest"
_NOTHING = -1
"""The place of a stream that has read nothing yet: its first batch is the table as it is."""
_KEY = "snapshot"
_QUIET = 50
"""After so many snapshots without a change of the table the stream goes on, so that it does not
need snapshots which are about to be expired."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A place in the stream is the snapshot up to which everything has been read. Compaction moves
    no row out of its snapshot, so the same rows are between two places before and after it."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        options.check_stream()
        self._options = options
        self._last: int | None = None
        self._limits = {
            "snapshots": options.number("max_snapshots_per_trigger"),
            "files": options.number("max_files_per_trigger"),
            "rows": options.number("max_rows_per_trigger"),
        }
        with lake_of(options, read_only=True) as lake:
            columns = self._columns(lake.table(str(options.table)).schema.columns)
            names = check_schema(schema, columns, options.table)
            self._pieces = PieceReader(lake.session.local, schema, names)

    def __getstate__(self) -> dict[str, Any]:
        """What goes to the executors knows of no lake."""
        return {"_pieces": self._pieces}

    def initialOffset(self) -> Offset:  # noqa: N802
        start = self._options.moment("starting_at")
        if start in (None, EARLIEST):
            return {_KEY: _NOTHING}
        with lake_of(self._options, read_only=True) as lake, lake.session.reading() as reader:
            if start == LATEST:
                return {_KEY: lake.session.at(reader)}
            assert start is not None
            return {_KEY: lake.session.resolve(reader, start).snapshot_id}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Spark knows no limit in snapshots: it asks with some limit, and all of ours hold."""
        known = [limit for limit in self._limits.values() if limit is not None]
        return ReadMaxRows(max(known)) if known else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with lake_of(self._options, read_only=True) as lake, lake.session.reading() as reader:
            self._last = lake.session.at(reader)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802
        with lake_of(self._options, read_only=True) as lake, lake.session.reading() as reader:
            return {_KEY: lake.session.at(reader)}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        with lake_of(self._options, read_only=True) as lake, lake.session.reading() as reader:
            head = lake.session.at(reader) if self._last is None else self._last
            place = int(start[_KEY])
            if place == _NOTHING:
                first = self._options.moment("starting_at") == EARLIEST
                return {_KEY: snapshots.oldest_id(reader) if first else head}
            known = [s for s in snapshots.after(reader, place) if s.snapshot_id <= head]
            self._check_whole(reader, place, known)
            touched = self._touched(lake, reader, known)
            if not touched:
                return {_KEY: head} if len(known) > _QUIET else start
            all_of_it = isinstance(limit, ReadAllAvailable)
            return {_KEY: touched[-1] if all_of_it else self._within(lake, reader, touched)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start == end:
            return []
        with lake_of(self._options, read_only=True) as lake, lake.session.reading() as reader:
            plan = self._plan(lake, reader, int(start[_KEY]), int(end[_KEY]))
        return change_pieces(
            plan,
            rows_only=not self._options.flag("changes"),
            skips=self._options.flag("skip_changes"),
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._pieces.batches(partition)

    def _columns(self, columns: Sequence[Any]) -> Sequence[Any]:
        return feed_columns(columns) if self._options.flag("changes") else columns

    def _plan(self, lake: Lake, reader: Reader, start: int, end: int) -> ChangePlan:
        """With the columns that the table has now, also where they came later than the rows."""
        name = self._options.table
        head = lake.session.at(reader)
        info = lake.session.table_info(reader, head, name)
        facts = facts_until(reader, info, head)
        if start == _NOTHING:
            self._check_there(reader, end)
            span = Span(facts, end, end, snapshots.by_id(reader, end), ())
        else:
            known = snapshots_between(reader, start, end)
            self._check_whole(reader, start, known)
            check_same(reader, name, info.id, start)
            span = Span(facts, start, end, None, known)
        found = facts.info.schema.columns
        names = set(check_schema(self._pieces.schema, self._columns(found), name))
        wanted = tuple(column for column in found if column.name in names)
        return plan_changes(reader, span, wanted)

    def _touched(self, lake: Lake, reader: Reader, known: Sequence[Snapshot]) -> list[int]:
        """The snapshots that may have changed rows of the table, or made it."""
        if not known:
            return []
        last = known[-1].snapshot_id
        table_id = lake.session.table_info(reader, last, self._options.table).id
        begun = snapshots.of_table(reader, table_id)
        return [
            each.snapshot_id
            for each in known
            if each.snapshot_id in begun or table_id in touched_tables(each.changes)
        ]

    def _within(self, lake: Lake, reader: Reader, touched: Sequence[int]) -> int:
        """The last of the snapshots that one batch may have; one at least."""
        name = self._options.table
        table_id = lake.session.table_info(reader, touched[-1], name).id
        sizes = file_history.sizes_of_snapshots(reader, table_id, touched[0], touched[-1])
        count = {"snapshots": 0, "files": 0, "rows": 0}
        end = touched[0]
        for snapshot_id in touched:
            files, rows = sizes.get(snapshot_id, (0, 0))
            count = {
                "snapshots": count["snapshots"] + 1,
                "files": count["files"] + files,
                "rows": count["rows"] + rows,
            }
            if any(most is not None and count[what] > most for what, most in self._limits.items()):
                break
            end = snapshot_id
        return end

    def _check_whole(self, reader: Reader, place: int, known: Sequence[Snapshot]) -> None:
        """Snapshots are numbered without gaps: what is missing has been expired."""
        self._check_there(reader, place)
        last = known[-1].snapshot_id if known else place
        if len(known) != last - place:
            there = {each.snapshot_id for each in known}
            raise self._expired(min(set(range(place + 1, last)) - there))

    def _check_there(self, reader: Reader, place: int) -> None:
        if not snapshots.exists(reader, place):
            raise self._expired(place)

    def _expired(self, snapshot_id: int) -> NotFound:
        return NotFound(
            f"the stream of {self._options.table} needs snapshot {snapshot_id} to go on, and it has"
            " been expired",
            hint="start the query with a new checkpoint, which begins with the table as it is; and"
            " expire later than streams may stand still",
        )
