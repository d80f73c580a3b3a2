"""Plans become DataFrames, on a classic session and on Spark Connect alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from tidelake.engine.spark import arrow_reader as spark_arrow
from tidelake.engine.spark.columns import needs_id, reads_exactly
from tidelake.engine.spark.executors import check_executors
from tidelake.engine.spark.field_ids import Witness, witness_of
from tidelake.engine.spark.native_reader import NativeReader
from tidelake.engine.spark.paths import escape_globs, is_readable_name, scheme_and_host, with_scheme
from tidelake.engine.spark.relation import Executors, Relation
from tidelake.engine.spark.scalar import Speech, spark_condition
from tidelake.engine.spark.session import active_session
from tidelake.engine.spark.settings import FIELD_IDS, allow_times, switch_on
from tidelake.engine.spark.sql import parse_query, spark_text
from tidelake.engine.spark.state_tasks import is_small, read_candidates, read_state
from tidelake.engine.spark.tasks import ROWS
from tidelake.engine.spark.types import is_exact, spark_schema
from tidelake.engine.spark.types_in import spark_columns
from tidelake.errors import Invalid, Unsupported
from tidelake.model.file import DataFile
from tidelake.model.names import fold
from tidelake.model.schema import LINEAGE, ROW_ID, ROW_NUMBER, Column, Schema
from tidelake.plan.as_of import AsOfPlan, state_sql, winners_at_once_sql
from tidelake.plan.condition import VIRTUAL
from tidelake.plan.scan import ScanPlan
from tidelake.plan.spark_condition import render
from tidelake.plan.spark_literal import backtick
from tidelake.store.files import is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.engine.row_source import RowSource

_FACTS = "_tidelake_all"
_OTHER_SCHEMES = {"s3": ("s3", "s3a"), "s3n": ("s3a",)}


class PlanFrames:
    """Reads plans on a Spark session: the one given, else the active one.

    Spark reads data files itself: columns that have always had one name and type by that name, and
    others by field id, for which `spark.sql.parquet.fieldId.read.enabled` is switched on. Files
    that Spark cannot open, or not exactly, are read by the local engine on the executors.
    """

    def __init__(self, spark: SparkSession | None, local: LocalEngine) -> None:
        self.spark = spark or _active_session()
        self.local = local
        self._opens: dict[tuple[str, str], bool] = {}
        self._have_us: bool | None = None

    def relation(
        self, rows: ScanPlan | AsOfPlan | RowSource, among: DataFrame | None = None
    ) -> Relation:
        """The rows on Spark, and their columns."""
        if isinstance(rows, ScanPlan | AsOfPlan):
            return Relation(self.frame(rows, among), spark_arrow.output_columns(rows))
        frame = rows.to_spark(self.spark)
        return Relation(frame, tuple(spark_columns(frame)))

    def frame(self, plan: ScanPlan | AsOfPlan, among: DataFrame | None = None) -> DataFrame:
        """The plan as a DataFrame. Nothing has been read yet but rows kept in the catalog. Rows
        may be left out whose values are not `among` these, by the names of columns."""
        if isinstance(plan, AsOfPlan):
            return self._state(plan)
        self.check(plan)
        where = self.condition(plan)
        speaks = plan.where is None or where is not None
        native, others, uris = self._routes(plan) if speaks else ([], [*plan.files], {})
        parts = self._native_parts(plan, native, uris, where, among)
        if others:
            read = spark_arrow.read_files(self.spark, self.local, plan, others)
            parts.append(read if among is None else read.join(among, among.columns, "left_semi"))
        if any(inlined.rows for inlined in plan.inlined) or not parts:
            parts.append(spark_arrow.read_inlined(self.spark, self.local, plan))
        names = [backtick(name) for name in plan.output]
        united = parts[0].select(*names)
        for part in parts[1:]:
            united = united.union(part.select(*names))
        return united

    def _state(self, plan: AsOfPlan) -> DataFrame:
        """The winners of all facts, and of those what the caller asked for."""
        parts = [part for part in plan.parts if not part.is_empty] or plan.parts[:1]
        for part in parts:
            self.check(part)
        by_tasks = self.tasks_can_read(parts)
        if by_tasks and plan.output and is_small(plan):
            return read_state(self.spark, self.local, plan)
        facts = read_candidates(self.spark, self.local, plan) if by_tasks else self._united(parts)
        text = spark_text(parse_query(winners_at_once_sql(plan, _FACTS)))
        winners = self.select(text, {_FACTS: facts})
        where = self.condition(plan)
        if plan.where is not None and where is None:
            executors = Executors(self.local, f"cannot read {plan.table}", plan.table)
            rows = Relation(winners, spark_arrow.output_columns(plan.parts[0]))
            sql = state_sql(plan, f"SELECT * FROM {ROWS}")
            return executors.select(rows, sql, spark_arrow.output_columns(plan)).frame
        found = winners.where(where) if where else winners
        return found.select(*(backtick(name) for name in plan.output))

    def _united(self, parts: Sequence[ScanPlan]) -> DataFrame:
        return reduce(lambda one, other: one.union(other), map(self.frame, parts))

    def check(self, plan: ScanPlan) -> None:
        """Raise for what Spark cannot put out."""
        _refuse(plan)
        allow_times(self.spark, plan.columns, plan.table)

    def tasks_can_read(self, parts: Sequence[ScanPlan]) -> bool:
        """Whether DuckDB can read all files on the executors: they have our packages, and we know
        how it gets into the store, or it is a disk."""
        paths = (path for part in parts for file in part.files for path in file.paths)
        if not self.local.options and not all(map(is_local, paths)):
            return False
        if self._have_us is None:
            try:
                check_executors(self.spark)
                self._have_us = True
            except Unsupported:
                self._have_us = False
        return self._have_us

    def select(self, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
        """A query in Spark's words over frames, each under the name it is given here."""
        named = ", ".join(f"{backtick(name)} AS (SELECT * FROM {{{name}}})" for name in frames)
        escaped = text.replace("{", "{{").replace("}", "}}")
        whole = f"WITH {named} ({escaped})" if frames else text
        return self.spark.sql(whole, None, **frames)

    def _native_parts(
        self,
        plan: ScanPlan,
        files: Sequence[DataFile],
        uris: dict[str, str],
        where: str | None,
        among: DataFrame | None,
    ) -> list[DataFrame]:
        if not files:
            return []
        reader = NativeReader(self.spark, self.local, plan, uris, _witness(plan))
        lineage = _lineage(plan)
        ways: dict[str, list[DataFile]] = {"plain": [], "remaining": [], "traced": []}
        for file in files:
            ways[_way(plan, file, lineage)].append(file)
        parts = []
        if whole := ways["plain"]:
            parts.append(reader.numbered(whole, lineage) if lineage else reader.plain(whole))
        if some := ways["remaining"]:
            parts.append(reader.remaining(some))
        if traced := ways["traced"]:
            parts.append(reader.traced(traced, lineage, among))
        return [part.where(where) for part in parts] if where else parts

    def condition(self, plan: ScanPlan | AsOfPlan) -> str | None:
        """The row filter in Spark's SQL; None without one, or if Spark might judge otherwise:
        then DuckDB reads the files and judges."""
        if plan.predicate is None:
            return None
        virtual = [Column(0, name, "int64") for name in VIRTUAL]
        speech = Speech([*virtual, *plan.columns])

        def say(text: str) -> str | None:
            with self.local.workbench().connection as connection:
                return spark_condition(connection, speech, text)

        try:
            return render(plan.predicate, Schema(plan.columns), say)
        except Unsupported:
            return None

    def _routes(self, plan: ScanPlan) -> tuple[list[DataFile], list[DataFile], dict[str, str]]:
        """Files for Spark's own reader, files for the other way, and URIs that Spark opens."""
        native: list[DataFile] = []
        others: list[DataFile] = []
        uris: dict[str, str] = {}
        exact = all(is_exact(c) and reads_exactly(plan, c) for c in plan.columns)
        exact = exact and self._finds(plan)
        for file in plan.files:
            found = self._uris(file) if exact and _is_plain_parquet(file) else None
            (others if found is None else native).append(file)
            uris.update(found or {})
        return native, others, uris

    def _finds(self, plan: ScanPlan) -> bool:
        """Whether Spark finds every column in every file, by its name or by its id."""
        if not any(needs_id(plan, column) for column in plan.columns):
            return True
        return _witness(plan) is not None and switch_on(self.spark, FIELD_IDS)

    def _uris(self, file: DataFile) -> dict[str, str] | None:
        """The file and its delete files as Spark opens them; None if it cannot."""
        found = {path: uri for path in file.paths if (uri := self._uri(path))}
        return found if len(found) == len(file.paths) else None

    def _uri(self, path: str) -> str | None:
        scheme, host = scheme_and_host(path)
        if not is_readable_name(path):
            return None
        if scheme == "file":
            return with_scheme(path, "file")
        for other in _OTHER_SCHEMES.get(scheme, (scheme,)):
            uri = with_scheme(path, other)
            if (other, host) not in self._opens:
                self._opens[other, host] = self._can_open(uri)
            if self._opens[other, host]:
                return uri
        return None

    def _can_open(self, uri: str) -> bool:
        """Whether Spark has a file system for the URI, with credentials that see the file."""
        try:
            return bool(self.spark.read.schema("a INT").parquet(escape_globs(uri)).columns)
        except Exception:  # classic and Connect sessions raise very different things here
            return False


def _way(plan: ScanPlan, file: DataFile, lineage: Sequence[str]) -> str:
    """How much has to be known of the rows of a file."""
    if file.is_partial_at(plan.snapshot_id) or not {*lineage} <= {ROW_ID, ROW_NUMBER}:
        return "traced"
    if not file.has_deletes:
        return "plain"
    return "traced" if lineage else "remaining"


def _witness(plan: ScanPlan) -> Witness | None:
    by_id = [column for column in plan.columns if needs_id(plan, column)]
    return witness_of(plan, by_id) if by_id else None


def _active_session() -> SparkSession:
    found = active_session()
    if found is None:
        raise Invalid(
            "there is no Spark session",
            hint="make one with tidelake.spark.session(), or pass spark=…",
        )
    return found


def _refuse(plan: ScanPlan) -> None:
    """Raise Unsupported for what Spark cannot put out exactly, by any way."""
    spark_schema(column for column in plan.columns if column.name in plan.output)
    encrypted = (
        file
        for file in plan.files
        if file.encryption_key or any(delete.encryption_key for delete in file.deletes)
    )
    if next(encrypted, None):
        raise Unsupported(
            f"{plan.table} has encrypted files, which Spark cannot read",
            hint="read it with engine='local'",
        )


def _is_plain_parquet(file: DataFile) -> bool:
    return file.mapping_id is None and all(d.format == "parquet" for d in file.deletes)


def _lineage(plan: ScanPlan) -> list[str]:
    """What of a row's lineage is asked for, or may be in the filter."""
    columns = {fold(column.name) for column in plan.columns}
    words = {*plan.output, *re.findall(r"\w+", fold(plan.where or ""))}
    return [name for name in LINEAGE if name in words and name not in columns]
