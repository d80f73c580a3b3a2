"""What one Spark task reads: pieces of a plan, which DuckDB reads on the executor.

A piece holds files, rows of the catalog and conditions; nothing of how to get into a catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.datasource import InputPartition

from tidelake.duck import duckdb_version
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.local.errors import refusal
from tidelake.engine.row_source import Tables
from tidelake.engine.spark.arrow_reader import arrow_type, cast_batch, nullable
from tidelake.engine.spark.errors import SHIP
from tidelake.engine.spark.worker import WORKER
from tidelake.errors import Invalid, Unsupported
from tidelake.history import changes_sql
from tidelake.history.changes import define
from tidelake.history.changes_sql import ChangePlan
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan, share_of_keys
from tidelake.plan.division import divide
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    from tidelake.engine.protocols import Reading

_BYTES_OF_A_SHARE = 32 * 1024 * 1024
_MOST_SHARES = 4
_BATCH_ROWS = 40_960


@dataclass(frozen=True)
class ScanPiece(InputPartition):
    """Some files of a table, or its state as of a moment."""

    plan: ScanPlan | AsOfPlan

    def reading(self, local: LocalEngine) -> Reading:
        return local.read(self.plan)


@dataclass(frozen=True)
class StatePiece(InputPartition):
    """The state of some keys as of a moment. `version` is the driver's DuckDB: with another one
    keys might be in no piece, or in two."""

    plan: AsOfPlan
    version: str

    def reading(self, local: LocalEngine) -> Reading:
        if (here := duckdb_version()) != self.version:
            raise Unsupported(
                f"Spark's executors differ from the driver: duckdb {here}, and {self.version} on"
                f" the driver; {self.plan.table} as of a moment cannot be read in several tasks",
                hint=SHIP,
            )
        return local.read(self.plan)


@dataclass(frozen=True)
class QueryPiece(InputPartition):
    """A view: a query over plans."""

    sql: str
    tables: Tables

    def reading(self, local: LocalEngine) -> Reading:
        return local.query(self.sql, self.tables)


@dataclass(frozen=True)
class ChangesPiece(InputPartition):
    """Some of the changes of a table: with the columns of the feed, or if it is `rows_only`, the
    rows that came. Then rows that were changed are refused, unless they are to be skipped."""

    plan: ChangePlan
    rows_only: bool = False
    skips: bool = False

    def reading(self, local: LocalEngine) -> Reading:
        table = self.plan.came.table
        job = local.job(f"cannot read the changes of {table}")
        define(job, self.plan)
        names = changes_sql.feed_names(self.plan.columns)
        sql = changes_sql.feed_sql(self.plan, names)
        if self.rows_only:
            sql = f"SELECT * FROM ({sql}) AS _tidelake_feed WHERE {self._is_new(names)}"
        return job.reading(sql)

    def _is_new(self, names: Sequence[str]) -> str:
        kind = quote(names[3])
        if self.skips:
            return f"{kind} = 'insert'"
        message = refusal(
            f"rows of {self.plan.came.table} were updated or deleted, and this is a stream of new"
            " rows",
            "read the stream with option changes=true, or leave such rows out with"
            " option skip_changes=true",
        )
        return f"CASE WHEN {kind} = 'insert' THEN true ELSE error({text_literal(message)}) END"


Piece = ScanPiece | StatePiece | QueryPiece | ChangesPiece
_NOTHING = InputPartition(None)
"""Spark asks for at least one piece."""


def scan_pieces(plan: ScanPlan | AsOfPlan) -> list[InputPartition]:
    """A plan in pieces."""
    if isinstance(plan, AsOfPlan):
        return state_pieces(plan)
    lean = replace(plan, pruned=())
    found: list[InputPartition] = [
        ScanPiece(replace(lean, files=part, inlined=())) for part in divide(plan.files)
    ]
    if any(inlined.rows for inlined in plan.inlined):
        found.append(ScanPiece(replace(lean, files=())))
    return found or [_NOTHING]


def state_pieces(plan: AsOfPlan, share: int = _BYTES_OF_A_SHARE) -> list[InputPartition]:
    """A state in pieces of some keys each. Every task has to read all files for it, so there is
    one for so many bytes, and there are few."""
    lean = replace(plan, pruned=(), parts=tuple(replace(part, pruned=()) for part in plan.parts))
    size = sum(file.bytes for part in plan.parts for file in part.files)
    shares = min(size // share + 1, _MOST_SHARES)
    if shares == 1:
        return [ScanPiece(lean)]
    version = duckdb_version()
    return [StatePiece(share_of_keys(lean, n, shares), version) for n in range(shares)]


def change_pieces(
    plan: ChangePlan, *, rows_only: bool = False, skips: bool = False
) -> list[InputPartition]:
    """Changes in pieces. A row that goes and comes in the same snapshot was updated: where rows
    went, one task must see them all."""
    empty = replace(plan, came=_nothing(plan.came), went=_nothing(plan.went), lives=(), base=None)
    plans = []
    if plan.loses:
        plans.append(replace(plan, base=None))
    else:
        plans += [replace(empty, came=part) for part in _parts(plan.came)]
    if plan.base is not None:
        plans += [replace(empty, base=part) for part in _parts(plan.base)]
    return [ChangesPiece(each, rows_only, skips) for each in plans] or [_NOTHING]


def _nothing(plan: ScanPlan) -> ScanPlan:
    return replace(plan, files=(), inlined=())


def _parts(plan: ScanPlan) -> Iterator[ScanPlan]:
    for part in divide(plan.files):
        yield replace(plan, files=part, inlined=())
    if any(inlined.rows for inlined in plan.inlined):
        yield replace(plan, files=())


@dataclass(frozen=True)
class PieceReader:
    """Reads pieces on an executor; `schema` is what Spark expects, `names` are what the lake calls
    its columns."""

    local: LocalEngine
    schema: t.StructType
    names: tuple[str, ...]

    def batches(self, piece: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(piece, Piece):
            wanted = pa.schema([(f.name, arrow_type(f.dataType)) for f in self.schema])
            with WORKER.engine(self.local) as local:
                for batch in piece.reading(local).to_batches(_BATCH_ROWS):
                    yield cast_batch(batch.select(self.names), wanted)


def check_schema(schema: t.StructType, columns: Sequence[Column], table: object) -> tuple[str, ...]:
    """The table's names of the columns that Spark asks for. Invalid if it has other ones: Spark
    remembers a schema in tables of its own and in streams, and the lake's may have changed."""
    known = {fold(column.name): column for column in columns}
    names = []
    for asked in schema:
        column = known.get(fold(asked.name))
        if column is None:
            raise Invalid(
                f"{table} has no column {asked.name!r}, which Spark asks for",
                hint="it was dropped or renamed: attach, load or start the query again",
            )
        kind = nullable([column])[0].dataType
        if kind != asked.dataType:
            raise Invalid(
                f"{table}: column {asked.name!r} is {kind.simpleString()}, and Spark asks for"
                f" {asked.dataType.simpleString()}",
                hint="attach, load or start the query again, or cast it afterwards",
            )
        names.append(column.name)
    return tuple(names)
