"""Names for snapshots: who may have one, where it may stand, and what becomes of it."""

import warnings
from collections.abc import Iterator

import duckdb
import pytest

import tidelake
from tidelake.errors import Conflict, Denied, Invalid, NotFound, TidelakeWarning
from tidelake.model.tag import LONGEST_NAME, Tag
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    """Snapshot 2 has one row, snapshot 3 has two."""
    with place.open() as lake:
        lake.create_table("t", {"i": "int64"})
        lake.table("t").append([{"i": 1}])
        lake.table("t").append([{"i": 2}])
        yield lake


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_given_found_and_forgotten(lake: tidelake.Lake, place: Place) -> None:
    lake.untag(lake.tag("gone").name)
    made = lake.tag("eod ✓", 2, author="ann", message="after the close")
    newest = lake.tag("EOD ✓")
    assert made == Tag("eod ✓", 2, made.created_at, "ann", "after the close")
    assert newest.snapshot_id == 3
    assert abs((made.created_at - lake.snapshots()[-1].time).total_seconds()) < 60
    assert lake.tags() == [made, newest]
    assert lake.table("t").known_at("eod ✓").count() == 1
    assert lake.untag("EOD ✓") == newest
    assert lake.tags() == [made]
    lake.close()
    with place.open() as again:
        assert again.tags() == [made]


@pytest.mark.parametrize(
    "clause",
    ["FOR SYSTEM_TIME AS OF 'first'", "VERSION AS OF 'first'", "AT (VERSION => 'first')"],
)
def test_in_sql(lake: tidelake.Lake, clause: str) -> None:
    lake.tag("first", 2)
    assert lake.sql(f"SELECT i FROM t {clause}").to_arrow().to_pylist() == [{"i": 1}]


def test_wherever_known_at_is(lake: tidelake.Lake) -> None:
    lake.tag("first", lake.snapshots()[2].time)
    table = lake.table("t")
    assert table.known_at("first").count() == 1
    assert table.scan(known_at="first").count() == 1
    assert lake.known_at("first").table("t").count() == 1
    assert lake.tag("same", known_at="first").snapshot_id == 2
    with lake.transaction() as tx:
        assert tx.table("t").known_at("first").count() == 1


@pytest.mark.parametrize(
    "name",
    [
        *["", "  ", " a", "a ", "a\nb", "a\0", "x" * (LONGEST_NAME + 1), None, 7],
        *["7", "-7", "+7", "7.0", "٣", "2024-03-15", "20240315", "2024-W11-5", "2024-3-5"],
        *["2024-03-15T12:00:00Z", "2024-03-15 12:00", "12:00"],
    ],
)
def test_names_that_are_refused(lake: tidelake.Lake, place: Place, name: str) -> None:
    with place.refuses(Invalid):
        lake.tag(name)


@pytest.mark.parametrize("name", ["t", "2024q1", "v1.0", "eod-2024-03-15", "a 'b' \"c\" %s :d ✓"])
def test_names_that_are_not(lake: tidelake.Lake, name: str) -> None:
    lake.tag(name, 2)
    assert lake.known_at(name).table("t").count() == 1


def test_the_longest_name_there_may_be(lake: tidelake.Lake) -> None:
    name = "ü" * LONGEST_NAME
    assert lake.tag(name, 2).snapshot_id == 2
    assert lake.known_at(name).table("t").count() == 1


def test_a_tag_does_not_move(lake: tidelake.Lake, place: Place) -> None:
    first = lake.tag("eod", 2)
    assert lake.tag("eod", 2, message="again") == first
    with place.refuses(Conflict, "on snapshot 2 already"):
        lake.tag("eod")
    assert lake.tags() == [first]


def test_only_what_is_there(lake: tidelake.Lake, place: Place) -> None:
    with place.refuses(NotFound, "no snapshot 9"):
        lake.tag("x", 9)
    with place.refuses(NotFound, "no tag 'x'"):
        lake.untag("x")
    lake.tag("eod")
    with place.refuses(NotFound, "tags there are: 'eod'"):
        lake.known_at("EOD")


@pytest.mark.parametrize("moment", [10**30, "9" * 40, -1, -(10**30)])
def test_numbers_that_no_snapshot_can_have(
    lake: tidelake.Lake, place: Place, moment: int | str
) -> None:
    with place.refuses(NotFound, "there is no snapshot"):
        lake.known_at(moment)


def test_a_pinned_lake_tags_its_own_moment(lake: tidelake.Lake, place: Place) -> None:
    assert lake.known_at(2).tag("then").snapshot_id == 2
    lake.tag("present")
    with place.refuses(Denied, "pinned"):
        lake.known_at(2).table("t").known_at("present")


def test_not_inside_a_transaction(lake: tidelake.Lake, place: Place) -> None:
    with place.refuses(Invalid, "transaction"), lake.transaction() as tx:
        tx.tag("x")
    with place.refuses(Invalid, "transaction"), lake.transaction() as tx:
        tx.untag("x")


def test_read_only(lake: tidelake.Lake, place: Place) -> None:
    lake.tag("eod")
    with place.open(read_only=True) as reader:
        assert reader.known_at("eod").table("t").count() == 2
        with place.refuses(Denied):
            reader.tag("x")
        with place.refuses(Denied):
            reader.untag("eod")


def test_without_the_table_the_lake_is_whole(lake: tidelake.Lake, place: Place) -> None:
    lake.tag("eod")
    place.catalog("DROP TABLE tidelake_tag")
    with place.open(read_only=True) as reader:
        assert reader.tags() == []
        assert reader.table("t").count() == 2
    assert lake.tag("eod", 2).snapshot_id == 2


def test_a_lake_of_duckdb(place: Place) -> None:
    with duck_connection() as duck:
        duck.execute(f"ATTACH '{place.ducklake}' AS made (DATA_PATH '{place.data}/')")
        duck.execute("CREATE TABLE made.t AS SELECT 1 AS i")
    with place.open(read_only=True) as reader:
        assert reader.tags() == []
    with place.open() as lake:
        lake.tag("theirs")
        assert lake.known_at("theirs").table("t").count() == 1


def test_expired_by_somebody_else(
    place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    lake.tag("old", 2)
    lake.tag("kept")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        place.open(read_only=True).close()
    duck.execute("CALL ducklake_expire_snapshots('lake', versions => [2])")
    with pytest.warns(TidelakeWarning, match=r"'old' \(snapshot 2\)") as told:
        place.open(read_only=True).close()
    assert len(told) == 1
    assert "kept" not in str(told[0].message)
    assert told[0].filename == __file__
    with pytest.raises(NotFound, match="tag 'old' is there, but somebody else has expired") as e:
        lake.known_at("old")
    assert "untag" in str(e.value.hint)
    lake.untag("old")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        place.open(read_only=True).close()
