"""Rows that are computed when they are asked for, in whatever form."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import MOST_ROWS, Sheet
from tidelake.engine import Engine, Reading
from tidelake.engine.export import as_dicts, lazy_polars, relation_on
from tidelake.engine.row_source import Tables, pass_on
from tidelake.errors import Invalid, NotFound
from tidelake.model.forms import ColumnType
from tidelake.model.json_values import python_values
from tidelake.model.literal import Value
from tidelake.model.names import fold, quote, split_dotted
from tidelake.model.numpy_scalar import python_value
from tidelake.model.predicate import Predicate
from tidelake.model.reflexes import OF_ROWS, Guessable, not_subscriptable
from tidelake.session.session import Session

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa
    import pyarrow.dataset
    from pyspark.sql import DataFrame, SparkSession


ROWS = "_tidelake_rows"
HEAD = 5
_ORDER = re.compile(
    r"(?P<name>.+?)(?:\s+(?P<way>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Subquery:
    """Rows as a SELECT in DuckDB's SQL over relations, and the values of its parameters."""

    sql: str
    tables: Tables
    parameters: Mapping[str, Value] = field(default_factory=dict)


class LazyRows(Guessable, Drawable):
    """The same `to_*` methods as a Scan has, over what `_reading` makes."""

    _reflexes = ("rows", OF_ROWS)

    _session: Session

    @abstractmethod
    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        """A reading of the rows on an engine."""

    def _default_engine(self) -> Engine:
        """The engine that the rows are computed on unless another is asked for."""
        return self._session.engine

    def _local_engine(self) -> Engine:
        """The engine in this process."""
        return self._session.local

    def _on_spark(self, spark: Any) -> Engine:
        return self._session.spark_engine(spark)

    def _sheet(self) -> Sheet:
        """What it is, for which no rows are read."""
        return Sheet.of(repr(self).strip("<>")).with_note("head() reads a few rows")

    def _asked(self) -> Subquery:
        """The rows as a query, to stand in a larger one."""
        return Subquery(f"SELECT * FROM {ROWS}", {ROWS: pass_on(self)})

    def column_types(self) -> dict[str, ColumnType]:
        """Their columns, as create_table takes them."""
        asked = self._asked()
        return dict(self._default_engine().described(asked.sql, asked.tables, asked.parameters))

    def order_by(self, *columns: str | Sequence[str]) -> Excerpt:
        """The rows in an order: of a column, or of several, each with `DESC` and `NULLS FIRST` if
        wanted. Nulls come last otherwise."""
        return Excerpt(self).order_by(*columns)

    def limit(self, rows: int) -> Excerpt:
        """At most so many of the rows: the first, if they have an order."""
        return Excerpt(self).limit(rows)

    def head(self, rows: int = HEAD) -> Excerpt:
        """As `limit`: a few rows to look at."""
        return self.limit(rows)

    def count(self) -> int:
        """How many rows."""
        return self._reading(self._default_engine(), ordered=False).count()

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        """True, with rows or without: nothing is read to find out."""
        return True

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow's C interface, which Polars, pandas, DuckDB, pyarrow and
        Tidelake's own writes take as it is."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    if not TYPE_CHECKING:

        def __getitem__(self, wanted: object) -> object:
            """For those who think of a frame, or of a cursor: rows are not read one by one."""
            raise not_subscriptable(self, wanted)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts, with the values that Arrow has for Python."""
        return as_dicts(self.to_arrow())

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._reading(self._default_engine()).to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame that loses nothing."""
        return self._reading(self._default_engine()).to_pandas()

    @overload
    def to_polars(self, *, lazy: Literal[False] = False) -> polars.DataFrame: ...

    @overload
    def to_polars(self, *, lazy: Literal[True]) -> polars.LazyFrame: ...

    def to_polars(self, *, lazy: bool = False) -> polars.DataFrame | polars.LazyFrame:
        """The rows as a Polars frame; a `lazy` one reads the columns and rows that it needs when
        it is collected."""
        if not lazy:
            return self._reading(self._default_engine()).to_polars()
        return lazy_polars(self.to_dataset())

    def to_dataset(self) -> pyarrow.dataset.Dataset:
        """A dataset of pyarrow's for engines that read such: DataFusion, DuckDB, Polars and others
        then ask for the columns and rows that they need, and files are skipped as by a scan. Each
        read of it is one of these rows as they are by then."""
        from tidelake.engine.dataset import RowsDataset

        return RowsDataset(self._arrow_schema(), self._read_narrowed, repr(self))

    def _arrow_schema(self) -> pa.Schema:
        return self.limit(0).to_arrow().schema

    def _narrowed(self, columns: Sequence[str] | None, where: Predicate | None) -> LazyRows:
        """Some columns of the rows that meet a condition."""
        return _Narrowed(self, columns, where)

    def _read_narrowed(
        self, columns: Sequence[str] | None, where: Predicate | None
    ) -> pa.RecordBatchReader:
        return self._narrowed(columns, where).to_batches()

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        """A stream of Arrow batches, read in this process."""
        return self._reading(self._local_engine()).to_batches(rows)

    def to_duckdb(
        self, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """A DuckDB relation, not yet run, on a connection of its own, where no other relation is to
        join it with. On a `connection` of yours it can be joined with what that has; its rows come
        as Arrow then, and the connection gets access to nothing else."""
        if connection is None:
            return self._reading(self._local_engine()).to_duckdb()
        return relation_on(connection, self.to_dataset())

    def to_spark(self, spark: SparkSession | None = None) -> DataFrame:
        """A Spark DataFrame, not yet run and in no order; on the session given, the lake's, or
        the active one."""
        found: DataFrame = self._reading(self._on_spark(spark), ordered=False).to_spark()
        return found


class Excerpt(LazyRows):
    """Some of other rows, and in an order. Immutable; nothing is read until rows are asked for."""

    def __init__(
        self, rows: LazyRows, order: tuple[str, ...] = (), most: int | None = None
    ) -> None:
        self._rows = rows
        self._order = order
        self._most = most

    def order_by(self, *columns: str | Sequence[str]) -> Excerpt:
        listed = [[each] if isinstance(each, str) else each for each in columns]
        named = [name for each in listed if isinstance(each, list | tuple) for name in each]
        whole = all(isinstance(each, list | tuple) for each in listed)
        if not named or not whole or not all(isinstance(n, str) and n.strip() for n in named):
            raise Invalid(
                f"order_by{columns!r} names no column", hint='order_by("symbol", "ts DESC")'
            )
        return Excerpt(self if self._most is not None else self._rows, tuple(named), None)

    def limit(self, rows: int) -> Excerpt:
        wanted = python_value(rows)
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
            raise Invalid(f"limit({rows!r}) is no number of rows", hint="give 0 or more")
        most = wanted if self._most is None else min(wanted, self._most)
        return Excerpt(self._rows, self._order, most)

    def _sheet(self) -> Sheet:
        """The rows, if it was said how many are wanted."""
        if self._most is None:
            return super()._sheet()
        found = self.limit(MOST_ROWS + 1).to_arrow()
        rows = zip(*map(python_values, found.columns), strict=True)
        return Sheet.of(repr(self).strip("<>")).with_grid(found.column_names, rows)

    def _default_engine(self) -> Engine:
        return self._rows._default_engine()

    def _local_engine(self) -> Engine:
        return self._rows._local_engine()

    def _on_spark(self, spark: Any) -> Engine:
        return self._rows._on_spark(spark)

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        asked = self._asked_on(engine, ordered=ordered or self._most is not None)
        return engine.query(asked.sql, asked.tables, asked.parameters)

    def _asked(self) -> Subquery:
        return self._asked_on(self._default_engine(), ordered=True)

    def _asked_on(self, engine: Engine, *, ordered: bool) -> Subquery:
        inner = self._rows._asked()
        sql = f"SELECT * FROM ({inner.sql}) AS _tidelake_all"
        if ordered and self._order:
            columns = engine.described(inner.sql, inner.tables, inner.parameters)
            names = [name for name, _ in columns]
            sql += f" ORDER BY {', '.join(_order_sql(each, names) for each in self._order)}"
        if self._most is not None:
            sql += f" LIMIT {self._most}"
        return Subquery(sql, inner.tables, inner.parameters)

    def __repr__(self) -> str:
        order = f" by {', '.join(self._order)}" if self._order else ""
        most = "" if self._most is None else f", at most {self._most}"
        return f"<Rows of {self._rows!r}{order}{most}>"


class _Narrowed(LazyRows):
    """Some columns of other rows, and those that meet a condition."""

    def __init__(
        self, rows: LazyRows, columns: Sequence[str] | None, where: Predicate | None
    ) -> None:
        self._rows = rows
        self._columns = columns
        self._where = where

    def _default_engine(self) -> Engine:
        return self._rows._default_engine()

    def _local_engine(self) -> Engine:
        return self._rows._local_engine()

    def _asked(self) -> Subquery:
        inner = self._rows._asked()
        listed = "*" if self._columns is None else ", ".join(map(quote, self._columns))
        sql = f"SELECT {listed} FROM ({inner.sql}) AS _tidelake_all"
        if self._where is not None:
            sql += f" WHERE {self._where.sql()}"
        return Subquery(sql, inner.tables, inner.parameters)

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        asked = self._asked()
        return engine.query(asked.sql, asked.tables, asked.parameters)


def _order_sql(given: str, names: Sequence[str]) -> str:
    """One key of an order; a column whose name looks like one is meant itself."""
    is_name = fold(given) in map(fold, names)
    parts = None if is_name else _ORDER.fullmatch(given.strip())
    written = _column_sql(parts["name"] if parts else given, names)
    if written is None:
        hint = f"there are: {', '.join(names)}"
        if given.startswith("-") and _column_sql(given[1:], names) is not None:
            hint = f'order_by("{given[1:]} DESC")'
        if given.lower() in ("asc", "desc"):
            hint = f'the way stands with its column: order_by("{names[0]} {given.upper()}")'
        raise NotFound(f"no column {given!r} to order by", hint=hint)
    way = (parts["way"] or "asc") if parts else "asc"
    nulls = (parts["nulls"] or "last") if parts else "last"
    return f"{written} {way.upper()} NULLS {nulls.upper()}"


def _column_sql(given: str, names: Sequence[str]) -> str | None:
    """A column, or a field of a struct in it."""
    for parts in ((given,), split_dotted(given)):
        same = [name for name in names if parts and fold(name) == fold(parts[0])]
        exact = [name for name in same if name == parts[0]]
        if found := (exact or same):
            return ".".join(quote(part) for part in ("_tidelake_all", found[0], *parts[1:]))
    return None
