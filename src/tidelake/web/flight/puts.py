"""What clients send with DoPut: updates, parameters, and rows to ingest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.lake.changeable import Changeable
from tidelake.lake.lake import Lake
from tidelake.model.names import DEFAULT_SCHEMA, TableName
from tidelake.web.flight import messages
from tidelake.web.flight.callers import Caller
from tidelake.web.flight.catalog import CATALOG
from tidelake.web.flight.desk import Desk
from tidelake.web.flight.parameters import as_given, bound_rows
from tidelake.web.metrics import Metrics
from tidelake.web.traces import span

Put = Callable[[Desk, Caller, Any, Any], bytes]


def count_of(rows: int) -> bytes:
    found: bytes = messages.new("DoPutUpdateResult", record_count=rows).SerializeToString()
    return found


def update(desk: Desk, caller: Caller, command: Any, _: Any) -> bytes:
    transaction = command.transaction_id or None
    return count_of(desk.update(caller, command.query, transaction, [None]))


def bind(desk: Desk, caller: Caller, command: Any, reader: Any) -> bytes:
    """Values for the parameters of a prepared query."""
    handle = command.prepared_statement_handle
    kept = desk.prepared.get(caller.visitor, handle)
    kept.bound = bound_rows(reader, kept.names, desk.limits.parameter_bytes)
    answer = messages.new("DoPutPreparedStatementResult", prepared_statement_handle=handle)
    found: bytes = answer.SerializeToString()
    return found


def update_prepared(desk: Desk, caller: Caller, command: Any, reader: Any) -> bytes:
    kept = desk.prepared.get(caller.visitor, command.prepared_statement_handle)
    rows: list[Any] = [None]
    if kept.names:
        bound = bound_rows(reader, kept.names, desk.limits.parameter_bytes) or kept.bound or []
        rows = [as_given(kept.names, row) for row in bound]
    return count_of(desk.update(caller, kept.text, kept.transaction, rows))


def ingest(desk: Desk, caller: Caller, command: Any, reader: Any) -> bytes:
    """Append a stream of rows to a table, which may be created or replaced with it: all rows, or
    nothing."""
    if command.temporary:
        raise Unsupported("there are no temporary tables", hint="ingest into a table of the lake")
    if command.HasField("catalog") and command.catalog not in ("", CATALOG):
        raise NotFound(f"there is no catalog {command.catalog!r}", hint=f"there is: {CATALOG}")
    name = TableName(command.schema or DEFAULT_SCHEMA, command.table)
    wanted = command.table_definition_options
    transaction = command.transaction_id or None
    rows = _Counted(reader, desk.metrics)
    with span("ingest", caller), desk.slots.place(), desk.place(caller, transaction) as place:
        _ingest(place, name, (wanted.if_not_exist, wanted.if_exists), rows)
    return count_of(rows.count)


def _ingest(place: Changeable, name: TableName, wanted: tuple[int, int], rows: _Counted) -> None:
    missing, there = wanted
    exists = str(name) in place.tables()
    if exists and there in (0, messages.FAIL_IF_THERE):
        raise Invalid(f"there is a table {name} already", hint="append to it, or replace it")
    if not exists and missing != messages.CREATE_IF_MISSING:
        raise NotFound(f"there is no table {name}", hint="create it first, or along with its rows")
    if exists and there == messages.APPEND:
        place.table(str(name)).append(rows.reader())
    elif isinstance(place, Lake):
        with place.transaction() as tx:
            _create(tx, name, rows, exists)
    else:
        _create(place, name, rows, exists)


def _create(place: Changeable, name: TableName, rows: _Counted, exists: bool) -> None:
    if exists:
        place.drop(str(name))
    place.create_table(str(name), rows.schema).append(rows.reader())


def append_to_path(desk: Desk, caller: Caller, path: Sequence[bytes], reader: Any) -> int:
    """Rows for a table that a path names, as clients of plain Flight send them."""
    if len(path) not in (1, 2):
        raise Invalid("a path names a table, or a schema and a table", hint='"main", "prices"')
    schema, name = [DEFAULT_SCHEMA, *(part.decode() for part in path)][-2:]
    rows = _Counted(reader, desk.metrics)
    with span("ingest", caller), desk.slots.place():
        desk.lake(caller).table(str(TableName(schema, name))).append(rows.reader())
    return rows.count


class _Counted:
    """Rows that come, as a stream that can be read once."""

    def __init__(self, reader: Any, metrics: Metrics) -> None:
        self._source = reader.to_reader()
        self._metrics = metrics
        self.schema: pa.Schema = self._source.schema
        self.count = 0

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._source:
            self.count += batch.num_rows
            self._metrics.received.inc(batch.nbytes)
            yield batch


PUTS: dict[str, Put] = {
    "CommandStatementUpdate": update,
    "CommandPreparedStatementQuery": bind,
    "CommandPreparedStatementUpdate": update_prepared,
    "CommandStatementIngest": ingest,
}
