"""Names that DuckDB takes for one are one here, and names that it tells apart are told apart."""

from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Invalid, NotFound
from tidelake.model.names import fold
from tidelake.testing.agreement import assert_same_now, rows
from tidelake.testing.place import Place

TWO = [
    ("É", "é"),
    ("\u017f", "s"),
    ("ß", "SS"),
    ("ẞ", "ß"),
    ("İ", "i"),
    ("\u212a", "k"),
    ("\u03c2", "\u03c3"),
    ("Ω", "ω"),
    ("é", "e\u0301"),
    ("ﬁ", "fi"),
]
ONE = [("A", "a"), ("éA", "éa"), ("Straße", "STRAßE"), ("x1", "X1")]
CATALOGS = ["sqlite", "duckdb", "postgresql", "mariadb"]


def quoted(name: str) -> str:
    return f'"{name}"'


def duck_takes_for_one(duck: Any, one: str, other: str) -> bool:
    try:
        duck.execute(f"CREATE TABLE memory.main.t ({quoted(one)} INTEGER, {quoted(other)} INTEGER)")
    except Exception:
        return True
    duck.execute("DROP TABLE memory.main.t")
    return False


def test_names_are_folded_as_duckdb_does(duck: Any) -> None:
    for one, other in TWO + ONE:
        assert duck_takes_for_one(duck, one, other) == (fold(one) == fold(other)), (one, other)
    for code in (*range(0x41, 0x5B), *range(0xC0, 0x180), 0x1E9E, 0x2126, 0x212B):
        name, other = chr(code), chr(code).lower()
        if name != other:
            assert duck_takes_for_one(duck, name, other) == (fold(name) == fold(other))


@pytest.mark.slow
@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_names_that_duckdb_tells_apart(place: Place, lake: tidelake.Lake) -> None:
    few = TWO if place.kind == "sqlite" else TWO[:3]
    with lake.transaction() as tx:
        for number, names in enumerate(few):
            for value, name in enumerate(names):
                own, both = f"{name}{number}", dict.fromkeys(names, "INTEGER")
                tx.create_schema(own)
                tx.create_table(f"{quoted(own)}.t", both)
                tx.table(f"{quoted(own)}.t").append([dict.fromkeys(names, value)])
                tx.create_table(quoted(own), both)
                tx.table(quoted(own)).append([{name: value}])
                tx.create_view(quoted(f"v{own}"), f"SELECT {value} AS {quoted(name)}")
    for number, names in enumerate(few):
        for value, name in enumerate(names):
            own = quoted(f"{name}{number}")
            (row,) = rows(lake.table(own))
            assert row == {name: value, names[1 - value]: None}
            for source in (own, f"{own}.t", quoted(f"v{name}{number}")):
                found = lake.sql(f"SELECT {quoted(name)} AS x FROM {source}").to_arrow()
                assert found["x"].to_pylist() == [value], (source, name)
        joined = " JOIN ".join(f"{quoted(f'{name}{number}')} AS {quoted(name)}" for name in names)
        assert lake.sql(f"SELECT * FROM {joined} ON true").count() == 1
    assert lake.verify().ok


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_duckdb_reads_names_that_it_tells_apart(
    place: Place, lake: tidelake.Lake, duck: Any
) -> None:
    for number, (one, other) in enumerate(TWO[:5]):
        t = lake.create_table(quoted(f"{one}{number}"), {one: "INTEGER", other: "VARCHAR"})
        t.append([{one: number, other: "row"}])
        t.append(pa.table({other: ["file"] * 20, one: pa.array(range(20), pa.int32())}))
        t.update({one: 100}, where=f"{quoted(one)} = 3")
        lake.create_table(quoted(f"{other}{number}"), {other: "INTEGER"})
        duck.execute(f"INSERT INTO {quoted(f'{other}{number}')} VALUES (1)")
    assert_same_now(lake, duck)


@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_names_that_duckdb_takes_for_one(place: Place, lake: tidelake.Lake) -> None:
    for one, other in ONE[:2]:
        lake.create_schema(one)
        lake.create_table(quoted(one), {"x": "INTEGER"}).append([{"x": 1}])
        assert lake.table(quoted(other)).count() == 1
        with pytest.raises(Invalid, match="already"):
            lake.create_schema(other)
        with pytest.raises(Invalid, match="already"):
            lake.create_table(quoted(other), {"x": "INTEGER"})
        with pytest.raises(Invalid, match="already"):
            lake.create_view(quoted(other), "SELECT 1 AS x")
        with pytest.raises(Invalid, match="more than case"):
            lake.create_table("u", {one: "INTEGER", other: "INTEGER"})
        kind = pa.struct({one: pa.int32(), other: pa.int32()})
        with pytest.raises(Invalid, match="more than case"):
            lake.create_table("u", pa.schema({"s": kind}))
    with pytest.raises(NotFound):
        lake.table('"É"')


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_characters_that_no_database_takes(place: Place, lake: tidelake.Lake, name: str) -> None:
    t = lake.create_table("t", {"x": "INTEGER"})
    for call in (
        lambda: lake.create_schema(name),
        lambda: lake.create_table(quoted(name), {"x": "INTEGER"}),
        lambda: lake.create_view(quoted(name), "SELECT 1 AS x"),
        lambda: lake.create_view("v", "SELECT 1 AS x", columns=[name]),
        lambda: lake.create_view("v", f"SELECT '{name}' AS x"),
        lambda: lake.rename("t", quoted(name)),
        lambda: lake.tag(name),
        lambda: t.set_comment(name),
        lambda: t.evolve(comment={"x": name}),
        lambda: t.evolve(rename={"x": name}),
        lambda: lake.create_table("c", {"x": "INTEGER"}, comment=name),
        lambda: commented(lake, author=name),
        lambda: commented(lake, message=name),
    ):
        with pytest.raises(Invalid):
            call()
    assert lake.tables() == ["main.t"]
    with pytest.raises((Invalid, NotFound)):
        lake.table(quoted(name))
    assert lake.verify().ok


def commented(lake: tidelake.Lake, **said: str) -> None:
    with lake.transaction(**said) as tx:
        tx.create_table("m", {"x": "INTEGER"})


@pytest.mark.slow
@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_long_names(place: Place, lake: tidelake.Lake) -> None:
    for name in ("x" * 64, "x" * 65, "é" * 40, "🦆", "y" * 300, "a "):
        lake.create_schema(name)
        t = lake.create_table(f"{quoted(name)}.{quoted(name)}", {name: "INTEGER"})
        t.append([{name: 1}])
        t.append(pa.table({name: pa.array(range(20), pa.int32())}))
        assert lake.table(f"{quoted(name)}.{quoted(name)}").count() == 21
        t.compact()
        assert sorted(t.to_arrow()[name].to_pylist()) == sorted([1, *range(20)])
