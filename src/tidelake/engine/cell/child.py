"""What runs in a cell: it takes a question, answers it with batches, and waits for the next."""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.engine.cell.frames import ASK, BATCH, END, ERROR, Absence, Pipe
from tidelake.engine.cell.question import Question
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.local.reading import LocalReading
from tidelake.errors import Denied, TidelakeError

if TYPE_CHECKING:
    import pyarrow as pa

_HELD, _DATA = Path("/proc/self/statm"), 5
_BESIDE_DUCKDB = 256 * 1024**2
"""What Arrow and Python may use on the way out."""


def main() -> None:
    """Serve the process that started this one, through the pipes it gave as arguments."""
    pipe = Pipe(int(sys.argv[1]), int(sys.argv[2]))
    _, said = pipe.receive()
    engine: LocalEngine = pickle.loads(said)
    assert engine.confinement is not None
    engine.workbench().connection.close()
    _limit_memory(engine.confinement.sandbox.memory + _BESIDE_DUCKDB)
    pipe.send(END)
    while True:
        try:
            kind, said = pipe.receive()
        except Absence:
            return
        assert kind == ASK
        if not _answer(pipe, engine, pickle.loads(said)):
            return


def _limit_memory(more: int) -> None:
    """As much as the process has now, and so much more."""
    if _HELD.exists():
        pages = int(_HELD.read_text().split()[_DATA])
        most = pages * os.sysconf("SC_PAGE_SIZE") + more
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _answer(pipe: Pipe, engine: LocalEngine, question: Question) -> bool:
    """Whether there is memory left for others: what was taken does not all come back."""
    try:
        for batch in _batches(engine, question):
            pipe.send(BATCH, _bytes(batch))
        pipe.send(END)
    except TidelakeError as error:
        if "Out of Memory" in error.message:
            return False
        pipe.send(ERROR, _told(type(error).__name__, error.message, error.hint))
    except MemoryError:
        return False
    return True


def _batches(engine: LocalEngine, question: Question) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    reading = question.read(engine)
    most = engine.confinement.sandbox.rows if engine.confinement else 0
    if question.counts:
        yield pa.RecordBatch.from_pydict({"count": pa.array([reading.count()], pa.int64())})
        return
    if question.describes and isinstance(reading, LocalReading):
        yield pa.RecordBatch.from_pylist([], schema=reading.schema())
        return
    batches = reading.to_batches(question.rows)
    yield pa.RecordBatch.from_pylist([], schema=batches.schema)
    given = 0
    for batch in batches:
        given += batch.num_rows
        if given > most:
            raise Denied(
                f"the query gives more than {most:,} rows, which is all that its sandbox lets out",
                hint="ask for fewer with LIMIT, or for sums of them",
            )
        yield batch


def _bytes(batch: pa.RecordBatch) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return memoryview(sink.getvalue())


def _told(kind: str, message: str, hint: str | None) -> bytes:
    return json.dumps({"kind": kind, "message": message, "hint": hint}).encode()


if __name__ == "__main__":
    main()
