"""Data that users hand over, as a SELECT that gives a table's columns exactly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.duck import settle
from tidelake.engine.incoming import from_dicts as incoming_rows
from tidelake.engine.incoming import from_files as incoming_files
from tidelake.engine.incoming.arrow_floats import may_have_nans, may_have_negative_zeros
from tidelake.engine.incoming.arrow_shapes import arrow_shape, cast_batches, readable, scan
from tidelake.engine.incoming.conform import DataShape, conformed_sql, filler_sql, match
from tidelake.engine.incoming.csv_files import CsvSource
from tidelake.engine.incoming.even_parts import even_parts
from tidelake.engine.incoming.pandas_frame import (
    is_nan,
    refuse_unknown_index,
    with_index,
    without_guessed_types,
)
from tidelake.engine.local.errors import refusal_in
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Invalid, Unsupported
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import Column
from tidelake.model.source_files import SourceFiles

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tidelake.engine.local.supply import Supply

_ACCEPTED = (
    "give a pandas or Polars frame, an Arrow table, batches or reader, anything with"
    " __arrow_c_stream__, a dict or dicts, or paths of Parquet, CSV or JSON files"
)

_END: Any = object()
_BESIDE = 3
_AS_USUAL = SourceFiles(())


@dataclass(frozen=True, slots=True)
class IncomingData:
    """`sql` yields the table's columns, in order, under their names and in their types.

    `present` are those of them that the data had. Only if `rereadable` may the SELECT be run
    again: a stream is gone once it has been read. `comes_again` if the data itself may be brought
    once more, as a long list may be that is read as a stream. `csv` are the files that it reads as
    text. Only if it `has_no_negative_zeros` is it known that there is no `-0.0` in it, and only if
    it `has_no_nans` that there is no NaN in what it gives. `bytes` are how many there are of it,
    where all of it is at hand. `pass_on`, if there is such a way, hands it over to the next
    statement alone, for which that is quicker.
    """

    sql: str
    present: frozenset[str]
    rereadable: bool
    csv: tuple[CsvSource, ...] = ()
    has_no_negative_zeros: bool = False
    has_no_nans: bool = False
    bytes: int | None = None
    pass_on: Callable[[], None] | None = None
    comes_again: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether what was done with it can be done once more."""
        return self.rereadable or self.comes_again


def bring(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    data: Any,
    columns: Sequence[Column],
    *,
    table: TableName,
    defaults: bool = True,
    supply: Supply | None = None,
) -> IncomingData:
    """Register the data on the connection and say how to read it as the table's columns.

    What the data's schema already tells is refused here; a value that does not fit makes the
    SELECT fail, which `translate_duckdb_errors` turns into Invalid. Columns that are missing get
    their defaults, or with `defaults=False` nulls, whatever they allow. A pandas NaN is a null,
    as it is for pyarrow; in all other data NaN is a number. The connection must be in UTC.
    What can be gone through only once comes from the `supply`, which then has to run the SELECT.
    """
    return _Taking(connection, name, columns, str(table), defaults, supply).taken(data)


def _is_a(data: object, library: str, *names: str) -> bool:
    """Whether it is of one of the library's classes, without importing the library."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, tuple(getattr(module, n) for n in names))


@dataclass(frozen=True, slots=True)
class _Taking:
    connection: duckdb.DuckDBPyConnection
    name: str
    columns: Sequence[Column]
    place: str
    defaults: bool
    supply: Supply | None = None

    def taken(self, data: Any) -> IncomingData:
        if isinstance(data, Mapping):
            return self.rows([data])
        if isinstance(data, str | Path):
            return self.files([data])
        if isinstance(data, SourceFiles):
            return self.files(data.paths, data)
        if _is_a(data, "pandas", "DataFrame"):
            return self.pandas(data)
        if _is_a(data, "pandas", "Series", "Index"):
            raise self.unknown(data)
        if _is_a(data, "polars", "DataFrame", "LazyFrame"):
            return self.polars(data)
        if is_spark_frame(data):
            raise Unsupported(
                f"{self.place}: a Spark DataFrame cannot be read by the local engine",
                hint="open the lake with engine='spark', or hand over df.toArrow()",
            )
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return self.arrow(data)
        if isinstance(data, Iterable) and not isinstance(data, bytes | bytearray):
            return self.items(data)
        raise self.unknown(data)

    def unknown(self, data: object) -> Invalid:
        kind = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
        return Invalid(f"{self.place}: cannot take rows from {kind}", hint=_ACCEPTED)

    def empty(self) -> Invalid:
        return Invalid(f"{self.place}: the data has no columns", hint=_ACCEPTED)

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> IncomingData:
        sql, present = incoming_rows.rows_sql(
            self.connection, self.name, rows, self.columns, self.place, defaults=self.defaults
        )
        return IncomingData(sql, present, True)

    def files(self, paths: Sequence[str | Path], source: SourceFiles = _AS_USUAL) -> IncomingData:
        kind, found = incoming_files.list_files(self.connection, paths, self.place)
        if kind == "json":
            take = self._from(found)
            documents = {fold(c.name) for c in self.columns if c.type == "json"}
            rows = incoming_files.json_rows(self.connection, found, take.place, documents)
            return replace(take.items(rows), comes_again=True)
        branches, csv = [], []
        present: frozenset[str] = frozenset()
        for group in incoming_files.groups(self.connection, kind, found, self.place, source):
            take = self._from(group.paths)
            shapes = group.shapes
            if kind == "csv":
                shapes = shapes if source.csv.has_header else take._by_position(shapes)
                csv.append(take._csv_source(group.paths, shapes, source))
            branch, had = take._select(group.source, shapes)
            branches.append(branch)
            present |= had
        return IncomingData(" UNION ALL ".join(branches), present, True, tuple(csv))

    def _from(self, paths: Sequence[str]) -> _Taking:
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return replace(self, place=f"{self.place} from {paths[0]}{others}")

    def _by_position(self, shapes: Sequence[DataShape]) -> tuple[DataShape, ...]:
        if len(shapes) != len(self.columns):
            raise Invalid(
                f"{self.place}: lines have {len(shapes)} fields, and the table has"
                f" {len(self.columns)} columns",
                hint="without a header every column needs a field, in the order of the table",
            )
        pairs = zip(shapes, self.columns, strict=True)
        return tuple(replace(shape, name=column.name) for shape, column in pairs)

    def _csv_source(
        self, paths: Sequence[str], shapes: Sequence[DataShape], source: SourceFiles
    ) -> CsvSource:
        known = {fold(column.name): column.name for column in self.columns}
        names = tuple(known.get(fold(shape.name), shape.name) for shape in shapes)
        return CsvSource(self.place, tuple(paths), names, source.csv)

    def unreadable(self, error: Exception, hint: str) -> Invalid:
        reason = ": ".join(str(part) for part in error.args)
        return Invalid(f"{self.place}: the data cannot be read: {reason}", hint=hint)

    def pandas(self, data: Any) -> IncomingData:
        import pyarrow as pa

        frame = with_index(data, self.place)
        refuse_unknown_index(data, [column.name for column in self.columns], self.place)
        if len(frame) and not len(frame.columns):
            raise self.empty()
        match([str(name) for name in frame.columns], self.columns, self.place)
        maps = self._maps(frame)
        try:
            kept = [name for name in frame.columns if str(name) not in maps]
            rest = frame[kept] if maps else frame
            table = pa.Table.from_pandas(without_guessed_types(rest), preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            hint = "give every column one type, for example with astype(…)"
            raise self.unreadable(error, hint) from error
        if maps:
            others = dict(zip(table.column_names, table.columns, strict=True))
            table = pa.table({**others, **maps})
        return self.arrow(table, frozenset(maps))

    def _maps(self, frame: Any) -> dict[str, pa.Array]:
        """Columns of pandas that hold maps: as dicts or lists of pairs, of which Arrow would make
        something else."""
        by_name = {fold(c.name): c for c in self.columns}
        found = {}
        for name, kind in frame.dtypes.items():
            column = by_name[fold(str(name))]
            if str(kind) == "object" and any(below.type == "map" for below in column.walk()):
                values = [None if is_nan(value) else value for value in frame[name]]
                found[str(name)] = incoming_rows.converted_array(column, values, self.place)
        return found

    def polars(self, data: Any) -> IncomingData:
        import polars
        import pyarrow as pa

        frame = data.collect() if isinstance(data, polars.LazyFrame) else data
        objects = [name for name, kind in frame.schema.items() if kind == polars.Object]
        try:
            table = pa.table(frame) if not objects else None
        except pa.ArrowException as error:
            raise self.unreadable(error, "cast 128-bit integers to Decimal(38, 0)") from error
        if table is None:
            raise Invalid(
                f"{self.place}: {objects[0]!r} of the data holds Python objects",
                hint="cast it to a type of Polars",
            )
        return self.arrow(table)

    def arrow(self, data: Any, converted: frozenset[str] = frozenset()) -> IncomingData:
        """`converted` names columns that hold what `row_values` has made of Python values."""
        import pyarrow as pa

        try:
            if isinstance(data, pa.RecordBatch) or not hasattr(data, "__arrow_c_stream__"):
                data = pa.table(data)
            elif not isinstance(data, pa.Table | pa.RecordBatchReader):
                data = pa.RecordBatchReader.from_stream(data)
        except (pa.ArrowException, TypeError, ValueError, OSError) as error:
            raise self.unreadable(error, _ACCEPTED) from error
        whole = isinstance(data, pa.Table)
        if whole and data.shape == (0, 0):
            return self.rows([])
        schema = readable(data.schema)
        shapes = [
            DataShape(field.name, "converted")
            if field.name in converted
            else arrow_shape(field, self.place)
            for field in schema
        ]
        labels = [f"c{at}" for at in range(len(shapes))]
        sql, present = self._select(scan(self.name, schema, labels), shapes)
        if schema != data.schema:
            batches = data.to_batches() if whole else data
            stream = cast_batches(iter(batches), schema, self.place)
            data = pa.RecordBatchReader.from_batches(schema, stream)
            data = self._cast_now(data) if whole else data
        if not whole:
            self._register(data)
            return IncomingData(sql, present, False)
        settle(self.connection).register(self.name, data)
        return IncomingData(
            sql,
            present,
            True,
            has_no_negative_zeros=not converted and not may_have_negative_zeros(data),
            has_no_nans=not converted and not may_have_nans(data),
            bytes=data.nbytes if data else None,
            pass_on=partial(self._pass_on, data),
        )

    def _pass_on(self, table: pa.Table) -> None:
        """As a bare stream: a table DuckDB reads through a scanner of Arrow's, with its threads."""
        settle(self.connection).register(self.name, even_parts(table).__arrow_c_stream__())

    def _register(self, reader: pa.RecordBatchReader) -> None:
        if self.supply is None:
            settle(self.connection).register(self.name, reader)
        else:
            self.supply.register(self.name, reader)

    def _cast_now(self, reader: pa.RecordBatchReader) -> pa.Table:
        try:
            return reader.read_all()
        except ValueError as error:
            raise (refusal_in(str(error)) or error) from error

    def items(self, data: Iterable[Any]) -> IncomingData:
        """A list, or something that can be gone through only once: its first item tells."""
        items = iter(data)
        first = next(items, _END)
        if first is _END:
            return self.rows([])
        rest = chain([first], items)
        if isinstance(first, Mapping):
            return self._dicts(rest, isinstance(data, Sequence))
        if isinstance(first, str | Path):
            return self.files(list(rest))
        return self._record_batches(first, rest, isinstance(data, Sequence))

    def _dicts(self, rows: Iterator[Any], whole: bool) -> IncomingData:
        first = list(islice(rows, incoming_rows.CHUNK))
        following = next(rows, _END)
        if following is _END:
            return self.rows(first)
        reader, sql, present = incoming_rows.rows_stream(
            self.name, first, chain([following], rows), self.columns, self.place, self.defaults
        )
        self._register(reader)
        return IncomingData(sql, present, False, comes_again=whole)

    def _record_batches(self, first: Any, batches: Iterator[Any], whole: bool) -> IncomingData:
        import pyarrow as pa

        if not isinstance(first, pa.RecordBatch):
            raise self.unknown(first)
        try:
            if whole:
                return self.arrow(pa.Table.from_batches(list(batches)))
            return self.arrow(pa.RecordBatchReader.from_batches(first.schema, batches))
        except (TypeError, pa.ArrowException) as error:
            raise Invalid(
                f"{self.place}: the batches do not go together: {error}",
                hint="give all of them one schema",
            ) from error

    def _select(self, source: str, shapes: Sequence[DataShape]) -> tuple[str, frozenset[str]]:
        """Columns of the source go by position: their names may be any."""
        if not shapes:
            raise self.empty()
        found = match([shape.name for shape in shapes], self.columns, self.place)
        told = [
            (shape.name, f"c{at}")
            for at, shape in enumerate(shapes[: 2 * _BESIDE])
            if not shape.children and shape.type not in ("text", "converted", "blob")
        ]
        chosen = []
        for index, column in enumerate(self.columns):
            if index in found:
                at = found[index]
                beside = [(name, ref) for name, ref in told if ref != f"c{at}"][:_BESIDE]
                value = conformed_sql(column, shapes[at], f"c{at}", self.place, beside)
            else:
                value = filler_sql(column, self.place, defaults=self.defaults)
            chosen.append(f"{value} AS {quote(column.name)}")
        names = ", ".join(f"c{at}" for at in range(len(shapes)))
        present = frozenset(self.columns[index].name for index in found)
        return f"SELECT {', '.join(chosen)} FROM {source} AS r({names})", present
