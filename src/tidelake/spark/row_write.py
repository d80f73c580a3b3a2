"""A write of rows that executors put into files: what is asked for, their task, and the commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.names import TableName, fold
from tidelake.model.terms import NO_TERMS, Purpose, Terms
from tidelake.session.replay import write
from tidelake.spark.file_task import ROWS, FileTask, task_for
from tidelake.write.files import (
    Operation,
    append_files,
    merge_files,
    order_files,
    order_source,
    overwrite_files,
)

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.plan.target import Target
    from tidelake.session.drafting import DraftSession
    from tidelake.spark.options import SourceOptions


@dataclass(frozen=True)
class RowWrite:
    """What is to become of rows. Picklable, and says nothing of how to get into a catalog."""

    table: TableName
    schema: t.StructType
    overwrite: bool = False
    where: str | None = None
    merge_on: tuple[str, ...] | None = None
    add: t.StructType | None = None
    terms: Terms = NO_TERMS

    @staticmethod
    def of(lake: Lake, options: SourceOptions, schema: t.StructType, overwrite: bool) -> RowWrite:
        options.check_write()
        where, on = options.text("overwrite_where"), options.names("merge_on")
        merges = options.flag("merge_schema")
        if where is not None and not overwrite:
            raise Invalid("overwrite_where is for mode overwrite", hint='mode("overwrite")')
        if on is not None and (overwrite or merges):
            raise Invalid(
                "merge_on goes with neither overwrite nor merge_schema", hint='mode("append")'
            )
        name = options.table
        added = _new_fields(lake, name, schema) if merges else None
        terms = Terms.of(
            {
                "once": options.text("once"),
                "expected": options.moment("expected"),
                "author": options.text("author"),
                "message": options.text("message"),
            }
        )
        return RowWrite(name, schema, overwrite, where, tuple(on) if on else None, added, terms)

    def task(self, lake: Lake) -> FileTask:
        """What the executors do. NotFound or Invalid if the table cannot take such rows."""
        session = lake.session
        session.check_writable()
        doing = f"cannot write {self.table}"
        if self.merge_on is not None:
            given = self.schema.fieldNames()
            order = order_source(session, self.table, ROWS, given, self.merge_on)
        else:
            order = order_files(session, self.table, ROWS, where=self.where, add=self.add)
        return task_for(session, order, self.schema, doing)

    def land(
        self, lake: Lake, files: Sequence[NewFile], target: Target, *, once: str | None = None
    ) -> WriteResult:
        """The commit. Files that do not become part of the lake are removed; should it stay
        unknown whether it landed, they stay, and `cleanup` finds them."""
        written = {file.path for file in files}
        tries: list[DraftSession] = []
        operation = self._operation(files, target)

        def run(tx: DraftSession) -> WriteResult:
            tries.append(tx)
            return operation(tx)

        try:
            done = write(
                lake.session,
                run,
                terms=self.terms if once is None else replace(self.terms, once=once),
                purpose=Purpose(self._doing, (str(self.table),)),
            )
        except (Conflict, Invalid, NotFound):
            lake.session.store.delete(sorted(written))
            raise
        if self.merge_on is None and tries:
            written = self._spare(lake, done, written) if done.duplicate else set()
        lake.session.store.delete(sorted(written))
        return done

    def _spare(self, lake: Lake, done: WriteResult, written: set[str]) -> set[str]:
        """The files that a commit which had been made before does not have. If its snapshot has
        been expired nobody can tell, and cleanup finds them."""
        try:
            found = lake.known_at(done.snapshot_id or 0).table(str(self.table)).files()
        except NotFound:
            return set()
        return written - {file.path for file in found}

    @property
    def _doing(self) -> str:
        if self.merge_on is not None:
            return "merge"
        return "overwrite" if self.overwrite else "append"

    def _operation(self, files: Sequence[NewFile], target: Target) -> Operation:
        if self.merge_on is not None:
            return merge_files(self.table, files, target, self.merge_on)
        if self.overwrite:
            return overwrite_files(self.table, files, target, self.where, self.add)
        return append_files(self.table, files, target, self.add)


def _new_fields(lake: Lake, name: TableName, schema: t.StructType) -> t.StructType | None:
    """What the table lacks; rows that are there have nulls in it."""
    known: set[Any] = {fold(each) for each in lake.table(str(name)).schema.names}
    fields = [t.StructField(f.name, f.dataType) for f in schema if fold(f.name) not in known]
    return t.StructType(fields) if fields else None
