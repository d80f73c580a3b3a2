"""Tables of one lake as new tables of another: their rows at a moment, and what is declared of
them. History, tags, calendars and rollups stay where they are: a backup has those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_NUMBER
from tidelake.model.settings import Settings
from tidelake.plan.partitioning.transforms import transform_of
from tidelake.session.progress import row_progress

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.lake.table import Table
    from tidelake.lake.transaction import Transaction

_ROWS, _RANK = "_tidelake_rows", "_tidelake_rank"
_MAIN = "main"


@dataclass(frozen=True, slots=True)
class TableCopy:
    """One table that was made. `snapshot_id` is the source's."""

    name: str
    copied_from: str
    snapshot_id: int
    rows: int


def copy_tables(
    source: Lake, tx: Transaction, names: Sequence[tuple[str, str]]
) -> Iterator[TableCopy]:
    """Make tables of the transaction's lake; each pair is the name here and the name there. All
    are read at one snapshot, the newest that `source` sees."""
    at = source.snapshots()[-1].snapshot_id
    pinned = source.known_at(at)
    total = sum(pinned.table(name).count() for name, _ in names)
    with row_progress("copying", total) as tell:
        for name, target in names:
            table = pinned.table(name)
            tell(0, phase=table.name)
            made = _declare(tx, table, target)
            rows = 0
            for part in _parts(pinned, table):
                done = made.append(part.to_batches())
                tell(done.rows, done.bytes)
                rows += done.rows
            yield TableCopy(made.name, table.name, at, rows)


def _declare(tx: Transaction, table: Table, target: str) -> Table:
    schema = TableName.parse(target).schema
    if schema != _MAIN and schema not in tx.schemas():
        tx.create_schema(schema)
    columns = {column.id: column.name for column in table.schema}
    keys = table.partitioning.keys if table.partitioning else ()
    return tx.create_table(
        target,
        table.schema,
        partition_by=[transform_of(key.transform).shown(columns[key.column_id]) for key in keys],
        sort_by=[
            f"{key.expression} {key.direction} {key.nulls.replace('_', ' ')}"
            for key in table.sorting
        ],
        comment=table.comment,
        **_settings(table, columns),
    )


def _settings(table: Table, columns: dict[int, str]) -> dict[str, Any]:
    """What `create_table` takes, with columns by name."""
    said = Settings.of(table.info.tags)
    lists = {"key": said.key, "entity": said.entity}
    single = {
        "event_time": said.event_time,
        "tombstone": said.tombstone,
        "valid_to": said.valid_to,
        "knowledge_time": said.knowledge_time,
    }
    found: dict[str, Any] = {name: [columns[i] for i in ids] for name, ids in lists.items() if ids}
    found |= {name: columns[i] for name, i in single.items() if i is not None}
    found |= {n: v for n, v in (("bucket", said.bucket), ("overlap", said.overlap)) if v}
    return found


def _parts(lake: Lake, table: Table) -> Iterator[Any]:
    """The rows, in as many writes as there are facts about one key and one time: of those the
    last holds, and within one write nothing promises which is last."""
    event = EventTime.maybe(table.info)
    if event is None:
        yield table.scan()
        return
    names = ", ".join(map(quote, table.schema.names))
    same = ", ".join(quote(column.name) for column in (*event.key, event.time))
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY {same} ORDER BY {ROW_NUMBER}) AS {_RANK}"
        f" FROM {_ROWS}"
    )
    scan = table.scan(columns=[*table.schema.names, ROW_NUMBER])
    local = lake.session.local
    most = local.query(f"SELECT max({_RANK}) AS n FROM ({ranked})", {_ROWS: scan})
    for rank in range(1, (most.to_arrow()["n"][0].as_py() or 0) + 1):
        sql = f"SELECT {names} FROM ({ranked}) WHERE {_RANK} = {rank}"
        yield local.query(sql, {_ROWS: table.scan(columns=[*table.schema.names, ROW_NUMBER])})
