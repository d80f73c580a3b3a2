"""What the catalog says of the lake at a snapshot: schemas, tables, columns, views."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelake.catalog.database.database import Reader, Row
from tidelake.catalog.layout import VERSION
from tidelake.errors import Corrupt, NotFound, Unsupported
from tidelake.model.changes_made import split_changes
from tidelake.model.names import TableName, fold
from tidelake.model.schema import Column, Schema
from tidelake.model.table import (
    MacroInfo,
    PartitionKey,
    PartitionSpec,
    SchemaInfo,
    SortKey,
    TableInfo,
    ViewInfo,
)

_STEP = re.compile(r"[/\\]")


def visible(alias: str = "") -> str:
    """The condition under which a versioned row is there at snapshot :at."""
    prefix = f"{alias}." if alias else ""
    return (
        f"{prefix}begin_snapshot <= :at"
        f" AND ({prefix}end_snapshot IS NULL OR {prefix}end_snapshot > :at)"
    )


@dataclass(frozen=True, slots=True)
class LakeInfo:
    """The lake-wide rows of `ducklake_metadata`."""

    data_path: str
    created_by: str
    encrypted: bool


def lake_info(reader: Reader) -> LakeInfo:
    """Read and check the catalog's own description of itself."""
    rows = reader.rows('SELECT "key", "value" FROM ducklake_metadata WHERE "scope" IS NULL')
    known = {row[0]: row[1] for row in rows}
    check_version(known.get("version"))
    if "data_path" not in known:
        raise Corrupt("the catalog has no data_path", hint="restore ducklake_metadata")
    return LakeInfo(
        known["data_path"], known.get("created_by", ""), known.get("encrypted") == "true"
    )


def check_version(version: str | None) -> None:
    """Unsupported unless the catalog is in the one format that is tested."""
    if version != VERSION:
        raise Unsupported(
            f"this catalog is in DuckLake format {version}; Tidelake reads and writes {VERSION}",
            hint="upgrade Tidelake; until then read the lake with the DuckDB that made it so"
            if version and version > VERSION
            else "attach it once with DuckDB 1.5 (AUTOMATIC_MIGRATION) to bring it to 1.0",
        )


def join_path(parent: str, path: str | None, relative: object) -> str:
    if path is None:
        return parent
    return f"{parent}{path}" if relative else path


def inner_path(parent: str, path: str | None, relative: object) -> str:
    """The same for what is read and written: a name below a folder that leads out of it is none
    of ours, and none of DuckDB's."""
    if relative and path is not None and ".." in path and ".." in _STEP.split(path):
        raise Corrupt(
            f"the catalog names {path!r}, which leads out of its folder",
            hint="somebody has changed the catalog: restore it from a backup",
        )
    return join_path(parent, path, relative)


def schemas(reader: Reader, at: int, data_path: str) -> list[SchemaInfo]:
    rows = reader.rows(
        "SELECT schema_id, schema_name, path, path_is_relative FROM ducklake_schema"
        f" WHERE {visible()} ORDER BY schema_id",
        at=at,
    )
    return [SchemaInfo(r[0], r[1], inner_path(data_path, r[2], r[3])) for r in rows]


def names(reader: Reader, at: int, kind: str) -> list[tuple[int, TableName]]:
    """Ids and names of all tables (`kind` "table"), views or macros at a snapshot."""
    rows = reader.rows(
        f"SELECT t.{kind}_id, s.schema_name, t.{kind}_name FROM ducklake_{kind} t"
        " JOIN ducklake_schema s ON s.schema_id = t.schema_id"
        f" WHERE {visible('t')} AND {visible('s')} ORDER BY s.schema_id, t.{kind}_id",
        at=at,
    )
    return [(row[0], TableName(row[1], row[2])) for row in rows]


def every_name(reader: Reader) -> dict[int, str]:
    """The last name of everything that ever was in the lake, by the id that changes name it by."""
    schemas = dict(
        reader.rows("SELECT schema_id, schema_name FROM ducklake_schema ORDER BY begin_snapshot")
    )
    found = {schema_id: str(name) for schema_id, name in schemas.items()}
    for kind in ("table", "view", "macro"):
        rows = reader.rows(
            f"SELECT {kind}_id, schema_id, {kind}_name FROM ducklake_{kind} ORDER BY begin_snapshot"
        )
        for object_id, schema_id, name in rows:
            found[object_id] = str(TableName(schemas.get(schema_id, "?"), name))
    return found


def find(reader: Reader, at: int, kind: str, name: TableName) -> int | None:
    """The id behind a name; an exact spelling wins over one that differs in case. Databases pass
    over the case of more or fewer letters, but never of fewer than we do."""
    wanted = (fold(name.schema), fold(name.name))
    rows = reader.rows(
        f"SELECT t.{kind}_id, s.schema_name, t.{kind}_name FROM ducklake_{kind} t"
        " JOIN ducklake_schema s ON s.schema_id = t.schema_id"
        f" WHERE {visible('t')} AND {visible('s')} AND lower(t.{kind}_name) = lower(:name)",
        at=at,
        name=name.name,
    )
    same = [row for row in rows if (fold(row[1]), fold(row[2])) == wanted]
    exact = [row for row in same if (row[1], row[2]) == (name.schema, name.name)]
    return (exact or same)[0][0] if same else None


def schema_of(reader: Reader, table_id: int) -> int | None:
    """The id of the schema that a table is in now."""
    row = reader.row(
        "SELECT schema_id FROM ducklake_table WHERE table_id = :id AND end_snapshot IS NULL",
        id=table_id,
    )
    return int(row[0]) if row else None


def table(reader: Reader, at: int, table_id: int, data_path: str) -> TableInfo:
    asked: dict[str, object] = {"id": table_id, "at": at}
    found, listed, comments, tagged, parted, keys, ordered = reader.rows_of(
        [
            (_TABLE, asked),
            (_COLUMNS, asked),
            (_COMMENTS, asked),
            (_TAGS, asked),
            (_PARTITIONING, asked),
            (_PARTITION_KEYS, {"id": table_id}),
            (_SORTING, asked),
        ]
    )
    if not found:
        raise NotFound(f"there is no table {table_id} at snapshot {at}", hint="ask by its name")
    row = found[0]
    return TableInfo(
        id=table_id,
        uuid=str(row[0]),
        name=TableName(row[1], row[2]),
        path=inner_path(inner_path(data_path, row[3], row[4]), row[5], row[6]),
        schema=Schema(column_trees(listed, _named(comments), table_id)),
        begin_snapshot=row[7],
        tags=_named(tagged),
        partitioning=_specs(keys).get(parted[0][0]) if parted else None,
        sorting=tuple(SortKey(*key) for key in ordered),
    )


_TABLE = (
    "SELECT t.table_uuid, s.schema_name, t.table_name, s.path, s.path_is_relative,"
    " t.path, t.path_is_relative, t.begin_snapshot FROM ducklake_table t"
    " JOIN ducklake_schema s ON s.schema_id = t.schema_id"
    f" WHERE t.table_id = :id AND {visible('t')} AND {visible('s')}"
)
_TAGS = f'SELECT "key", "value" FROM ducklake_tag WHERE object_id = :id AND {visible()}'
_PARTITIONING = (
    f"SELECT partition_id FROM ducklake_partition_info WHERE table_id = :id AND {visible()}"
)
_PARTITION_KEYS = (
    "SELECT partition_id, column_id, transform FROM ducklake_partition_column"
    " WHERE table_id = :id ORDER BY partition_id, partition_key_index"
)
_SORTING = (
    "SELECT e.expression, e.sort_direction, e.null_order, e.dialect"
    " FROM ducklake_sort_info i JOIN ducklake_sort_expression e ON e.sort_id = i.sort_id"
    f" WHERE i.table_id = :id AND {visible('i')} ORDER BY e.sort_key_index"
)


def _named(rows: Iterable[Row]) -> dict[Any, str]:
    """What tags or comments say; one that says nothing was taken away."""
    return {row[0]: row[1] for row in rows if row[1] is not None}


COLUMN = (
    "SELECT column_id, parent_column, column_name, column_type, nulls_allowed,"
    " initial_default, default_value, default_value_type FROM ducklake_column"
)


_COLUMNS = f"{COLUMN} WHERE table_id = :id AND {visible()} ORDER BY column_order, column_id"
_COMMENTS = (
    'SELECT column_id, "value" FROM ducklake_column_tag'
    f" WHERE table_id = :id AND \"key\" = 'comment' AND {visible()}"
)


def columns(reader: Reader, at: int, table_id: int) -> tuple[Column, ...]:
    """The columns of a table at a snapshot, as trees."""
    asked = {"id": table_id, "at": at}
    rows, comments = reader.rows_of([(_COLUMNS, asked), (_COMMENTS, asked)])
    return column_trees(rows, _named(comments), table_id)


def column_trees(
    rows: Sequence[Row], comments: Mapping[int, str], table_id: int
) -> tuple[Column, ...]:
    """Columns out of the rows that a table has of them, in their order."""
    below: dict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        below[row[1]].append(row)

    def build(row: Row) -> Column:
        default = row[6] if row[6] != "NULL" else None
        _check_inside(row, len(below[row[0]]), table_id)
        return Column(
            id=row[0],
            name=row[2],
            type=row[3].lower(),
            nullable=bool(row[4]),
            children=tuple(build(child) for child in below[row[0]]),
            initial_default=row[5],
            default=default,
            comment=comments.get(row[0]),
            default_is_expression=default is not None and row[7] == "expression",
        )

    return tuple(build(row) for row in below[None])


def _check_inside(row: Row, count: int, table_id: int) -> None:
    """Corrupt unless a column has as many columns inside it as its type says."""
    wanted = {"list": 1, "map": 2, "struct": max(count, 1)}.get(row[3].lower(), count)
    if count != wanted:
        raise Corrupt(
            f"column {row[2]!r} of table {table_id} is a {row[3].lower()} with {count} columns"
            " inside it (ducklake_column)",
            hint="`tidelake verify` tells what else is wrong; restore the catalog from a backup",
        )


def columns_of_version(reader: Reader, table_id: int, schema_version: int) -> tuple[Column, ...]:
    """The table's columns when that version of it began.

    A table made lazily may carry a version that was never listed: the newest before it counts.
    """
    row = reader.row(
        "SELECT begin_snapshot FROM ducklake_schema_versions"
        " WHERE table_id = :id AND schema_version <= :version ORDER BY schema_version DESC LIMIT 1",
        id=table_id,
        version=schema_version,
    )
    return columns(reader, row[0], table_id) if row else ()


def versions(reader: Reader, table_id: int) -> list[tuple[int, int]]:
    """The snapshots with which versions of a table's columns began, and the versions."""
    rows = reader.rows(
        "SELECT begin_snapshot, schema_version FROM ducklake_schema_versions"
        " WHERE table_id = :id ORDER BY begin_snapshot, schema_version",
        id=table_id,
    )
    return [(row[0], row[1]) for row in rows]


def tags(reader: Reader, at: int, object_id: int) -> dict[str, str]:
    return _named(reader.rows(_TAGS, id=object_id, at=at))


def tag_values(reader: Reader, at: int, key: str) -> dict[int, str]:
    """What bears a tag at a snapshot, by id, and what the tag says."""
    rows = reader.rows(
        f'SELECT object_id, "value" FROM ducklake_tag WHERE "key" = :key AND {visible()}',
        key=key,
        at=at,
    )
    return {row[0]: row[1] or "" for row in rows}


def has_folder(reader: Reader, schema_id: int, folder: str) -> bool:
    """Whether a table of a schema has its files in a folder already, whatever it is called now."""
    row = reader.row(
        "SELECT 1 FROM ducklake_table WHERE schema_id = :id AND path = :path"
        " AND end_snapshot IS NULL",
        id=schema_id,
        path=folder,
    )
    return row is not None


def first_snapshot(reader: Reader, table_id: int) -> int:
    """The snapshot that created a table."""
    row = reader.row(
        "SELECT min(begin_snapshot) FROM ducklake_table WHERE table_id = :id", id=table_id
    )
    return int(row[0]) if row and row[0] is not None else 0


def partition_specs(reader: Reader, table_id: int) -> dict[int, PartitionSpec]:
    """Every partitioning the table ever had, by id: files keep the one they were written with."""
    return _specs(reader.rows(_PARTITION_KEYS, id=table_id))


def _specs(rows: Iterable[Row]) -> dict[int, PartitionSpec]:
    keys: dict[int, list[PartitionKey]] = defaultdict(list)
    for partition_id, column_id, transform in rows:
        keys[partition_id].append(PartitionKey(column_id, transform))
    return {id_: PartitionSpec(id_, tuple(spec)) for id_, spec in keys.items()}


def view(reader: Reader, at: int, view_id: int) -> ViewInfo:
    row = reader.rows(
        'SELECT s.schema_name, v.view_name, v.dialect, v."sql", v.column_aliases'
        " FROM ducklake_view v JOIN ducklake_schema s ON s.schema_id = v.schema_id"
        f" WHERE v.view_id = :id AND {visible('v')} AND {visible('s')}",
        id=view_id,
        at=at,
    )[0]
    return ViewInfo(
        id=view_id,
        name=TableName(row[0], row[1]),
        dialect=row[2],
        sql=row[3],
        column_aliases=_aliases(row[4] or ""),
        tags=tags(reader, at, view_id),
    )


def _aliases(text: str) -> tuple[str, ...]:
    return tuple(part[1:-1].replace('""', '"') for part in split_changes(text))


def macros(reader: Reader, at: int) -> list[MacroInfo]:
    found = []
    for macro_id, name in names(reader, at, "macro"):
        overloads = reader.rows(
            'SELECT impl_id, "sql", "type", dialect FROM ducklake_macro_impl'
            " WHERE macro_id = :id ORDER BY impl_id",
            id=macro_id,
        )
        parameters = reader.rows(
            "SELECT impl_id, parameter_name FROM ducklake_macro_parameters"
            " WHERE macro_id = :id ORDER BY impl_id, column_id",
            id=macro_id,
        )
        found.append(MacroInfo(macro_id, name, _overloads(overloads, parameters)))
    return found


def _overloads(
    overloads: Sequence[Row], parameters: Iterable[Row]
) -> tuple[tuple[tuple[str, ...], str, str, str], ...]:
    named: dict[int, list[str]] = defaultdict(list)
    for impl_id, name in parameters:
        named[impl_id].append(name)
    return tuple((tuple(named[impl]), sql, kind, dialect) for impl, sql, kind, dialect in overloads)
