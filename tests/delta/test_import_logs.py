"""Logs in every form that the protocol allows, and how they are read."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tests.delta.logs import (
    FAR,
    Log,
    again,
    brought,
    checkpoint,
    column,
    lake_at,
    mapped,
    metadata,
    plain,
    protocol,
    remove,
    rows,
    write_checkpoint,
)
from tidelake.errors import Corrupt, Denied, NotFound, TidelakeError


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A table of three versions: 1 and 2 come, 2 goes and 3 comes."""
    found = Log(tmp_path / "table")
    found.begin()
    one, two = found.add({"x": [1]}), found.add({"x": [2]})
    found.commit(one, two)
    found.commit(remove(two), found.add({"x": [3]}))
    return found


def commit_file(log: Log, version: int) -> Path:
    return log.folder / f"{version:020d}.json"


def without_commits(log: Log, *versions: int) -> None:
    for version in versions:
        commit_file(log, version).unlink()


def test_commits_alone(tmp_path: Path, log: Log) -> None:
    assert brought(tmp_path, log) == [(1,), (3,)]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_earlier_version(tmp_path: Path, log: Log, version: int) -> None:
    expected = {0: [], 1: [(1,), (2,)], 2: [(1,), (3,)]}
    assert brought(tmp_path, log, up_to_version=version) == expected[version]


def test_a_checkpoint_and_what_follows(tmp_path: Path, log: Log) -> None:
    checkpoint(log, 1)
    without_commits(log, 0, 1)
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_a_checkpoint_alone(tmp_path: Path, log: Log) -> None:
    checkpoint(log, 2)
    without_commits(log, 0, 1, 2)
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_a_damaged_checkpoint_is_gone_round(tmp_path: Path, log: Log) -> None:
    place = checkpoint(log, 2)
    place.write_bytes(place.read_bytes()[:200])
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_a_damaged_checkpoint_that_is_needed(tmp_path: Path, log: Log) -> None:
    place = checkpoint(log, 1)
    place.write_bytes(place.read_bytes()[:200])
    without_commits(log, 0)
    with pytest.raises(TidelakeError, match="checkpoint"):
        brought(tmp_path, log)


def test_a_checkpoint_in_parts(tmp_path: Path, log: Log) -> None:
    whole = checkpoint(log, 2, "whole.parquet")
    with duckdb.connect() as connection:
        for part in (1, 2):
            place = log.folder / f"{2:020d}.checkpoint.{part:010d}.{2:010d}.parquet"
            half = "add" if part == 1 else "NOT add"
            which = '"add" IS NOT NULL' if half == "add" else '"add" IS NULL'
            connection.execute(f"COPY (FROM '{whole}' WHERE {which}) TO '{place}'")
    whole.unlink()
    without_commits(log, 0, 1, 2)
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_parts_that_are_not_all_there_are_no_checkpoint(tmp_path: Path, log: Log) -> None:
    checkpoint(log, 2, f"{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet")
    assert brought(tmp_path, log) == [(1,), (3,)]


def sidecars(log: Log, version: int) -> list[dict[str, Any]]:
    """All adds in two sidecars, and the actions that name them."""
    whole = checkpoint(log, version, "whole.parquet")
    (log.folder / "_sidecars").mkdir()
    found = []
    with duckdb.connect() as connection:
        for number, rest in enumerate(("= 0", "> 0")):
            place = log.folder / "_sidecars" / f"side-{number}.parquet"
            connection.execute(
                f'COPY (SELECT "add" FROM (SELECT *, row_number() OVER () - 1 AS n FROM '
                f"(FROM '{whole}' WHERE \"add\" IS NOT NULL)) WHERE n {rest}) TO '{place}'"
            )
            said = {"path": place.name, "sizeInBytes": place.stat().st_size}
            found.append({"sidecar": said | {"modificationTime": 0}})
    whole.unlink()
    return found


def declared(log: Log) -> list[dict[str, Any]]:
    lines = commit_file(log, 0).read_text().splitlines()
    return [json.loads(line) for line in lines if "commitInfo" not in line]


@pytest.mark.parametrize("kind", ["json", "parquet", "classic"])
def test_v2_checkpoints(tmp_path: Path, kind: str) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=["v2Checkpoint"])
    log.commit(log.add({"x": [1]}), log.add({"x": [2]}), log.add({"x": [3]}))
    lines = [{"checkpointMetadata": {"version": 1}}, *declared(log), *sidecars(log, 1)]
    name = f"{1:020d}.checkpoint"
    own = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
    if kind == "json":
        text = "\n".join(json.dumps(line) for line in lines)
        (log.folder / f"{name}.{own}.json").write_text(text)
    else:
        middle = "" if kind == "classic" else f".{own}"
        write_checkpoint(log.folder / f"{name}{middle}.parquet", lines)
    without_commits(log, 0, 1)
    assert brought(tmp_path, log) == [(1,), (2,), (3,)]
    (log.folder / "_sidecars" / "side-1.parquet").unlink()
    with lake_at(tmp_path) as lake, pytest.raises(TidelakeError):
        tidelake.import_delta(lake, str(log.root), "u")


def test_statistics_as_columns_alone(tmp_path: Path, log: Log) -> None:
    def parsed(add: dict[str, Any]) -> dict[str, Any]:
        add["stats_parsed"] = json.loads(add.pop("stats"))
        return add

    checkpoint(log, 2, adds=parsed)
    without_commits(log, 0, 1, 2)
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_structs_that_are_there_but_null(tmp_path: Path, log: Log) -> None:
    place = checkpoint(log, 2)
    table = duckdb.sql(f"FROM '{place}'").to_arrow_table()
    nulls = {
        kind: pa.StructArray.from_arrays(
            [table[kind].combine_chunks().field(n) for n in range(table[kind].type.num_fields)],
            fields=list(table[kind].type),
        )
        for kind in table.column_names
    }
    import pyarrow.parquet as pq

    pq.write_table(pa.table(nulls), place)
    without_commits(log, 0, 1, 2)
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_files_that_are_no_commits(tmp_path: Path, log: Log) -> None:
    (log.folder / "_last_checkpoint").write_text('{"version": 7, "size": 3}')
    (log.folder / f"{1:020d}.crc").write_text("{}")
    (log.folder / f".{3:020d}.json.tmp").write_text("{")
    (log.folder / f"{0:020d}.{1:020d}.compacted.json").write_text("{")
    (log.folder / f"{9:020d}.json.bak").write_text("{")
    (log.folder / "_staged_commits").mkdir()
    (log.folder / "_staged_commits" / f"{3:020d}.x.json").write_text("{")
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_commits_in_other_spellings(tmp_path: Path, log: Log) -> None:
    lines = [json.loads(each) for each in commit_file(log, 1).read_text().splitlines()]
    pretty = "\n\n".join(json.dumps(each, indent=2) for each in lines)
    commit_file(log, 1).write_bytes(b"\xef\xbb\xbf" + pretty.replace("\n", "\r\n").encode())
    unknown = json.dumps({"acme": {"x": 1}}) + "\n" + json.dumps({"cdc": {"path": "x"}}) + "\n"
    commit_file(log, 2).write_text(unknown + commit_file(log, 2).read_text().rstrip())
    log.version += 1
    commit_file(log, 3).write_text("")
    assert brought(tmp_path, log) == [(1,), (3,)]


def test_a_gap(tmp_path: Path, log: Log) -> None:
    without_commits(log, 1)
    with pytest.raises(Corrupt, match="lacks version 1"):
        brought(tmp_path, log)


def test_no_table(tmp_path: Path) -> None:
    with lake_at(tmp_path) as lake:
        for place in ("nowhere", "data"):
            with pytest.raises(NotFound, match="no Delta log"):
                tidelake.import_delta(lake, str(tmp_path / place), "t")


def test_versions_that_are_not_there(tmp_path: Path, log: Log) -> None:
    with pytest.raises(NotFound, match="no version 3"):
        brought(tmp_path, log, up_to_version=3)
    checkpoint(log, 1)
    without_commits(log, 0, 1)
    with pytest.raises(TidelakeError, match="lacks version 0"):
        brought(tmp_path, log, up_to_version=0)


ODD = ["with space", "per%cent", "a%20b", "ünï", "a#b", "a+b", "a&b;c", "x'y", 'x"y', "a:b"]


@pytest.mark.parametrize("name", ODD)
def test_odd_paths(tmp_path: Path, name: str) -> None:
    log = Log(tmp_path / "table")
    log.begin(INTS_AND_TEXT)
    log.commit(log.add({"x": [1], "s": ["a"]}, f"{name}/{name}.parquet"))
    assert brought(tmp_path, log) == [(1, "a")]


INTS_AND_TEXT = [("x", "integer"), ("s", "string")]


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_absolute_paths(tmp_path: Path, form: str) -> None:
    log, other = Log(tmp_path / "table"), tmp_path / "else where"
    other.mkdir()
    log.begin()
    added = log.add({"x": [1]}, "f.parquet")
    (log.root / "f.parquet").rename(other / "f.parquet")
    added["add"]["path"] = form.format(f"{other}/f.parquet".replace(" ", "%20"))
    log.commit(added)
    with pytest.raises(Denied, match="outside of its folder") as caught:
        brought(tmp_path, log)
    assert "places=" in str(caught.value)
    assert brought(tmp_path, log, places=[str(other)]) == [(1,)]


def test_one_file_spelled_in_two_ways(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    added = log.add({"x": [1]}, "f.parquet")
    added["add"]["path"] = f"{log.root}/f.parquet"
    log.commit(added)
    log.commit({"remove": {"path": f"file:{log.root}/f.parquet", "dataChange": True}})
    with pytest.raises(TidelakeError, match="two ways"):
        brought(tmp_path, log)
    with pytest.raises(TidelakeError, match="two ways"):
        brought(tmp_path, log, mode="full-history")


def folder(name: str, value: str) -> str:
    return f"{name}={value}/f.parquet"


PARTITIONS: list[tuple[str, str, str | None, Any, str | None]] = [
    ("string", "plain", "plain", "plain", None),
    ("string", "a%20b", "a b", "a b", None),
    ("string", "a%3Db", "a=b", "a=b", None),
    ("string", "NULL", "NULL", "NULL", "anew"),
    ("string", "__HIVE_DEFAULT_PARTITION__", None, None, None),
    ("string", "__HIVE_DEFAULT_PARTITION__", "", None, None),
    ("string", "other", "told by the log", "told by the log", "anew"),
    ("integer", "7", "7", 7, None),
    ("integer", "-3", "-3", -3, None),
    ("integer", "007", "007", 7, "anew"),
    ("integer", "__HIVE_DEFAULT_PARTITION__", "", None, None),
    ("long", "9223372036854775807", "9223372036854775807", 2**63 - 1, None),
    ("date", "2024-02-29", "2024-02-29", date(2024, 2, 29), None),
    ("boolean", "true", "true", True, None),
    ("boolean", "False", "False", False, "anew"),
    ("decimal(5,2)", "1.50", "1.50", Decimal("1.50"), None),
    ("decimal(5,2)", "1.5", "1.5", Decimal("1.50"), "anew"),
    ("double", "1.5", "1.5", 1.5, None),
    ("double", "1E300", "1E300", 1e300, "anew"),
    ("binary", "abc", "abc", b"abc", "anew"),
    ("timestamp", "x", "2024-01-01 10:11:12", datetime(2024, 1, 1, 10, 11, 12, tzinfo=UTC), "anew"),
    (
        "timestamp",
        "x",
        "2024-01-01 10:11:12.5",
        datetime(2024, 1, 1, 10, 11, 12, 500_000, UTC),
        "a",
    ),
    (
        "timestamp",
        "x",
        "2024-01-01T10:11:12.000001Z",
        datetime(2024, 1, 1, 10, 11, 12, 1, UTC),
        "a",
    ),
    (
        "timestamp",
        "x",
        "2024-01-01T10:11:12+02:00",
        datetime(2024, 1, 1, 8, 11, 12, tzinfo=UTC),
        "a",
    ),
    ("timestamp_ntz", "x", "2024-01-01 10:11:12", datetime(2024, 1, 1, 10, 11, 12), "anew"),
    (
        "timestamp_ntz",
        "2024-01-01 10%3A11%3A12.25",
        "2024-01-01 10:11:12.25",
        datetime(2024, 1, 1, 10, 11, 12, 250_000),
        None,
    ),
]


@pytest.mark.parametrize(("kind", "folded", "value", "expected", "how"), PARTITIONS)
def test_partition_values(
    tmp_path: Path, kind: str, folded: str, value: str | None, expected: Any, how: str | None
) -> None:
    log = Log(tmp_path / "table")
    features = ["timestampNtz"] if kind == "timestamp_ntz" else []
    log.begin([("x", "integer"), ("p", kind)], partitioned_by=["p"], features=features)
    log.commit(log.add({"x": [1, 2]}, folder("p", folded), partition={"p": value}))
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t")
        assert done.rewritten == (0 if how is None else 1)
        assert rows(lake, "t") == [(1, expected), (2, expected)]
        assert lake.verify(deep=True).ok
        null = "p IS NULL" if expected is None else "p IS NOT NULL"
        assert lake.table("t").scan(where=null).count() == 2


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", "1.5"),
        ("integer", "2147483648"),
        ("date", "2024-02-30"),
        ("date", "yesterday"),
        ("boolean", "yes"),
        ("decimal(3,2)", "1.555"),
        ("timestamp", "noon"),
        ("binary", "\u00ff"),
    ],
)
def test_partition_values_that_are_none(tmp_path: Path, kind: str, value: str) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer"), ("p", kind)], partitioned_by=["p"])
    log.commit(log.add({"x": [1]}, "f.parquet", partition={"p": value}))
    with pytest.raises(TidelakeError, match="partition value of p"):
        brought(tmp_path, log)


def test_the_log_goes_before_what_is_in_the_file(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer"), ("p", "string")], partitioned_by=["p"])
    one = log.add({"x": [1], "p": ["a"]}, "p=a/one.parquet", partition={"p": "a"})
    two = log.add({"x": [2], "p": ["wrong"]}, "two.parquet", partition={"p": "b"})
    log.commit(
        one, two, log.add({"x": [3], "p": ["wrong"]}, "p=z/p=c/f.parquet", partition={"p": "c"})
    )
    assert brought(tmp_path, log) == [(1, "a"), (2, "b"), (3, "c")]


def test_two_columns_of_partitions_in_any_order(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    columns = [("q", "integer"), ("x", "integer"), ("p", "string")]
    log.begin(columns, partitioned_by=["p", "q"])
    log.commit(log.add({"x": [1]}, "q=5/p=a/f.parquet", partition={"p": "a", "q": "5"}))
    assert brought(tmp_path, log) == [(5, 1, "a")]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_that_are_mapped(tmp_path: Path, mode: str) -> None:
    log = Log(tmp_path / "table")
    inner = {"type": "struct", "fields": [mapped("deep", "string", 4, "col-d")]}
    listed = {"type": "array", "elementType": inner, "containsNull": True}
    columns = [
        mapped("x", "integer", 1, "col-x"),
        mapped("p", "string", 2, "col-p"),
        mapped('odd.name "quoted" it\'s', listed, 3, "col-l"),
    ]
    how = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "4"}
    log.begin(columns, partitioned_by=["p"], configuration=how, features=["columnMapping"])
    names = ("col-x", "col-l", "col-d") if mode == "name" else ("ix", "elle", "dee")
    log.commit(log.add(by_id(names), "col-p=a/f.parquet", partition={"col-p": "a"}))
    log.commit(log.add(by_id(names), "g.parquet", partition={"col-p": "b"}))
    assert brought(tmp_path, log) == [(1, "a", [{"deep": "v"}]), (1, "b", [{"deep": "v"}])]


def by_id(names: tuple[str, str, str]) -> pa.Table:
    def field(name: str, kind: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})

    x, listed, deep = names
    inner = pa.list_(pa.field("element", pa.struct([field(deep, pa.string(), 4)])))
    schema = pa.schema([field(x, pa.int32(), 1), field(listed, inner, 3)])
    return pa.table({x: [1], listed: [[{deep: "v"}]]}, schema)


def test_files_without_ids_where_columns_are_found_by_them(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    how = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1"}
    log.begin([mapped("x", "integer", 1, "x")], configuration=how, features=["columnMapping"])
    log.commit(log.add({"x": pa.array([1], pa.int32())}))
    with pytest.raises(TidelakeError, match="no field ids"):
        brought(tmp_path, log)


DELETING = ["deletionVectors"]


@pytest.mark.parametrize("place", ["inline", "file", "prefix", "absolute", "shared"])
def test_deletion_vectors(tmp_path: Path, place: str) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    count = FAR + 9001
    table = {"x": pa.array(range(count), pa.int32())}
    vector = log.vector([0, 5], filed=place != "inline")
    gone = {0, 5} | (set() if place == "inline" else set(range(FAR, count - 1, 2)))
    if place == "prefix":
        (body,) = log.root.glob("*.bin")
        (log.root / "ab").mkdir()
        body.rename(log.root / "ab" / body.name)
        vector["pathOrInlineDv"] = "ab" + vector["pathOrInlineDv"]
    if place == "absolute":
        (body,) = log.root.glob("*.bin")
        vector |= {"storageType": "p", "pathOrInlineDv": f"file://{body}"}
    if place == "shared":
        (body,) = log.root.glob("*.bin")
        data = body.read_bytes()
        body.write_bytes(data + data[1:])
        vector["offset"] = len(data)
    added = log.add(table)
    added["add"]["deletionVector"] = vector
    log.commit(added)
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, str(log.root), "t")
        assert lake.table("t").count() == count - len(gone)
        found = lake.table("t").to_arrow()["x"].to_pylist()
        assert set(range(count)) - set(found) == gone
        assert lake.verify(deep=True).ok


DAMAGES = {
    "wrong size": {"sizeInBytes": 33},
    "wrong count": {"cardinality": 3},
    "no such offset": {"offset": 100_000},
    "unknown storage": {"storageType": "x"},
    "no uuid": {"pathOrInlineDv": "short"},
    "no digits": {"pathOrInlineDv": "\u00fc" * 20},
    "less than nothing": {"sizeInBytes": -1},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_deletion_vectors_that_are_damaged(tmp_path: Path, damage: dict[str, Any]) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    added = log.add({"x": pa.array(range(FAR + 9001), pa.int32())})
    added["add"]["deletionVector"] = log.vector([1], filed=True) | damage
    log.commit(added)
    with pytest.raises(TidelakeError):
        brought(tmp_path, log)


def test_a_deletion_vector_with_a_wrong_checksum(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    added = log.add({"x": pa.array(range(FAR + 9001), pa.int32())})
    added["add"]["deletionVector"] = log.vector([1], filed=True)
    log.commit(added)
    (body,) = log.root.glob("*.bin")
    data = bytearray(body.read_bytes())
    data[60] ^= 1
    body.write_bytes(data)
    with pytest.raises(Corrupt, match="checksum"):
        brought(tmp_path, log)


def test_a_deletion_vector_of_rows_that_are_not_there(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    log.commit(log.add({"x": [1, 2]}, gone=[0, 2]))
    with pytest.raises(Corrupt, match="does not have"):
        brought(tmp_path, log)


def test_a_deletion_vector_that_no_protocol_allows(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    log.commit(log.add({"x": [1, 2]}, gone=[0]))
    with pytest.raises(Corrupt, match="deletion vector"):
        brought(tmp_path, log)


def test_every_row_deleted(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    log.commit(log.add({"x": [1, 2]}, gone=[0, 1]), log.add({"x": [3]}))
    assert brought(tmp_path, log) == [(3,)]


def test_no_rows_at_all(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    assert brought(tmp_path, log) == []
    log.commit(log.add({"x": pa.array([], pa.int32())}))
    (tmp_path / "b").mkdir()
    assert brought(tmp_path / "b", log) == []


NESTED = {"type": "struct", "fields": [column("a", "integer"), column("b", "string")]}


def test_nested_columns(tmp_path: Path, new_duck: Any) -> None:
    log = Log(tmp_path / "table")
    columns = [
        ("s", NESTED),
        ("l", {"type": "array", "elementType": NESTED, "containsNull": True}),
        ("m", {"type": "map", "keyType": "string", "valueType": NESTED, "valueContainsNull": True}),
    ]
    log.begin(columns)
    s = {"a": 1, "b": "x"}
    kind = pa.struct({"a": pa.int32(), "b": pa.string()})
    schema = pa.schema({"s": kind, "l": pa.list_(kind), "m": pa.map_(pa.string(), kind)})
    values = [{"s": s, "l": [s, None], "m": [("k", s)]}, {"s": None, "l": [], "m": []}]
    log.commit(log.add(pa.Table.from_pylist(values, schema)))
    found = brought(tmp_path, log)
    assert found == [(None, [], []), (s, [s, None], [("k", s)])]
    con = new_duck()
    con.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS l (READ_ONLY)")
    assert plain(con.sql("FROM l.t").to_arrow_table()) == found


def test_old_timestamps(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    log = Log(tmp_path / "table")
    log.begin([("t", "timestamp"), ("u", "timestamp")])
    moments = [datetime(2024, 1, 1, 10, 11, 12, 345678, UTC), None]
    table = pa.table(
        {"t": moments, "u": moments}, pa.schema({n: pa.timestamp("us", "UTC") for n in "tu"})
    )
    added = log.add(table, "f.parquet")
    pq.write_table(table, log.root / "f.parquet", use_deprecated_int96_timestamps=True)
    log.commit(added)
    assert brought(tmp_path, log) == [(None, None), (moments[0], moments[0])]


def test_types_that_were_widened(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    kinds = {"b": "long", "f": "double", "d": "decimal(12,4)", "i": "double", "t": "timestamp_ntz"}
    log.begin(list(kinds.items()), features=["typeWidening", "timestampNtz"])
    schema = pa.schema(
        {
            "b": pa.int8(),
            "f": pa.float32(),
            "d": pa.decimal128(5, 2),
            "i": pa.int32(),
            "t": pa.date32(),
        }
    )
    values = {"b": [1], "f": [0.5], "d": [Decimal("1.25")], "i": [7], "t": [date(2024, 1, 2)]}
    log.commit(log.add(pa.table(values, schema)))
    assert brought(tmp_path, log) == [(1, 0.5, Decimal("1.2500"), 7.0, datetime(2024, 1, 2))]


def test_texts_of_a_length(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("c", "char(3)"), ("v", "varchar(5)"), ("s", "string")])
    log.commit(log.add({"c": ["abc"], "v": ["vw"], "s": ["x"]}))
    assert brought(tmp_path, log) == [("abc", "vw", "x")]


def test_columns_that_may_not_be_null(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    columns = [column("a", "integer", nullable=False), column("b", "integer", nullable=False)]
    log.begin(columns)
    told = {"numRecords": 2, "nullCount": {"a": 0}}
    log.commit(log.add({"a": [1, 2], "b": [None, 3]}, stats=told))
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t")
        assert [c.nullable for c in lake.table("t").schema] == [False, True]
        assert done.notes == ("column b may be null here: the log does not rule it out",)
        assert rows(lake, "t") == [(1, None), (2, 3)]


def test_statistics_of_wrong_types_are_none(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer"), ("s", "string")])
    wrong: list[Any] = [
        "no json",
        "[]",
        "{}",
        {"numRecords": "2", "minValues": {"x": "a"}, "maxValues": {"x": {}}, "nullCount": []},
        {"numRecords": None, "minValues": 3},
        {
            "numRecords": 2,
            "minValues": {"x": 9, "s": 1},
            "maxValues": {"x": 1},
            "nullCount": {"x": 7},
        },
    ]
    log.commit(*(log.add({"x": [n, None], "s": ["a", None]}, stats=s) for n, s in enumerate(wrong)))
    expected = sorted([(n, "a") for n in range(6)] + [(None, None)] * 6, key=repr)
    assert brought(tmp_path, log) == expected
    with lake_at(tmp_path) as lake:
        assert lake.table("t").scan(where="x = 4").count() == 1


def test_bounds_leave_out_files_and_nothing_else(tmp_path: Path, new_duck: Any) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer"), ("s", "string"), ("t", "timestamp")])
    long = "z" * 40
    for n in range(4):
        moment = datetime(2024, 1, 1 + n, 0, 0, 0, 123456, UTC)
        bounds = {"x": n, "s": long[:32], "t": f"2024-01-0{1 + n}T00:00:00.123Z"}
        told = {"numRecords": 1, "minValues": bounds, "nullCount": dict.fromkeys("xst", 0)}
        told["maxValues"] = bounds | {"s": long[:32] + "\U0010ffff"}
        log.commit(log.add({"x": [n], "s": [long], "t": [moment]}, stats=told))
    brought(tmp_path, log)
    with lake_at(tmp_path) as lake:
        assert len(lake.table("t").scan(where="x = 2").files()) == 1
        assert lake.table("t").scan(where=f"s = '{long}'").count() == 4
        late = lake.table("t").scan(where="t > TIMESTAMPTZ '2024-01-04 00:00:00.1234+00'")
        assert late.count() == 1
    con = new_duck()
    con.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS l (READ_ONLY)")
    found = con.sql("SELECT max(s), epoch_us(max(t)), min(x), max(x) FROM l.t").fetchone()
    assert found == (long, 1704326400123456, 0, 3)


def test_row_counts_that_are_wrong(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    log.commit(log.add({"x": [1, 2]}, stats={"numRecords": 3}))
    with pytest.raises(Corrupt, match="2 rows, and the log says 3"):
        brought(tmp_path, log)


def test_what_writers_see_to_is_told(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    columns = [
        column("x", "integer"),
        column("g", "integer", **{"delta.generationExpression": "x + 1"}),
        column("i", "long", **{"delta.identity.start": 1, "delta.identity.step": 1}),
        column("d", "integer", CURRENT_DEFAULT="5"),
    ]
    log.begin(
        columns, configuration={"delta.constraints.small": "x < 9", "delta.appendOnly": "true"}
    )
    log.commit(log.add({"x": [1], "g": [2], "i": [3], "d": [4]}))
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t")
        assert rows(lake, "t") == [(1, 2, 3, 4)]
    told = "\n".join(done.notes)
    for word in ("column g is generated", "column i is an identity", "column d has a default"):
        assert word in told
    assert "constraint small" in told
    assert "deleted" in told


def test_comments_are_kept(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([column("x", "integer", comment="a number")], description="what it is for")
    brought(tmp_path, log)
    with lake_at(tmp_path) as lake:
        assert lake.table("t").comment == "what it is for"
        assert [c.comment for c in lake.table("t").schema] == ["a number"]


def test_one_file_twice(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    one = log.add({"x": [1, 2]})
    log.commit(one)
    log.commit(again(one, log.vector([0])))
    with pytest.raises(Corrupt, match="twice"):
        brought(tmp_path, log)


def test_a_dry_run_does_nothing(tmp_path: Path, log: Log) -> None:
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t", dry_run=True)
        assert (done.snapshot_id, done.files, done.rows, done.last) == (None, 2, 2, 2)
        assert len(lake.snapshots()) == 1


REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "unknown reader feature": ([protocol(["acme"]), metadata([("x", "integer")])], "acme"),
    "catalog": ([protocol(["catalogManaged"]), metadata([("x", "integer")])], "catalogManaged"),
    "reader 4": ([protocol(reader=4, writer=7), metadata([("x", "integer")])], "reader 4"),
    "writer 8": ([protocol(reader=1, writer=8), metadata([("x", "integer")])], "writer 8"),
    "reader 0": ([protocol(reader=0, writer=2), metadata([("x", "integer")])], "no versions"),
    "no lists": ([protocol(reader=3, writer=7), metadata([("x", "integer")])], "list"),
    "orc": (
        [protocol(), metadata([("x", "integer")], format={"provider": "orc"})],
        "orc",
    ),
    "no metadata": ([protocol()], "no metadata"),
    "no protocol": ([metadata([("x", "integer")])], "no protocol"),
    "two metadata": ([protocol(), *[metadata([("x", "integer")])] * 2], "twice"),
    "no columns": ([protocol(), metadata([])], "no columns"),
    "array of void": (
        [
            protocol(),
            metadata([("x", {"type": "array", "elementType": "void", "containsNull": True})]),
        ],
        "array of void",
    ),
    "variant": ([protocol(), metadata([("x", "variant")])], "variant"),
    "interval": ([protocol(), metadata([("x", "interval day")])], "interval"),
    "collated": ([protocol(), metadata([("x", "string collate UNICODE")])], "collate"),
    "wide decimal": ([protocol(), metadata([("x", "decimal(39,2)")])], "decimal"),
    "times without a zone": ([protocol(), metadata([("x", "timestamp_ntz")])], "timestamp_ntz"),
    "one name twice": ([protocol(), metadata([("x", "integer"), ("X", "integer")])], "case"),
    "no schema": ([protocol(), metadata([], schemaString="{")], "schema"),
    "partitioned by nothing": (
        [protocol(), metadata([("x", "integer")], partitioned_by=["p"])],
        "partitioned by p",
    ),
    "mapped by magic": (
        [
            protocol(["columnMapping"]),
            metadata([("x", "integer")], configuration={"delta.columnMapping.mode": "magic"}),
        ],
        "magic",
    ),
    "mapped without names": (
        [
            protocol(["columnMapping"]),
            metadata([("x", "integer")], configuration={"delta.columnMapping.mode": "name"}),
        ],
        "schema",
    ),
    "names without a mapping": (
        [protocol(), metadata([mapped("x", "integer", 1, "col-x")])],
        "not mapped",
    ),
}


@pytest.mark.parametrize(("actions", "said"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("mode", ["fast", "full-history"])
def test_what_is_refused_by_name(
    tmp_path: Path, actions: list[dict[str, Any]], said: str, mode: str
) -> None:
    log = Log(tmp_path / "table")
    log.commit(*actions)
    with lake_at(tmp_path) as lake:
        with pytest.raises(TidelakeError, match=said) as caught:
            tidelake.import_delta(lake, str(log.root), "t", mode=mode)
        assert caught.value.hint
        assert len(lake.snapshots()) == 1


def test_features_in_one_list_alone(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    said = protocol(["deletionVectors"])
    said["protocol"]["writerFeatures"] = ["appendOnly"]
    log.commit(said, metadata([("x", "integer")]))
    with pytest.raises(Corrupt, match="deletionVectors"):
        brought(tmp_path, log)


def test_features_of_writers_do_not_matter(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    said = protocol(reader=1, writer=7)
    said["protocol"]["writerFeatures"] = ["acme", "rowTracking", "domainMetadata", "invariants"]
    log.commit(said, metadata([("x", "integer")]))
    log.commit(log.add({"x": [1]}, baseRowId=0, defaultRowCommitVersion=1))
    assert brought(tmp_path, log) == [(1,)]


def test_two_tables_at_one_place(tmp_path: Path, log: Log) -> None:
    log.commit(metadata([("x", "integer")], id="0d3c1c3e-0000-4000-8000-000000000002"))
    with pytest.raises(Corrupt, match="another table"):
        brought(tmp_path, log, mode="full-history")


def test_missing_files_are_listed(tmp_path: Path, log: Log) -> None:
    for place in log.root.glob("*.parquet"):
        place.unlink()
    with pytest.raises(Corrupt, match=r"part-.*parquet, .*part-"):
        brought(tmp_path, log)
