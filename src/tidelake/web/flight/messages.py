"""The messages of Flight SQL, and those of Flight that pyarrow does not have.

The protocol fixes names, numbers and types of their fields (FlightSql.proto and Flight.proto of
Apache Arrow); they are listed here, and protobuf makes classes of them.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tidelake.errors import Invalid

_SQL, _FLIGHT = "arrow.flight.protocol.sql", "arrow.flight.protocol"
_PREFIX = "type.googleapis.com/"

_TRANSACTION = "transaction_id:bytes?=2"
_HANDLE = "prepared_statement_handle:bytes=1"
_KEY = "catalog:string?=1 db_schema:string?=2 table:string=3"

_SQL_MESSAGES = {
    "CommandGetSqlInfo": "info:uint32*=1",
    "CommandGetXdbcTypeInfo": "data_type:int32?=1",
    "CommandGetCatalogs": "",
    "CommandGetDbSchemas": "catalog:string?=1 db_schema_filter_pattern:string?=2",
    "CommandGetTables": "catalog:string?=1 db_schema_filter_pattern:string?=2"
    " table_name_filter_pattern:string?=3 table_types:string*=4 include_schema:bool=5",
    "CommandGetTableTypes": "",
    "CommandGetPrimaryKeys": _KEY,
    "CommandGetExportedKeys": _KEY,
    "CommandGetImportedKeys": _KEY,
    "CommandGetCrossReference": "pk_catalog:string?=1 pk_db_schema:string?=2 pk_table:string=3"
    " fk_catalog:string?=4 fk_db_schema:string?=5 fk_table:string=6",
    "ActionCreatePreparedStatementRequest": f"query:string=1 {_TRANSACTION}",
    "ActionCreatePreparedStatementResult": f"{_HANDLE} dataset_schema:bytes=2"
    " parameter_schema:bytes=3",
    "ActionClosePreparedStatementRequest": _HANDLE,
    "ActionBeginTransactionRequest": "",
    "ActionBeginTransactionResult": "transaction_id:bytes=1",
    "ActionEndTransactionRequest": "transaction_id:bytes=1 action:int32=2",
    "CommandStatementQuery": f"query:string=1 {_TRANSACTION}",
    "TicketStatementQuery": "statement_handle:bytes=1",
    "CommandPreparedStatementQuery": _HANDLE,
    "CommandStatementUpdate": f"query:string=1 {_TRANSACTION}",
    "CommandPreparedStatementUpdate": _HANDLE,
    "TableDefinitionOptions": "if_not_exist:int32=1 if_exists:int32=2",
    "CommandStatementIngest": "table_definition_options:TableDefinitionOptions=1 table:string=2"
    " schema:string?=3 catalog:string?=4 temporary:bool=5 transaction_id:bytes?=6",
    "DoPutUpdateResult": "record_count:int64=1",
    "DoPutPreparedStatementResult": "prepared_statement_handle:bytes?=1",
    "ActionCancelQueryRequest": "info:bytes=1",
    "ActionCancelQueryResult": "result:int32=1",
}
_FLIGHT_MESSAGES = {
    "CancelFlightInfoRequest": "info:bytes=1",
    "CancelFlightInfoResult": "status:int32=1",
    "SessionError": "value:int32=1",
    "SessionErrorEntry": "key:string=1 value:SessionError=2",
    "SessionOptionEntry": "key:string=1",
    "SetSessionOptionsRequest": "session_options:SessionOptionEntry*=1",
    "SetSessionOptionsResult": "errors:SessionErrorEntry*=1",
    "CloseSessionResult": "status:int32=1",
}

COMMIT, ROLLBACK = 1, 2
"""ActionEndTransactionRequest.action"""
CANCELLED = 1
"""CancelFlightInfoResult.status, and that of CancelQuery"""
CREATE_IF_MISSING, FAIL_IF_MISSING = 1, 2
"""TableDefinitionOptions.if_not_exist"""
FAIL_IF_THERE, APPEND, REPLACE = 1, 2, 3
"""TableDefinitionOptions.if_exists"""
INVALID_NAME, CLOSED = 1, 1
"""SetSessionOptionsResult.ErrorValue, CloseSessionResult.Status"""


def _classes(package: str, messages: dict[str, str]) -> dict[str, Any]:
    """Enums are numbers on the wire, and a map is a list of entries."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"tidelake/{package}.proto", package=package, syntax="proto3"
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            _add_field(message, package, field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


def _add_field(message: Any, package: str, said: str) -> None:
    kinds = descriptor_pb2.FieldDescriptorProto
    name, _, rest = said.partition(":")
    kind, _, number = rest.partition("=")
    field = message.field.add(name=name, number=int(number), label=kinds.LABEL_OPTIONAL)
    if kind.endswith("*"):
        field.label = kinds.LABEL_REPEATED
    if kind.endswith("?"):
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    kind = kind.rstrip("?*")
    if kind[0].isupper():
        field.type, field.type_name = kinds.TYPE_MESSAGE, f".{package}.{kind}"
    else:
        field.type = kinds.Type.Value(f"TYPE_{kind.upper()}")


_BY_NAME = {**_classes(_SQL, _SQL_MESSAGES), **_classes(_FLIGHT, _FLIGHT_MESSAGES)}


def new(name: str, **fields: Any) -> Any:
    """A message of this name."""
    return _BY_NAME[name](**fields)


def pack(message: Any) -> bytes:
    """Inside an Any, as commands, tickets and most results of actions are."""
    url = _PREFIX + message.DESCRIPTOR.full_name
    outer = any_pb2.Any(type_url=url, value=message.SerializeToString())
    return bytes(outer.SerializeToString())


def unpack(data: bytes) -> tuple[str, Any]:
    """The name of what is inside an Any, and itself."""
    outer = any_pb2.Any()
    try:
        outer.ParseFromString(data)
        package, _, name = outer.type_url.removeprefix(_PREFIX).rpartition(".")
        if package != _SQL or name not in _BY_NAME:
            raise Invalid(
                f"this server knows no command {outer.type_url[:200]!r}",
                hint="ask with a driver of Flight SQL",
            )
        return name, _BY_NAME[name].FromString(outer.value)
    except DecodeError:
        raise Invalid("this is no message of Flight SQL", hint="ask with its driver") from None


def parse(name: str, data: bytes) -> Any:
    """A message of this name, which some clients put inside an Any and some do not."""
    outer = any_pb2.Any()
    try:
        outer.ParseFromString(data)
        if outer.type_url.endswith(f".{name}"):
            data = outer.value
    except DecodeError:
        pass
    try:
        return _BY_NAME[name].FromString(data)
    except DecodeError:
        raise Invalid(f"this is no {name}", hint="ask with a driver of Flight SQL") from None
