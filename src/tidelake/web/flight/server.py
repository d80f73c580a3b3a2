"""The server of Flight SQL: it reads what is asked, and has the desk do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from tidelake.errors import Invalid, Unsupported
from tidelake.lake.lake import Lake
from tidelake.model.names import quote
from tidelake.web.access import Access
from tidelake.web.flight import actions, catalog, messages, puts
from tidelake.web.flight.answers import cancelled_by
from tidelake.web.flight.callers import Caller, OpenHandshake, caller_of, middleware
from tidelake.web.flight.desk import Desk
from tidelake.web.flight.errors import telling
from tidelake.web.flight.parameters import as_given
from tidelake.web.flight.sql_info import SQL_INFO, sql_info
from tidelake.web.flight.statements import Statement
from tidelake.web.flight.types import XDBC_TYPES, xdbc_types
from tidelake.web.traces import span

_HANDLE_BYTES = 16

_LISTINGS: dict[str, tuple[pa.Schema, Callable[[Lake, Any], pa.Table]]] = {
    "CommandGetCatalogs": (catalog.CATALOGS, catalog.catalogs),
    "CommandGetDbSchemas": (catalog.SCHEMAS, catalog.schemas),
    "CommandGetTables": (catalog.TABLES, catalog.tables),
    "CommandGetTableTypes": (catalog.TYPES, catalog.table_types),
    "CommandGetPrimaryKeys": (catalog.PRIMARY_KEYS, catalog.primary_keys),
    "CommandGetExportedKeys": (catalog.FOREIGN_KEYS, catalog.foreign_keys),
    "CommandGetImportedKeys": (catalog.FOREIGN_KEYS, catalog.foreign_keys),
    "CommandGetCrossReference": (catalog.FOREIGN_KEYS, catalog.foreign_keys),
    "CommandGetXdbcTypeInfo": (XDBC_TYPES, lambda _, command: xdbc_types(command)),
}
"""What tells of the lake: the schema of the answer, and the answer."""
_ABOUT = "CommandGetSqlInfo"


class LakeServer(fl.FlightServerBase):  # type: ignore[misc]
    """Serves a lake. `tls` are a certificate and its key, as text."""

    def __init__(
        self, location: str, desk: Desk, access: Access, tls: tuple[bytes, bytes] | None = None
    ) -> None:
        self.desk = desk
        super().__init__(
            location,
            auth_handler=OpenHandshake(),
            tls_certificates=None if tls is None else [fl.CertKeyPair(*tls)],
            middleware=middleware(access, desk.metrics),
        )

    # What is asked for, and where its rows are.

    def get_flight_info(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.FlightInfo:
        with telling():
            caller = caller_of(context)
            name, command = _command(descriptor)
            if (schema := _listing_schema(name, command)) is not None:
                return _info(schema, descriptor, [descriptor.command])
            handle, statement = self._statement(caller, name, command)
            count = 1 if statement.rows is not None else len(statement.parts)
            return _info(statement.schema, descriptor, [_ticket(handle, n) for n in range(count)])

    def get_schema(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.SchemaResult:
        with telling():
            caller = caller_of(context)
            name, command = _command(descriptor)
            if (schema := _listing_schema(name, command)) is not None:
                return fl.SchemaResult(schema)
            if name == "CommandStatementQuery":
                transaction = command.transaction_id or None
                return fl.SchemaResult(self.desk.describe(caller, command.query, transaction))
            if name == "CommandPreparedStatementQuery":
                kept = self.desk.prepared.get(caller.visitor, command.prepared_statement_handle)
                given = as_given(kept.names, (kept.bound or [[None] * len(kept.names)])[0])
                found = self.desk.describe(caller, kept.text, kept.transaction, given)
                return fl.SchemaResult(found)
            raise _unknown(name)

    def _statement(self, caller: Caller, name: str, command: Any) -> tuple[bytes, Statement]:
        if name == "CommandStatementQuery":
            transaction = command.transaction_id or None
            return self.desk.plan(caller, command.query, transaction)
        if name != "CommandPreparedStatementQuery":
            raise _unknown(name)
        kept = self.desk.prepared.get(caller.visitor, command.prepared_statement_handle)
        rows = kept.bound or ([[]] if not kept.names else [])
        if len(rows) != 1:
            raise Unsupported(
                f"{len(rows)} rows of parameters for a query", hint="bind one row of values"
            )
        given = as_given(kept.names, rows[0])
        return self.desk.plan(caller, kept.text, kept.transaction, given)

    def do_get(self, context: fl.ServerCallContext, ticket: fl.Ticket) -> Any:
        with telling():
            caller = caller_of(context)
            name, command = messages.unpack(ticket.ticket)
            if name == _ABOUT:
                return fl.RecordBatchStream(self._about(caller, command))
            if name in _LISTINGS:
                rows = _LISTINGS[name][1](self.desk.lake(caller), command)
                return fl.RecordBatchStream(rows)
            if name != "TicketStatementQuery":
                raise _unknown(name)
            handle = command.statement_handle
            statement = self.desk.statements.get(caller.visitor, handle[:_HANDLE_BYTES])
            part = int.from_bytes(handle[_HANDLE_BYTES:], "big")
            if part >= max(1, len(statement.parts)):
                raise Invalid(
                    "there is no such part of the statement", hint="ask for those that it gave"
                )
            with span("read", caller):
                return self.desk.streams.stream(statement, part, cancelled_by(context))

    # What comes.

    def do_put(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,
        reader: fl.MetadataRecordBatchReader,
        writer: fl.FlightMetadataWriter,
    ) -> None:
        with telling():
            caller = caller_of(context)
            if descriptor.descriptor_type == fl.DescriptorType.PATH:
                rows = puts.append_to_path(self.desk, caller, descriptor.path, reader)
                writer.write(puts.count_of(rows))
                return
            name, command = messages.unpack(descriptor.command)
            if name not in puts.PUTS:
                raise _unknown(name)
            writer.write(puts.PUTS[name](self.desk, caller, command, reader))

    def do_action(self, context: fl.ServerCallContext, action: fl.Action) -> Iterator[bytes]:
        with telling():
            caller = caller_of(context)
            if action.type not in actions.ACTIONS:
                raise Unsupported(
                    f"this server has no action {action.type[:100]!r}",
                    hint=f"there are: {', '.join(actions.ACTIONS)}",
                )
            return iter(actions.ACTIONS[action.type](self.desk, caller, action.body.to_pybytes()))

    def list_actions(self, _: fl.ServerCallContext) -> list[tuple[str, str]]:
        return [(name, "of Flight SQL") for name in actions.ACTIONS]

    def list_flights(self, _: fl.ServerCallContext, __: bytes) -> Iterator[fl.FlightInfo]:
        with telling():
            raise Unsupported("this server lists no flights", hint="ask for its tables")

    def do_exchange(self, *_: Any) -> None:
        with telling():
            raise Unsupported("this server exchanges nothing", hint="query, or ingest")

    def _about(self, caller: Caller, command: Any) -> pa.Table:
        limits = self.desk.limits
        return sql_info(
            command.info,
            read_only=caller.visitor.role == "read",
            statement_s=limits.kept_s,
            transaction_s=limits.transaction_s,
        )


def _command(descriptor: fl.FlightDescriptor) -> tuple[str, Any]:
    """A path is the name of a table, all rows of which are asked for."""
    if descriptor.descriptor_type != fl.DescriptorType.PATH:
        return messages.unpack(descriptor.command)
    name = ".".join(quote(part.decode()) for part in descriptor.path)
    return "CommandStatementQuery", messages.new(
        "CommandStatementQuery", query=f"SELECT * FROM {name}"
    )


def _listing_schema(name: str, command: Any) -> pa.Schema | None:
    """None for what is no listing."""
    if name == _ABOUT:
        return SQL_INFO
    if name == "CommandGetTables" and command.include_schema:
        return catalog.TABLES_WITH_SCHEMA
    return _LISTINGS[name][0] if name in _LISTINGS else None


def _ticket(handle: bytes, part: int) -> bytes:
    own = handle + part.to_bytes(4, "big")
    return messages.pack(messages.new("TicketStatementQuery", statement_handle=own))


def _info(
    schema: pa.Schema, descriptor: fl.FlightDescriptor, tickets: list[bytes]
) -> fl.FlightInfo:
    """Rows are where they were asked for: on the same connection."""
    endpoints = [fl.FlightEndpoint(ticket, []) for ticket in tickets]
    return fl.FlightInfo(schema, descriptor, endpoints, -1, -1)


def _unknown(name: str) -> Unsupported:
    return Unsupported(f"{name} is not for this call", hint="ask with a driver of Flight SQL")
