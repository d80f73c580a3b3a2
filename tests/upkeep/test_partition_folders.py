"""Files of partitions lie where DuckDB puts its own, so that either may keep up what the other has
written."""

import os
from datetime import datetime
from decimal import Decimal
from hashlib import md5
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidelake
from tests.delta.readers import Readers
from tests.upkeep.unchanged import nothing_changes
from tidelake.errors import Unavailable
from tidelake.testing import canonical
from tidelake.testing.oracle import exact_arrow
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

COLUMNS = 'id INTEGER, k VARCHAR, "year" INTEGER, ts TIMESTAMP, zoned TIMESTAMPTZ, x DECIMAL(9, 3)'
KEYS = [
    "k",
    '"year"',
    "x",
    "zoned",
    "year(ts)",
    "month(ts)",
    "year(zoned)",
    "hour(zoned)",
    "bucket(3, k)",
]
TEXTS = ["", "a b", "a/b", "a=b", "50%", "é", "a%20b", "__HIVE_DEFAULT_PARTITION__", None]
ROWS_OF_FOUR = pa.table({"id": range(80), "k": ["a", "b", "c", "d"] * 20})
_BY_DUCKDB = {"delete-overlap", "table-statistics"}
"""What its flush and its rewrite leave, wherever files lie."""
_LONG = "x" * 300


def drawn(chance: Random, count: int) -> pa.Table:
    texts, numbers = chance.sample(TEXTS, 3), [Decimal("1.5"), Decimal("-7"), None]
    moments = [datetime(2023 + n, 1 + n, 1, n) for n in range(3)]
    rows = [
        {
            "id": chance.randrange(1000),
            "k": chance.choice(texts),
            "year": chance.choice([2023, None]),
            "ts": (moment := chance.choice(moments)),
            "zoned": moment,
            "x": chance.choice(numbers),
        }
        for _ in range(count)
    ]
    kinds = [pa.int32(), pa.string(), pa.int32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
    names = ["id", "k", "year", "ts", "zoned", "x"]
    kinds.append(pa.decimal128(9, 3))
    return pa.Table.from_pylist(rows, pa.schema(list(zip(names, kinds, strict=True))))


def folders(place: Place) -> dict[tuple[Any, ...], set[str]]:
    """The folders of each partition, by the version of the columns and the values."""
    rows = place.catalog(
        "SELECT d.path, d.partition_id, (SELECT max(v.schema_version) FROM ducklake_schema_versions"
        " v WHERE v.table_id = d.table_id AND v.begin_snapshot <= d.begin_snapshot),"
        " (SELECT group_concat(quote(partition_value), '|') FROM (SELECT * FROM"
        " ducklake_file_partition_value p WHERE p.data_file_id = d.data_file_id ORDER BY"
        " partition_key_index)) FROM ducklake_data_file d WHERE d.partition_id IS NOT NULL"
    )
    found: dict[tuple[Any, ...], set[str]] = {}
    for path, *partition in rows:
        found.setdefault(tuple(partition), set()).add(str(path).rpartition("/")[0])
    return found


UPKEEP = [
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
]


@pytest.mark.parametrize("seed", range(40))
def test_both_write_and_both_keep_up(seed: int, place: Place, lake: Any, duck: Any) -> None:
    """Once DuckDB has flushed deletes from a file that it had rewritten before, it reads the past
    of that file wrongly. So where the catalog keeps rows, it is asked for the newest ones alone."""
    chance, kept = Random(seed), seed % 2 == 0
    keys = chance.sample(KEYS, chance.randint(1, 4))
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {10 if kept else 0})")
    duck.execute(f"CREATE TABLE t ({COLUMNS})")
    duck.execute(f"ALTER TABLE t SET PARTITIONED BY ({', '.join(keys)})")
    t, before = lake.table("t"), dict[int, Any]()
    steps = ["ours", "theirs", "delete", "update", "compact", *["duck"] * 2]
    for step in ["ours", "theirs", *chance.choices(steps, k=14), *range(len(UPKEEP))]:
        match step:
            case "ours":
                t.append(drawn(chance, chance.choice([3, 40, 200])))
            case "theirs":
                rows = drawn(chance, chance.choice([3, 40, 200]))
                duck.execute("INSERT INTO t FROM rows")
            case "delete":
                t.delete(f"id % {chance.choice([2, 7])} = 0")
            case "update":
                t.update({"id": "id + 1"}, where=f"id % 9 = {chance.randrange(9)}")
            case "compact":
                t.compact()
            case "duck":
                duck.execute(chance.choice(UPKEEP))
            case number:
                duck.execute(UPKEEP[number])
        before[lake.snapshots()[-1].snapshot_id] = canonical.rows(t.to_arrow())
    for at, rows in before.items():
        assert canonical.rows(t.known_at(at).to_arrow()) == rows, (keys, at)
        if kept and at < max(before):
            continue
        found = exact_arrow(duck.sql(f"FROM t AT (VERSION => {at})"))
        assert canonical.rows(found) == rows, (keys, at)
    assert all(len(each) == 1 for each in folders(place).values()), (keys, folders(place))
    assert all(each != {""} for each in folders(place).values())
    problems = {problem.check for problem in lake.verify(deep=True).problems}
    assert problems <= (_BY_DUCKDB if kept else set())


def test_one_write_of_either_gives_the_same_folders(place: Place, lake: Any, duck: Any) -> None:
    rows = drawn(Random(1), 500)
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    for number, keys in enumerate([KEYS[:4], KEYS[4:], ["bucket(3, k)", "bucket(2, id)", "k"]]):
        for writer in ("ours", "theirs"):
            name = f"{writer}{number}"
            duck.execute(f"CREATE TABLE {name} ({COLUMNS})")
            duck.execute(f"ALTER TABLE {name} SET PARTITIONED BY ({', '.join(keys)})")
        lake.table(f"ours{number}").append(rows)
        duck.execute(f"INSERT INTO theirs{number} FROM rows")
        ours, theirs = (
            {path.parent.relative_to(place.data / "main" / name).as_posix() for path in found}
            for name in (f"ours{number}", f"theirs{number}")
            if (found := [*(place.data / "main" / name).rglob("*.parquet")])
        )
        assert ours == theirs
        assert len(ours) > 5


def test_a_renamed_key_gives_later_files_another_folder(place: Place, lake: Any, duck: Any) -> None:
    """As with DuckDB: rows that the catalog keeps go to the folder that they would have had."""
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    t.append([{"id": n, "k": "a"} for n in range(40)])
    t.append([{"id": 1, "k": "a"}])
    t.evolve(rename={"k": "q"})
    t.append([{"id": n, "q": "a"} for n in range(40)])
    duck.execute("INSERT INTO t SELECT range, 'a' FROM range(40)")
    with nothing_changes(lake, duck, feed=False):
        t.compact()
        duck.execute(UPKEEP[0])
    assert sorted(Path(file.path).parent.name for file in t.files()) == ["k=a", "q=a"]
    assert set(map(len, folders(place).values())) == {1}


@pytest.mark.parametrize("scope", ["lake", "schema", "table"])
def test_the_option_puts_files_into_the_folder_of_the_table(
    place: Place, lake: Any, duck: Any, scope: str
) -> None:
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    more = {"lake": "", "schema": ", schema => 'main'", "table": ", table_name => 't'"}[scope]
    duck.execute(f"CALL lake.set_option('hive_file_pattern', false{more})")
    rows = pa.table({"id": range(40), "k": ["a"] * 40})
    t.append(rows)
    duck.execute("INSERT INTO t FROM rows")
    assert [Path(file.path).parent.name for file in t.files()] == ["t", "t"]
    duck.execute(UPKEEP[0])
    t.append(rows)
    t.compact()
    assert [Path(file.path).parent.name for file in t.files()] == ["t"]
    given = {"lake": {}, "schema": {"schema": "main"}, "table": {"table": "t"}}[scope]
    lake.set_option("hive_file_pattern", True, **given)
    t.append(rows)
    assert Path(t.files()[-1].path).parent.name == "k=a"
    with place.refuses(match="neither true nor false"):
        lake.set_option("hive_file_pattern", "perhaps")


def test_files_of_earlier_versions_come_along(place: Place, lake: Any, duck: Any) -> None:
    """They lie in the folder of the table. Compaction brings them where DuckDB looks for them."""
    lake.set_option("hive_file_pattern", False)
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    rows = pa.table({"id": range(40), "k": ["a b"] * 40})
    t.append(rows)
    lake.set_option("hive_file_pattern", True)
    duck.execute("INSERT INTO t FROM rows")
    with nothing_changes(lake, duck, feed=False):
        t.compact()
    assert [Path(file.path).parent.name for file in t.files()] == ["k=a%20b"]
    duck.execute("INSERT INTO t FROM rows")
    duck.execute(UPKEEP[0])
    assert [Path(file.path).parent.name for file in t.files()] == ["k=a%20b"]


def test_what_has_no_folder_stays_in_that_of_the_table(lake: Any) -> None:
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    t.append(pa.table({"id": range(40), "k": [_LONG, "short"] * 20}))
    assert sorted(Path(file.path).parent.name for file in t.files()) == ["k=short", "t"]
    t.append(pa.table({"id": range(40), "k": [_LONG, "short"] * 20}))
    t.compact()
    assert sorted(Path(file.path).parent.name for file in t.files()) == ["k=short", "t"]
    assert t.count() == 80


def test_a_path_that_is_too_long_is_none(lake: Any) -> None:
    """Each name is short enough, but not all of them together."""
    names = [f"c{n}" for n in range(20)]
    t = lake.create_table("t", ", ".join(f"{name} VARCHAR" for name in names), partition_by=names)
    t.append(pa.table({name: ["x" * 240] * 20 for name in names}))
    assert [Path(file.path).parent.name for file in t.files()] == ["t"]
    assert t.count() == 20


def test_a_write_that_cannot_make_a_folder_leaves_nothing(place: Place, lake: Any) -> None:
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    t.append(pa.table({"id": range(20), "k": ["a"] * 20}))
    (place.data / "main" / "t" / "k=c").write_text("in the way")
    with place.refuses(Unavailable):
        t.append(ROWS_OF_FOUR)
    (place.data / "main" / "t" / "k=c").unlink()
    t.append(ROWS_OF_FOUR)
    assert t.count() == 100
    assert lake.verify(deep=True).ok


def append_and_die(place: Place, moves: int) -> None:
    """The process ends when so many files have come into their folders."""
    real, done = os.rename, 0

    def rename(source: str, target: str) -> None:
        nonlocal done
        if "=" in target:
            if done == moves:
                os._exit(3)
            done += 1
        real(source, target)

    os.rename = rename  # type: ignore[assignment]
    with place.open() as lake:
        lake.table("t").append(ROWS_OF_FOUR)


@pytest.mark.parametrize("moves", [0, 2, 3])
def test_a_killed_write_leaves_nothing_that_is_named(place: Place, moves: int) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
        t.append(ROWS_OF_FOUR)
        head = lake.snapshots()[-1].snapshot_id
    child = get_context("spawn").Process(target=append_and_die, args=(place, moves))
    child.start()
    child.join()
    assert child.exitcode == 3
    left = place.unknown_files()
    assert len(left) == 4
    assert sum("k=" in path for path in left) == moves
    with place.open() as lake:
        t = lake.table("t")
        assert (lake.snapshots()[-1].snapshot_id, t.count()) == (head, 80)
        assert lake.cleanup("0 seconds").orphans == 4
        assert place.unknown_files() == set()
        t.append(ROWS_OF_FOUR)
        assert t.count() == 160
        assert lake.verify(deep=True).ok


def test_marked_zeros_and_large_partitions_come_into_folders(place: Place, lake: Any) -> None:
    """Files that are written twice: with zeros that have a sign, and in parts."""
    t = lake.create_table("t", "k VARCHAR, x DOUBLE, s VARCHAR", partition_by=["k"])
    lake.set_option("target_file_size", 20_000, table="t")
    lake.set_option("parquet_row_group_size", 2048, table="t")
    texts = [md5(str(n).encode()).hexdigest() for n in range(6000)]
    t.append(pa.table({"k": ["a"] * 6000, "x": [-0.0, 1.5] * 3000, "s": texts}))
    names = [Path(file.path).parent.name for file in t.files()]
    assert len(names) > 1
    assert set(names) == {"k=a"}
    assert sorted(map(repr, t.to_arrow()["x"].to_pylist())) == ["-0.0"] * 3000 + ["1.5"] * 3000
    assert place.unknown_files() == set()


def test_a_clone_has_folders_of_its_own(place: Place, lake: Any, duck: Any) -> None:
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    rows = pa.table({"id": range(40), "k": ["a b", "c"] * 20})
    t.append(rows)
    duck.execute("INSERT INTO t FROM rows")
    u = t.clone("u")
    assert sorted(Path(f.path).relative_to(u.info.path).parent.name for f in u.files()) == [
        *["k=a%20b"] * 2,
        *["k=c"] * 2,
    ]
    duck.execute("INSERT INTO u FROM rows")
    with nothing_changes(lake, duck, feed=False):
        duck.execute(UPKEEP[0])
    assert len(u.files()) == 2
    lake.drop("t")
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")
    assert u.count() == 120
    assert lake.verify(deep=True).ok


def test_a_mirror_names_files_in_folders(lake: Any) -> None:
    """A log spells paths percent-encoded, and these have percent signs of their own."""
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    texts = [text for text in TEXTS if text is not None]
    rows = pa.table({"id": range(80), "k": texts * 10})
    t.append(rows)
    lake.mirror("t")
    t.append(rows)
    t.delete("id % 5 = 0")
    with Readers() as readers:
        agree(readers, t)
        t.compact()
        agree(readers, t)


def agree(readers: Readers, table: tidelake.Table) -> None:
    rows = canonical.rows(table.to_arrow())
    found = readers.read(table.info.path)
    assert {name: shown for name, (_, shown) in found.items()} == dict.fromkeys(found, rows)


def test_a_lost_lake_is_recovered_with_its_folders(place: Place) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k", "bucket(2, id)"])
        lake.mirror("t")
        t.append(pa.table({"id": range(90), "k": TEXTS * 10}))
        t.delete("id % 5 = 0")
        t.compact()
        before = {t.known_at(each.snapshot_id).count() for each in t.snapshots()[1:]}
        rows = canonical.rows(t.to_arrow())
    place.catalog_file.unlink()
    with place.open(share_data_path=True) as lake:
        lake.recover()
        t = lake.table("t")
        assert canonical.rows(t.to_arrow()) == rows
        assert before <= {t.known_at(each.snapshot_id).count() for each in t.snapshots()}
        t.append(pa.table({"id": range(90), "k": TEXTS * 10}))
        t.compact()
        assert t.count() == len(rows) + 90
        assert lake.verify(deep=True).ok


def test_a_backup_brings_back_files_in_folders(place: Place, lake: Any, tmp_path: Path) -> None:
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    t.append(pa.table({"id": range(90), "k": TEXTS * 10}))
    t.delete("id % 5 = 0")
    lake.backup(tmp_path / "b", files=True)
    other = Place.at("sqlite", tmp_path / "other")
    with tidelake.restore(tmp_path / "b", other.url, other.data) as again:
        u = again.table("t")
        assert canonical.rows(u.to_arrow()) == canonical.rows(t.to_arrow())
        placed = [{Path(f.path).parent.name for f in table.files()} for table in (t, u)]
        assert placed[0] == placed[1]
        assert len(placed[0]) == 8  # NULL and the text that stands for it share one
        assert again.verify(deep=True).ok


def test_the_address_of_a_folder_escapes_what_names_of_folders_have(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/data/"
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db", data_path=address) as lake:
        t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
        t.append(pa.table({"id": range(40), "k": ["a b", "50%"] * 20}))
        assert {Path(file.path).parent.name for file in t.files()} == {"t"}
        assert sorted(t.to_arrow()["id"].to_pylist()) == list(range(40))
        assert lake.verify(deep=True).ok


def test_what_nobody_names_is_found_in_folders(place: Place, lake: Any) -> None:
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k"])
    t.append(pa.table({"id": range(40), "k": ["a b", "c"] * 20}))
    lost = [Path(file.path) for file in t.files()]
    lost = [path.with_name(path.name.replace("ducklake-0", "ducklake-1")) for path in lost]
    for path in lost:
        path.write_bytes(b"lost")
    lake.cleanup("0 seconds", orphans=True)
    assert [path for path in lost if path.exists()] == []
    assert t.count() == 40
    t.overwrite(pa.table({"id": [1], "k": ["d"]}))
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")
    assert lake.verify(deep=True).ok
    t.append(pa.table({"id": range(40), "k": ["a b", "c"] * 20}))
    assert t.count() == 41


def test_an_erased_value_leaves_no_folder(place: Place, lake: Any) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", "id INTEGER, k VARCHAR", partition_by=["k", "bucket(2, id)"])
    t.append(pa.table({"id": range(40), "k": ["secret", "open"] * 20}))
    lake.erase("t", "k = 'secret' OR id < 8", reason="asked for")
    assert not [path for path in place.data.rglob("*") if "secret" in str(path)]
    found = {Path(file.path).parent.parent.name for file in t.files()}
    assert (t.count(), found) == (16, {"k=open"})


@pytest.mark.spark
def test_spark_writes_into_the_same_folders(place: Place, spark: Any) -> None:
    rows = drawn(Random(5), 300)
    keys = ["k", "year(ts)", "bucket(3, id)"]
    with place.open() as lake:
        for name in ("here", "there"):
            lake.create_table(name, COLUMNS, partition_by=keys)
        lake.table("here").append(rows)
    with place.open(engine="spark", spark=spark) as lake:
        lake.table("there").append(rows)
        lake.table("there").append(rows)
        lake.table("there").compact()
        found = lake.table("there").scan(["id", "k"]).to_arrow()
        twice = pa.concat_tables([rows, rows]).select(["id", "k"])
        assert canonical.rows(found) == canonical.rows(twice)
    here, there = (
        {p.parent.relative_to(place.data / "main" / name) for p in found}
        for name in ("here", "there")
        if (found := [*(place.data / "main" / name).rglob("ducklake-*.parquet")])
    )
    assert here == there
    with place.open() as lake, place.duck() as duck:
        with nothing_changes(lake, duck, feed=False):
            for call in UPKEEP:
                duck.execute(call)
        assert lake.verify(deep=True).ok


def test_in_an_object_store(tmp_path: Path, s3_server: "S3Server", new_duck: Any) -> None:
    data = f"s3://{s3_server.new_bucket()}/lake/"
    duck = new_duck()
    duck.execute(s3_server.duckdb_secret)
    duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{data}')")
    duck.execute("USE lake")
    duck.execute("CREATE TABLE t (id INTEGER, k VARCHAR)")
    duck.execute("ALTER TABLE t SET PARTITIONED BY (k, bucket(2, id))")
    texts = [text for text in TEXTS if text is not None]
    rows = pa.table({"id": pa.array(range(80), pa.int32()), "k": texts * 10})
    options = s3_server.storage_options
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db", storage_options=options) as lake:
        t = lake.table("t")
        t.append(rows)
        duck.execute("INSERT INTO t FROM rows")
        t.append(rows)
        placed = {file.path.rpartition("/")[0] for file in t.files()}
        assert len(placed) == 16
        assert len(t.files()) == 48
        assert not [path for path in placed if "=" not in path]
        stored = {each.uri for each in lake.session.local.store.walk(data)}
        assert {file.path for file in t.files()} == {u for u in stored if u.endswith(".parquet")}
        with nothing_changes(lake, duck, feed=False):
            duck.execute(UPKEEP[0])
        t.append(rows)
        with nothing_changes(lake, duck, feed=False):
            t.compact()
        assert {file.path.rpartition("/")[0] for file in t.files()} == placed
        assert lake.verify(deep=True).ok
        lake.cleanup("0 seconds")
        assert t.count() == 320
