"""A sandbox answers as the lake does, within its limits, and opens only the lake's own files."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Thread, Timer

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.cases import every
from tidelake import Sandbox
from tidelake.engine.cell.engine import CellEngine
from tidelake.errors import Corrupt, Denied, Invalid, Unavailable, Unsupported
from tidelake.testing.place import Place

_MB = 1024**2
_QUERIES = (
    "SELECT * FROM t ORDER BY id",
    "SELECT upper(s) AS u, count(*) AS n, sum(x) AS x FROM t GROUP BY ALL ORDER BY ALL",
    "SELECT *, row_number() OVER (ORDER BY id DESC) AS r FROM v ORDER BY id",
    "WITH a AS (FROM t) SELECT a.id, [y * 2 FOR y IN range(3)] AS l FROM a ORDER BY id LIMIT 5",
    "SELECT {'a': id, 'b': s} AS st, MAP {s: id} AS m FROM t ORDER BY id",
    "SELECT DATE '2024-01-01' + id::INT AS d, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS z FROM t"
    " ORDER BY id",
    "DESCRIBE t",
    "SELECT id FROM t WHERE false",
)


@pytest.fixture
def written(place: Place) -> Place:
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, s VARCHAR, x DOUBLE")
        rows = pa.table({"id": range(5000), "s": ["a", "b"] * 2500, "x": [0.5] * 5000})
        table.append(rows)
        table.append([{"id": 9000, "s": "c", "x": 1.5}])
        table.delete("id = 17")
        lake.sql("CREATE VIEW v AS SELECT id, lower(s) AS s FROM t WHERE id < 100")
    return place


@pytest.fixture
def sandbox(written: Place) -> Iterator[tidelake.Lake]:
    limits = Sandbox(memory=128 * _MB, seconds=60, rows=6000)
    with tidelake.connect(written.url, sandbox=limits) as lake:
        yield lake


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"], indirect=False)
def test_it_answers_as_the_lake_does(kind: str, new_place, request) -> None:  # type: ignore[no-untyped-def]
    place = new_place(kind)
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, s VARCHAR, x DOUBLE")
        table.append(pa.table({"id": range(50), "s": ["a", "b"] * 25, "x": [0.5] * 50}))
        table.append([{"id": 90, "s": "c", "x": None}])
        lake.sql("CREATE VIEW v AS SELECT id, lower(s) AS s FROM t WHERE id < 30")
        with tidelake.connect(place.url, sandbox=True) as sandbox:
            for text in _QUERIES:
                mine, theirs = lake.sql(text), sandbox.sql(text)
                assert theirs.to_arrow().equals(mine.to_arrow()), text
                assert theirs.to_pandas().equals(mine.to_pandas()), text
                assert theirs.count() == mine.count()
            scan = sandbox.table("t").scan(columns=["id"], where="id % 7 = 3 AND s != 'b'")
            same = lake.table("t").scan(columns=["id"], where="id % 7 = 3 AND s != 'b'")
            assert scan.to_arrow().equals(same.to_arrow())
            assert sum(len(b) for b in scan.to_batches(2)) == same.count()


@pytest.mark.slow
def test_parameters_and_moments(sandbox: tidelake.Lake) -> None:
    found = sandbox.sql("SELECT count(*) AS n FROM t WHERE id < $1", [10]).to_arrow()
    assert found["n"].to_pylist() == [10]
    before = sandbox.sql("SELECT count(*) AS n FROM t FOR SYSTEM_TIME AS OF 2").to_arrow()
    assert before["n"].to_pylist() == [5000]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    every(
        3,
        [
            "SELECT length(repeat('x', 3000000000))",
            "SELECT len(range(2000000000))",
            "SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 100000)))",
            "SELECT len(list_transform(range(1000000), x -> repeat('x', 1000000)))",
            "SELECT list(s || id) FROM (SELECT a.s, a.id FROM t AS a, t AS b)",
        ],
    ),
)
def test_a_query_that_needs_too_much_memory_ends(sandbox: tidelake.Lake, text: str) -> None:
    with pytest.raises(Denied, match=r"memory|seconds|bigger"):
        sandbox.sql(text).to_arrow()
    assert sandbox.sql("SELECT count(*) AS n FROM t").to_arrow()["n"].to_pylist() == [5000]


def test_a_query_that_takes_too_long_ends(written: Place) -> None:
    with tidelake.connect(written.url, sandbox=Sandbox(seconds=0.5)) as lake:
        endless = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.id * b.id % 7 = c.id"
        with pytest.raises(Denied, match=r"more than 0.5 seconds"):
            lake.sql(endless).to_arrow()
        with pytest.raises(Denied, match=r"more than 0.5 seconds"):
            lake.sql(
                "INSERT INTO t SELECT a.id * b.id % 7, 'x', 1 FROM t AS a, t AS b, t AS c"
                " WHERE a.id * b.id % 7 = c.id"
            )
        assert lake.table("t").count() == 5000


def test_a_result_that_is_too_large_ends(sandbox: tidelake.Lake) -> None:
    with pytest.raises(Denied, match="more than 6,000 rows"):
        sandbox.sql("SELECT 1 FROM t, range(2)").to_arrow()
    assert sandbox.sql("SELECT 1 FROM t, range(2)").count() == 10_000


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET s = repeat('x', 3000000000)",
        "UPDATE t SET s = 'a' WHERE length(lpad(s, 1000000000)) > 1",
        "DELETE FROM t WHERE len(range(id * 1000000000)) > 1",
        "INSERT INTO t SELECT 1, repeat('x', 3000000000), 1",
        "INSERT INTO t SELECT 1, list_transform([1], x -> 'a')[1], 1",
        "MERGE INTO t USING (SELECT 1 AS id) AS n ON t.id = n.id"
        " WHEN MATCHED THEN UPDATE SET s = repeat('x', 3000000000)",
    ],
)
def test_a_write_computes_nothing_large(sandbox: tidelake.Lake, text: str) -> None:
    with pytest.raises(Denied, match="too much of too little"):
        sandbox.sql(text)


def test_writes_land(sandbox: tidelake.Lake, written: Place) -> None:
    table = sandbox.table("t")
    table.append(pa.table({"id": [10_000], "s": ["new"], "x": [1.0]}))
    sandbox.sql("INSERT INTO t SELECT id + 20000, s, x FROM t WHERE id < 3")
    sandbox.sql("UPDATE t SET s = upper(s) WHERE id = 10000")
    assert table.delete("id = 5").deleted == 1
    with written.open() as lake:
        found = lake.sql("SELECT id, s FROM t WHERE id >= 10000 ORDER BY id").to_arrow()
    assert found["id"].to_pylist() == [10_000, 20_000, 20_001, 20_002]
    assert found["s"][0].as_py() == "NEW"


def test_a_view_is_in_a_sandbox_whoever_asks(written: Place, tmp_path: Path) -> None:
    """It runs with the rights of whoever reads it, and somebody else has written it."""
    (tmp_path / "secret").write_text("secret")
    reaching = f"SELECT content FROM read_text('{tmp_path / 'secret'}')"
    with written.open() as lake:
        assert lake.sql(reaching).to_arrow().num_rows == 1  # by oneself one may
        with pytest.raises(Denied, match="read_text"):
            lake.sql(f"CREATE VIEW bad AS {reaching}")
        lake.sql("CREATE VIEW bad AS SELECT 1 AS a")
        _tamper(written, "UPDATE ducklake_view SET sql = ? WHERE view_name = 'bad'", reaching)
    with written.open() as lake, pytest.raises(Denied, match="read_text"):
        lake.sql("SELECT * FROM bad").to_arrow()


def test_defaults_and_sort_keys_of_the_catalog_reach_nothing(written: Place) -> None:
    reaching = "(SELECT content FROM read_text('/etc/passwd'))"
    with written.open() as lake:
        lake.create_table("d", "a BIGINT, b VARCHAR DEFAULT 'x'")
        _tamper(
            written,
            "UPDATE ducklake_column SET default_value = ?, default_value_type = 'expression'"
            " WHERE column_name = 'b'",
            reaching,
        )
        lake.create_table("k", "a BIGINT", sort_by=["a"])
        _tamper(
            written,
            "UPDATE ducklake_sort_expression SET expression = ?",
            "a, (SELECT content FROM read_text('/etc/passwd'))",
        )
    with written.open() as lake:
        with pytest.raises(Denied, match="read_text"):
            lake.table("d").append(pa.table({"a": [1]}))
        with pytest.raises((Denied, Invalid), match=r"read_text|not one expression"):
            lake.table("k").append(pa.table({"a": range(1000)}))


def _tamper(place: Place, statement: str, *values: str) -> None:
    with sqlite3.connect(place.catalog_file) as database:
        database.execute(statement, values)


def test_only_files_of_the_lake_are_opened(written: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside.parquet"
    pq.write_table(pa.table({"id": [1], "s": ["a"], "x": [1.0]}), outside)
    with written.open() as lake:
        lake.create_table("u", "id BIGINT, s VARCHAR, x DOUBLE").add_files(str(outside))
    with tidelake.connect(written.url, sandbox=True) as lake:
        table = lake.table("t")
        for reach in (
            lambda: table.append(str(outside)),
            lambda: table.add_files(str(outside)),
            lambda: tidelake.import_delta(lake, str(tmp_path), "d"),
            lambda: tidelake.ingest(lake, "t", f"{tmp_path}/*.parquet"),
            lambda: lake.table("u").to_arrow(),
        ):
            with pytest.raises(Denied, match="outside of the places"):
                reach()
    for named in ([str(tmp_path)], str(tmp_path), tmp_path):
        places = Sandbox(places=named)  # type: ignore[arg-type]
        assert places.places == (str(tmp_path),)
        with tidelake.connect(written.url, sandbox=places) as lake:
            assert lake.table("u").to_arrow()["id"].to_pylist() == [1]


@pytest.mark.parametrize("path", ["../../outside.parquet", "/etc/passwd", "a/../../../x", "x\0y"])
def test_a_path_in_the_catalog_leads_nowhere(written: Place, path: str) -> None:
    _tamper(
        written,
        "UPDATE ducklake_data_file SET path = ?, path_is_relative = ? WHERE data_file_id ="
        " (SELECT min(data_file_id) FROM ducklake_data_file)",
        path,
        "0" if path.startswith("/") else "1",
    )
    with tidelake.connect(written.url, sandbox=True) as lake, pytest.raises((Denied, Corrupt)):
        lake.table("t").to_arrow()


def test_no_relation_leaves(sandbox: tidelake.Lake) -> None:
    with pytest.raises(Unsupported, match="no relations"):
        sandbox.sql("SELECT 1").to_duckdb()


@pytest.mark.slow
def test_a_killed_process_is_replaced(sandbox: tidelake.Lake) -> None:
    assert sandbox.sql("SELECT 1 AS a").count() == 1
    for each in _children():
        os.kill(each, signal.SIGKILL)
    with pytest.raises(Denied):
        sandbox.sql("SELECT 1 AS a").to_arrow()
    assert sandbox.sql("SELECT 1 AS a").count() == 1


@pytest.mark.slow
def test_no_process_stays(written: Place) -> None:
    with tidelake.connect(written.url, sandbox=True) as lake:
        lake.sql("SELECT 1 AS a").to_arrow()
        assert _children()
    assert not _children()


def _children() -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            said = (process / "cmdline").read_bytes()
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"tidelake.engine.cell.child" in said and parent == os.getpid():
            found.append(int(process.name))
    return found


@pytest.mark.slow
def test_threads_have_cells_of_their_own(sandbox: tidelake.Lake) -> None:
    found: list[int] = []

    def ask(n: int) -> None:
        rows = sandbox.sql(f"SELECT {n} + count(*) AS n FROM t").to_arrow()
        found.append(rows["n"][0].as_py())

    threads = [Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [5000 + n for n in range(6)]


@pytest.mark.parametrize("given", [0, "yes", {"memory": 1}, None])
def test_nonsense_is_refused(written: Place, given: object) -> None:
    with pytest.raises(Invalid, match="sandbox="):
        tidelake.connect(written.url, sandbox=given)  # type: ignore[arg-type]


def test_limits_must_leave_room() -> None:
    nan = float("nan")
    for limits in ({"memory": 1}, {"seconds": 0}, {"rows": 0}, {"seconds": nan}, {"memory": "1GB"}):
        with pytest.raises(Invalid, match="no limits to work within"):
            Sandbox(**limits)  # type: ignore[arg-type]
    for places in ([1], 5, None):
        with pytest.raises(Invalid, match="names no folders"):
            Sandbox(places=places)  # type: ignore[arg-type]


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize(
    "path", ["../../out/", "/nowhere/out/", "a/../../../out/", "file:///nowhere/out/"]
)
def test_a_folder_in_the_catalog_leads_nowhere(written: Place, path: str, confined: bool) -> None:
    """Nothing is written outside of the data path, in a sandbox or not."""
    full = "0" if path.startswith(("/", "file:")) else "1"
    _tamper(written, "UPDATE ducklake_table SET path = ?, path_is_relative = ?", path, full)
    with tidelake.connect(written.url, sandbox=confined) as lake:
        before = lake.snapshots()
        with pytest.raises((Denied, Corrupt), match=r"out of its folder|outside"):
            lake.table("t").append(pa.table({"id": range(1000)}))
        assert lake.snapshots() == before
    assert not list(written.folder.parent.rglob("out"))
    assert not Path("/nowhere").exists()


@pytest.mark.slow
def test_what_is_asked_apart_is_cancelled_apart(place):
    place.open().close()
    with place.open(sandbox=True) as lake:
        engine = lake.session.local
        assert isinstance(engine, CellEngine)
        apart = engine.apart()
        asked = tidelake.Lake(lake.session.within(lake.session.namespace, apart))
        long = "SELECT sum(a.range * b.range) FROM range(4000000) a, range(4000000) b"
        cancelling = Timer(1.0, apart.cancel)
        cancelling.start()
        with pytest.raises(Unavailable, match="cancelled"):
            asked.sql(long).to_arrow()
        cancelling.join()
        with pytest.raises(Unavailable, match="cancelled"):
            asked.sql("SELECT 1 AS x").to_arrow()
        assert lake.sql("SELECT 1 AS x").to_arrow().to_pylist() == [{"x": 1}]
