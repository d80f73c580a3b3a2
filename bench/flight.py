"""Flight SQL: ten million rows from `tidelake serve`, and from bare servers of pyarrow that send
the same table, from its Parquet files and from memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from bench import scan
from bench.report import Part, Verdict
from bench.timing import COMPILING, ROOT, medians

_ROUNDS = 5
_TARGET = 0.8
_CACHE = 1024**3
_BATCH = 61_440
_TURNS = count(1)


def run(folder: Path) -> Part:
    import pyarrow.flight as fl

    catalog = scan.lake(folder / "scan")
    part = Part("Flight SQL", ["ten million rows", "MB/s", "of memory's", "of files'"])
    with _started("ours", catalog) as ours, _started("bare", catalog) as bare:
        clients = {"ours": fl.connect(ours), "bare": fl.connect(bare)}
        size = _from_bare(clients["bare"], b"memory")
        calls = {
            "tidelake, first read": lambda: _ask(clients["ours"], fresh=True),
            "tidelake, read again": lambda: _ask(clients["ours"]),
            "bare server, from files": lambda: _from_bare(clients["bare"], b"files"),
            "bare server, from memory": lambda: _from_bare(clients["bare"], b"memory"),
        }
        for call in calls.values():
            for _ in range(3):
                assert call() == size
        seconds = medians(calls, _ROUNDS)
    speeds = {name: size / taken / 1e6 for name, taken in seconds.items()}
    memory, files = speeds["bare server, from memory"], speeds["bare server, from files"]
    for name, speed in speeds.items():
        part.rows.append([name, f"{speed:.0f}", f"{speed / memory:.2f}", f"{speed / files:.2f}"])
    part.numbers = speeds
    first, again = speeds["tidelake, first read"], speeds["tidelake, read again"]
    part.verdicts = [
        Verdict("read again, against memory", again / memory, _TARGET, at_most=False),
        Verdict("first read, against files", first / files, _TARGET, at_most=False),
    ]
    part.notes = [
        f"{size / 1e6:.0f} MB of Arrow in {scan.FILES} files; medians of {_ROUNDS} warm runs that"
        " took turns; clients and servers share the machine",
        f"what is read again is in memory: --cache {_CACHE}",
    ]
    return part


def _ask(client: Any, *, fresh: bool = False) -> int:
    """Bytes of all rows. A condition that holds for every row, and is another each time, has not
    been asked before."""
    import pyarrow.flight as fl

    from tidelake.web.flight import messages

    sql = "SELECT * FROM t" + (f" WHERE id >= -{next(_TURNS)}" if fresh else "")
    command = messages.pack(messages.new("CommandStatementQuery", query=sql))
    info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
    return sum(_bytes(client.do_get(each.ticket)) for each in info.endpoints)


def _from_bare(client: Any, ticket: bytes) -> int:
    import pyarrow.flight as fl

    return _bytes(client.do_get(fl.Ticket(ticket)))


def _bytes(reader: Any) -> int:
    return sum(chunk.data.nbytes for chunk in reader)


@contextmanager
def _started(kind: str, catalog: Path) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "bench.flight", kind, str(catalog)]
    server = Popen(command, cwd=ROOT, env=COMPILING, stdout=PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"grpc://127.0.0.1:{server.stdout.readline().strip()}"
    finally:
        server.kill()
        server.wait()


def _serve(catalog: str) -> None:
    import tidelake
    from tidelake.web.serve import Service
    from tidelake.web.settings import ServeSettings

    settings = ServeSettings(port=0, flight_port=0, role="read", cache=_CACHE)
    lake = tidelake.connect(f"sqlite:///{catalog}", sandbox=settings.sandbox)
    service = Service(lake, settings)
    print(service.flight.port, flush=True)
    service.flight.wait()


def _serve_bare(catalog: str) -> None:
    import pyarrow.flight as fl
    import pyarrow.parquet as pq

    import tidelake

    with tidelake.connect(f"sqlite:///{catalog}", read_only=True) as lake:
        paths = [file.path for file in lake.table("t").files()]
        rows = lake.table("t").to_arrow()

    class Bare(fl.FlightServerBase):
        def do_get(self, _: Any, ticket: fl.Ticket) -> Any:
            if ticket.ticket == b"memory":
                return fl.RecordBatchStream(rows.to_reader(_BATCH))
            return fl.GeneratorStream(pq.read_schema(paths[0]), self._batches())

        def _batches(self) -> Iterator[Any]:
            for path in paths:
                yield from pq.ParquetFile(path).iter_batches(_BATCH)

    server = Bare("grpc://127.0.0.1:0")
    print(server.port, flush=True)
    server.wait()


if __name__ == "__main__":
    {"ours": _serve, "bare": _serve_bare}[sys.argv[1]](sys.argv[2])
