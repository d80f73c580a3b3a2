"""The part of a table that changes it: rows, columns, settings. What does it is imported when it is
first needed, so that those who only read need not wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Unpack

from tidelake.model.change import WriteResult
from tidelake.model.forms import Columns, ColumnType, Data, Entities, Key, Row
from tidelake.model.predicate import Predicate
from tidelake.model.terms import CommitTerms, Purpose, Terms
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.source import Source

if TYPE_CHECKING:
    from tidelake.coverage.values.calendar import Calendar
    from tidelake.lake.table_writer import TableWriter
    from tidelake.session.drafting import DraftSession
    from tidelake.write.merge import Merge

Portion = tuple[str | date | None, str | date | None]
"""From a moment of event time until before another; None is no bound."""


class TableWrites:
    """Every call is a commit of its own, on terms that it takes by name (`once`, `expected`,
    `author`, `message`), or part of the transaction that the table is from."""

    source: Source

    def append(self, data: Data, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Add rows: a pandas, Polars or Spark frame, Arrow data, dicts, paths of Parquet, CSV or
        JSON files, or a table, a scan or a query. Columns are matched by name."""
        from tidelake.write import rows as writes

        # A stream cannot be taken from the start again, and other rows are read when asked for.
        known = hasattr(data, "__len__") and not isinstance(data, LazyRows)
        return self._write(
            "append", terms, lambda tx: writes.append(tx, self.source.name, data), blind=known
        )

    def put(self, fact: Row | Sequence[Row], **terms: Unpack[CommitTerms]) -> WriteResult:
        """Add a fact, or a few, as one small commit. A fact about the past is found by the next
        read. A fact with the same key and event time is a correction.
        """
        from tidelake.event_time import facts

        return self._write(
            "put", terms, lambda tx: facts.put(tx, self.source.name, fact), blind=True
        )

    def writer(
        self,
        *,
        rows: int = 10_000,
        bytes: int = 64 * 1024**2,  # noqa: A002
        seconds: float = 1.0,
        author: str | None = None,
        message: str | None = None,
    ) -> TableWriter:
        """Take rows one by one, and commit many at once: `with t.writer() as w: w.put(row)`. Rows
        are committed when `rows` of them wait, or about `bytes`, or the first has waited for
        `seconds`; by `w.flush()`; and at the end of the `with`. If its body raises, waiting rows
        are not committed.
        """
        from tidelake.lake.table_writer import Limits, TableWriter

        terms = Terms(author=author, message=message)
        return TableWriter(self.source, Limits(rows, bytes, seconds), terms)

    def end(self, key: Key, *, at: str | date, **terms: Unpack[CommitTerms]) -> WriteResult:
        """End a key: from a moment on it is no longer there. Give a key of one column as it is, a
        longer one as a dict.
        """
        from tidelake.event_time import facts

        return self._write("end", terms, lambda tx: facts.end(tx, self.source.name, key, at))

    def overwrite(
        self, data: Data, *, where: str | Predicate | None = None, **terms: Unpack[CommitTerms]
    ) -> WriteResult:
        """Replace all rows, or those that meet a condition; the new ones must meet it too."""
        from tidelake.write import rows as writes

        return self._write(
            "overwrite", terms, lambda tx: writes.overwrite(tx, self.source.name, data, where=where)
        )

    def delete(
        self,
        where: str | Predicate,
        *,
        portion: Portion | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Delete the rows that meet a condition; `"true"` deletes all. With a `portion` of event
        time (from a moment until before another; None is no bound), keys whose facts meet the
        condition end for that stretch. No row is deleted then; facts are added.
        """
        from tidelake.event_time.portion import delete_portion
        from tidelake.event_time.values.ranges import ValidRange
        from tidelake.write import rows as writes

        name = self.source.name
        if portion is None:
            return self._write("delete", terms, lambda tx: writes.delete(tx, name, where))
        times = ValidRange.of_pair(portion)
        return self._write("delete", terms, lambda tx: delete_portion(tx, name, times, where))

    def update(
        self,
        set: Mapping[str, object] | None = None,  # noqa: A002
        where: str | Predicate | None = None,
        *,
        values: Mapping[str, object] | None = None,
        portion: Portion | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Set columns of the rows that meet a condition. In `set` text is SQL (`"x + 1"`), and
        anything else stands for itself; in `values` text stands for itself too. A value that does
        not fit its column exactly is refused, as `append` does.

        With a `portion` of event time (from a moment until before another; None is no bound), facts
        that meet the condition change for that stretch alone. Facts are added; none is rewritten.
        """
        from tidelake.event_time.portion import update_portion
        from tidelake.event_time.values.ranges import ValidRange
        from tidelake.write import rows as writes

        name = self.source.name
        if portion is None:
            return self._write(
                "update", terms, lambda tx: writes.update(tx, name, set, where, values)
            )
        times = ValidRange.of_pair(portion)
        return self._write(
            "update", terms, lambda tx: update_portion(tx, name, times, (set, where), values)
        )

    def merge(
        self, source: Data, on: str | Sequence[str] | None = None, **terms: Unpack[CommitTerms]
    ) -> WriteResult:
        """Update the rows whose key is in the source, and add the others; without `on`, by the
        table's own key. Data keep their ids."""
        from tidelake.write import merge as merging

        return self._write(
            "merge", terms, lambda tx: merging.merge(tx, self.source.name, source, on)
        )

    def merge_builder(
        self, source: Data, on: str | Sequence[str] | None = None, **terms: Unpack[CommitTerms]
    ) -> Merge:
        """A merge with clauses of its own: `when_matched_update(…)` and so on, then `execute()`."""
        from tidelake.write.merge import Merge

        return Merge(partial(self._write, "merge", terms), self.source.name, source, on)

    def add_files(
        self,
        paths: str | Sequence[str],
        *,
        hive: bool = True,
        take_over: bool = False,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Make existing Parquet files part of the table without rewriting them. They stay where
        they are: the lake reads them, and never deletes them. With `take_over` they are handed over
        to the lake, which deletes them when no snapshot needs them any more. Folders named
        `column=value` give values to columns that a file lacks, unless `hive` is False.
        """
        from tidelake.write import rows as writes

        return self._write(
            "add_files",
            terms,
            lambda tx: writes.add_files(
                tx, self.source.name, paths, hive=hive, take_over=take_over
            ),
        )

    def evolve(
        self,
        *,
        add: Columns | None = None,
        drop: str | Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, ColumnType] | None = None,
        nullable: Mapping[str, bool] | None = None,
        default: Mapping[str, object] | None = None,
        comment: Mapping[str, str | None] | None = None,
        order: str | Sequence[str] = (),
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Change the columns without touching data. Nested fields are named by their path."""
        from tidelake.write import definitions

        changes = {
            "add": add,
            "drop": drop,
            "rename": rename,
            "widen": widen,
            "nullable": nullable,
            "default": default,
            "comment": comment,
            "order": order,
        }
        return self._write(
            "evolve", terms, lambda tx: definitions.evolve(tx, self.source.name, changes)
        )

    def set_partitioning(
        self, by: str | Sequence[str], **terms: Unpack[CommitTerms]
    ) -> WriteResult:
        """How files are divided from now on; an empty list ends it."""
        from tidelake.write import definitions

        return self._write(
            "set_partitioning",
            terms,
            lambda tx: definitions.set_partitioning(tx, self.source.name, by),
        )

    def set_sorting(self, by: str | Sequence[str], **terms: Unpack[CommitTerms]) -> WriteResult:
        """How rows are sorted inside files from now on; an empty list ends it."""
        from tidelake.write import definitions

        return self._write(
            "set_sorting", terms, lambda tx: definitions.set_sorting(tx, self.source.name, by)
        )

    def set_coverage(
        self,
        bucket: str | int | timedelta | None,
        *,
        entity: str | Sequence[str] = (),
        event_time: str | None = None,
        overlap: str | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Keep coverage: in which buckets of time the table has rows, for every `entity`. None ends
        it. Buckets are as wide as "1m", "1h", "1d" or "1mo", of an integer clock a number.
        `overlap` says what an append does with buckets that are covered: "allow", "reject", "skip"
        or "replace".
        """
        from tidelake.coverage import declare as series

        return self._write(
            "set_coverage",
            terms,
            lambda tx: series.set_coverage(
                tx, self.source.name, bucket, entity, event_time, overlap
            ),
        )

    def set_calendar(
        self,
        calendar: Calendar | str | None,
        *,
        entity: Entities = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Say when rows are expected from now on, of all entities or only of one or a list of them:
        a Calendar, or a text such as "weekdays", "09:30-16:00 America/New_York", "exchange XNYS"
        or "always". It is kept with the table, and holds wherever coverage is asked without another
        calendar. None takes it away again: from the table all of them, or from the entities those
        of their own."""
        from tidelake.coverage import declare as series

        return self._write(
            "set_calendar",
            terms,
            lambda tx: series.set_calendar(tx, self.source.name, calendar, entity),
        )

    def set_event_time(
        self,
        event_time: str | None,
        *,
        key: str | Sequence[str] = (),
        tombstone: str | None = None,
        valid_to: str | None = None,
        knowledge_time: str | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Make the table one of facts in time. `key` is what a fact is about, unless the table has
        one already; `event_time` since when it holds. Where the boolean column `tombstone` is true,
        the key has ended. `valid_to` is a time at which the fact ends at the latest; NULL is no
        end. From then on key and event time cannot be null, and no existing row may have such
        nulls. `knowledge_time` is a column that says when rows became known, which counts for
        `known_at` before the first commit of the table.

        None ends it, and leaves a key for `merge` if one is given.
        """
        from tidelake.event_time import facts

        return self._write(
            "set_event_time",
            terms,
            lambda tx: facts.set_event_time(
                tx, self.source.name, event_time, key, tombstone, valid_to, knowledge_time
            ),
        )

    def set_comment(self, comment: str | None, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Set a comment on the table; None removes it."""
        from tidelake.write import definitions

        return self._write(
            "set_comment", terms, lambda tx: definitions.set_comment(tx, self.source.name, comment)
        )

    def rollback(self, to: int | str | date, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Bring rows and columns back to a snapshot, a time or a tag. This is one more commit;
        everything since then stays readable.
        """
        from tidelake.history import rollback as rolling_back

        return self._write(
            "rollback",
            terms,
            lambda tx: replace(
                rolling_back.rollback(tx, self.source.name, to), operation="rollback"
            ),
        )

    def drop(self, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Drop the table. Its past stays readable."""
        from tidelake.write import definitions

        return self._write("drop", terms, lambda tx: definitions.drop(tx, self.source.name))

    def _write(
        self,
        doing: str,
        terms: CommitTerms,
        operation: Callable[[DraftSession], WriteResult],
        *,
        blind: bool = False,
    ) -> WriteResult:
        from tidelake.session.replay import write

        self.source.check_unpinned()
        return write(
            self.source.session,
            operation,
            blind=blind,
            terms=Terms.of(terms),
            purpose=Purpose(doing, (str(self.source.name),)),
        )
