"""Existing Parquet files become part of a table where they lie, and stay the user's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.errors import Conflict, Invalid, TidelakeError
from tidelake.testing.agreement import rows
from tidelake.testing.place import Place

Agree = Callable[[], None]
Duck = duckdb.DuckDBPyConnection
STRUCT = pa.struct([("b", pa.string()), ("a", pa.int32())])


@pytest.fixture
def found(place: Place) -> Path:
    """A folder of the user's own."""
    folder = place.folder.parent / "found"
    folder.mkdir()
    return folder


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    return lake.create_table("t", "id BIGINT NOT NULL, v VARCHAR, s STRUCT(a INTEGER, b VARCHAR)")


def written(path: Path, start: int, count: int = 20, **more: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "v": [f"v{n}" for n in range(count)],
        "id": pa.array(range(start, start + count), pa.int64()),
        "s": pa.array([{"b": "b", "a": n} for n in range(count)], STRUCT),
        **more,
    }
    pq.write_table(pa.table({k: v for k, v in columns.items() if v is not None}), path)
    return str(path)


@pytest.mark.slow
def test_files_are_read_by_name_and_written_to_like_any_other(
    place: Place, found: Path, t: tidelake.Table, duck: Duck, agree: Agree
) -> None:
    paths = [written(found / f"{n}.parquet", n * 100) for n in range(3)]
    before = {path: Path(path).read_bytes() for path in paths}
    result = t.add_files(paths)
    assert (result.rows, result.files) == (60, 3)
    assert t.count() == 60
    assert rows(t.scan(where="id = 105")) == [{"id": 105, "v": "v5", "s": {"a": 5, "b": "b"}}]
    t.delete("id = 3")
    t.delete("id BETWEEN 100 AND 115")
    t.update({"v": "'updated'", "s": "{'a': s.a + 1, 'b': NULL}"}, where="id IN (5, 205)")
    t.update({"v": "'many'"}, where="id % 2 = 0")
    t.merge([{"id": 7, "v": "merged"}, {"id": 5000, "v": "new"}], on="id")
    duck.execute("INSERT INTO t VALUES (6000, 'duck', {a: 1, b: 'x'})")
    duck.execute("UPDATE t SET v = 'theirs' WHERE id = 9")
    duck.execute("DELETE FROM t WHERE id = 11")
    t.evolve(
        rename={"v": "w", "s.a": "aa"}, add={"n": "INTEGER DEFAULT 1"}, widen={"s.a": "BIGINT"}
    )
    t.append([{"id": 7000, "w": "after"}])
    assert t.count() == 60 - 1 - 16 + 1 + 1 - 1 + 1
    assert {path: Path(path).read_bytes() for path in paths} == before
    agree()


def test_a_column_that_the_file_lacks_has_its_own_type(
    found: Path, t: tidelake.Table, agree: Agree
) -> None:
    """DuckDB makes a number of a NULL that is a blob, if it computes with it."""
    t.add_files(written(found / "a.parquet", 1, count=1))
    t.evolve(add={"blob": "BLOB", "text": "VARCHAR", "told": "BLOB DEFAULT 'aa'"})
    shown = t.scan(["blob", "text", "told"]).to_arrow()
    assert shown.schema.types == [pa.binary(), pa.string(), pa.binary()]
    assert shown.to_pylist() == [{"blob": None, "text": None, "told": b"aa"}]
    assert t.scan(where="blob IS NULL AND told = 'aa'::BLOB").count() == 1
    agree()


def test_files_together_with_other_writes(
    found: Path, lake: tidelake.Lake, t: tidelake.Table, agree: Agree
) -> None:
    path = written(found / "a.parquet", 0)
    with lake.transaction() as tx:
        mine = tx.table("t")
        mine.append([{"id": 500}])
        mine.add_files(path)
        assert mine.count() == 21
        mine.delete("id < 5")
        mine.update({"v": "'x'"}, where="id >= 15")
        assert mine.count() == 16
    assert t.count() == 16
    assert Path(path).exists()
    agree()


@pytest.mark.parametrize("how", ["error", "rollback", "conflict", "refused"])
def test_what_fails_leaves_the_users_files_alone(
    place: Place, found: Path, lake: tidelake.Lake, t: tidelake.Table, how: str
) -> None:
    path = written(found / "a.parquet", 0)
    t.append([{"id": 900}])
    tx = lake.transaction()
    tx.table("t").add_files(path)
    tx.table("t").delete("id < 5")
    tx.table("t").update({"v": "'x'"}, where="id > 3")
    if how == "conflict":
        t.append([{"id": 901}])
        with pytest.raises(Conflict):
            tx.commit()
    elif how == "error":
        with pytest.raises(ZeroDivisionError), tx:
            raise ZeroDivisionError
    elif how == "refused":
        with pytest.raises(TidelakeError):
            tx.table("t").add_files(written(found / "bad.parquet", 0, v=[1.5] * 20))
        tx.rollback()
    else:
        tx.rollback()
    assert pq.read_table(path).num_rows == 20
    assert not place.unknown_files()
    assert t.add_files(path).rows == 20


REFUSED: dict[str, dict[str, Any]] = {
    "another type": {"v": [1.5] * 20},
    "a wider type": {"id": [1.5] * 20},
    "a column more": {"extra": [1] * 20},
    "a required column less": {"id": None},
    "nulls where none may be": {"id": pa.array([None] * 20, pa.int64())},
    "another struct": {"s": [{"c": 1}] * 20},
}


@pytest.mark.parametrize("columns", REFUSED.values(), ids=REFUSED.keys())
def test_files_that_do_not_fit(
    place: Place, found: Path, t: tidelake.Table, columns: dict[str, Any]
) -> None:
    good = written(found / "good.parquet", 0)
    bad = written(found / "bad.parquet", 0, **columns)
    with place.refuses(Invalid, "bad.parquet"):
        t.add_files([good, bad])


def test_what_is_no_file(place: Place, found: Path, t: tidelake.Table) -> None:
    text = found / "text.parquet"
    text.write_text("not Parquet at all")
    good = written(found / "good.parquet", 0)
    for paths in (str(text), str(found / "none.parquet"), str(found / "*.csv"), [good, good], 5):
        with place.refuses(TidelakeError):
            t.add_files(paths)  # type: ignore[arg-type]
    t.add_files(good)
    with place.refuses(Invalid, "already"):
        t.add_files(str(found / "good*"))


def test_a_column_that_may_be_missing_is_null(found: Path, t: tidelake.Table, agree: Agree) -> None:
    t.add_files(written(found / "a.parquet", 0, v=None))
    assert {r["v"] for r in rows(t)} == {None}
    assert t.scan(where="v IS NULL").count() == 20
    agree()


def test_folders_give_values(found: Path, lake: tidelake.Lake, duck: Duck, agree: Agree) -> None:
    t = lake.create_table("h", "id BIGINT, p VARCHAR, day DATE", partition_by="p")
    for p in ("a", "b c", "é/x"):
        folder = found / f"p={p.replace('/', '%2F').replace(' ', '%20')}" / "day=2024-03-05"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(20)}), folder / "f.parquet")
    t.add_files(str(found))
    assert {(r["p"], str(r["day"])) for r in rows(t)} == {
        ("a", "2024-03-05"),
        ("b c", "2024-03-05"),
        ("é/x", "2024-03-05"),
    }
    assert len(t.scan(where="p = 'b c'").files()) == 1
    assert duck.execute("SELECT count(*) FROM h WHERE p = 'b c'").fetchall() == [(20,)]
    t.delete("p = 'a' AND id < 5")
    t.update({"p": "'z'"}, where="p = 'é/x'")
    assert t.scan(where="p = 'z'").count() == 20
    agree()


def test_without_folders_their_columns_are_missing(
    place: Place, found: Path, lake: tidelake.Lake
) -> None:
    t = lake.create_table("h", "id BIGINT, p VARCHAR")
    folder = found / "p=a"
    folder.mkdir()
    pq.write_table(pa.table({"id": range(20)}), folder / "f.parquet")
    t.add_files(str(found), hive=False)
    assert {r["p"] for r in rows(t)} == {None}


def test_files_of_another_lake(place: Place, found: Path, t: tidelake.Table, agree: Agree) -> None:
    """They have field ids, which may be those of other columns: names decide."""
    with tidelake.connect(f"sqlite:///{found}/other.db") as other:
        theirs = other.create_table("x", "s STRUCT(b VARCHAR, a INTEGER), v VARCHAR, id BIGINT")
        theirs.append([{"id": n, "v": "theirs", "s": {"a": n}} for n in range(20)])
        path = theirs.files()[0].path
    t.add_files(path)
    assert rows(t.scan(where="id = 7")) == [{"id": 7, "v": "theirs", "s": {"a": 7, "b": None}}]
    agree()


@pytest.mark.parametrize("name", ["file_index", "File_Row_Number", "filename"])
def test_columns_called_as_the_place_of_a_row(
    lake: tidelake.Lake, found: Path, agree: Agree, name: str
) -> None:
    """DuckDB would give the column for the place: deletes were lost, or met other rows."""
    t = lake.create_table("t", f"id BIGINT, s STRUCT(a INTEGER), {name} BIGINT")
    for start in (0, 20):
        ids = pa.array(range(start, start + 20), pa.int64())
        odd = pa.array([n // 2 for n in range(20)], pa.int64())
        structs = pa.array([{"a": n} for n in range(20)], pa.struct([("a", pa.int32())]))
        path = found / f"{start}.parquet"
        pq.write_table(pa.table({name: odd, "id": ids, "s": structs}), path)
        t.add_files(str(path))
    t.append([{"id": 40 + n, "s": {"a": n}, name: n // 2} for n in range(20)])
    before = lake.snapshots()[-1].snapshot_id
    t.evolve(add={"s.b": "INTEGER"})  # the lake's own file is read by its names too
    t.delete("id % 20 = 7")
    t.update({"s": "{'a': 0, 'b': 1}"}, where="id IN (3, 43)")
    expected = [n for n in range(60) if n % 20 != 7]

    def check() -> None:
        assert sorted(row["id"] for row in rows(t)) == expected
        assert {row["id"] for row in rows(t.scan(where="s.b = 1"))} == {3, 43}
        assert all(row[name] == row["id"] % 20 // 2 for row in rows(t))
        assert t.known_at(before).count() == 60
        ids = t.scan(columns=["rowid"]).to_arrow()["rowid"].to_pylist()
        assert len(set(ids)) == len(expected)
        agree()

    check()
    t.append([{"id": 60, name: 0}])
    t.delete("id = 60")
    lake.set_option("rewrite_delete_threshold", "0.01")
    t.compact()
    check()


def test_files_on_s3(place: Place, s3_server: Any, duck: Duck) -> None:
    bucket = s3_server.new_bucket()
    duck.execute(s3_server.duckdb_secret)
    for n in range(2):
        duck.execute(
            f"COPY (SELECT range + {n * 100} AS id, 'x' AS v FROM range(20))"
            f" TO 's3://{bucket}/found/p={n}/f.parquet' (FORMAT parquet)"
        )
    options = {k: str(v) for k, v in s3_server.storage_options.items()}
    with place.open(storage_options=options) as lake:
        t = lake.create_table("remote", "id BIGINT, v VARCHAR, p INTEGER")
        with pytest.raises(ZeroDivisionError), lake.transaction() as tx:  # noqa: PT012
            tx.table("remote").add_files(f"s3://{bucket}/found/")
            tx.table("remote").delete("id = 1")
            raise ZeroDivisionError
        assert t.add_files(f"s3://{bucket}/found/").rows == 40
        with pytest.raises(Invalid, match="already"):
            t.add_files(f"s3://{bucket}/found/p=1/f.parquet")
        t.delete("id BETWEEN 5 AND 18")
        t.update({"v": "'y'"}, where="p = 1")
        assert t.count() == 26
        expected = sorted((r["id"], r["v"], r["p"]) for r in rows(t))
    assert sorted(duck.execute("FROM remote").fetchall()) == expected
