"""Schemas, tables and views that come, change or go, as rows of the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.commit.table_statistics import forget_column
from tidelake.catalog.database.database import Reader
from tidelake.catalog.database.dialect import Dialect
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.dropped_tables import revive
from tidelake.model.change import Change, TableChange, ViewChange
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column, Schema
from tidelake.model.table import SchemaInfo, TableInfo, ViewInfo

_VERSIONED = (
    "ducklake_table",
    "ducklake_partition_info",
    "ducklake_column",
    "ducklake_column_tag",
    "ducklake_data_file",
    "ducklake_delete_file",
    "ducklake_sort_info",
)


@dataclass(frozen=True, slots=True)
class Ids:
    """The real ids of what the change names by ids of its own."""

    schemas: Mapping[str, tuple[int, str]]
    tables: Mapping[int, int]

    def table(self, table_id: int) -> int:
        return self.tables.get(table_id, table_id)


def declare(reader: Reader, entries: Entries, change: Change, data_path: str) -> Ids:
    """The rows of all declarations in the change. Creating and altering anything makes a new
    version of the lake's schema: DuckDB looks at the catalog again only then."""
    altered = any(t.before != t.after for t in change.tables)
    if altered or change.schemas or change.views or change.revivals:
        entries.new_version()
    schemas = _schemas(reader, entries, change, data_path)
    tables: dict[int, int] = {}
    ids = Ids(schemas, tables)
    for table in change.tables:
        if table.after is None:
            _drop_table(entries, table)
        elif table.before is None:
            tables[table.after.id] = _create_table(entries, reader.dialect, table, ids)
        elif table.before != table.after:
            _alter_table(reader, entries, table, ids)
    for revival in change.revivals:
        revive(reader, entries, revival)
        _name_table(entries, revival.table, revival.table.id, ids)
        entries.begin_columns(revival.table.id)
    for view in change.views:
        _view(entries, view, ids)
    for schema in change.schemas:
        if schema.before is not None and schema.after is None:
            entries.end("ducklake_schema", "schema_id = :id", id=schema.before.id)
            entries.say(f"dropped_schema:{schema.before.id}")
    return ids


def _schemas(
    reader: Reader, entries: Entries, change: Change, data_path: str
) -> dict[str, tuple[int, str]]:
    """Schemas of the lake and of the change: id and complete path by name."""
    known = read.schemas(reader, entries.snapshot_id - 1, data_path) if _names_any(change) else []
    found = {schema.name: (schema.id, schema.path) for schema in known}
    for schema in change.schemas:
        if schema.before is None and schema.after is not None:
            found[schema.after.name] = _create_schema(entries, schema.after, data_path)
    return found


def _names_any(change: Change) -> bool:
    tables = any(
        t.after and (t.before is None or t.before.name != t.after.name) for t in change.tables
    )
    return tables or bool(change.revivals) or any(v.after for v in change.views)


def _create_schema(entries: Entries, schema: SchemaInfo, data_path: str) -> tuple[int, str]:
    schema_id = entries.numbers.catalog_id()
    path, relative = _relative(schema.path, data_path)
    entries.begin(
        "ducklake_schema",
        schema_id=schema_id,
        schema_uuid=schema.uuid,
        schema_name=schema.name,
        path=path,
        path_is_relative=relative,
    )
    entries.say(f"created_schema:{quote(schema.name)}")
    return schema_id, schema.path


def _relative(path: str, parent: str) -> tuple[str, bool]:
    inside = path.startswith(parent)
    return (path[len(parent) :], True) if inside else (path, False)


def _create_table(entries: Entries, dialect: Dialect, change: TableChange, ids: Ids) -> int:
    table = change.after
    assert table is not None
    table_id = entries.numbers.catalog_id()
    _name_table(entries, table, table_id, ids)
    for column, parent, order in _ordered(table.schema.columns, {}):
        _begin_column(entries, table_id, column, parent, order)
        _comment(entries, table_id, column)
    _begin_tags(entries, table_id, table.tags)
    _begin_partitioning(entries, table_id, table)
    _begin_sorting(entries, table_id, table)
    _new_version(entries, dialect, table_id, change, inline=change.inline)
    return table_id


def _name_table(entries: Entries, table: TableInfo, table_id: int, ids: Ids) -> None:
    schema_id, schema_path = ids.schemas[table.name.schema]
    path, relative = _relative(table.path, schema_path)
    entries.begin(
        "ducklake_table",
        table_id=table_id,
        table_uuid=table.uuid,
        schema_id=schema_id,
        table_name=table.name.name,
        path=path,
        path_is_relative=relative,
    )
    entries.say(f"created_table:{_qualified(table.name)}")


def _qualified(name: TableName) -> str:
    return f"{quote(name.schema)}.{quote(name.name)}"


def _new_version(
    entries: Entries, dialect: Dialect, table_id: int, change: TableChange, *, inline: bool
) -> None:
    """A version of the table's columns, and if asked for a place for small writes of it."""
    table = change.after
    assert table is not None
    entries.begin_columns(table_id)
    if inline and inline_tables.can_inline(dialect, table.schema):
        inline_tables.create(entries, dialect, table_id, table.schema.columns)


def _with_parents(
    columns: Sequence[Column], parent: int | None = None
) -> Iterator[tuple[Column, int | None]]:
    for column in columns:
        yield column, parent
        yield from _with_parents(column.children, column.id)


def _begin_column(
    entries: Entries, table_id: int, column: Column, parent: int | None, order: int
) -> None:
    kind = "expression" if column.default_is_expression else "literal"
    entries.begin(
        "ducklake_column",
        column_id=column.id,
        table_id=table_id,
        column_order=order,
        column_name=column.name,
        column_type=column.type,
        initial_default=column.initial_default,
        default_value="NULL" if column.default is None else column.default,
        nulls_allowed=column.nullable,
        parent_column=parent,
        default_value_type="" if column.is_nested else kind,
        default_value_dialect="duckdb",
    )


def _comment(entries: Entries, table_id: int, column: Column) -> None:
    if column.comment is not None:
        entries.begin(
            "ducklake_column_tag",
            table_id=table_id,
            column_id=column.id,
            key="comment",
            value=column.comment,
        )


def _begin_tags(entries: Entries, object_id: int, tags: Mapping[str, str]) -> None:
    for key, value in tags.items():
        entries.begin("ducklake_tag", object_id=object_id, key=key, value=value)


def _begin_partitioning(entries: Entries, table_id: int, table: TableInfo) -> None:
    if table.partitioning is None:
        return
    partition_id = entries.numbers.catalog_id()
    entries.begin("ducklake_partition_info", partition_id=partition_id, table_id=table_id)
    for index, key in enumerate(table.partitioning.keys):
        entries.add(
            "ducklake_partition_column",
            partition_id=partition_id,
            table_id=table_id,
            partition_key_index=index,
            column_id=key.column_id,
            transform=key.transform,
        )
    entries.partition_ids[table_id] = partition_id


def _begin_sorting(entries: Entries, table_id: int, table: TableInfo) -> None:
    if not table.sorting:
        return
    sort_id = entries.numbers.catalog_id()
    entries.begin("ducklake_sort_info", sort_id=sort_id, table_id=table_id)
    for index, key in enumerate(table.sorting):
        entries.add(
            "ducklake_sort_expression",
            sort_id=sort_id,
            table_id=table_id,
            sort_key_index=index,
            expression=key.expression,
            dialect=key.dialect,
            sort_direction=key.direction,
            null_order=key.nulls,
        )


def _alter_table(reader: Reader, entries: Entries, change: TableChange, ids: Ids) -> None:
    before, after = change.before, change.after
    assert before is not None
    assert after is not None
    if before.name != after.name:
        entries.end("ducklake_table", "table_id = :id", id=before.id)
        _name_table(entries, after, before.id, ids)
    altered = [
        _alter_columns(reader, entries, before.id, before.schema, after.schema),
        _alter_partitioning(entries, before, after),
    ]
    if any(altered) or before.name != after.name:
        if any(altered):
            # Who still has another limit in mind would write to the place for the old columns.
            inline = change.inline or bool(inline_tables.names(reader, before.id))
            _new_version(entries, reader.dialect, before.id, change, inline=inline)
        else:
            entries.begin_columns(before.id)
    altered += [
        _alter_comments(entries, before, after),
        _alter_tags(entries, before.id, before.tags, after.tags),
        _alter_sorting(entries, before, after),
    ]
    if any(altered):
        entries.say(f"altered_table:{before.id}")


def _alter_columns(
    reader: Reader, entries: Entries, table_id: int, before: Schema, after: Schema
) -> bool:
    """End and begin the rows of columns that differ, at any depth."""
    orders = dict(
        reader.rows(
            "SELECT column_id, column_order FROM ducklake_column"
            " WHERE table_id = :id AND end_snapshot IS NULL",
            id=table_id,
        )
    )
    old = {
        c.id: (_row_of(c), parent, orders.get(c.id)) for c, parent in _with_parents(before.columns)
    }
    new = {}
    for column, parent, order in _ordered(after.columns, orders):
        new[column.id] = (_row_of(column), parent, order)
    for column_id in old.keys() - new.keys():
        _end_column(entries, "ducklake_column", table_id, column_id)
        _end_column(entries, "ducklake_column_tag", table_id, column_id)
    changed = [column_id for column_id, row in new.items() if old.get(column_id) != row]
    for column_id in changed:
        column, parent, order = new[column_id]
        if column_id in old:
            _end_column(entries, "ducklake_column", table_id, column_id)
        if column_id not in old or old[column_id][0].type != column.type:
            forget_column(entries, table_id, column_id)  # it may also have been there before
        _begin_column(entries, table_id, column, parent, order)
    return bool(changed) or old.keys() != new.keys()


def _end_column(entries: Entries, kind: str, table_id: int, column_id: int) -> None:
    condition = "table_id = :id AND column_id = :column"
    entries.end(kind, condition, id=table_id, column=column_id)


def _row_of(column: Column) -> Column:
    """The column without what other rows say: its children and its comment."""
    return replace(column, children=(), comment=None)


def _ordered(
    columns: Sequence[Column], orders: Mapping[int, int], parent: int | None = None
) -> Iterator[tuple[Column, int | None, int]]:
    """Columns with numbers that keep them in their order, old numbers wherever that works."""
    numbers = [orders.get(column.id, column.id) for column in columns]
    if any(low >= high for low, high in pairwise(numbers)):
        numbers = list(range(1, len(columns) + 1))
    for column, number in zip(columns, numbers, strict=True):
        yield column, parent, number
        yield from _ordered(column.children, orders, column.id)


def _alter_comments(entries: Entries, before: TableInfo, after: TableInfo) -> bool:
    old = {c.id: c.comment for c, _ in _with_parents(before.schema.columns)}
    changed = [c for c, _ in _with_parents(after.schema.columns) if old.get(c.id) != c.comment]
    for column in changed:
        entries.end(
            "ducklake_column_tag",
            "table_id = :id AND column_id = :column",
            id=before.id,
            column=column.id,
        )
        _comment(entries, before.id, column)
    return bool(changed)


def _alter_tags(
    entries: Entries, object_id: int, before: Mapping[str, str], after: Mapping[str, str]
) -> bool:
    gone = {key for key in before if after.get(key) != before[key]}
    new = {key: value for key, value in after.items() if before.get(key) != value}
    for key in gone:
        entries.end("ducklake_tag", 'object_id = :id AND "key" = :key', id=object_id, key=key)
    _begin_tags(entries, object_id, new)
    return bool(gone or new)


def _alter_partitioning(entries: Entries, before: TableInfo, after: TableInfo) -> bool:
    if before.partitioning == after.partitioning:
        return False
    entries.end("ducklake_partition_info", "table_id = :id", id=before.id)
    if after.partitioning is None:
        partition_id = entries.numbers.catalog_id()
        entries.begin("ducklake_partition_info", partition_id=partition_id, table_id=before.id)
    _begin_partitioning(entries, before.id, after)
    return True


def _alter_sorting(entries: Entries, before: TableInfo, after: TableInfo) -> bool:
    if before.sorting == after.sorting:
        return False
    entries.end("ducklake_sort_info", "table_id = :id", id=before.id)
    _begin_sorting(entries, before.id, after)
    return True


def _drop_table(entries: Entries, change: TableChange) -> None:
    assert change.before is not None
    for table in _VERSIONED:
        entries.end(table, "table_id = :id", id=change.before.id)
    entries.end("ducklake_tag", "object_id = :id", id=change.before.id)
    entries.say(f"dropped_table:{change.before.id}")


def _view(entries: Entries, change: ViewChange, ids: Ids) -> None:
    before, after = change.before, change.after
    if before is not None:
        entries.end("ducklake_view", "view_id = :id", id=before.id)
    if after is None:
        assert before is not None
        entries.end("ducklake_tag", "object_id = :id", id=before.id)
        entries.say(f"dropped_view:{before.id}")
        return
    view_id = before.id if before is not None else entries.numbers.catalog_id()
    _begin_view(entries, after, view_id, ids)
    _alter_tags(entries, view_id, before.tags if before else {}, after.tags)


def _begin_view(entries: Entries, view: ViewInfo, view_id: int, ids: Ids) -> None:
    entries.begin(
        "ducklake_view",
        view_id=view_id,
        view_uuid=view.uuid,
        schema_id=ids.schemas[view.name.schema][0],
        view_name=view.name.name,
        dialect=view.dialect,
        sql=view.sql,
        column_aliases=",".join(map(quote, view.column_aliases)),
    )
    entries.say(f"created_view:{_qualified(view.name)}")
