"""Point-in-time joins in SQL: Python's answers, of tables, views and queries."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import tidelake
from tests.sql.test_functions import rows
from tidelake import Feature
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.testing.place import Place

DAY = datetime(2024, 3, 1)


def day(number: float) -> datetime:
    return DAY + timedelta(days=number)


def filled(lake: Any) -> None:
    """Prices with a tie, a tombstone and a late fact; labels that know some of it."""
    prices = lake.create_table(
        "prices",
        "symbol VARCHAR, ts TIMESTAMP, price DOUBLE, gone BOOLEAN",
        key="symbol",
        event_time="ts",
        tombstone="gone",
    )
    lake.create_table("ratings", "symbol VARCHAR, since DATE, grade VARCHAR").append(
        [{"symbol": "A", "since": day(0).date(), "grade": "x"}]
    )
    prices.append([price("A", 1, 1.0), price("A", 1, 2.0), price("B", 1, 5.0)])
    lake.tag("early")
    prices.append([price("A", 0.5, 9.0), price("B", 2, None, gone=True), price("A", 3, 3.0)])
    last = lake.snapshots()[-1].snapshot_id
    lake.create_table("labels", "symbol VARCHAR, made TIMESTAMP, seen BIGINT").append(
        [
            {"symbol": symbol, "made": day(n), "seen": last - n % 2}
            for symbol in ("A", "B", "C")
            for n in range(5)
        ]
    )
    lake.create_view("some_labels", "SELECT symbol, made FROM labels WHERE made > '2024-03-02'")


def price(symbol: str, number: float, value: float | None, *, gone: bool = False) -> dict[str, Any]:
    return {"symbol": symbol, "ts": day(number), "price": value, "gone": gone}


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Iterator[Any]:
    with Place.at("sqlite", tmp_path_factory.mktemp("joins")).open() as lake:
        filled(lake)
        yield lake


def joined(lake: Any, right: Any, left: Any = None, **options: Any) -> list[tuple[Any, ...]]:
    left = lake.table("labels") if left is None else left
    return rows(tidelake.asof_join(left, right, left_time="made", **options))


CASES: dict[str, Any] = {
    "asof_join('labels', 'prices', left_time => 'made')": lambda t: joined(t, t.table("prices")),
    "asof_join('labels', 'main.prices', 'symbol', 'made', 'ts', tolerance => INTERVAL 1 DAY)": (
        lambda t: joined(t, t.table("prices"), tolerance="1d")
    ),
    "asof_join('labels', 'prices', left_time => 'made', known_at => 'seen')": lambda t: joined(
        t, t.table("prices"), known_at="seen"
    ),
    "asof_join('labels', 'prices', left_time => 'made', known_at => 'early', suffix => '_p')": (
        lambda t: joined(t, t.table("prices"), known_at="early", suffix="_p")
    ),
    "asof_join('some_labels', 'prices', left_time => 'made', direction => 'nearest')": (
        lambda t: joined(t, t.table("prices"), t.sql("FROM some_labels"), direction="nearest")
    ),
    "asof_join('SELECT symbol, made FROM labels WHERE seen % 2 = 0', 'prices', left_time => 'made',"
    " age => true)": lambda t: joined(
        t, t.table("prices"), t.sql("SELECT symbol, made FROM labels WHERE seen % 2 = 0"), age=True
    ),
    "asof_join('labels', 'SELECT * FROM prices WHERE price < 9', on => ['symbol'],"
    " left_time => 'made', right_time => 'ts')": lambda t: joined(
        t, t.sql("SELECT * FROM prices WHERE price < 9"), on="symbol", right_time="ts"
    ),
    "asof_join((SELECT * FROM labels WHERE made IS NOT NULL AND seen IN (SELECT max(seen) FROM"
    " labels)), (FROM prices WHERE symbol <> ')'), on => ['symbol'], left_time => 'made',"
    " right_time => 'ts')": lambda t: joined(
        t,
        t.sql("FROM prices WHERE symbol <> ')'"),
        t.sql("FROM labels WHERE made IS NOT NULL AND seen IN (SELECT max(seen) FROM labels)"),
        on="symbol",
        right_time="ts",
    ),
    "asof_join('labels', {'p': {'table': 'prices', 'columns': ['price'], 'tolerance': '1 day'},"
    " 'q': 'prices'}, left_time => 'made', known_at => 'seen', age => true)": lambda t: joined(
        t,
        {
            "p": Feature(t.table("prices"), columns=["price"], tolerance="1d"),
            "q": t.table("prices"),
        },
        known_at="seen",
        age=True,
    ),
}


@pytest.mark.parametrize("call", CASES)
def test_what_python_gives(lake, call):
    assert rows(lake.sql(f"FROM {call}")) == CASES[call](lake)


def test_by_hand(lake):
    found = lake.sql(
        "SELECT price FROM asof_join('labels', 'prices', left_time => 'made')"
        " WHERE symbol = 'B' ORDER BY made"
    )
    assert found.to_arrow()["price"].to_pylist() == [None, 5.0, None, None, None]
    tied = lake.sql(
        "SELECT price FROM asof_join('labels', 'prices', left_time => 'made')"
        " WHERE symbol = 'A' ORDER BY made"
    )
    assert tied.to_arrow()["price"].to_pylist() == [None, 2.0, 2.0, 3.0, 3.0]


def test_wherever_a_table_can_stand(lake):
    query = (
        "WITH f AS (SELECT * FROM asof_join('labels', ['prices'], left_time => $t)) SELECT l.made,"
        " f.prices_price FROM labels l JOIN f USING (symbol, made) WHERE symbol = $s ORDER BY 1"
    )
    found = lake.sql(query, {"t": "made", "s": "A"}).to_arrow()
    assert found["prices_price"].to_pylist() == [None, 2.0, 2.0, 3.0, 3.0]
    lake.sql(
        "CREATE OR REPLACE VIEW training AS"
        " SELECT * FROM asof_join('some_labels', 'prices', left_time => 'made')"
    )
    assert lake.sql("FROM training").count() == lake.sql("FROM some_labels").count()
    nested = "FROM asof_join('training', {'again': 'prices'}, on => 'symbol', left_time => 'made')"
    assert "again_price" in lake.sql(nested).to_arrow().column_names
    lake.sql("CREATE OR REPLACE TABLE kept AS FROM training")
    assert lake.table("kept").count() == lake.sql("FROM training").count()


def test_parameters_in_queries_in_brackets(lake):
    """They count with all others of the statement, in moments and nested joins too."""
    query = (
        "SELECT count(price) AS n FROM asof_join((SELECT symbol, made FROM labels WHERE made > {}"
        " AND symbol <> {}), (FROM prices FOR SYSTEM_TIME AS OF {}), on => 'symbol', left_time =>"
        " 'made', right_time => 'ts', tolerance => {}) WHERE price < {}"
    )
    given = [day(0.5), "C", "early", "2 days", 4.5]
    wanted = joined(
        lake,
        lake.sql("FROM prices FOR SYSTEM_TIME AS OF 'early'"),
        lake.sql(
            "SELECT symbol, made FROM labels WHERE made > '2024-03-01 12:00' AND symbol < 'C'"
        ),
        on="symbol",
        right_time="ts",
        tolerance="2d",
    )
    count = sum(price is not None and price < 4.5 for *_, price, _ in wanted)
    assert count == 3
    for marks in (["?"] * 5, ["$1", "$2", "$3", "$4", "$5"]):
        assert lake.sql(query.format(*marks), given).to_dicts() == [{"n": count}]
    names = dict(zip("abcde", given, strict=True))
    assert lake.sql(query.format(*(f"${name}" for name in names)), names).to_dicts() == [
        {"n": count}
    ]
    nested = (
        "SELECT symbol, made FROM asof_join((FROM labels WHERE seen > $1), 'prices',"
        " left_time => 'made')"
    )
    both = f"FROM asof_join(({nested}), 'prices', left_time => 'made') WHERE symbol = $2"
    assert lake.sql(both, [0, "A"]).count() == 5
    lake.sql(f"CREATE TABLE of_both AS {both}", [0, "B"])
    assert lake.table("of_both").count() == 5
    lake.sql(f"INSERT INTO of_both {both}", [0, "A"])
    assert lake.table("of_both").count() == 10
    for wrong in ([0], [0, "A", 1], None):
        with pytest.raises(Invalid, match="parameter"):
            lake.sql(both, wrong)
    with pytest.raises(Invalid, match="mixes"):
        lake.sql(both.replace("$2", "$x"), {"x": "A", "1": 0})
    with pytest.raises(Invalid, match="parameter"):
        lake.create_view("asking", both)


def test_moments_of_the_query_hold_for_all_sides(lake):
    query = "SELECT price FROM asof_join('prices', 'prices') WHERE symbol = 'A'"
    assert lake.sql(query, known_at="early").count() == 2
    then = lake.table("prices").known_at("early")
    assert rows(lake.sql("FROM asof_join('prices', 'prices')", known_at="early")) == rows(
        tidelake.asof_join(then, then)
    )
    state = lake.table("prices").as_of(day(1.5))
    assert rows(lake.sql("FROM asof_join('prices', 'prices')", as_of=day(1.5))) == rows(
        tidelake.asof_join(state, state)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("asof_join('labels')", "no right side"),
        ("asof_join('labels', 'prices', nearly => 1)", "nearly"),
        ("asof_join('labels', 'prices', left => 'x')", "twice"),
        ("asof_join('labels', 7)", "names no table"),
        ("asof_join('labels', 'nothing', left_time => 'made')", "no table main.nothing"),
        ("asof_join('labels', 'prices')", "left_time is missing"),
        ("asof_join('labels', {'p': {'table': 'prices', 'x': 1}})", "x"),
        ("asof_join('labels', ['FROM prices'], left_time => 'made')", "no name of its own"),
        (
            "asof_join('labels', 'prices', left_time => 'made', tolerance => INTERVAL 1 MONTH)",
            "month",
        ),
        ("asof_join('SELECT $1', 'prices', left_time => 'made')", "parameters"),
        ("asof_join('SELECT ?', 'prices', left_time => 'made')", "parameters"),
        ("asof_join('FROM asof_join(1, 2)', 'prices', left_time => 'made')", "names no table"),
    ],
)
def test_what_makes_no_sense_is_refused(lake, call, message):
    with pytest.raises((Invalid, NotFound), match=message):
        lake.sql(f"FROM {call}").to_arrow()


@pytest.mark.parametrize("rights", ["[]", "MAP {}"])
def test_a_join_has_a_right_side(lake, rights):
    with pytest.raises(Invalid, match="right side"):
        lake.sql(f"FROM asof_join('labels', {rights}, on => 'symbol', left_time => 'at')")


def test_a_view_of_itself_is_refused(lake):
    lake.create_view("circle", "SELECT symbol, made FROM labels")
    lake.sql("CREATE OR REPLACE VIEW round AS SELECT * FROM circle")
    with pytest.raises(Invalid, match="circle"):
        lake.sql(
            "CREATE OR REPLACE VIEW circle AS SELECT symbol, made FROM"
            " asof_join('round', 'prices', on => 'symbol', left_time => 'made')"
        ) and lake.sql("FROM circle")


def test_a_text_of_strangers_reaches_no_more_than_others(tmp_path):
    place = Place.at("sqlite", tmp_path)
    with place.open() as lake:
        filled(lake)
    with place.open(sandbox=True) as lake:
        assert lake.sql("FROM asof_join('some_labels', 'prices', left_time => 'made')").count() == 9
        text = "SELECT ''A'' AS symbol, now() AS made FROM read_text(''/etc/passwd'')"
        with pytest.raises(Denied):
            lake.sql(f"FROM asof_join('{text}', 'prices', left_time => 'made')").to_arrow()
