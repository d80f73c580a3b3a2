"""Files that come are taken once, whoever comes again, and what does not fit is set apart."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.concurrency.crowd import together
from tidelake.errors import Invalid, NotFound
from tidelake.ingestion.values import IngestResult
from tidelake.testing.faults import Meanwhile, watch_store
from tidelake.testing.place import Place

HEADER = "id,price,ts,name\n"


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    folder = tmp_path / "incoming"
    folder.mkdir()
    for number in range(3):
        put(folder / f"{number}.csv", f"{HEADER}{number},1.50,2024-01-0{number + 1},n{number}\n")
    return folder


def put(path: Path, text: str, modified: int | None = None) -> Path:
    path.write_text(text)
    if modified is not None:
        os.utime(path, (modified, modified))
    return path


def rows(lake: tidelake.Lake, table: str = "t", order: str = "id") -> list[tuple[Any, ...]]:
    found = lake.sql(f"SELECT * FROM {table} ORDER BY {order}").to_arrow().to_pylist()
    return [tuple(row.values()) for row in found]


def bad(lake: tidelake.Lake, table: str = "t_quarantine") -> list[tuple[Any, ...]]:
    found = lake.sql(f"SELECT * FROM {table} ORDER BY file, line").to_arrow().to_pylist()
    return [(Path(r["file"]).name, r["line"], r["raw"], r["reason"]) for r in found]


def test_each_file_once(lake: tidelake.Lake, place: Place, incoming: Path) -> None:
    first = tidelake.ingest(lake, "t", f"{incoming}/*.csv", types={"price": "DECIMAL(10,2)"})
    assert (first.files, first.rows, first.known, len(first.snapshots)) == (3, 3, 0, 1)
    assert first.bytes == sum(path.stat().st_size for path in incoming.iterdir())
    assert [str(column.duckdb_type) for column in lake.table("t").schema] == [
        "BIGINT",
        "DECIMAL(10,2)",
        "DATE",
        "VARCHAR",
    ]
    state = place.state()
    again = tidelake.ingest(lake, "t", f"{incoming}/*.csv")
    assert (again.files, again.rows, again.known, again.snapshots) == (0, 0, 3, ())
    assert place.state() == state
    put(incoming / "3.csv", f"{HEADER}3,2.00,2024-01-09,n3\n")
    third = tidelake.ingest(lake, "t", [incoming, f"{incoming}/3.csv"], message="more")
    assert (third.files, third.known) == (1, 3)
    assert lake.snapshots()[-1].message == "more"
    assert lake.log()[-1].operation == "ingest"
    assert [row[0] for row in rows(lake)] == [0, 1, 2, 3]
    with place.duck() as duck:
        assert duck.execute("SELECT sum(price), count(*) FROM lake.t").fetchone() == (
            Decimal("6.50"),
            4,
        )


def test_a_file_is_the_same_whichever_way_it_is_found(
    lake: tidelake.Lake, incoming: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (incoming.parent / "linked").symlink_to(incoming)
    monkeypatch.chdir(incoming)
    ways = ["0.csv", "../incoming/0.csv", f"file://{incoming}/0.csv", "../linked/0.csv", "0*"]
    assert tidelake.ingest(lake, "t", ways).files == 1
    for way in ways:
        assert tidelake.ingest(lake, "t", way).known == 1
    assert tidelake.ingest(lake, "t", "../linked").files == 2


def test_the_lakes_own_files_are_not_taken(
    lake: tidelake.Lake, place: Place, tmp_path: Path
) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    lake.create_table("t", "id BIGINT").append([{"id": 1}])
    (tmp_path / "linked").symlink_to(place.data)
    for way in (tmp_path, f"{tmp_path}/**/*.parquet", f"{tmp_path}/linked/main/t/*.parquet"):
        assert tidelake.ingest(lake, "t", way) == replace(IngestResult(), seconds=ANY)


def test_into_another_table_they_come_again(lake: tidelake.Lake, incoming: Path) -> None:
    tidelake.ingest(lake, "new.t", incoming)
    assert tidelake.ingest(lake, "u", incoming).rows == 3
    lake.drop("u")
    assert tidelake.ingest(lake, "u", incoming).rows == 3
    lake.drop("u")
    lake.expire(keep_last=1)
    records = lake.session
    with records.reading() as reader:
        kept = {row[0] for row in reader.rows("SELECT table_id FROM tidelake_ingest_file")}
    assert kept == {lake.table("new.t").info.id}


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("csv.gz", "tsv", "json.gz")]


@pytest.mark.parametrize("name", ["file_row_number", "File_Index", "filename"])
def test_columns_called_as_duckdb_calls_the_place_of_a_row(
    lake: tidelake.Lake, tmp_path: Path, name: str
) -> None:
    t = lake.create_table("t", f"a BIGINT NOT NULL, {name} BIGINT")
    path = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"a": [1, None, 3], name: [7, 8, 9]}), path)
    told = tidelake.ingest(lake, "t", path, quarantine="bad")
    assert told.rows == 2
    assert lake.table("bad").scan(["line"]).to_dicts() == [{"line": 2}]
    assert t.to_dicts() == [{"a": 1, name: 7}, {"a": 3, name: 9}]


@pytest.mark.parametrize("kind", ["csv", "csv.zst", "jsonl", "json", "parquet", *SLOW])
def test_formats(lake: tidelake.Lake, tmp_path: Path, kind: str) -> None:
    """All say the same, and have a good row and a bad one."""
    path = tmp_path / f"rows.{kind}"
    lake.create_table("t", "id INT NOT NULL, amount DECIMAL(20,10), note VARCHAR DEFAULT 'none'")
    objects = '{"id": 1, "amount": 0.1234567891}\n{"id": 5000000000, "amount": null}\n'
    if kind == "parquet":
        amounts = pa.array([Decimal("0.1234567891"), None], pa.decimal128(20, 10))
        pq.write_table(pa.table({"id": [1, 5_000_000_000], "AMOUNT": amounts}), path)
    elif kind == "json":
        path.write_text(f"[{objects.strip().replace(chr(10), ',')}]")
    else:
        sign = "\t" if kind == "tsv" else ","
        text = f"amount{sign}id\n0.1234567891{sign}1\n{sign}5000000000\n"
        data = (objects if "json" in kind else text).encode()
        if kind.endswith(".zst"):
            with pa.CompressedOutputStream(str(path), "zstd") as out:
                out.write(data)
        else:
            path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    done = tidelake.ingest(lake, "t", path)
    assert (done.rows, done.bad_records) == (1, 1)
    assert rows(lake) == [(1, Decimal("0.1234567891"), "none")]
    ((_, line, raw, reason),) = bad(lake)
    assert line == (3 if "sv" in kind else 2)
    assert "5000000000" in raw
    assert reason.startswith("column 'id': ")


ODD = """id,price,ts,name
1,2.5,2024-01-01,"two
lines"
2,abc,2024-01-01,x
3,0.001,2024-01-01,x
4,1.0
5,6.0,2024-01-01,a,b
,1.0,2024-01-01,x
6,7.0,2024-01-01,""
"""


def test_bad_records_say_where_and_why(lake: tidelake.Lake, place: Place, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT NOT NULL, price DECIMAL(10,2), ts DATE, name VARCHAR")
    path = put(tmp_path / "odd.csv", ODD)
    broken = put(tmp_path / "odd.jsonl", '{"id": 7}\n\nbroken\n[1]\n{"id": 8, "price": "x"}\n')
    with place.refuses(Invalid, "odd.csv, line 4: column 'price': abc does not fit DECIMAL(10,2)"):
        tidelake.ingest(lake, "t", path, bad_records="refuse")
    done = tidelake.ingest(lake, "t", [path, broken])
    assert (done.files, done.rows, done.bad_records, len(done.snapshots)) == (2, 3, 8, 1)
    assert [row[:1] + row[3:] for row in rows(lake)] == [(1, "two\nlines"), (6, ""), (7, None)]
    assert [each[:3] for each in bad(lake)] == [
        ("odd.csv", 4, "2,abc,2024-01-01,x"),
        ("odd.csv", 5, "3,0.001,2024-01-01,x"),
        ("odd.csv", 6, "4,1.0"),
        ("odd.csv", 7, "5,6.0,2024-01-01,a,b"),
        ("odd.csv", 8, ",1.0,2024-01-01,x"),
        ("odd.jsonl", 3, "broken"),
        ("odd.jsonl", 4, "[1]"),
        ("odd.jsonl", 5, '{"id": 8, "price": "x"}'),
    ]
    reasons = [each[3] for each in bad(lake)]
    assert reasons[2:5] == [
        "Expected Number of Columns: 4 Found: 2",
        "Expected Number of Columns: 4 Found: 5",
        "column 'id' may not be null",
    ]
    with lake.session.reading() as reader:
        kept = reader.rows("SELECT row_count, bad_count FROM tidelake_ingest_file ORDER BY 1")
    assert [tuple(row) for row in kept] == [(1, 3), (2, 5)]
    assert lake.verify().ok


def test_files_of_several_shapes_in_one_batch(lake: tidelake.Lake, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT, v VARCHAR DEFAULT 'none', w DOUBLE")
    put(tmp_path / "a.csv", "id,v\n1,x\nbad,y\n", 1)
    put(tmp_path / "b.csv", "w;id\n0.5;2\n1\n", 2)
    put(tmp_path / "c.csv", "id,v\n3,\n4\n", 3)
    put(tmp_path / "it's [odd] *.csv", "id\n5\nx\n", 4)
    done = tidelake.ingest(lake, "t", tmp_path / "")
    assert (done.files, done.rows, done.bad_records) == (4, 4, 4)
    assert rows(lake) == [
        (1, "x", None),
        (2, "none", 0.5),
        (3, None, None),
        (5, "none", None),
    ]
    assert [each[:3] for each in bad(lake)] == [
        ("a.csv", 3, "bad,y"),
        ("b.csv", 3, "1"),
        ("c.csv", 3, "4"),
        ("it's [odd] *.csv", 3, "x"),
    ]


def test_a_quarantine_of_another_name(lake: tidelake.Lake, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT")
    put(tmp_path / "a.csv", "id\nx\n")
    done = tidelake.ingest(lake, "t", f"{tmp_path}/a.csv", quarantine="bin")
    assert (done.rows, done.bad_records) == (0, 1)
    assert [each[1] for each in bad(lake, "bin")] == [2]


def test_new_columns(lake: tidelake.Lake, place: Place, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT")
    path = put(tmp_path / "a.csv", "id,born,name\n1,2024-02-03,ann\n")
    more = put(tmp_path / "b.jsonl", '{"id": 2, "size": 1.5}\n')
    for each in (path, more):
        with place.refuses(Invalid, "new_columns"):
            tidelake.ingest(lake, "t", each)
    assert tidelake.ingest(lake, "t", path, new_columns="ignore").rows == 1
    lake.create_table("u", "id BIGINT")
    wanted = {"types": {"size": "DECIMAL(5,1)"}, "new_columns": "add"}
    done = tidelake.ingest(lake, "u", [path, more], **wanted)  # type: ignore[arg-type]
    assert (done.rows, done.bad_records, len(done.snapshots)) == (2, 0, 1)
    assert {c.name: c.duckdb_type for c in lake.table("u").schema} == {
        "id": "BIGINT",
        "born": "DATE",
        "name": "VARCHAR",
        "size": "DECIMAL(5,1)",
    }
    assert rows(lake, "u")[1][3] == Decimal("1.5")
    with place.refuses(Invalid, "types says INTEGER"):
        tidelake.ingest(lake, "u", put(tmp_path / "c.csv", "id\n3\n"), types={"id": "INTEGER"})


def test_a_file_that_changes(lake: tidelake.Lake, place: Place, incoming: Path) -> None:
    tidelake.ingest(lake, "t", incoming)
    put(incoming / "1.csv", f"{HEADER}1,1.50,2024-01-02,n1\n11,1.50,2024-01-02,n11\n")
    with place.refuses(Invalid, "1.csv has been taken into main.t, and has changed since"):
        tidelake.ingest(lake, "t", incoming)
    assert tidelake.ingest(lake, "t", incoming, changed="ignore").known == 3
    done = tidelake.ingest(lake, "t", incoming, changed="again")
    assert (done.files, done.rows) == (1, 2)
    assert tidelake.ingest(lake, "t", incoming, changed="again").files == 0
    assert [row[0] for row in rows(lake)] == [0, 1, 1, 2, 11]


def test_batches_in_the_order_of_the_files(lake: tidelake.Lake, incoming: Path) -> None:
    for number in (0, 1, 2):
        os.utime(incoming / f"{number}.csv", (1000 - number, 1000 - number))
    done = tidelake.ingest(lake, "t", incoming, batch_files=2)
    assert (done.files, len(done.snapshots)) == (3, 2)
    found = lake.table("t").scan(columns=["id", "rowid"]).to_arrow().to_pylist()
    assert [row["id"] for row in sorted(found, key=lambda row: row["rowid"])] == [2, 1, 0]
    size = (incoming / "0.csv").stat().st_size
    assert len(tidelake.ingest(lake, "u", incoming, batch_bytes=2 * size).snapshots) == 2


def test_event_time_coverage_and_mirror(lake: tidelake.Lake, tmp_path: Path) -> None:
    text = "symbol,ts,price\nA,2024-01-01 00:00,1\nB,2024-01-01 00:00,5\n"
    put(tmp_path / "a.csv", text, 1000)
    settings: dict[str, Any] = {
        "key": "symbol",
        "event_time": "ts",
        "entity": "symbol",
        "bucket": "1h",
        "overlap": "skip",
        "partition_by": "symbol",
    }
    tidelake.ingest(lake, "t", f"{tmp_path}/*.csv", **settings)
    lake.mirror("t")
    text = "symbol,ts,price\nA,2024-01-01 02:00,3\nA,2024-01-01 00:00,9\n,2024-01-01 00:00,2\n"
    put(tmp_path / "b.csv", text, 2000)
    done = tidelake.ingest(lake, "t", f"{tmp_path}/*.csv")
    assert (done.files, done.rows, done.bad_records) == (1, 1, 1)  # 00:00 of A is covered
    t = lake.table("t")
    assert t.partitioning is not None
    state = t.as_of("2024-01-01T01:00").to_arrow().to_pylist()
    assert {row["symbol"]: row["price"] for row in state} == {"A": 1, "B": 5}
    later = t.as_of("2024-01-01T03:00").scan(where="symbol = 'A'").to_arrow()
    assert later["price"].to_pylist() == [3]
    covered = t.coverage("A", start="2024-01-01", end="2024-01-01T03:00")
    assert covered.ratio == pytest.approx(2 / 3)
    assert [each.behind for each in lake.mirrors()] == [0]
    deltalake = pytest.importorskip("deltalake")
    root = lake.mirrored("t").status.root
    assert deltalake.DeltaTable(root).to_pyarrow_table().num_rows == 3
    assert lake.verify(deep=True).ok


def take(place: Place, folder: Path) -> IngestResult:
    with place.open() as lake:
        return tidelake.ingest(lake, "t", folder, batch_files=4)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql", "mariadb"], indirect=True)
def test_several_at_once(place: Place, tmp_path: Path) -> None:
    """The lake lies in the same folder: its own files are not taken into it."""
    for number in range(12):
        put(tmp_path / f"{number:02}.csv", f"id,v\n{number},x\n{number},y\n", 1000 + number)
    with place.open():
        pass
    results = together(*(partial(take, place, tmp_path / "") for _ in range(3)))
    with place.open() as lake:
        assert sorted(row[0] for row in rows(lake)) == sorted([*range(12)] * 2)
        assert lake.verify().ok
    assert sum(each.files for each in results) == 12
    assert sum(each.rows for each in results) == 24
    assert [each.files + each.known for each in results] == [12] * 3
    names = {path.name for path in place.data.rglob("*.parquet")}
    assert len(names) == sum(len(each.snapshots) for each in results)


def test_what_cannot_be_read_is_refused(lake: tidelake.Lake, place: Place, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT NOT NULL")
    calls: dict[str, tuple[Callable[[], object], str]] = {
        "no.parquet": (lambda: put(tmp_path / "no.parquet", "not parquet"), "no.parquet"),
        "no.csv.gz": (lambda: put(tmp_path / "no.csv.gz", "not gzip"), "no.csv.gz"),
        "other.csv": (lambda: put(tmp_path / "other.csv", "x\n1\n"), "'x'"),
        "blank.csv": (lambda: put(tmp_path / "blank.csv", "\nid\n1\n"), "the first line is empty"),
        "what.txt": (lambda: put(tmp_path / "what.txt", "id\n1\n"), "format="),
        "list.json": (lambda: put(tmp_path / "list.json", '[{"id": 1}'), "is no JSON"),
        "twice.csv": (lambda: put(tmp_path / "twice.csv", "id,ID\n1,1\n"), "two columns"),
    }
    for name, (make, message) in calls.items():
        make()
        with pytest.raises(Invalid, match=message):
            tidelake.ingest(lake, "t", tmp_path / name)
    assert lake.table("t").count() == 0
    assert not place.unknown_files()
    with pytest.raises(NotFound):
        tidelake.ingest(lake, "t", tmp_path / "nobody.csv")
    with pytest.raises(Invalid, match="cannot be the name of a file"):
        tidelake.ingest(lake, "t", tmp_path / ("x" * 400))
    assert tidelake.ingest(lake, "t", f"{tmp_path}/nobody*.csv").files == 0
    wrongs = ({"new_columns": "?"}, {"changed": 1}, {"format": "xml"}, {"batch_files": 0})
    for wrong in (*wrongs, {"nonsense": 1}):
        with place.refuses(Invalid):
            tidelake.ingest(lake, "t", f"{tmp_path}/*.csv", **wrong)  # type: ignore[arg-type]
    assert tidelake.ingest(lake, "t", tmp_path / "what.txt", format="csv").rows == 1
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tidelake.ingest(tx, "t", tmp_path)  # type: ignore[arg-type]


def test_empty_files_are_taken_too(lake: tidelake.Lake, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT")
    put(tmp_path / "a.csv", "")
    put(tmp_path / "b.csv", "id\n")
    put(tmp_path / "c.jsonl", "")
    before = len(lake.snapshots())
    done = tidelake.ingest(lake, "t", tmp_path / "")
    assert (done.files, done.rows, done.snapshots) == (3, 0, ())
    assert tidelake.ingest(lake, "t", tmp_path / "").known == 3
    assert len(lake.snapshots()) == before


def test_how_csv_files_are_written(lake: tidelake.Lake, tmp_path: Path) -> None:
    lake.create_table("t", "id BIGINT, name VARCHAR")
    (tmp_path / "a.csv").write_bytes("\ufeffid;name\r\n1;NA\r\n2;é\r\n".encode())
    tidelake.ingest(lake, "t", tmp_path / "a.csv", csv={"null": "NA"})
    (tmp_path / "b.csv").write_bytes("3|é\n".encode("latin-1"))
    form = {"delimiter": "|", "header": False, "encoding": "latin-1"}
    tidelake.ingest(lake, "t", tmp_path / "b.csv", csv=form)
    assert rows(lake) == [(1, None), (2, "é"), (3, "é")]


def test_json_documents_and_nested_values(lake: tidelake.Lake, tmp_path: Path) -> None:
    record = {"id": 1, "doc": {"a": [1]}, "tags": ["x"], "at": "2024-01-01T00:00:00Z"}
    put(tmp_path / "a.jsonl", json.dumps(record) + "\n" + '{"id": 2, "tags": "no"}\n')
    lake.create_table("t", "id INT, doc JSON, tags VARCHAR[], at_ TIMESTAMPTZ")
    done = tidelake.ingest(lake, "t", f"{tmp_path}/*.jsonl", new_columns="ignore")
    assert (done.rows, done.bad_records) == (1, 1)
    assert rows(lake) == [(1, '{"a": [1]}', ["x"], None)]
    assert tidelake.ingest(lake, "u", f"{tmp_path}/*.jsonl", types={"doc": "JSON"}).files == 1
    assert lake.table("u").scan(where="id = 1").to_arrow().to_pylist()[0]["tags"]


def test_without_its_table_the_lake_is_whole(
    lake: tidelake.Lake, place: Place, incoming: Path
) -> None:
    tidelake.ingest(lake, "t", incoming)
    place.catalog("DROP TABLE tidelake_ingest_file")
    assert lake.verify().ok
    assert tidelake.ingest(lake, "t", incoming).files == 3  # nobody remembers them
    assert lake.table("t").count() == 6


def test_a_file_that_grows_while_it_is_read(lake: tidelake.Lake, incoming: Path) -> None:
    """It is read once more, as it is then."""
    longer = f"{HEADER}2,1.50,2024-01-03,n2\n22,1.50,2024-01-03,n22\n"
    grow = Meanwhile("put", lambda: put(incoming / "2.csv", longer))
    with watch_store(lake, grow):
        assert tidelake.ingest(lake, "t", incoming).rows == 4
    assert grow.happened
    assert sorted(row[0] for row in rows(lake)) == [0, 1, 2, 22]
    assert tidelake.ingest(lake, "t", incoming).known == 3
