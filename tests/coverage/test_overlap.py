"""Appends to buckets that are covered already: rejected, skipped or replaced, however they come."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tidelake
from tests.cases import every
from tests.coverage.deliveries import (
    COLUMNS,
    POLICIES,
    WAYS,
    as_arrow,
    as_dicts,
    at,
    delivered,
    make,
    minutes,
    ordered,
    rows_of,
)
from tidelake.coverage.values.interval import Interval
from tidelake.errors import Invalid, Overlap
from tidelake.testing.place import Place

FEW = (
    [*minutes("a", range(3)), *minutes("b", [1])],
    [*minutes("a", [2, 2.5, 3], 1), *minutes("b", [0], 1), *minutes(None, [2], 1)],
)
MANY = (
    [*minutes("a", range(30)), *minutes("b", range(10, 20))],
    [*minutes("a", range(20, 50), 1), *minutes("b", [0, 5, 12], 1), *minutes(None, [11], 1)],
)
APART = (minutes("a", range(30)), minutes("a", range(30, 60)))


@pytest.mark.slow
@pytest.mark.parametrize("way", every(2, WAYS))
def test_every_way_in(place: Place, lake: tidelake.Lake, tmp_path: Path, way: str) -> None:
    for policy in POLICIES:
        cases = {"few": FEW, "many": MANY} | ({"apart": APART} if policy == "reject" else {})
        for case, (first, second) in cases.items():
            table = make(lake, policy, f"{policy}_{case}")
            WAYS[way](table, first, tmp_path)
            wanted = delivered(policy, first, second)
            if wanted is None:
                with pytest.raises(Overlap):
                    WAYS[way](table, second, tmp_path)
                wanted = first
            else:
                done = WAYS[way](table, second, tmp_path)
                stayed = [row for row in wanted if row[2] == 0 or case == "apart"]
                assert done.deleted == max(0, len(first) - len(stayed))
                assert done.inserted == len(wanted) - len(first) + done.deleted
            assert rows_of(table) == ordered(wanted)
            assert table.coverage().covered == len({(row[0], row[1].minute) for row in wanted})
    assert not place.unknown_files()


def test_what_is_wrong_is_told(place: Place, lake: tidelake.Lake) -> None:
    table = make(lake, "reject")
    table.append(as_arrow([*minutes("a", range(30)), *minutes("b", range(10))]))
    with place.refuses(Overlap, "10 buckets", hint=True):
        table.append(as_arrow(minutes("a", range(20, 50))))
    with pytest.raises(Overlap) as caught:
        table.append(as_arrow([*minutes("a", range(20, 50)), *minutes("b", [5, 7.5])]))
    error = caught.value
    assert (error.entity, error.count) == (("b",), 12)
    assert error.bucket == Interval(at(5), at(6), 1, ("b",))
    assert error.range == Interval(at(5), at(30), 25, None)
    assert "main.reject" in str(error)
    assert "2 entities" in str(error)
    assert "s='b'" in str(error)
    assert 'overlap="skip"' in str(error.hint)
    assert "missing" in str(error.hint)
    assert isinstance(error, Invalid)
    with pytest.raises(Overlap) as caught:
        table.append([{"s": "a", "ts": at(29.9), "v": 1}])
    assert caught.value.range == Interval(at(29), at(30), 1, ("a",))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_the_same_delivery_twice(
    lake: tidelake.Lake, tmp_path: Path, policy: str, agree: Callable[[], None]
) -> None:
    first = [*minutes("a", range(30), 1), *minutes("b", [5, 5.5, 7], 1)]
    path = f"{tmp_path}/delivery.parquet"
    pq.write_table(as_arrow(first), path)
    table = make(lake, policy)
    table.append(path)
    table.append(path)
    done = table.append(as_arrow(first))
    assert rows_of(table) == ordered(first)
    assert (done.inserted, done.deleted) == ((0, 0) if policy == "skip" else (33, 33))
    if policy == "skip":
        assert done.snapshot_id == table.snapshots()[-1].snapshot_id
        assert done.files == 0
    agree()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_transaction_goes_on(place: Place, lake: tidelake.Lake, policy: str) -> None:
    """What it has written itself is in the way too, and after an error it is as before."""
    table = make(lake, policy)
    table.append(as_arrow(minutes("a", range(30))))
    steps = [
        minutes("b", range(30), 1),
        minutes("b", range(20, 40), 2),
        minutes("b", [41], 3),
        minutes("b", [39, 41, 42], 4),
        minutes("a", range(29, 60), 5),
    ]
    there = minutes("a", range(30))
    with lake.transaction() as tx:
        mine = tx.table(policy)
        for step in steps:
            wanted = delivered(policy, there, step)
            files = place.files()
            if wanted is None:
                with pytest.raises(Overlap):
                    mine.append(as_dicts(step))
                assert place.files() == files
            else:
                mine.append(as_dicts(step))
                there = wanted
            assert rows_of(mine) == ordered(there)
    assert rows_of(table) == ordered(there)
    assert not place.unknown_files()
    assert lake.verify(deep=True).ok


def test_a_transaction_of_nothing_but_an_error(place: Place, lake: tidelake.Lake) -> None:
    table = make(lake, "reject")
    table.append(as_arrow(minutes("a", range(30))))
    before = place.state()
    with lake.transaction() as tx:
        for rows in (minutes("a", [1]), minutes("a", range(25, 60))):
            with pytest.raises(Overlap):
                tx.table("reject").append(as_dicts(rows))
    assert place.state() == before


def test_bad_rows_replace_nothing(place: Place, lake: tidelake.Lake) -> None:
    """A value that does not fit is found when the rows are written, after those that they were to
    replace had gone."""
    columns = COLUMNS.replace("BIGINT", "TINYINT")
    table = lake.create_table(
        "replace", columns, event_time="ts", entity="s", bucket="1m", overlap="replace"
    )
    table.append(as_arrow(minutes("a", range(30))))
    few = [{"s": "a", "ts": at(1), "v": 1}]
    bad = as_arrow(minutes("a", range(30), 1000))
    files = place.files()
    with lake.transaction() as tx:
        mine = tx.table("replace")
        mine.append(few)
        with pytest.raises(Invalid):
            mine.append(bad)
        assert mine.count() == 30
        assert len(place.files()) == len(files)
    wanted = [*minutes("a", [0, *range(2, 30)]), *minutes("a", [1], 1)]
    assert rows_of(table) == ordered(wanted)


def test_rows_in_no_bucket(lake: tidelake.Lake) -> None:
    """Without a time, or with none that ends: they are never in the way."""
    for policy in POLICIES:
        table = lake.create_table(policy, COLUMNS)
        table.set_coverage("1m", entity="s", event_time="ts", overlap=policy)
        odd = "('a', NULL, 1), ('a', 'infinity', 2), ('a', '-infinity', 3), (NULL, NULL, 4)"
        for _ in range(2):
            lake.sql(f"INSERT INTO {policy} VALUES {odd}")
        more = "SELECT 'a', TIMESTAMP '2024-01-01' + n * INTERVAL 1 MINUTE, n FROM range(20) r(n)"
        lake.sql(f"INSERT INTO {policy} {more}")
        both = f"SELECT * FROM ({more}) UNION ALL SELECT * FROM (VALUES {odd}) o"
        if policy == "reject":
            with pytest.raises(Overlap):
                lake.sql(f"INSERT INTO {policy} {both}")
        else:
            done = lake.sql(f"INSERT INTO {policy} {both}")
            assert (done.inserted, done.deleted) == ((4, 0) if policy == "skip" else (24, 20))
        assert table.count() == (28 if policy == "reject" else 32)


def test_tables_without_entities(lake: tidelake.Lake) -> None:
    for policy in POLICIES:
        table = lake.create_table(policy, COLUMNS, event_time="ts", bucket="1m", overlap=policy)
        table.append(as_arrow(minutes("a", range(20))))
        if policy == "reject":
            with pytest.raises(Overlap) as caught:
                table.append(as_arrow(minutes("b", range(10, 40))))
            assert (caught.value.entity, caught.value.count) == ((), 10)
            continue
        table.append(as_arrow(minutes("b", range(10, 40))))
        theirs = sum(row[0] == "b" for row in rows_of(table))
        assert theirs == (20 if policy == "skip" else 30)
        assert table.count() == 40


def test_facts_come_by_put_and_end(lake: tidelake.Lake) -> None:
    columns = "k VARCHAR NOT NULL, ts TIMESTAMP, gone BOOLEAN, must VARCHAR NOT NULL"
    table = lake.create_table(
        "facts",
        columns,
        key="k",
        event_time="ts",
        tombstone="gone",
        entity="k",
        bucket="1d",
        overlap="reject",
    )
    table.put({"k": "a", "ts": datetime(2024, 1, 1), "must": "x"})
    with pytest.raises(Overlap):
        table.put({"k": "a", "ts": datetime(2024, 1, 1, 12), "must": "y"})
    with pytest.raises(Overlap):
        table.end("a", at="2024-01-01T18:00:00")
    table.end("a", at="2024-01-02")
    assert table.count() == 2
    table.set_coverage("1d", entity="k", overlap="replace")
    done = table.put({"k": "a", "ts": datetime(2024, 1, 1, 12), "must": "y"})
    assert (done.inserted, done.deleted) == (1, 1)
    assert table.as_of("2024-01-01T06:00:00").count() == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_other_writes_do_as_they_are_told(lake: tidelake.Lake, policy: str) -> None:
    """Merges, updates and overwrites say themselves what becomes of rows that are there."""
    table = make(lake, policy)
    table.append(as_arrow(minutes("a", range(30))))
    table.overwrite(as_arrow(minutes("a", range(20), 1)))
    assert rows_of(table) == ordered(minutes("a", range(20), 1))
    table.overwrite(as_arrow(minutes("a", range(10), 2)), where="s = 'a'")
    table.merge(as_arrow(minutes("a", range(5, 12), 3)), on=["s", "ts"])
    assert table.count() == 12
    table.update({"ts": "ts + INTERVAL 1 SECOND"})
    assert table.coverage().covered == table.count() == 12


def test_a_policy_that_changes(lake: tidelake.Lake) -> None:
    table = make(lake, "reject")
    table.append(as_arrow(minutes("a", range(20))))
    with lake.transaction() as tx:
        mine = tx.table("reject")
        mine.set_coverage("1m", entity="s", overlap="skip")
        assert mine.append(as_arrow(minutes("a", range(10, 30)))).inserted == 10
        mine.set_coverage("1h", entity="s", overlap="reject")
        with pytest.raises(Overlap):
            mine.append(as_dicts(minutes("a", [40])))
        mine.append(as_dicts(minutes("a", [60])))
    with pytest.raises(Overlap):
        table.append(as_dicts(minutes("a", [119])))
    table.set_coverage("1h", entity="s", overlap="allow")
    table.append(as_dicts(minutes("a", [119])))
    table.set_coverage(None)
    table.append(as_dicts(minutes("a", [119])))
    assert table.count() == 33


@pytest.mark.parametrize("wrong", ["never", "REJECT", "", 5, ["skip"]])
def test_policies_that_there_are_not(place: Place, lake: tidelake.Lake, wrong: Any) -> None:
    with place.refuses(Invalid, "overlap"):
        make(lake, wrong, "t")
    table = make(lake, "allow", "t")
    with place.refuses(Invalid, "overlap"):
        table.set_coverage("1m", entity="s", overlap=wrong)
    with place.refuses(Invalid, "bucket"):
        table.set_coverage(None, overlap="skip")


def test_what_duckdb_has_written_is_in_the_way(lake: tidelake.Lake, duck: Any) -> None:
    """Also rows that it keeps in the catalog, and not those that it has deleted."""
    many = (
        "SELECT 'd', TIMESTAMP '2024-03-12 12:00:00' + n * INTERVAL 1 MINUTE, 9 FROM range(30) r(n)"
    )
    for policy in POLICIES:
        table = make(lake, policy)
        duck.execute(f"INSERT INTO lake.{policy} {many}")
        duck.execute(f"INSERT INTO lake.{policy} VALUES ('d', TIMESTAMP '2024-03-12 13:00:30', 9)")
        duck.execute(f"DELETE FROM lake.{policy} WHERE ts < TIMESTAMP '2024-03-12 12:10:00'")
        there = [*minutes("d", range(10, 30), 9), *minutes("d", [60.5], 9)]
        coming = minutes("d", [*range(5, 15), 60, 61], 1)
        if policy == "reject":
            with pytest.raises(Overlap) as caught:
                table.append(as_arrow(coming))
            assert caught.value.count == 6
            coming = minutes("d", range(10), 1)
        table.append(as_arrow(coming))
        wanted = delivered(policy, there, coming)
        assert wanted is not None
        assert rows_of(table) == ordered(wanted)
        theirs = duck.execute(f"SELECT s, ts, v FROM lake.{policy}").fetchall()
        assert ordered(theirs) == ordered(wanted)


CLOCKS: dict[str, tuple[str, list[str]]] = {
    "TIMESTAMP_S": ("1m", ["1969-12-31 23:59:59", "1970-01-01 00:00:00", "2024-02-29 12:00:59"]),
    "TIMESTAMP_MS": ("1ms", ["1969-12-31 23:59:59.999", "1970-01-01", "1970-01-01 00:00:00.001"]),
    "TIMESTAMP_NS": (
        "1mo",
        ["1677-09-30 00:00:00.000000001", "2262-04-11 00:00:00.5", "1969-12-31 23:59:59.999999999"],
    ),
    "TIMESTAMPTZ": (
        "1d",
        ["2024-03-10 23:59:59+00", "2024-03-11 00:00:00+00", "0001-01-01 00:00:00+00"],
    ),
    "TIMESTAMP": ("1mo", ["200000-12-31", "200001-01-01", "4000-01-01 (BC)", "3999-12-31 (BC)"]),
    "DATE": ("1w", ["1969-12-28", "1969-12-29", "5877000-01-01", "5000-01-01 (BC)"]),
    "TINYINT": ("100", ["-128", "-100", "0", "127"]),
    "UTINYINT": ("10", ["0", "19", "20", "255"]),
    "BIGINT": ("3", [str(-(2**63)), str(2**63 - 1), "-1", "0", "3"]),
    "UBIGINT": ("7", ["0", str(2**64 - 1), str(2**63), "13", "14"]),
}
ENTITIES = {
    "UUID": "00000000-0000-0000-0000-00000000000a",
    "DATE": "2024-02-29",
    "USMALLINT": "65535",
    "VARCHAR": "it''s [\"ü\"]",
}


@pytest.mark.slow
@pytest.mark.parametrize("clock", every(2, CLOCKS))
def test_clocks(lake: tidelake.Lake, clock: str) -> None:
    """Half of the buckets are there: of these the rows that come are skipped, or replace those
    that were there; to the limits of each type."""
    width, values = CLOCKS[clock]
    kind, who = list(ENTITIES.items())[len(values) % 4]
    first = len(values[::2]) * 12
    for policy in ("skip", "replace"):
        columns = f"e {kind}, n INTEGER, ts {clock}, v INTEGER"
        table = lake.create_table(
            policy, columns, event_time="ts", entity=["e", "n"], bucket=width, overlap=policy
        )

        def insert(chosen: list[str], value: int, name: str = policy) -> Any:
            rows = [
                f"({entity}, {number}, CAST('{each}' AS {clock}), {value})"
                for each in chosen
                for entity, number in ((f"'{who}'", "NULL"), ("NULL", "7"))
            ]
            return lake.sql(f"INSERT INTO {name} VALUES {', '.join(rows * 6)}")

        insert(values[::2], 1)
        done = insert(values, 2)
        every = len(values) * 12
        skips = policy == "skip"
        assert (done.inserted, done.deleted) == ((every - first, 0) if skips else (every, first))
        assert insert(values, 3).deleted == (0 if skips else every)
        kept = table.to_arrow()["v"].to_pylist()
        assert len(kept) == every
        assert set(kept) == ({1, 2} if skips else {3})


def test_files_that_are_added_stay_where_they_can(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    """One that is partly to be skipped comes as a file of the table's own, without the rest."""
    table = make(lake, "skip")
    table.append(as_arrow(minutes("a", range(30))))
    paths = []
    for number, rows in enumerate(
        (minutes("a", range(10), 1), minutes("a", range(25, 35), 1), minutes("b", range(10), 1))
    ):
        paths.append(f"{tmp_path}/{number}.parquet")
        pq.write_table(as_arrow(rows), paths[-1])
    assert table.add_files(paths).inserted == 15
    named = {file.path for file in table.files()}
    assert named & set(paths) == {paths[2]}
    assert len(named) == 3
    assert all(Path(path).exists() for path in paths)
    wanted = [
        *minutes("a", range(30)),
        *minutes("a", range(30, 35), 1),
        *minutes("b", range(10), 1),
    ]
    assert rows_of(table) == ordered(wanted)
    assert lake.verify(deep=True).ok


def test_many_runs_cost_no_more_than_rows(lake: tidelake.Lake) -> None:
    """Every other bucket is there: each is a run of its own, and rows are not compared with all."""
    columns = "ts TIMESTAMP, day DATE"
    table = lake.create_table("t", columns, event_time="ts", bucket="1s", overlap="skip")
    second = "SELECT TIMESTAMP '2024-01-01' + n * INTERVAL {} SECOND, DATE '2024-01-01' FROM"
    lake.sql(f"INSERT INTO t {second.format(2)} range(100000) r(n)")
    done = lake.sql(f"INSERT INTO t {second.format(1)} range(200000) r(n)")
    assert done.inserted == 100_000
    covered = table.coverage(start=date(2024, 1, 1))
    assert covered.covered == 200_000


def test_rows_that_stay_keep_their_order(lake: tidelake.Lake) -> None:
    """Of two facts with one time the later one holds, so the order in which they come must not be
    lost, whatever it is."""
    table = make(lake, "skip")
    table.append(as_arrow(minutes("a", range(0, 3000, 2))))
    coming = [(entity, at(n), n) for n in reversed(range(3000)) for entity in ("b", "a")]
    assert table.append(as_arrow(coming)).inserted == 4500
    found = table.scan(["rowid", "s", "v"], where="s = 'b' OR v <> 0").to_arrow().to_pylist()
    stayed = [(row["s"], row["v"]) for row in sorted(found, key=lambda row: row["rowid"])]
    assert stayed == [(row[0], row[2]) for row in coming if row[0] == "b" or row[2] % 2]


def test_columns_of_any_name(lake: tidelake.Lake) -> None:
    """Structs that are called like something in a query of ours, fields that are like columns."""
    structs = ", ".join(f'"{name}" STRUCT(ts INTEGER, "s" INTEGER)' for name in "qrensb")
    table = lake.create_table(
        "t", f"{structs}, k VARCHAR, ts TIMESTAMP", event_time="ts", entity="k", bucket="1m"
    )
    table.set_coverage("1m", entity="k", overlap="skip")
    values = ", ".join(["{'ts': i, 's': 0}"] * 6)
    minute = "TIMESTAMP '2024-01-01' + i * INTERVAL 1 MINUTE"
    for count, wanted in ((30, 30), (50, 20)):
        rows = f"SELECT {values}, 'a', {minute} FROM range({count}) r(i)"
        assert lake.sql(f"INSERT INTO t {rows}").inserted == wanted
