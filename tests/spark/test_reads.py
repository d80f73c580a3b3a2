"""What the data source reads is what the lake reads, and executors learn nothing of the catalog."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import datasource as asked
from pyspark.sql import types as t

import tidelake
from tests.spark.caller import pieces_of, read, source
from tidelake.errors import Invalid, NotFound
from tidelake.testing import canonical
from tidelake.testing.place import Place

COLUMNS = {
    "id": "BIGINT",
    "s": "VARCHAR",
    "x": "DOUBLE",
    "d": "DECIMAL(9,2)",
    "day": "DATE",
    "seen": "TIMESTAMPTZ",
    "wall": "TIMESTAMP",
    "ok": "BOOLEAN",
    "l": "INTEGER[]",
    "m": "STRUCT(a INTEGER, b VARCHAR)",
    "big": "UBIGINT",
}
TARGET = "ns.t"


def row(number: int) -> dict[str, object]:
    return {
        "id": number,
        "s": None if number % 10 == 3 else f"row {number}",
        "x": float("nan") if number % 7 == 0 else number / 4,
        "d": Decimal(number) / 100,
        "day": date(2024, 1, 1 + number % 28),
        "seen": datetime(2024, 1, 1, number % 24, tzinfo=UTC),
        "wall": datetime(2024, 1, 1, number % 24),
        "ok": None if number % 5 == 0 else number % 2 == 0,
        "l": [number, None],
        "m": {"a": number, "b": "x"},
        "big": 2**63 + number,
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Files, rows in the catalog, deletes of both kinds, a column that came later."""
    return fill(Place.at("sqlite", tmp_path_factory.mktemp("filled")))


def fill(place: Place) -> Place:
    with place.open() as lake:
        lake.create_schema("ns")
        table = lake.create_table(TARGET, COLUMNS)
        for start in (0, 100, 200):
            table.append([row(number) for number in range(start, start + 60)])
        table.append([row(900)])
        table.delete("id % 20 = 0")
        table.evolve(add={"late": "INTEGER"})
        table.update({"late": "1"}, where="id >= 200")
    return place


def same(place: Place, found: pa.Table | None, **asked: object) -> None:
    with place.open() as lake:
        ours = lake.table(TARGET).scan(**asked).to_arrow()  # type: ignore[arg-type]
    if found is None:
        assert not len(ours)
        return
    assert canonical.rows(ours.cast(found.schema)) == canonical.rows(found)
    assert len(ours)


def test_all_rows(filled: Place) -> None:
    same(filled, read(catalog=filled.url, path=TARGET))


def test_chosen_columns_a_condition_and_a_moment(filled: Place) -> None:
    found = read(
        catalog=filled.url, path=TARGET, columns="s, id", where="id > 100 AND s <> ''", known_at=4
    )
    same(filled, found, columns=["s", "id"], where="id > 100 AND s <> ''", known_at=4)


def test_a_schema_of_the_callers_own_prunes_columns(filled: Place) -> None:
    found = read(catalog=filled.url, path=TARGET, schema=t.StructType().add("ID", "long"))
    assert found.column_names == ["ID"]
    same(filled, found.rename_columns(["id"]), columns=["id"])


FILTERS: list[tuple[asked.Filter, str]] = [
    (asked.EqualTo(("id",), 101), "id = 101"),
    (asked.EqualTo(("ID",), 101), "id = 101"),
    (asked.GreaterThan(("id",), 200), "id > 200"),
    (asked.LessThanOrEqual(("x",), 3.5), "x <= 3.5"),
    (asked.GreaterThan(("x",), 1.0), "x > 1"),
    (asked.EqualTo(("x",), float("nan")), "isnan(x)"),
    (asked.LessThan(("d",), Decimal("1.05")), "d < 1.05"),
    (asked.GreaterThanOrEqual(("day",), date(2024, 1, 20)), "day >= '2024-01-20'"),
    (
        asked.LessThan(("seen",), datetime(2024, 1, 1, 5, tzinfo=UTC)),
        "seen < TIMESTAMPTZ '2024-01-01 05:00:00+00'",
    ),
    (
        asked.GreaterThan(("wall",), datetime(2024, 1, 1, 5)),
        "wall > TIMESTAMP '2024-01-01 05:00:00'",
    ),
    (asked.In(("s",), ("row 1", "row 2", "no")), "s IN ('row 1', 'row 2')"),
    (asked.In(("id",), (1, None)), "id = 1"),
    (asked.Not(asked.In(("id",), (1, 2))), "id NOT IN (1, 2)"),
    (asked.IsNull(("s",)), "s IS NULL"),
    (asked.IsNotNull(("ok",)), "ok IS NOT NULL"),
    (asked.Not(asked.EqualTo(("ok",), True)), "NOT ok"),
    (asked.StringStartsWith(("s",), "row 1"), "starts_with(s, 'row 1')"),
    (asked.StringContains(("s",), "9"), "contains(s, '9')"),
    (asked.EqualTo(("m", "a"), 5), "m.a = 5"),
    (asked.EqualTo(("big",), Decimal(2**63 + 7)), f"big = {2**63 + 7}"),
    (asked.EqualNullSafe(("s",), "row 1"), "s = 'row 1'"),
]


@pytest.mark.parametrize(("pushed", "where"), FILTERS, ids=[where for _, where in FILTERS])
def test_a_filter_loses_no_row_that_spark_would_keep(
    filled: Place, pushed: asked.Filter, where: str
) -> None:
    found = read(catalog=filled.url, path=TARGET, filters=[pushed])
    kept = set() if found is None else {each["id"] for each in found.to_pylist()}
    with filled.open() as lake:
        wanted = lake.table(TARGET).scan(columns=["id"], where=where).to_arrow()
    assert len(wanted) or where == "id = 1"
    assert kept >= {each["id"] for each in wanted.to_pylist()}


def test_filters_skip_files(filled: Place) -> None:
    def files(*pushed: asked.Filter) -> int:
        found = pieces_of(*pushed, catalog=filled.url, path=TARGET)
        return sum(len(piece.plan.files) for piece in found if hasattr(piece, "plan"))

    assert files() > files(asked.LessThan(("id",), 50)) == 1


def test_a_frame_stays_at_the_snapshot_at_which_it_was_loaded(place: Place) -> None:
    filled = fill(place)
    made = source(catalog=filled.url, path=TARGET)
    schema = made.schema()
    with filled.open() as lake:
        before = lake.table(TARGET).count()
        lake.table(TARGET).delete("true")
    reader = made.reader(schema)
    rows = sum(len(batch) for piece in reader.partitions() for batch in reader.read(piece))
    assert rows == before


def test_as_of_both_clocks(place: Place) -> None:
    with place.open() as lake:
        lake.create_schema("ns")
        table = lake.create_table(
            TARGET, {"k": "VARCHAR", "at": "TIMESTAMP", "v": "INTEGER"}, key="k", event_time="at"
        )
        table.append(
            [{"k": "a", "at": "2024-01-01", "v": 1}, {"k": "b", "at": "2024-01-02", "v": 2}]
        )
        table.append([{"k": "a", "at": "2024-01-03", "v": 3}])
        table.append([{"k": "a", "at": "2024-01-02", "v": 4}])
        last = lake.snapshots()[-1].snapshot_id
        for as_of in ("2024-01-01", "2024-01-02T12:00", "2024-01-05"):
            for known_at in range(last - 2, last + 1):
                wanted = table.as_of(as_of).known_at(known_at).to_arrow()
                found = read(catalog=place.url, path=TARGET, as_of=as_of, known_at=known_at)
                rows = [] if found is None else canonical.rows(found)
                assert canonical.rows(wanted) == rows


@pytest.mark.slow
def test_changes(filled: Place) -> None:
    with filled.open() as lake:
        table = lake.table(TARGET)
        ids = [each.snapshot_id for each in lake.snapshots()]
        for since in (*ids[2:], "earliest"):
            found = read(catalog=filled.url, path=TARGET, changes_since=since)
            wanted = table.changes(since=None if since == "earliest" else since).to_arrow()
            if found is None:
                assert not len(wanted)
            else:
                assert canonical.rows(wanted.cast(found.schema)) == canonical.rows(found)


def test_a_view(place: Place) -> None:
    filled = fill(place)
    with filled.open() as lake:
        lake.create_view(
            "ns.v", f"SELECT day, sum(id) AS total, count(*) AS n FROM {TARGET} GROUP BY 1"
        )
        wanted = lake.sql("SELECT * FROM ns.v WHERE n > 2").to_arrow()
    found = read(catalog=filled.url, path="ns.v", where="n > 2")
    assert found.schema.field("total").type == pa.decimal128(38, 0)
    assert {(r["day"], int(r["total"]), r["n"]) for r in found.to_pylist()} == {
        (r["day"], int(r["total"]), r["n"]) for r in wanted.to_pylist()
    }


NONSENSE = [
    ({"catlog": "x"}, Invalid, "do you mean catalog?"),
    ({"path": ""}, Invalid, "no table was named"),
    ({"path": "a.b.c"}, Invalid, "is not a table name"),
    ({"path": "ns.nope"}, NotFound, "there is no table ns.nope"),
    ({"columns": "id, nope"}, Invalid, "no column 'nope'"),
    ({"columns": '["id"'}, Invalid, "no list of names"),
    ({"where": "nope = 1"}, Invalid, "not a column"),
    ({"known_at": "no-tag"}, NotFound, "no tag has that name"),
    ({"known_at": 9999}, NotFound, "9999"),
    ({"as_of": "2024-01-01"}, Invalid, "event time"),
    ({"mergeSchema": "true"}, Invalid, "means nothing when a table is read"),
    ({"startingAt": "3"}, Invalid, "means nothing when a table is read"),
    ({"changes_since": "3", "as_of": "2024-01-01"}, Invalid, "changes have no as_of"),
    ({"lake": "0" * 32, "catalog": ""}, NotFound, "no lake is attached"),
    ({"lake": "../../etc/passwd", "catalog": ""}, NotFound, "stands for no lake"),
]


@pytest.mark.parametrize(
    ("options", "kind", "message"), NONSENSE, ids=[str(o) for o, *_ in NONSENSE]
)
def test_nonsense_is_refused_by_name(
    filled: Place, options: dict[str, str], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message.replace("(", r"\(").replace("?", r"\?")):
        read(**{"catalog": filled.url, "path": TARGET, **options})


def test_no_lake_is_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no catalog"):
        read(catalog=f"sqlite:///{tmp_path}/none.db", path="t")
    assert not list(tmp_path.iterdir())


def test_a_table_that_changed_says_so(place: Place) -> None:
    filled = fill(place)
    schema = source(catalog=filled.url, path=TARGET).schema()
    with filled.open() as lake:
        lake.table(TARGET).evolve(drop="s")
    with pytest.raises(Invalid, match="has no column 's'"):
        read(catalog=filled.url, path=TARGET, schema=schema)
    with pytest.raises(Invalid, match="'id' is bigint, and Spark asks for string"):
        read(catalog=filled.url, path=TARGET, schema=t.StructType().add("id", "string"))


def test_the_catalog_may_come_from_the_environment(
    filled: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELAKE_CATALOG", filled.url)
    made = source(path=TARGET)
    reader = made.reader(made.schema())
    assert sum(len(b) for p in reader.partitions() for b in reader.read(p)) > 0


def test_importing_tidelake_loads_no_spark() -> None:
    import subprocess
    import sys

    code = "import sys, tidelake; tidelake.connect; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert tidelake.spark.register is not None


def test_a_time_before_the_lake_is_read_as_a_column_tells(tmp_path: Path) -> None:
    place = Place.at("sqlite", tmp_path)
    with place.open() as lake:
        lake.create_table("older", "id INT")
        facts = lake.create_table(
            "facts",
            "k VARCHAR, t DATE, known TIMESTAMP",
            key="k",
            event_time="t",
            knowledge_time="known",
        )
        between = lake.log()[-1].time
        rows = [("a", datetime(2014, 1, 1)), ("b", datetime(2014, 6, 1))]
        facts.append([{"k": k, "t": "2013-12-31", "known": known} for k, known in rows])
        early = {"catalog": place.url, "path": "facts", "known_at": "2014-03-01"}
        assert read(**early)["k"].to_pylist() == ["a"]
        assert read(**early, as_of="2014-01-01")["k"].to_pylist() == ["a"]
        assert read(**early, where="k >= 'a'")["k"].to_pylist() == ["a"]
        assert read(**{**early, "known_at": between.isoformat()}).num_rows == 2
        assert facts.known_at(between).count() == 2
        with pytest.raises(Invalid, match="no changes"):
            read(**early, changes_since=0)
        with pytest.raises(NotFound, match="no snapshot at or before 2014"):
            read(**{**early, "path": "older"})
