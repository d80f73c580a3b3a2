"""Deliveries of rows to series, the ways in which they come, and what is to become of them."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tidelake
from tidelake.testing.faces import lake_of

Row = tuple[str | None, datetime, int]
"""An entity, a moment and a value."""

COLUMNS = "s VARCHAR, ts TIMESTAMP, v BIGINT"
POLICIES = ("reject", "skip", "replace")
NOON = datetime(2024, 3, 12, 12)


def at(minute: float) -> datetime:
    return NOON + timedelta(minutes=minute)


def minutes(entity: str | None, span: Iterable[float], value: int = 0) -> list[Row]:
    return [(entity, at(minute), value) for minute in span]


def bucket(row: Row) -> tuple[str | None, datetime]:
    return row[0], row[1].replace(second=0, microsecond=0)


def delivered(policy: str, there: Sequence[Row], coming: Sequence[Row]) -> list[Row] | None:
    """What the table has after a delivery, in buckets of a minute; None if it is rejected."""
    before = {bucket(row) for row in there}
    after = {bucket(row) for row in coming}
    if policy == "reject":
        return None if before & after else [*there, *coming]
    if policy == "skip":
        return [*there, *(row for row in coming if bucket(row) not in before)]
    return [*(row for row in there if bucket(row) not in after), *coming]


def make(lake: tidelake.Lake, policy: str, name: str | None = None, **options: Any) -> Any:
    return lake.create_table(
        name or policy,
        COLUMNS,
        event_time="ts",
        entity="s",
        bucket="1m",
        overlap=policy,
        **options,
    )


def rows_of(table: Any) -> list[Row]:
    found = table.to_arrow().to_pylist()
    return ordered((row["s"], row["ts"], row["v"]) for row in found)


def ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def as_arrow(rows: Sequence[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.timestamp("us"), pa.int64())
    arrays = [pa.array(list(c), kind) for c, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, ["s", "ts", "v"])


def as_dicts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [dict(zip(("s", "ts", "v"), row, strict=True)) for row in rows]


def _file(rows: Sequence[Row], folder: Path) -> str:
    path = f"{folder}/delivery-{len(list(folder.iterdir()))}.parquet"
    pq.write_table(as_arrow(rows), path)
    return path


def _literal(row: Row) -> str:
    entity = "NULL" if row[0] is None else f"'{row[0]}'"
    return f"({entity}, TIMESTAMP '{row[1]}', {row[2]})"


def _insert(table: tidelake.Table, rows: Sequence[Row], _: Path) -> Any:
    listed = ", ".join(map(_literal, rows))
    return lake_of(table).sql(f"INSERT INTO {table.name} VALUES {listed}")


def _select(table: tidelake.Table, rows: Sequence[Row], _: Path) -> Any:
    lake = lake_of(table)
    source = f"from_{table.source.name.name}_{len(lake.tables())}"
    lake.create_table(source, COLUMNS).append(as_arrow(rows))
    return lake.sql(f"INSERT INTO {table.name} SELECT * FROM {source}")


def _polars(table: tidelake.Table, rows: Sequence[Row], _: Path) -> Any:
    import polars as pl

    return table.append(pl.from_arrow(as_arrow(rows)))


WAYS: dict[str, Callable[[tidelake.Table, Sequence[Row], Path], Any]] = {
    "dicts": lambda t, rows, _: t.append(as_dicts(rows)),
    "a generator": lambda t, rows, _: t.append(row for row in as_dicts(rows)),
    "a reader": lambda t, rows, _: t.append(as_arrow(rows).to_reader()),
    "polars": _polars,
    "a file": lambda t, rows, folder: t.append(_file(rows, folder)),
    "insert": _insert,
    "insert select": _select,
    "add_files": lambda t, rows, folder: t.add_files(_file(rows, folder)),
}
