"""What is there, as drivers ask for it: schemas, tables, columns, keys, types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tidelake.errors import TidelakeError
from tidelake.lake.lake import Lake
from tidelake.model.names import TableName, quote
from tidelake.model.settings import Settings
from tidelake.sql.query import Query
from tidelake.web.flight.answers import schema_of

CATALOG = "lake"
_TABLE, _VIEW = "TABLE", "VIEW"


def _field(name: str, kind: pa.DataType = pa.string(), *, nullable: bool = True) -> pa.Field:  # noqa: B008
    return pa.field(name, kind, nullable=nullable)


CATALOGS = pa.schema([_field("catalog_name", nullable=False)])
SCHEMAS = pa.schema([_field("catalog_name"), _field("db_schema_name", nullable=False)])
TYPES = pa.schema([_field("table_type", nullable=False)])
TABLES = pa.schema(
    [
        _field("catalog_name"),
        _field("db_schema_name"),
        _field("table_name", nullable=False),
        _field("table_type", nullable=False),
    ]
)
TABLES_WITH_SCHEMA = TABLES.append(_field("table_schema", pa.binary(), nullable=False))
PRIMARY_KEYS = pa.schema(
    [
        _field("catalog_name"),
        _field("db_schema_name"),
        _field("table_name", nullable=False),
        _field("column_name", nullable=False),
        _field("key_name"),
        _field("key_sequence", pa.int32(), nullable=False),
    ]
)
FOREIGN_KEYS = pa.schema(
    [
        _field("pk_catalog_name"),
        _field("pk_db_schema_name"),
        _field("pk_table_name", nullable=False),
        _field("pk_column_name", nullable=False),
        _field("fk_catalog_name"),
        _field("fk_db_schema_name"),
        _field("fk_table_name", nullable=False),
        _field("fk_column_name", nullable=False),
        _field("key_sequence", pa.int32(), nullable=False),
        _field("fk_key_name"),
        _field("pk_key_name"),
        _field("update_rule", pa.uint8(), nullable=False),
        _field("delete_rule", pa.uint8(), nullable=False),
    ]
)


def catalogs(_: Lake, __: Any) -> pa.Table:
    return _rows(CATALOGS, [(CATALOG,)])


def schemas(lake: Lake, command: Any) -> pa.Table:
    fits = _pattern(command, "db_schema_filter_pattern")
    found = sorted(name for name in lake.schemas() if fits(name)) if _is_ours(command) else []
    return _rows(SCHEMAS, [(CATALOG, name) for name in found])


def table_types(_: Lake, __: Any) -> pa.Table:
    return _rows(TYPES, [(_TABLE,), (_VIEW,)])


def tables(lake: Lake, command: Any) -> pa.Table:
    in_schema = _pattern(command, "db_schema_filter_pattern")
    in_table = _pattern(command, "table_name_filter_pattern")
    kinds = set(command.table_types) or {_TABLE, _VIEW}
    listed = [(TableName.parse(name), _TABLE) for name in lake.tables() if _TABLE in kinds]
    listed += [(TableName.parse(name), _VIEW) for name in lake.views() if _VIEW in kinds]
    found = [
        (CATALOG, name.schema, name.name, kind)
        for name, kind in sorted(listed, key=lambda each: (each[0].schema, each[0].name, each[1]))
        if in_schema(name.schema) and in_table(name.name) and _is_ours(command)
    ]
    if not command.include_schema:
        return _rows(TABLES, found)
    told = [(*row, _told(lake, TableName(row[1], row[2]), row[3])) for row in found]
    return _rows(TABLES_WITH_SCHEMA, told)


def _told(lake: Lake, name: TableName, kind: str) -> bytes:
    """Its Arrow schema; without columns where it cannot be told, as of a view that is broken."""
    try:
        found = relation_schema(lake, name, is_view=kind == _VIEW)
    except TidelakeError:
        found = pa.schema([])
    return schema_bytes(found)


def relation_schema(lake: Lake, name: TableName, *, is_view: bool = False) -> pa.Schema:
    """The Arrow schema of a table or a view. No file is looked at for that of a table."""
    if is_view:
        query = lake.sql(f"SELECT * FROM {quote(name.schema)}.{quote(name.name)}")
        assert isinstance(query, Query)
        return schema_of(lake, query.for_engine())
    plan = lake.session.plan(lake.session.namespace.table(name), None)
    empty = replace(plan, files=(), inlined=(), pruned=())
    found = lake.session.local.for_tasks().read(empty).to_batches().schema
    nullable = {column.name: column.nullable for column in plan.columns}
    about = {"ARROW:FLIGHT:SQL:TABLE_NAME": name.name}
    about |= {"ARROW:FLIGHT:SQL:DB_SCHEMA_NAME": name.schema}
    fields = (
        field.with_nullable(nullable.get(field.name, True)).with_metadata(
            {**about, "ARROW:FLIGHT:SQL:TYPE_NAME": column.duckdb_type}
        )
        for field, column in zip(found, plan.columns, strict=True)
    )
    return pa.schema(fields)


def primary_keys(lake: Lake, command: Any) -> pa.Table:
    """The key of a table of facts: what its rows are about."""
    wanted = command.db_schema if command.HasField("db_schema") else None
    rows = []
    for each in lake.tables() if _is_ours(command) else ():
        name = TableName.parse(each)
        if name.name == command.table and wanted in (None, name.schema):
            key = key_of(lake, each)
            rows += [(CATALOG, name.schema, name.name, c, None, n + 1) for n, c in enumerate(key)]
    return _rows(PRIMARY_KEYS, rows)


def key_of(lake: Lake, name: str) -> tuple[str, ...]:
    info = lake.table(name).info
    names = {column.id: column.name for column in info.schema}
    return tuple(names[key] for key in Settings.of(info.tags).key if key in names)


def foreign_keys(_: Lake, __: Any) -> pa.Table:
    return FOREIGN_KEYS.empty_table()


def schema_bytes(schema: pa.Schema) -> bytes:
    """As Flight SQL carries schemas inside of messages."""
    return bytes(schema.serialize())


def _rows(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    listed = list(rows)
    columns = [pa.array([row[at] for row in listed], field.type) for at, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _is_ours(command: Any) -> bool:
    """There is one catalog; what is asked of others, or of none, is nothing."""
    return not command.HasField("catalog") or command.catalog == CATALOG


def _pattern(command: Any, field: str) -> Callable[[str], bool]:
    """A pattern as LIKE has it, in whatever case."""
    if not command.HasField(field):
        return lambda _: True
    signs = {"%": ".*", "_": "."}
    parts = re.split(r"(\\.|[%_])", getattr(command, field), flags=re.DOTALL)
    said = "".join(signs.get(part) or re.escape(part.removeprefix("\\")) for part in parts)
    found = re.compile(said, re.DOTALL | re.IGNORECASE)
    return lambda name: found.fullmatch(name) is not None
