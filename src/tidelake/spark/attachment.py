"""The names of a lake in `spark.sql`.

`lake_ns.table` is a table of a database that Spark's own catalog has for as long as the lake is
attached; the data source `tidelake` reads it, every query at the newest snapshot.
`lake_ns_table` is a temporary view on the native path, at the snapshot of the last refresh.
"""

from __future__ import annotations

import atexit
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any

from tidelake.drawing.amounts import quantity
from tidelake.engine.spark.arrow_reader import nullable
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.lake.lake import Lake
from tidelake.model.closable import Closable
from tidelake.model.event_time import as_moment, moment_text
from tidelake.model.names import TableName, fold
from tidelake.plan.spark_literal import backtick
from tidelake.spark import vault
from tidelake.spark.options import SourceOptions
from tidelake.spark.registration import register
from tidelake.spark.relation import NamedRelation
from tidelake.spark.source import FORGET, KEEP
from tidelake.spark.table_label import with_label

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_WORD = re.compile(r"\w+", re.ASCII)
_OURS = "tidelake.lake"
"""A property of databases that we made: its value is the lake's address without its password."""


def attach(
    spark: SparkSession,
    lake: Lake,
    name: str = "lake",
    *,
    known_at: int | str | date | None = None,
    as_of: str | date | None = None,
) -> Attachment:
    """Make all tables and views of a lake known to `spark.sql`, until `detach()`. What was attached
    under the same name before is replaced.

    `lake_ns.table` is live: every query sees the newest snapshot. `lake_ns_table` is read by Spark
    itself, which is faster, at the snapshot of now or of the last `refresh()`. With `known_at` both
    stay at a snapshot, a time or a tag, and with `as_of` tables of facts at a moment of event time.
    """
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name!r} is no name for a lake", hint="use letters, digits and _")
    moment = None if as_of is None else moment_text(as_moment(as_of))
    pinned = lake if known_at is None else lake.known_at(known_at)
    return Attachment(spark, pinned, name, moment)


class Attachment(Closable):
    """A lake that is attached to a session. `tables` and `views` are the names that it has there;
    `skipped` are names of the lake that have no table, or no view either, there, and why."""

    def __init__(self, spark: SparkSession, lake: Lake, name: str, as_of: str | None) -> None:
        self.name = name
        self.tables: tuple[str, ...] = ()
        self.views: tuple[str, ...] = ()
        self.skipped: dict[str, str] = {}
        self._spark = spark
        self._lake = lake
        self._as_of = as_of
        self._databases: set[str] = set()
        register(spark)
        self._word = _kept(spark, lake)
        try:
            self.refresh()
        except BaseException:
            self.detach()
            raise

    def refresh(self) -> Attachment:
        """See tables that have come and gone, changed columns, and in views the newest rows."""
        self.skipped = {}
        found = _by_place(self._names())
        plain = [each for each in found.values() if self._is_plain(each)]
        wanted = {f"{self.name}_{each.schema}" for each in plain}
        for database in sorted(wanted | self._databases):
            self._drop_database(database)
        self._databases = wanted
        for database in sorted(wanted):
            self._create_database(database)
        self.tables = tuple(self._create_tables(plain))
        before, self.views = self.views, ()
        try:
            for view in self._create_views(found):
                self.views = (*self.views, view)
        finally:
            for gone in set(before) - set(self.views):
                self._spark.catalog.dropTempView(gone)
        return self

    def detach(self) -> None:
        """Spark knows nothing of the lake any more."""
        for view in self.views:
            self._spark.catalog.dropTempView(view)
        for database in sorted(self._databases):
            self._drop_database(database)
        self.tables = self.views = ()
        self._databases = set()
        if self._word:
            _forget(self._spark, self._word)
            self._word = ""

    def close(self) -> None:
        """As `detach`."""
        self.detach()

    def __repr__(self) -> str:
        return f"<Attachment {self.name} of {self._lake!r}: {quantity(len(self.tables), 'table')}>"

    def _names(self) -> list[TableName]:
        return [TableName.parse(each) for each in (*self._lake.tables(), *self._lake.views())]

    def _is_plain(self, name: TableName) -> bool:
        """Whether Spark's catalog takes such a name."""
        if _WORD.fullmatch(name.schema) and _WORD.fullmatch(name.name):
            return True
        self.skipped[str(name)] = "Spark's catalog takes letters, digits and _ in names alone"
        return False

    def _options(self, name: TableName) -> dict[str, str]:
        options = {"lake": self._word, "table": str(name)}
        if self._lake.session.pinned is not None:
            options["known_at"] = str(self._moment(name))
        if self._as_of is not None and self._has_event_time(name):
            options["as_of"] = self._as_of
        return options

    def _moment(self, name: TableName) -> int | str | None:
        """The snapshot that the lake is pinned to, or a time before the table's first commit."""
        session = self._lake.session
        early = None
        if session.time is not None and self._lake.exists(str(name)):
            early = self._lake.table(str(name)).source.known_by
        return session.pinned if early is None else moment_text(early)

    def _has_event_time(self, name: TableName) -> bool:
        """Views may have tables that have one."""
        with suppress(Invalid, NotFound):
            if str(name) in self._lake.tables():
                self._lake.table(str(name)).as_of(self._as_of or "")
            else:
                self._lake.sql(f"SELECT * FROM {name}", as_of=self._as_of)
            return True
        return False

    def _create_database(self, database: str) -> None:
        known = {each.name for each in self._spark.catalog.listDatabases()}
        if fold(database) in {fold(each) for each in known}:
            raise Invalid(
                f"Spark has a database {database!r} of its own",
                hint="attach the lake under another name: attach(spark, lake, name=…)",
            )
        place = f"{tempfile.gettempdir()}/tidelake-{self._word}-{database}"
        self._spark.sql(
            f"CREATE DATABASE {backtick(database)} LOCATION {_literal(place)}"
            f" WITH DBPROPERTIES ({_literal(_OURS)} = {_literal(self._lake.url)})"
        )

    def _drop_database(self, database: str) -> None:
        """If it is one of ours, also of a session that ended without a word."""
        try:
            rows = self._spark.sql(f"DESCRIBE DATABASE EXTENDED {backtick(database)}").collect()
        except Exception:  # there is none: classic and Connect sessions raise different things
            return
        if any(_OURS in str(row[1]) for row in rows):
            self._spark.sql(f"DROP DATABASE IF EXISTS {backtick(database)} CASCADE")

    def _create_tables(self, names: Iterable[TableName]) -> Iterator[str]:
        for name in names:
            options = self._options(name)
            relation = NamedRelation.of(self._lake, SourceOptions.of(options))
            try:
                schema = nullable(relation.columns())
            except Unsupported as error:
                self.skipped[str(name)] = str(error)
                continue
            place = f"{backtick(f'{self.name}_{name.schema}')}.{backtick(name.name)}"
            labelled = with_label(schema, options)
            self._spark.catalog.createTable(place, source="tidelake", schema=labelled)
            yield f"{self.name}_{name.schema}.{name.name}"

    def _create_views(self, names: dict[str, TableName]) -> Iterator[str]:
        for place, name in names.items():
            view = f"{self.name}_{place}"
            try:
                self._frame(name).createOrReplaceTempView(backtick(view))
            except Unsupported as error:
                self.skipped[str(name)] = str(error)
            else:
                yield view

    def _frame(self, name: TableName) -> DataFrame:
        """On the native path."""
        as_of = self._as_of if "as_of" in self._options(name) else None
        if str(name) in self._lake.tables():
            table = self._lake.table(str(name))
            found: DataFrame = (table.as_of(as_of) if as_of else table).to_spark(self._spark)
            return found
        session = self._lake.session
        query = self._lake.sql(f"SELECT * FROM {name}", as_of=as_of)
        engine = session.spark_engine(self._spark)
        return engine.query(query.whole_sql(), query.tables).to_spark()


def _by_place(names: Iterable[TableName]) -> dict[str, TableName]:
    """Each by its schema and name in one word."""
    found: dict[str, TableName] = {}
    for name in names:
        place = f"{name.schema}_{name.name}"
        other = next((each for each in found if fold(each) == fold(place)), None)
        if other is not None:
            raise Invalid(
                f"{found[other]} and {name} would both be {place} in Spark", hint="rename one"
            )
        found[place] = name
    return found


def _kept(spark: SparkSession, lake: Lake) -> str:
    """The word for the lake in the vault of the driver, which on Connect is elsewhere."""
    if not _is_remote(spark):
        word = vault.keep(lake)
        atexit.register(vault.forget, word)
        return word
    session = lake.session
    storage = {f"storage.{key}": str(value) for key, value in session.local.options.items()}
    reader = spark.read.format("tidelake").options(
        vault=KEEP, catalog=session.database.url.whole, **storage
    )
    return reader.load().columns[0]


def _forget(spark: SparkSession, word: str) -> None:
    if not _is_remote(spark):
        vault.forget(word)
        return
    _ = spark.read.format("tidelake").options(vault=FORGET, lake=word).load().columns


def _is_remote(spark: Any) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def _literal(value: str) -> str:
    """A text in Spark's SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
