"""Reading data files with Spark's own Parquet reader.

A file that needs nothing but its columns is read by one plain `spark.read`, and one whose rows
are asked for nothing but their ids by little more. Where rows were deleted, each row learns its
place from `_metadata`: the size of its file, if all sizes differ, and its position. If few were
deleted of not too many, they are read here and looked up in bits (`deleted_bits`); else a join
leaves them out. Files with rows newer than the snapshot, or whose rows are asked for where they
lie, are traced: each row learns the number of its file by its size, or from a small table of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t

from tidelake.duck import arrow_source
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.spark.columns import field_of, lineage_field
from tidelake.engine.spark.deleted_bits import OTHER_SIZE, DeletedBits
from tidelake.engine.spark.errors import translate_spark_errors
from tidelake.engine.spark.field_ids import Witness
from tidelake.engine.spark.paths import escape_globs, metadata_path
from tidelake.engine.spark.settings import listing
from tidelake.errors import TidelakeError
from tidelake.model.schema import (
    ROW_BEGAN,
    ROW_ENDED,
    ROW_FILE,
    ROW_ID,
    ROW_ID_FIELD,
    ROW_NUMBER,
    ROW_POSITION,
    ROW_SNAPSHOT,
    ROW_SNAPSHOT_FIELD,
)
from tidelake.plan.spark_literal import backtick
from tidelake.store.files import is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.model.file import DataFile, DeleteFile
    from tidelake.plan.scan import ScanPlan

# DuckDB writes the proleptic Gregorian calendar; a file that cannot be read is never skipped.
_OPTIONS = {
    "datetimeRebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}
_DELETE_FILE = t.StructType(
    [
        t.StructField("pos", t.LongType()),
        t.StructField("_ducklake_internal_snapshot_id", t.LongType()),
    ]
)
_HASH, _PATH, _KNOWN = "__tidelake_hash", "__tidelake_path", "__tidelake_known"
_FILE, _POSITION, _PLACE = "__tidelake_file", "__tidelake_position", "__tidelake_place"
_START, _BEGIN, _PARTIAL = "__tidelake_start", "__tidelake_begin", "__tidelake_partial"
_ROW, _SNAPSHOT = "__tidelake_row", "__tidelake_snapshot"
_WORDS, _WORD, _BIT = "__tidelake_words", "__tidelake_word", "__tidelake_bit"
_ID, _STAGED, _END = "__tidelake_id", "__tidelake_staged", "__tidelake_end"
_LINEAGE = {
    ROW_ID: _ROW,
    ROW_NUMBER: _ROW,
    ROW_SNAPSHOT: _SNAPSHOT,
    ROW_FILE: _ID,
    ROW_POSITION: _POSITION,
    ROW_BEGAN: _SNAPSHOT,
    ROW_ENDED: _END,
}
_MOST_POSITIONS = 2**40
_FEW_DELETES = 2_000_000
_DELETES_HERE = 1_000_000
_DELETE_FILES_HERE = 64
_INT = 2**31 - 1
_NO_ID = "CAST(raise_error('tidelake.errors.Corrupt: a row of which no id is known') AS BIGINT)"


class NativeReader:
    """Reads files of one plan. `uris` are the plan's files and delete files as Spark opens them.

    Requires: every column of the plan reads exactly (`columns.reads_exactly`), and there is a
    witness if one of them `columns.needs_id`.
    """

    def __init__(
        self,
        spark: SparkSession,
        local: LocalEngine,
        plan: ScanPlan,
        uris: dict[str, str],
        witness: Witness | None = None,
    ) -> None:
        self._spark = spark
        self._local = local
        self._plan = plan
        self._uris = uris
        self._witness = witness
        self._fields = [field_of(plan, column, witness) for column in plan.columns]

    def plain(self, files: Sequence[DataFile]) -> DataFrame:
        """The plan's columns, from files of which every row is wanted."""
        return self._read(self._fields_read(), files).selectExpr(*self._expressions())

    def numbered(self, files: Sequence[DataFile], lineage: Sequence[str]) -> DataFrame:
        """The plan's columns and under these names the rows' ids, from files of which every row
        is wanted: the ids that rows carry, else their places after their files' first."""
        embedded = lineage_field(ROW_ID_FIELD)
        starts = {file.path: file.row_id_start for file in files if file.row_id_start is not None}
        place = f"_metadata.file_path AS {_PATH}", f"_metadata.row_index AS {_POSITION}"
        rows = self._read([*self._fields_read(), embedded], files).selectExpr(
            *self._expressions(), backtick(embedded.name), *(place if starts else ())
        )
        ids = [backtick(embedded.name), _NO_ID]
        if len(files) == 1 and starts:
            ids.insert(1, f"{next(iter(starts.values()))} + {_POSITION}")
        elif starts:
            rows = self._with_starts(rows, starts)
            ids.insert(1, f"{_START} + {_POSITION}")
        number = f"coalesce({', '.join(ids)})"
        return rows.selectExpr(*self._names(), *(f"{number} AS {name}" for name in lineage))

    def _with_starts(self, rows: DataFrame, starts: Mapping[str, int]) -> DataFrame:
        """The first row id of each row's file; none if Spark spells the path in another way."""
        known = self._small(
            (_KNOWN, pa.string(), [metadata_path(self._uris[path]) for path in starts]),
            (_START, pa.int64(), list(starts.values())),
        )
        hashes = known.selectExpr(f"xxhash64({_KNOWN}) AS {_HASH}", _START)
        hashed = rows.selectExpr("*", f"xxhash64({_PATH}) AS {_HASH}")
        return hashed.join(hashes.hint("broadcast"), _HASH, "left")

    def remaining(self, files: Sequence[DataFile]) -> DataFrame:
        """The plan's columns, from files of which some rows have been deleted."""
        if (found := self._looked_up(files)) is not None:
            return found
        numbers = file_numbers(files)
        if numbers is None:
            return self.traced(files, ())
        position = "_metadata.row_index"
        rows = self._read(self._fields_read(), files).selectExpr(
            *self._expressions(), f"{numbers.place(position)} AS {_PLACE}"
        )
        rows = rows.join(self._deletes(files, numbers), _PLACE, "left_anti")
        return rows.selectExpr(*self._names())

    def _looked_up(self, files: Sequence[DataFile]) -> DataFrame | None:
        """The same, if few rows have been deleted of not too many."""
        bits = DeletedBits.of(files)
        gone = bits and self._deletes_here(files, FileNumbers(bits.firsts, 1))
        if bits is None or gone is None:
            return None
        word, bit = bits.place(bits.file, "_metadata.row_index")
        rows = self._read(self._fields_read(), files).selectExpr(
            *self._expressions(), f"{word} AS {_WORD}", f"{bit} AS {_BIT}"
        )
        return self._without(rows, bits, gone).selectExpr(*self._names())

    def _without(self, rows: DataFrame, bits: DeletedBits, gone: pa.Array) -> DataFrame:
        words = self._small((_WORDS, pa.list_(pa.int64()), bits.array(gone)))
        there = bits.is_there(f"(SELECT {_WORDS} FROM {{words}})", _WORD, _BIT)
        return self._spark.sql(f"SELECT * FROM {{rows}} WHERE {there}", rows=rows, words=words)

    def traced(
        self, files: Sequence[DataFile], lineage: Sequence[str], among: DataFrame | None = None
    ) -> DataFrame:
        """The plan's columns and those of `lineage`, from the rows that the snapshot sees. To trace
        a row takes longer than to find out that its values are not `among` these."""
        if (found := self._traced_by_size(files, lineage, among)) is not None:
            return found
        embedded = [lineage_field(ROW_ID_FIELD), lineage_field(ROW_SNAPSHOT_FIELD)]
        rows = self._read([*self._fields_read(), *embedded], files).selectExpr(
            *self._expressions(),
            *(backtick(field.name) for field in embedded),
            f"_metadata.file_path AS {_PATH}",
            f"_metadata.row_index AS {_POSITION}",
        )
        if among is not None:
            rows = rows.join(among, among.columns, "left_semi")
        row_id, snapshot = (field.name for field in embedded)
        rows = _with_file(rows, self._facts(files)).selectExpr(
            *self._names(),
            _POSITION,
            f"{_checked(_ID)} AS {_ID}",
            f"{_checked(_END)} AS {_END}",
            f"{_checked(f'{_FILE} * {_MOST_POSITIONS} + {_POSITION}')} AS {_PLACE}",
            f"{_checked(_PARTIAL)} AS {_PARTIAL}",
            f"{_checked(f'coalesce({row_id}, {_START} + {_POSITION})')} AS {_ROW}",
            f"{_checked(f'greatest({snapshot}, {_BEGIN})')} AS {_SNAPSHOT}",
        )
        rows = self._seen(rows, files)
        if any(file.has_deletes for file in files):
            numbers = FileNumbers(tuple(range(len(files))), _MOST_POSITIONS)
            rows = rows.join(self._deletes(files, numbers), _PLACE, "left_anti")
        asked = (f"{_LINEAGE[name]} AS {name}" for name in lineage)
        return rows.selectExpr(*self._names(), *asked)

    def _traced_by_size(
        self, files: Sequence[DataFile], lineage: Sequence[str], among: DataFrame | None
    ) -> DataFrame | None:
        """The same without a join, if sizes tell few files apart, and few rows have been deleted of
        not too many."""
        bits, deleted = DeletedBits.of(files), any(file.has_deletes for file in files)
        gone = self._deletes_here(files, FileNumbers(bits.firsts, 1)) if bits and deleted else None
        if bits is None or (deleted and gone is None):
            return None
        embedded = [lineage_field(ROW_ID_FIELD), lineage_field(ROW_SNAPSHOT_FIELD)]
        row_id, snapshot = (field.name for field in embedded)
        rows = self._read([*self._fields_read(), *embedded], files).selectExpr(
            *self._expressions(),
            *(row_id, snapshot),
            f"{bits.file} AS {_FILE}",
            f"_metadata.row_index AS {_POSITION}",
        )
        if among is not None:
            rows = rows.join(among, among.columns, "left_semi")
        word, bit = bits.place(_FILE, _POSITION)
        at, told = self._plan.snapshot_id, partial(bits.told, number=_FILE)
        start, begin = told(f.row_id_start for f in files), told(f.begin_snapshot for f in files)
        rows = rows.selectExpr(
            *self._names(),
            _POSITION,
            f"{told(file.id for file in files)} AS {_ID}",
            f"{told(file.end_snapshot for file in files)} AS {_END}",
            f"{told(int(file.is_partial_at(at)) for file in files)} = 1 AS {_PARTIAL}",
            f"coalesce({row_id}, {start} + {_POSITION}) AS {_ROW}",
            f"greatest({snapshot}, {begin}) AS {_SNAPSHOT}",
            *(f"{word} AS {_WORD}", f"{bit} AS {_BIT}"),
        )
        rows = self._seen(rows, files)
        if gone is not None:
            rows = self._without(rows, bits, gone)
        asked = (f"{_LINEAGE[name]} AS {name}" for name in lineage)
        return rows.selectExpr(*self._names(), *asked)

    def _seen(self, rows: DataFrame, files: Sequence[DataFile]) -> DataFrame:
        """Without rows that are newer than the snapshot."""
        at = self._plan.snapshot_id
        if not any(file.is_partial_at(at) for file in files):
            return rows
        return rows.where(f"NOT {_PARTIAL} OR {_SNAPSHOT} <= {at}")

    def _fields_read(self) -> list[t.StructField]:
        found = [field.read for field in self._fields]
        if self._witness and self._witness.column.id not in {c.id for c in self._plan.columns}:
            found.append(self._witness.field)
        return found

    def _expressions(self) -> list[str]:
        return [field.expression for field in self._fields]

    def _names(self) -> list[str]:
        return [backtick(column.name) for column in self._plan.columns]

    def _read(self, fields: list[t.StructField], files: Sequence[DataFile]) -> DataFrame:
        return self._open(t.StructType(fields), [file.path for file in files])

    def _open(self, schema: t.StructType, paths: Sequence[str]) -> DataFrame:
        names = [escape_globs(self._uris[path]) for path in paths]
        reading = translate_spark_errors(f"cannot read {self._plan.table}")
        with reading, listing(self._spark, len(names)):
            return self._spark.read.options(**_OPTIONS).schema(schema).parquet(*names)

    def _facts(self, files: Sequence[DataFile]) -> DataFrame:
        at = self._plan.snapshot_id
        return self._small(
            (_KNOWN, pa.string(), [metadata_path(self._uris[file.path]) for file in files]),
            (_FILE, pa.int64(), list(range(len(files)))),
            (_ID, pa.int64(), [file.id for file in files]),
            (_START, pa.int64(), [file.row_id_start for file in files]),
            (_BEGIN, pa.int64(), [file.begin_snapshot for file in files]),
            (_END, pa.int64(), [file.end_snapshot for file in files]),
            (_PARTIAL, pa.bool_(), [file.is_partial_at(at) for file in files]),
        )

    def _deletes(self, files: Sequence[DataFile], numbers: FileNumbers) -> DataFrame:
        """The place of every deleted row, each perhaps more than once."""
        if (here := self._deletes_here(files, numbers)) is not None:
            return self._small((_PLACE, pa.int64(), here)).hint("broadcast")
        parts = []
        numbered = list(zip(numbers.values, files, strict=True))
        if stored := [(n, delete) for n, file in numbered for delete in file.deletes]:
            parts.append(self._stored_deletes(stored, numbers.factor))
        listed = [
            number * numbers.factor + position
            for number, file in numbered
            for position in file.deleted_positions
        ]
        if listed:
            parts.append(self._small((_PLACE, pa.int64(), listed)))
        united = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
        return united.hint("broadcast") if _deleted(files) <= _FEW_DELETES else united

    def _deletes_here(self, files: Sequence[DataFile], numbers: FileNumbers) -> pa.Array | None:
        """The places, if they are so few that to read them here is quicker than a job of Spark's;
        None also if only Spark can open the delete files."""
        paths = [delete.path for file in files for delete in file.deletes]
        known = self._local.options or all(map(is_local, paths))
        if _deleted(files) > _DELETES_HERE or len(paths) > _DELETE_FILES_HERE or not known:
            return None
        work = self._local.workbench()
        values = ", ".join(map(str, numbers.values))
        place = f"([{values}]::BIGINT[])[CAST(file AS BIGINT) + 1] * {numbers.factor} + pos"
        try:
            with work.connection as connection, translate_duckdb_errors("cannot read deletes"):
                work.reach(paths)
                sql = work.deletes_sql(files, self._plan.snapshot_id)
                distinct = f"SELECT DISTINCT {place} AS p FROM ({sql}) ORDER BY p"
                found = arrow_source(connection, distinct)
                return found.to_arrow_table().column(0).combine_chunks().cast(pa.int64())
        except TidelakeError:
            return None

    def _stored_deletes(self, deletes: list[tuple[int, DeleteFile]], factor: int) -> DataFrame:
        """By name, where DuckDB goes by place: in every delete file known the two agree, and a
        file in which they do not fails for want of positions."""
        paths = [delete.path for _, delete in deletes]
        owners = self._small(
            (_KNOWN, pa.string(), [metadata_path(self._uris[path]) for path in paths]),
            (_FILE, pa.int64(), [number for number, _ in deletes]),
            (_STAGED, pa.bool_(), [delete.is_staged for _, delete in deletes]),
        )
        found = self._open(_DELETE_FILE, paths).selectExpr(
            "pos", "_ducklake_internal_snapshot_id AS stamp", f"_metadata.file_path AS {_PATH}"
        )
        place = f"{_FILE} * {factor} + {_known_position()}"
        return (
            _with_file(found, owners)
            .where(f"{_STAGED} OR stamp IS NULL OR stamp <= {self._plan.snapshot_id}")
            .selectExpr(f"{_checked(place)} AS {_PLACE}")
        )

    def _small(self, *columns: tuple[str, pa.DataType, Any]) -> DataFrame:
        arrays = [pa.array(values, kind) for _, kind, values in columns]
        return self._spark.createDataFrame(pa.table(arrays, [name for name, _, _ in columns]))


def _deleted(files: Sequence[DataFile]) -> int:
    """How many rows of them were ever deleted."""
    return sum(len(f.deleted_positions) + sum(d.rows for d in f.deletes) for f in files)


@dataclass(frozen=True, slots=True)
class FileNumbers:
    """What tells files apart: a number for each, which a row's place begins with."""

    values: tuple[int, ...]
    factor: int

    def place(self, position: str) -> str:
        """A row's file and position in one number, which joins faster than two. A file whose size
        is none of those that the catalog knows must stop the read, not bring deleted rows back."""
        if self.values == (0,):
            return position
        known = ", ".join(str(value % _INT) for value in self.values)
        return (
            f"IF(CAST(_metadata.file_size % {_INT} AS INT) IN ({known}),"
            f" _metadata.file_size * {self.factor} + {position}, raise_error('{OTHER_SIZE}'))"
        )


def file_numbers(files: Sequence[DataFile]) -> FileNumbers | None:
    """Sizes, which cost a row little to know, if they tell the files apart."""
    if len(files) == 1:
        return FileNumbers((0,), 1)
    sizes = [file.bytes for file in files]
    factor = 2 ** max(file.rows for file in files).bit_length()
    if len({size % _INT for size in sizes}) < len(sizes) or max(sizes) * factor >= 2**62:
        return None
    return FileNumbers(tuple(sizes), factor)


def _with_file(rows: DataFrame, facts: DataFrame) -> DataFrame:
    """What is known of each row's file, joined by a hash of the path, which is much quicker than
    by the path. Requires: whatever of it is used is `_checked`."""
    hashed = rows.selectExpr("*", f"xxhash64({_PATH}) AS {_HASH}")
    known = facts.selectExpr("*", f"xxhash64({_KNOWN}) AS {_HASH}")
    return hashed.join(known.hint("broadcast"), _HASH, "left")


def _checked(value: str) -> str:
    """A value that rests on knowing the row's file. Spark spelling a path in a way that is new
    to us must stop the read, not bring deleted rows back."""
    message = f"concat('tidelake.errors.Corrupt: not a file of this read: ', {_PATH})"
    return f"IF({_FILE} IS NOT NULL, {value}, raise_error({message}))"


def _known_position() -> str:
    message = f"concat('tidelake.errors.Corrupt: a delete file without positions: ', {_PATH})"
    return f"coalesce(pos, CAST(raise_error({message}) AS BIGINT))"
