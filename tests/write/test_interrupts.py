"""Ctrl-C ends what a lake is at, at once and cleanly, and leaves nothing behind."""

import signal
import subprocess
import sys
import threading

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Invalid

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
ENDLESS = "SELECT sum(a.range * b.range) AS n FROM range(2000000) a, range(2000000) b"

BEGIN = """
import os, signal, sys, threading
from pathlib import Path
import pyarrow as pa
import tidelake
from tidelake.engine.parquet import writer as parquet

folder = Path(sys.argv[1])
lake = tidelake.connect(f"sqlite:///{folder}/lake.db", temp_directory=folder / "spill")
t = lake.create_table("t", "id BIGINT, v VARCHAR")
first = t.append([{"id": -1, "v": "here before"}]).snapshot_id

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def rows(at):
    for n in range(100_000):
        if n == at:
            interrupt()
        yield {"id": n, "v": "x" * 20}

def batches(at):
    for n in range(100):
        if n == at:
            interrupt()
        yield pa.record_batch([pa.array(range(1000)), pa.array(["x" * 20] * 1000)], ["id", "v"])

def reader(at):
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    return pa.RecordBatchReader.from_batches(schema, batches(at))

def check(what):
    assert lake.snapshots()[-1].snapshot_id == first, what
    assert t.to_arrow().to_pylist() == [{"id": -1, "v": "here before"}], what
    found = [path for path in folder.rglob("*.parquet")]
    assert found == [], (what, found)
    assert [t for t in threading.enumerate() if t.name == "tidelake statement"] == [], what

def interrupted(what, does):
    try:
        does()
    except KeyboardInterrupt:
        check(what)
    else:
        raise AssertionError(f"{what} was not interrupted")
"""


def ran(folder, code, **extra):
    command = [sys.executable, "-c", BEGIN + code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, **extra)
    assert done.returncode == 0, done.stderr
    assert list(folder.glob("spill/*")) == []
    return done.stdout


@pytest.mark.slow
def test_whatever_a_caller_streams(tmp_path):
    code = """
for at in (0, 9_999, 10_000, 10_001, 35_000, 99_999):
    interrupted(f"rows {at}", lambda: t.append(rows(at)))
    interrupted(f"merge {at}", lambda: t.merge(rows(at), on="id"))
for at in (0, 1, 2, 50, 99):
    interrupted(f"batches {at}", lambda: t.append(batches(at)))
    interrupted(f"reader {at}", lambda: t.append(reader(at)))
    interrupted(f"overwrite {at}", lambda: t.overwrite(reader(at)))
"""
    ran(tmp_path, code)


def test_while_files_are_being_written(tmp_path):
    code = """
begin = parquet._copied
def begin_and_interrupt(*words):
    interrupt()
    return begin(*words)
parquet._copied = begin_and_interrupt

end = parquet._new_file
def end_and_interrupt(*words):
    interrupt()
    return end(*words)

import pandas
table = pa.Table.from_batches(batches(-1))
(folder / "rows.csv").write_text("id,v\\n" + "".join(f"{n},x\\n" for n in range(20_000)))
(folder / "rows.ndjson").write_text("".join(f'{{"id": {n}}}\\n' for n in range(20_000)))
doing = {
    "pandas": lambda: t.append(table.to_pandas()),
    "arrow": lambda: t.append(table),
    "rows": lambda: t.append(rows(-1)),
    "csv": lambda: t.append(folder / "rows.csv"),
    "json": lambda: t.append(folder / "rows.ndjson"),
    "sql": lambda: lake.sql("INSERT INTO t SELECT range, 'x' FROM range(50000)"),
    "merge": lambda: t.merge(table.slice(0, 1000).to_pandas(), on="id"),
    "overwrite": lambda: t.overwrite(reader(-1)),
}
for what, does in doing.items():
    interrupted(f"{what} at the beginning", does)
parquet._copied, parquet._new_file = begin, end_and_interrupt
for what in ("rows", "overwrite", "pandas"):
    interrupted(f"{what} at the end", doing[what])
parquet._new_file = end
t.append(rows(-1))
"""
    ran(tmp_path, code)


@pytest.mark.slow
def test_queries_that_never_end(tmp_path):
    code = f"""
from tidelake.engine.local.supply import Supply
serve = Supply._serve
def serve_and_interrupt(*words):
    Supply._serve = serve
    interrupt()
    serve(*words)
def asked(what):
    Supply._serve = serve_and_interrupt
    list(getattr(query, what)())
query = lake.sql("{ENDLESS}")
for what in ("to_arrow", "to_pandas", "to_polars", "count", "to_batches"):
    interrupted(what, lambda: asked(what))
Supply._serve = serve_and_interrupt
interrupted("insert", lambda: lake.sql("INSERT INTO t SELECT n, NULL FROM ({ENDLESS})"))
"""
    ran(tmp_path, code)


@pytest.mark.slow
def test_a_query_that_is_running(tmp_path):
    code = f"""
def asked():
    print("ready", flush=True)
    list(lake.sql("{ENDLESS}").to_batches())
interrupted("the query", asked)
print("interrupted")
"""
    command = [sys.executable, "-c", BEGIN + code, str(tmp_path)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    said, problems = process.communicate(timeout=240)
    assert (process.returncode, said) == (0, "interrupted\n"), problems


@pytest.mark.slow
def test_not_waiting_for_a_source_that_gives_nothing(tmp_path):
    """It reads from a pipe into which nobody ever writes."""
    code = """
def waiting():
    yield from rows(-1)
    print("waiting", flush=True)
    yield {"id": int(sys.stdin.readline())}
interrupted("the source", lambda: t.append(waiting()))
print("interrupted")
"""
    command = [sys.executable, "-c", BEGIN + code, str(tmp_path)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=240) == 0, process.stderr.read()
    assert process.stdout.read() == "interrupted\n"
    process.stdin.close()


@pytest.mark.slow
def test_a_signal_may_mean_something_else(tmp_path):
    code = """
class Late(Exception):
    pass
def late(*_):
    raise Late("enough")
signal.signal(signal.SIGINT, late)
for at in (0, 20_000):
    try:
        t.append(rows(at))
    except Late as error:
        check(print(error))
"""
    assert ran(tmp_path, code) == "enough\nenough\n"


@pytest.mark.slow
def test_at_any_moment_whatsoever(tmp_path):
    """Many processes, each interrupted from outside after it has told how far it is."""
    code = """
def told(rows):
    for n, row in enumerate(rows):
        if n % 1000 == 0:
            print(n, flush=True)
        yield row
source = {"rows": rows(-1), "reader": reader(-1)}[sys.argv[2]]
t.append(told(source))
"""
    pipe = subprocess.PIPE
    for turn in range(16):
        kind, lines = ("rows", 1 + 3 * turn) if turn % 2 else ("reader", 1)
        folder = tmp_path / str(turn)
        folder.mkdir()
        command = [sys.executable, "-c", BEGIN + code, str(folder), kind]
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        for _ in range(lines):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, problems = process.communicate(timeout=240)
        assert process.returncode in (0, -signal.SIGINT), problems
        with tidelake.connect(f"sqlite:///{folder}/lake.db") as lake:
            count = 100_001 if process.returncode == 0 else 1
            assert lake.table("t").count() == count
            assert (list(folder.rglob("*.parquet")) == []) is (count == 1)
        assert list((folder / "spill").iterdir()) == []


class Broken(Exception):
    pass


@pytest.fixture
def table(tmp_path):
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        yield lake.create_table("t", "id BIGINT, v VARCHAR")


@pytest.mark.parametrize("at", [0, 1, 9_999, 10_000, 25_000])
@pytest.mark.parametrize("error", [Broken("source broke"), ValueError("odd"), OSError(5, "x")])
def test_the_error_of_a_source_comes_out_as_it_is(table, at, error):
    def rows():
        for n in range(30_000):
            if n == at:
                raise error
            yield {"id": n}

    with pytest.raises(type(error)) as raised:
        table.append(rows())
    assert raised.value is error
    assert table.count() == 0


@pytest.mark.parametrize("at", [0, 1, 2, 20])
def test_the_error_of_a_reader_comes_out_as_it_is(table, at):
    error = Broken("source broke")

    def batches():
        for n in range(30):
            if n == at:
                raise error
            yield pa.record_batch([pa.array(range(1000)), pa.array(["x"] * 1000)], schema=SCHEMA)

    for data in (pa.RecordBatchReader.from_batches(SCHEMA, batches()), batches()):
        with pytest.raises(Broken) as raised:
            table.append(data)
        assert raised.value is error
    assert table.count() == 0


def test_rows_are_made_in_the_thread_that_asked_for_them(table):
    seen = set()

    def rows():
        for n in range(30_000):
            seen.add(threading.current_thread())
            yield {"id": n}

    assert table.append(rows()).rows == 30_000
    worker = threading.Thread(target=lambda: table.append(rows()))
    worker.start()
    worker.join()
    assert seen == {threading.main_thread(), worker}
    assert table.count() == 60_000


def test_a_value_that_does_not_fit_is_told_before_the_source_ends(table):
    def rows():
        for n in range(30_000):
            yield {"id": "no number" if n == 20_000 else n}

    with pytest.raises(Invalid, match="row 20001: column 'id'"):
        table.append(rows())


def test_a_refusal_of_duckdb_ends_a_stream_that_does_not_end(table):
    odd = pa.schema([("id", pa.uint64())])

    def batches():
        while True:
            yield pa.record_batch([pa.array([2**64 - 1] * 1000, pa.uint64())], schema=odd)

    with pytest.raises(Invalid, match="18446744073709551615 does not fit BIGINT"):
        table.append(pa.RecordBatchReader.from_batches(odd, batches()))


def test_a_source_may_use_the_lake_itself(table):
    table.append({"id": n} for n in range(20_000))
    table.append({"id": row["id"] + 20_000} for b in table.to_batches() for row in b.to_pylist())
    assert table.scan(where="id >= 20000").count() == 20_000


def test_statements_share_a_thread_and_a_forked_process_has_its_own(tmp_path):
    code = """
def helpers():
    return [t for t in threading.enumerate() if t.name == "tidelake helper"]

def work():
    t.merge(pa.table({"id": range(3000), "v": ["x"] * 3000}), on="id")
    assert t.count() == 3001
    list(t.scan().to_batches())
    assert len(helpers()) == 1, helpers()

work()
child = os.fork()
if not child:
    assert not helpers()
    work()
    lake.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
work()
"""
    ran(tmp_path, code)
