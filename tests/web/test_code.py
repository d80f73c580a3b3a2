"""What "copy as" copies gives what the view shows."""

import shlex
from typing import Any

import pytest
from click.testing import CliRunner

from tidelake.cli import main
from tidelake.model.names import quote
from tidelake.web import code
from tidelake.web.code import Where
from tidelake.web.state import State

STATES = [
    State(table="main.prices", as_of="2024-03-04T12:00:00Z", known_at="20"),
    State(table="main.prices", known_at="20", where="symbol = 'ACME' AND price > 1"),
    State(table="main.ratings", as_of="2024-03-07"),
]


def _text(snippets: list[Any], language: str) -> str:
    return next(each.text for each in snippets if each.language == language)


def _run(text: str) -> Any:
    *before, last = text.split("\n")
    names: dict[str, Any] = {}
    exec("\n".join(before), names)
    return eval(last, names)


@pytest.mark.parametrize("state", STATES)
def test_a_scan_is_the_same_in_python_sql_and_the_shell(market, state):
    given = code.scan(Where(market.url), state)
    wanted = market.table(state.table).scan(
        where=state.where or None, as_of=state.as_of or None, known_at=state.known
    )
    rows = sorted(map(str, wanted.to_arrow().to_pylist()))
    frame = _run(_text(given, "Python"))
    assert len(frame) == len(rows)
    assert sorted(map(str, market.sql(_text(given, "SQL")).to_arrow().to_pylist())) == rows
    words = shlex.split(_text(given, "CLI"))[1:]
    told = CliRunner().invoke(main, [*words, "--json"])
    assert told.exit_code == 0, told.output
    assert f'"row_count": {len(rows)}' in told.stdout


def test_other_views_run_as_they_are_copied(market):
    where = Where(market.url)
    state = State(table="main.prices", a="8", b="20", sql="SELECT 1 AS x", where="price > 50")
    for given in (
        code.log(where, state),
        code.diff(where, state),
        code.files(where, state),
        code.query(where, state),
        code.history_of_key(where, State(table="main.ratings"), {"symbol": "ACME"}),
        code.coverage(where, State(table="main.readings", start="2024-03-02", calendar="weekdays")),
    ):
        assert [each.language for each in given] == ["Python", "SQL", "CLI", "Spark"]
        exec(_text(given, "Python"), {})
        told = CliRunner().invoke(main, shlex.split(_text(given, "CLI"))[1:])
        assert told.exit_code == 0, told.output
        market.sql(_text(given, "SQL")).to_arrow()


def test_covered_buckets_are_counted_by_sql_too(market):
    sql = _text(code.coverage(Where(""), State(table="main.readings")), "SQL")
    counted = {row["sensor"]: row["covered"] for row in market.sql(sql).to_arrow().to_pylist()}
    each = market.table("readings").coverage().each
    assert counted == {entity[0]: found.covered for entity, found in each.items()}


@pytest.mark.slow
@pytest.mark.spark
def test_a_scan_is_the_same_on_spark(market, spark):
    state = STATES[0]
    text = _text(code.scan(Where(market.url), state), "Spark")
    names: dict[str, Any] = {"spark": spark}
    import tidelake.spark

    tidelake.spark.attach(spark, market).detach()
    exec(text, names)
    wanted = market.table(state.table).scan(as_of=state.as_of, known_at=state.known)
    assert names["frame"].count() == wanted.to_arrow().num_rows


def test_odd_names_stay_names(lake):
    odd = f"main.{quote('it' + chr(39) + 's')}"
    lake.create_table(odd, "x INTEGER").append([{"x": 1}])
    (name,) = lake.tables()
    given = code.scan(Where(lake.url), State(table=name))
    assert len(_run(_text(given, "Python"))) == 1
    assert rows_of(lake, _text(given, "SQL")) == [{"x": 1}]
    told = CliRunner().invoke(main, shlex.split(_text(given, "CLI"))[1:])
    assert told.exit_code == 0, told.output


def rows_of(lake: Any, sql: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lake.sql(sql).to_arrow().to_pylist()
    return rows
