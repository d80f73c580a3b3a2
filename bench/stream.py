"""Memory of a process that streams many rows into a lake and out of it."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.memory import Peak
from bench.report import Part, Verdict
from bench.timing import in_new_process

_ROWS = 20_000_000
_AT_ONCE = 100_000
_MEGABYTES = 500


def run(folder: Path, rows: int = _ROWS) -> Part:
    place = folder / "stream"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Streaming", ["a new process", "before, MB", "peak, MB"])
    for work in ("append", "scan"):
        found = in_new_process(work, str(place), str(rows), module="bench.stream")
        part.rows.append([work, f"{found['before']:.0f}", f"{found['peak']:.0f}"])
        part.numbers[work] = found
        what = f"{work} of {rows:,} rows, resident memory"
        part.verdicts.append(Verdict(what, found["peak"], _MEGABYTES, unit="MB"))
    shutil.rmtree(place)
    part.notes = [f"Arrow batches of {_AT_ONCE:,} rows; a number, a time, a text and a float"]
    return part


def append(place: str, rows: str) -> dict[str, float]:
    import pyarrow as pa

    import tidelake

    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake, Peak() as peak:
        table = lake.create_table("t", _schema())
        table.append(pa.RecordBatchReader.from_batches(_schema(), _batches(int(rows))))
    return {"before": peak.before, "peak": peak.megabytes}


def scan(place: str, rows: str) -> dict[str, float]:
    import tidelake

    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake, Peak() as peak:
        found = sum(batch.num_rows for batch in lake.table("t").scan().to_batches())
    assert found == int(rows), found
    return {"before": peak.before, "peak": peak.megabytes}


def _schema() -> Any:
    import pyarrow as pa

    kinds = {"id": pa.int64(), "ts": pa.timestamp("us"), "symbol": pa.string(), "x": pa.float64()}
    return pa.schema(list(kinds.items()))


def _batches(rows: int) -> Iterator[Any]:
    import numpy as np
    import pyarrow as pa

    names = pa.array([f"S{number:03}" for number in range(1000)])
    for first in range(0, rows, _AT_ONCE):
        ids = np.arange(first, min(first + _AT_ONCE, rows))
        moments = pa.array(ids * 1000, pa.int64()).cast(pa.timestamp("us"))
        columns = [pa.array(ids), moments, names.take(pa.array(ids % 1000)), pa.array(ids**0.5)]
        yield pa.record_batch(columns, schema=_schema())


if __name__ == "__main__":
    print(json.dumps({"append": append, "scan": scan}[sys.argv[1]](*sys.argv[2:])))
