"""DuckLake's options, of the lake, a schema or a table."""

from __future__ import annotations

from tidelake.catalog import audit
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.read import options
from tidelake.errors import Invalid
from tidelake.model.names import TableName
from tidelake.model.settings import MIRROR_TAG, mirror_formats
from tidelake.session.session import Session


def set_option(
    session: Session,
    name: str,
    value: object,
    *,
    table: TableName | None = None,
    schema: str | None = None,
    author: str | None = None,
) -> None:
    """This makes no snapshot."""
    session.check_writable()
    if table is not None and schema is not None:
        raise Invalid("an option is of a table or of a schema", hint="set it twice")
    scope, scope_id = None, None
    if table is not None:
        scope, scope_id = "table", session.newest_info(table).id
    if schema is not None:
        scope, scope_id = "schema", session.schema_id(schema)
    if name == MIRROR_TAG:
        for kind in mirror_formats({MIRROR_TAG: str(value)}):
            session.mirror_format(kind)
    where = None if table is None else str(table)
    told = f"{name} = {value}" + ("" if schema is None else f" in schema {schema}")
    with session.database.writing() as writer:
        if session.namespace.is_whole:
            audit.ensure(writer)
        options.set_option(writer, name, value, scope, scope_id)
        if session.namespace.is_whole:
            audit.put(writer, AuditRecord("set option", where, detail=told, actor=author))
    session.caches.declarations.clear()
