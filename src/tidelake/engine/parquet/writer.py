"""The one writer of data files: DuckDB's own, told the field ids.

It is the writer that DuckDB's lakes are written with, so files, field ids at every depth and
statistics, down to their spelling, are what DuckDB itself would have written. It runs in this
process for the local engine, and in the executors' Python for Spark.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import randbits
from time import time_ns
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tidelake.engine.local.reshape import Source
from tidelake.engine.parquet.nans import may_have_groups, with_nans
from tidelake.engine.parquet.partition_folders import in_folders
from tidelake.engine.parquet.spans import written_sql
from tidelake.engine.parquet.zeros import ZeroMark, has_floats
from tidelake.model.change import ColumnFacts, NewFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_BEGAN, ROW_ID_FIELD, ROW_NUMBER, ROW_SNAPSHOT_FIELD, Column
from tidelake.model.types import FLOATS
from tidelake.plan.expression import sort_sql
from tidelake.plan.partitioning.sql import allow_keys, key_column, key_sql, partition_values
from tidelake.plan.target import Target
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

ROW_ID_NAME = "_ducklake_internal_row_id"
SNAPSHOT_NAME = "_ducklake_internal_snapshot_id"
Carried = tuple[tuple[str, str, int], ...]
"""What rows have beside their columns: the name in the query, and the name and id of the field."""
_ROW_IDS: Carried = ((ROW_NUMBER, ROW_ID_NAME, ROW_ID_FIELD),)
_SNAPSHOTS: Carried = ((ROW_BEGAN, SNAPSHOT_NAME, ROW_SNAPSHOT_FIELD),)
_MISLEADING = FLOATS | {"blob"}
"""Types that DuckDB's bloom filters fail: 0.0 and -0.0 differ there, so that one would not be found
as the other. Blobs it looks up there by their text, and finds few."""
_UNCOUNTED = {"interval", "timetz"}
"""Types of which DuckDB counts no values in a file's statistics."""
_GROUP_BYTES = 96 * 1024 * 1024
"""Of a row group at most, as its rows are in memory, if there is little of it."""
_PATH_PART = re.compile(r'"((?:[^"]|"")*)"')


def write_files(
    work: Workbench,
    sql: str,
    target: Target,
    *,
    carries_row_ids: bool,
    carries_snapshots: bool = False,
    zeros: bool = True,
    nans: bool = True,
    into_one: bool = False,
) -> tuple[NewFile, ...]:
    """Write the rows of a query, which has the table's columns and, if the rows carry ids, the
    row number; if they carry the snapshots that wrote them, also those. No rows, no file. With
    `zeros` there may be a `-0.0` among the values, with `nans` a NaN. `into_one` file they go in
    the order in which they come. Requires for that: the target has neither partitions nor an order
    of its own."""
    carried = (*(_ROW_IDS if carries_row_ids else ()), *(_SNAPSHOTS if carries_snapshots else ()))
    if is_local(target.path):
        local_path(target.path).mkdir(parents=True, exist_ok=True)
    mark = ZeroMark.drawn() if zeros else None
    if into_one:
        files = _copy_in_order(work, _columns(target, sql, carried, mark), target, carried)
    elif target.partitioning is None:
        files = _copy(work, _columns(target, sql, carried, mark), target, carried)
    else:
        whole = _copy_partitions(work, sql, target, carried, mark)
        files = tuple(part for file in whole for part in _divided(work, file, target, carried))
    made = list(files)
    try:
        for place, file in enumerate(files):
            made[place] = file = _with_zeros(work, file, target, carried, mark)
            made[place] = _with_nans(work, file, target) if nans else file
        made = in_folders(work.store, made, target)
        return tuple(_seen(work, file, target) for file in made)
    except BaseException:
        work.store.delete([file.path for file in made])
        raise


def _seen(work: Workbench, file: NewFile, target: Target) -> NewFile:
    for observer in target.observers:
        file = observer.seen(work.connection, file, target)
    return file


def _columns(target: Target, sql: str, carried: Carried, mark: ZeroMark | None) -> str:
    chosen = [*_written_columns(target), *_carried_columns(carried)]
    return f"SELECT {', '.join(chosen)} FROM {_marked(_sorted(sql, target), target, mark)} AS r"


def _copy(work: Workbench, sql: str, target: Target, carried: Carried) -> tuple[NewFile, ...]:
    options = [*_options(target, carried), "WRITE_EMPTY_FILE false"]
    if target.in_order and not carried:
        rows = _run_into_one(work, sql, target, options)
    else:
        with _in_small_groups(work) as small:
            sized = [*options, *small, f"FILE_SIZE_BYTES {target.file_bytes}"]
            rows = _run(work, sql, target, sized)
    return tuple(_new_file(row, target, 0, carried) for row in rows)


def _copy_in_order(
    work: Workbench, sql: str, target: Target, carried: Carried
) -> tuple[NewFile, ...]:
    rows = _run_into_one(work, sql, target, _options(target, carried))
    return tuple(_new_file(row, target, 0, carried) for row in rows)


def _copy_partitions(
    work: Workbench, sql: str, target: Target, carried: Carried, mark: ZeroMark | None
) -> tuple[NewFile, ...]:
    """A file for each partition. Rows are sorted by partition first: otherwise many partitions
    would each come in many files, as DuckDB keeps only so many open. It is one sort for both
    orders, because a second one need not keep the first."""
    assert target.partitioning is not None
    allow_keys(work.connection)
    keys = [key_column(n) for n in range(len(target.partitioning.keys))]
    chosen = [*_written_columns(target), *_carried_columns(carried), *keys]
    options = [f"PARTITION_BY ({', '.join(keys)})", "HIVE_FILE_PATTERN false"]
    keyed = f"SELECT r.*, {', '.join(_partition_keys(target))} FROM ({sql}) AS r"
    order = ", ".join([*keys, *_order(target)])
    rows = _marked(f"(SELECT * FROM ({keyed}) AS s ORDER BY {order})", target, mark)
    found = _run(
        work,
        f"SELECT {', '.join(chosen)} FROM {rows} AS r",
        target,
        _options(target, carried) + options,
    )
    return tuple(_new_file(row, target, len(keys), carried) for row in found)


def _divided(
    work: Workbench, file: NewFile, target: Target, carried: Carried
) -> tuple[NewFile, ...]:
    """A partition's file that came out much larger than it should is written again, in parts:
    DuckDB cannot keep to a size while it writes partitions."""
    if file.bytes <= 2 * target.file_bytes:
        return (file,)
    parts = _copy(work, f"SELECT * FROM {_rows_of(file)}", target, carried)
    work.store.delete([file.path])
    return tuple(part._replace(partition_values=file.partition_values) for part in parts)


def _with_zeros(
    work: Workbench, file: NewFile, target: Target, carried: Carried, mark: ZeroMark | None
) -> NewFile:
    """A file with marks for `-0.0` is written again with the zeros."""
    columns = [physical(column, target.physical) for column in target.columns]
    if mark is None or not mark.may_be_in(columns, file):
        return file
    told = work.connection.execute(f"SELECT {mark.found_sql(columns)} FROM {_rows_of(file)}")
    if told.fetchall() == [(False,)]:
        return file
    chosen = [
        f"{mark.restored_sql(c, quote(c.name)) if has_floats(c) else quote(c.name)}"
        f" AS {quote(c.name)}"
        for c in columns
    ]
    chosen += [name for _, name, _ in carried]
    sql = f"SELECT {', '.join(chosen)} FROM {_rows_of(file)}"
    options = _options(target, carried, dictionaries=False)
    (row,) = _run_into_one(work, sql, target, options)
    work.store.delete([file.path])
    written = _new_file(row, target, 0, carried)
    return written._replace(partition_values=file.partition_values)


def _with_nans(work: Workbench, file: NewFile, target: Target) -> NewFile:
    if not may_have_groups(file.rows, target.row_group_rows):
        return file
    leaves = _leaves(physical(c, target.physical) for c in target.columns)
    return with_nans(work.connection, file, _place(file.path), (leaf for _, leaf in leaves))


def _rows_of(file: NewFile) -> str:
    return f"read_parquet({text_literal(_place(file.path))}, hive_partitioning = false)"


def _run(work: Workbench, sql: str, target: Target, options: Sequence[str]) -> list[Any]:
    mark = secrets.token_hex(4)
    named = [
        *options,
        "APPEND",
        f"FILENAME_PATTERN 'ducklake-{{uuidv7}}-{mark}'",
        f"FILE_EXTENSION {text_literal(target.suffix)}",
    ]
    return _copied(work, sql, target, (mark, _place(target.path), named))


@contextmanager
def _in_small_groups(work: Workbench) -> Iterator[list[str]]:
    """Options by which DuckDB, if its memory is little, need not keep as many rows as a row group
    has, however wide they are. With one thread they stay in their order all the same; but a union
    may begin with any of its parts, and partitions lose their order."""
    if not work.is_small:
        yield []
        return
    work.connection.execute("SET preserve_insertion_order = false")
    try:
        yield [f"ROW_GROUP_SIZE_BYTES {_GROUP_BYTES}"]
    finally:
        work.connection.execute("RESET preserve_insertion_order")


def _run_into_one(work: Workbench, sql: str, target: Target, options: Sequence[str]) -> list[Any]:
    """DuckDB keeps the order of rows where it writes one file, and not where it keeps to a size."""
    mark = secrets.token_hex(4)
    path = f"{_place(target.path)}/ducklake-{_uuid7()}-{mark}.{target.suffix}"
    return _copied(work, sql, target, (mark, path, options))


def _uuid7() -> UUID:
    """Such as DuckDB gives its files: they grow with time."""
    milliseconds = time_ns() // 1_000_000
    return UUID(int=milliseconds << 80 | 7 << 76 | randbits(12) << 64 | 2 << 62 | randbits(62))


def _copied(
    work: Workbench, sql: str, target: Target, into: tuple[str, str, Sequence[str]]
) -> list[Any]:
    mark, path, options = into
    try:
        return work.connection.execute(
            f"COPY ({sql}) TO {text_literal(path)} ({', '.join(options)})"
        ).fetchall()
    except BaseException:
        _remove(target.path, f"{mark}.{target.suffix}")
        raise


def _remove(place: str, ending: str) -> None:
    """When one of its threads fails DuckDB leaves the files of the others behind. In an object
    store a file that was not finished is not there."""
    if is_local(place):
        for path in local_path(place).glob(f"ducklake-*-{ending}"):
            path.unlink(missing_ok=True)


def _place(path: str) -> str:
    return str(local_path(path)) if is_local(path) else path.rstrip("/")


def _marked(rows: str, target: Target, mark: ZeroMark | None) -> str:
    """The rows of a query in brackets, with marks for `-0.0`."""
    if mark is None:
        return rows
    marked = [
        f"{mark.marked_sql(c, f'm.{quote(c.name)}')} AS {quote(c.name)}"
        for c in target.columns
        if has_floats(c)
    ]
    return f"(SELECT * REPLACE ({', '.join(marked)}) FROM {rows} AS m)" if marked else rows


def _written_columns(target: Target) -> Iterator[str]:
    """Every column under its physical name, at every depth."""
    for column in target.columns:
        written = physical(column, target.physical)
        value = written_sql(written, Source.of(column), f"r.{quote(column.name)}")
        yield f"{value} AS {quote(written.name)}"


def physical(column: Column, names: Mapping[int, str]) -> Column:
    """The column as it is called in files."""
    children = tuple(physical(child, names) for child in column.children)
    return replace(column, name=names.get(column.id, column.name), children=children)


def _carried_columns(carried: Carried) -> list[str]:
    return [f"r.{source} AS {name}" for source, name, _ in carried]


def _partition_keys(target: Target) -> Iterator[str]:
    assert target.partitioning is not None
    by_id = {column.id: column for column in target.columns}
    for place, key in enumerate(target.partitioning.keys):
        column = by_id[key.column_id]
        value = key_sql(column, key.transform, f"r.{quote(column.name)}")
        yield f"{value} AS {key_column(place)}"


def _sorted(sql: str, target: Target) -> str:
    order = _order(target)
    return f"(SELECT * FROM ({sql}) AS s ORDER BY {', '.join(order)})" if order else f"({sql})"


def _order(target: Target) -> list[str]:
    apart = _has(target, FLOATS)
    return [sort_sql(key, apart=apart) for key in target.sorting if key.dialect == "duckdb"]


def _options(target: Target, carried: Carried, *, dictionaries: bool = True) -> list[str]:
    """DuckDB's writer makes dictionaries of equal values. To it one month is 30 days and 720
    hours: of a column with all of them only the one that came first would stay."""
    dictionaries = dictionaries and not _has(target, {"interval"})
    fields = [_field_ids(physical(column, target.physical)) for column in target.columns]
    fields += [f"{name}: {field}" for _, name, field in carried]
    return [
        "FORMAT parquet",
        f"FIELD_IDS {{{', '.join(fields)}}}",
        "RETURN_STATS",
        f"COMPRESSION {target.compression}",
        f"ROW_GROUP_SIZE {target.row_group_rows}",
        f"WRITE_BLOOM_FILTER {not _has(target, _MISLEADING)}",
        *([] if dictionaries else ["DICTIONARY_SIZE_LIMIT 0"]),
    ]


def _has(target: Target, types: Collection[str]) -> bool:
    return any(below.type in types for column in target.columns for below in column.walk())


def _field_ids(column: Column) -> str:
    name = text_literal(column.name)
    if not column.is_nested:
        return f"{name}: {column.id}"
    below = ", ".join(_field_ids(child) for child in column.children)
    return f"{name}: {{__duckdb_field_id: {column.id}, {below}}}"


def _new_file(row: Any, target: Target, keys: int, carried: Carried) -> NewFile:
    path, count, size, footer, statistics, partition = row[:6]  # DuckDB 2 tells more
    leaves = dict(_leaves(physical(c, target.physical) for c in target.columns))
    return NewFile(
        path=f"{target.path}{Path(path).name}",
        rows=count,
        bytes=size,
        footer_size=footer,
        columns=tuple(
            _facts(*leaves[parts], found)
            for name, found in statistics.items()
            if (parts := _parts(name)) in leaves and "column_size_bytes" in found
        ),
        partition_values=partition_values(partition, keys) if keys else target.partition,
        carries_row_ids=bool(carried),
    )


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.replace('""', '"') for part in _PATH_PART.findall(name))


def _leaves(
    columns: Iterable[Column], above: tuple[str, ...] = (), repeated: bool = False
) -> Iterator[tuple[tuple[str, ...], tuple[Column, bool]]]:
    """Columns that hold values, by their path; and whether a list or map is above them."""
    for column in columns:
        if column.children:
            inside = repeated or column.type != "struct"
            yield from _leaves(column.children, (*above, column.name), inside)
        else:
            yield (*above, column.name), (column, repeated)


def _facts(column: Column, repeated: bool, found: Mapping[str, str]) -> ColumnFacts:
    """DuckDB's statistics of a column, as DuckLake keeps them: there a value is not null. Inside
    lists and maps DuckDB miscounts nulls, so nothing is said of how many there are."""
    size = int(found["column_size_bytes"])
    if column.type in _UNCOUNTED:
        return ColumnFacts(column.id, bytes=size)
    nulls = int(found["null_count"])
    nan = found.get("has_nan")
    low, high = (_bound(found.get(end)) for end in ("min", "max"))
    return ColumnFacts(
        column.id,
        bytes=size,
        values=None if repeated else int(found["num_values"]) - nulls,
        nulls=None if repeated else nulls,
        min=low,
        max=high,
        contains_nan=None if nan is None else nan == "true",
    )


def _bound(text: str | None) -> str | None:
    return None if text is None or "\0" in text else text
