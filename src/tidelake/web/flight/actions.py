"""The actions of Flight SQL: prepare, transactions, cancel, and the end of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from tidelake.errors import Invalid, NotFound
from tidelake.web.flight import messages
from tidelake.web.flight.callers import Caller
from tidelake.web.flight.catalog import schema_bytes
from tidelake.web.flight.desk import Desk

Action = Callable[[Desk, Caller, bytes], list[bytes]]
_HANDLE_BYTES = 16


def prepare(desk: Desk, caller: Caller, body: bytes) -> list[bytes]:
    asked = messages.parse("ActionCreatePreparedStatementRequest", body)
    handle, rows, parameters = desk.prepare(caller, asked.query, asked.transaction_id or None)
    answer = messages.new(
        "ActionCreatePreparedStatementResult",
        prepared_statement_handle=handle,
        dataset_schema=schema_bytes(rows) if len(rows) else b"",
        parameter_schema=schema_bytes(parameters) if len(parameters) else b"",
    )
    return [messages.pack(answer)]


def close_prepared(desk: Desk, caller: Caller, body: bytes) -> list[bytes]:
    asked = messages.parse("ActionClosePreparedStatementRequest", body)
    desk.prepared.take(caller.visitor, asked.prepared_statement_handle)
    return []


def begin(desk: Desk, caller: Caller, _: bytes) -> list[bytes]:
    answer = messages.new("ActionBeginTransactionResult", transaction_id=desk.begin(caller))
    return [messages.pack(answer)]


def end(desk: Desk, caller: Caller, body: bytes) -> list[bytes]:
    asked = messages.parse("ActionEndTransactionRequest", body)
    if asked.action not in (messages.COMMIT, messages.ROLLBACK):
        raise Invalid("a transaction is committed or rolled back", hint="say which")
    desk.end(caller, asked.transaction_id, commit=asked.action == messages.COMMIT)
    return []


def cancel_info(desk: Desk, caller: Caller, body: bytes) -> list[bytes]:
    asked = messages.parse("CancelFlightInfoRequest", body)
    _cancel(desk, caller, asked.info)
    answer = messages.new("CancelFlightInfoResult", status=messages.CANCELLED)
    return [answer.SerializeToString()]


def cancel_query(desk: Desk, caller: Caller, body: bytes) -> list[bytes]:
    asked = messages.parse("ActionCancelQueryRequest", body)
    _cancel(desk, caller, asked.info)
    answer = messages.new("ActionCancelQueryResult", result=messages.CANCELLED)
    return [messages.pack(answer)]


def _cancel(desk: Desk, caller: Caller, info: bytes) -> None:
    """End the query that an info is of, wherever its streams are."""
    try:
        endpoints = fl.FlightInfo.deserialize(info).endpoints
    except (pa.ArrowException, OSError):
        raise Invalid("this is no FlightInfo", hint="send the one that the query gave") from None
    for endpoint in endpoints:
        name, ticket = messages.unpack(endpoint.ticket.ticket)
        if name != "TicketStatementQuery":
            raise NotFound("only queries can be cancelled", hint="send what a query gave")
        handle = ticket.statement_handle[:_HANDLE_BYTES]
        desk.statements.get(caller.visitor, handle).halt.set()


def set_options(_: Desk, __: Caller, body: bytes) -> list[bytes]:
    """There are no options of a session: headers say what they could."""
    asked = messages.parse("SetSessionOptionsRequest", body)
    refused: list[Any] = [
        {"key": entry.key, "value": {"value": messages.INVALID_NAME}}
        for entry in asked.session_options
    ]
    return [messages.new("SetSessionOptionsResult", errors=refused).SerializeToString()]


def get_options(_: Desk, __: Caller, ___: bytes) -> list[bytes]:
    return [b""]


def close_session(_: Desk, __: Caller, ___: bytes) -> list[bytes]:
    return [messages.new("CloseSessionResult", status=messages.CLOSED).SerializeToString()]


ACTIONS: dict[str, Action] = {
    "CreatePreparedStatement": prepare,
    "ClosePreparedStatement": close_prepared,
    "BeginTransaction": begin,
    "EndTransaction": end,
    "CancelFlightInfo": cancel_info,
    "CancelQuery": cancel_query,
    "SetSessionOptions": set_options,
    "GetSessionOptions": get_options,
    "CloseSession": close_session,
}
