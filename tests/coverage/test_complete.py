"""How complete answers are, which of them are refused, and up to when everything is there."""

import pickle
from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest

import tidelake
from tests.coverage.days import DAY, Model, between, calendar_of, create, rows, today
from tidelake import Calendar, col
from tidelake.errors import Incomplete, Invalid
from tidelake.testing.faults import watch_database

START = date(2024, 1, 1)
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))]
CONDITIONS = [
    (None, "abc"),
    ("k = 'a'", "a"),
    ("k IN ('a', 'c') AND v > 0", "ac"),
    ("'b' = k", "b"),
    (col("k") == "b", "b"),
    (col("k").is_in(["b", "c"]), "bc"),
    ("k = 'a' OR v > 5", "abc"),
    ("k > 'a'", "abc"),
    ("lower(k) = 'a'", "abc"),
    ("k != 'a'", "abc"),
    ("v = 1", "abc"),
    ("k = 'a' AND k = 'a'", "a"),
]


def facts(lake: tidelake.Lake, name: str = "t", key: str = "k") -> tidelake.Table:
    return create(lake, name, key=key)


def by_key(scan):
    return sorted(scan.to_arrow().to_pylist(), key=lambda row: row["k"])


@pytest.mark.parametrize("seed", SEEDS)
def test_random_requirements_against_days_counted_one_by_one(lake, seed):
    chance = Random(seed)
    model = Model.random(chance, START, 30)
    t = facts(lake)
    t.append(rows(model.has))
    model.declare(t)
    for _ in range(4):
        where, asked = chance.choice(CONDITIONS)
        moment = START + DAY * chance.randrange(1, 40)
        known = [day for k in asked for day in model.has[k] if day <= moment]
        if not known:
            continue
        ratio = model.ratio(asked, min(known), moment + DAY)
        scan = t.scan(where=where, as_of=moment)
        assert scan.completeness == ratio
        assert scan.explain().completeness == ratio
        for wanted in {0.5, 0.9, 1.0, max(ratio, 0.01)}:
            read = t.scan(where=where, as_of=moment, require=wanted)
            if ratio >= wanted:
                assert by_key(read) == by_key(scan)
                assert read.count() == scan.count()
            else:
                with pytest.raises(Incomplete) as refused:
                    read.to_arrow()
                error = refused.value
                assert (error.ratio, error.required) == (ratio, wanted)
                assert error.table == "main.t"
                gaps = {
                    (*gap.entity, d) for gap in error.missing for d in between(gap.start, gap.end)
                }
                missing = {
                    (k, d) for k in asked for d in model.missing(k, min(known), moment + DAY)
                }
                assert gaps == missing
                with pytest.raises(Incomplete):
                    read.count()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_watermarks_against_days_counted_one_by_one(lake, seed):
    chance = Random(seed)
    end = today()
    begin = end - 30 * DAY
    model = Model.random(chance, begin, 28)
    t = create(lake)
    t.append(rows(model.has))
    model.declare(t)

    def reached(k, start=None):
        rule = model.own.get(k, model.default)
        open_ended = k not in model.own and model.default is None
        first = min(model.has[k]) if start is None else start
        last = max(model.has[k]) + DAY if open_ended else end
        if open_ended and start is not None and start >= last:
            return None
        assert rule is None or first <= end
        return model.complete_through(k, first, last)

    for k in "abc":
        assert t.complete_through(k) == reached(k)
        start = begin + DAY * chance.randrange(30)
        assert t.complete_through(k, start=start) == reached(k, start)
    if all(k in model.own or model.default is not None for k in "abc") or not model.is_declared:
        assert t.complete_through() == min(map(reached, "abc"))
        assert t.complete_through(["a", "c"]) == min(map(reached, "ac"))
        assert t.complete_through_each() == {(k,): reached(k) for k in "abc"}
        told = lake.sql("FROM complete_through('t')").to_arrow().to_pylist()
        assert told == [{"k": k, "complete_through": reached(k)} for k in "abc"]
    assert t.complete_through(["a", "unseen"]) is None
    assert today() == end, "midnight came in between"


def test_a_watermark_moves_as_gaps_are_filled(lake):
    t = create(lake)
    assert t.complete_through() is None
    week = between(START, START + 7 * DAY)
    t.append(rows({"a": {*week} - {week[3], week[5]}}))
    assert t.complete_through() == week[3]
    lake.tag("then")
    t.append(rows({"a": {week[3]}}))
    assert t.complete_through("a") == week[5]
    assert t.complete_through(known_at="then") == week[3]
    assert t.known_at("then").complete_through() == week[3]
    assert t.complete_through(start=START - DAY) == START - DAY
    assert t.complete_through(calendar=calendar_of(week[:5])) == week[6] + DAY
    t.append(rows({"b": {week[1]}}))
    assert t.complete_through() == week[2]  # each from its own beginning to its own end
    numbers = lake.create_table("n", "i BIGINT", event_time="i", bucket=10)
    numbers.append([{"i": 3}, {"i": 12}, {"i": 35}])
    assert numbers.complete_through() == 20


def test_without_a_calendar_what_is_required_goes_up_to_now(lake):
    t = create(lake)
    t.append(rows({"a": {*between(today() - 10 * DAY, today() - 5 * DAY)}}))
    assert t.coverage().is_complete
    assert t.completeness == t.scan().completeness == 0.5
    with pytest.raises(Incomplete, match=r"50\.0 % complete") as refused:
        t.scan(require=0.6).to_arrow()
    assert "set_calendar" in refused.value.hint
    t.append(rows({"a": {*between(today() - 5 * DAY, today())}}))
    assert t.scan(require=True).count() == 10
    assert t.scan(require=1).completeness == 1.0


def test_a_refusal_tells_what_is_missing_and_what_to_do(lake):
    t = facts(lake)
    week = between(START, START + 7 * DAY)
    t.append(rows({"a": {*week}, "b": {*week} - {*week[2:4], week[5]}}))
    t.set_calendar(calendar_of(week))
    with pytest.raises(Incomplete) as refused:
        t.as_of(week[-1], require=0.99).to_arrow()
    error = refused.value
    assert str(error).startswith(
        "main.t is 78.5 % complete from 2024-01-01 to 2024-01-08, less than 99 %;"
        " missing: b 2024-01-03 to 2024-01-05 (2 buckets), b 2024-01-06 to 2024-01-07 (1 bucket) "
    )
    assert "t.missing(…)" in error.hint
    assert "set_calendar" not in error.hint
    assert error.exit_code == 2
    assert [gap.entity for gap in error.missing] == [("b",), ("b",)]
    again = pickle.loads(pickle.dumps(error))
    assert (again.ratio, again.required, again.missing) == (11 / 14, 0.99, error.missing)
    empty = facts(lake, "empty")
    with pytest.raises(Incomplete, match="nothing of it at all"):
        empty.as_of(START, require=0.1).to_arrow()


READS = {
    "to_arrow": lambda t: t.to_arrow(),
    "to_pandas": lambda t: t.to_pandas(),
    "to_batches": lambda t: t.to_batches().read_all(),
    "to_duckdb": lambda t: t.to_duckdb(),
    "count": lambda t: t.count(),
    "files": lambda t: t.files(),
    "a scan of it": lambda t: t.scan(["v"]).to_arrow(),
    "history": lambda t: t.history("a"),
    "belief": lambda t: t.changes_of_belief(since=1),
}


@pytest.mark.parametrize("read", READS)
def test_whatever_is_read_of_an_incomplete_state_is_refused(lake, read):
    t = facts(lake)
    t.append(rows({"a": {START, START + DAY}}))
    lake.tag("full")
    state = t.as_of(START + DAY, require=1.0)
    READS[read](state)
    t.delete("day = DATE '2024-01-01'")
    t.append(rows({"a": {START - DAY}}))
    with pytest.raises(Incomplete):
        READS[read](state)
    assert state.known_at("full").count() == 1
    assert state.scan().explain().completeness < 1
    assert state.coverage().ratio < 1  # whoever asks how complete it is is told


def test_a_condition_narrows_a_state_only_by_its_key(lake):
    """Facts about a key may be of several entities: what one feed lacks may be its last."""
    t = lake.create_table(
        "moves",
        "id INTEGER, site VARCHAR, day DATE",
        key="id",
        event_time="day",
        entity="site",
        bucket="1d",
    )
    t.append([{"id": 1, "site": "x", "day": START + DAY * n} for n in range(4)])
    t.append([{"id": 1, "site": "y", "day": START + DAY * n} for n in (0, 3)])
    end = START + 3 * DAY
    assert t.scan(where="site = 'x'", as_of=end).completeness == 6 / 8
    assert t.known_at(lake.log()[-1].snapshot_id).scan(where="site = 'x'").completeness is not None
    pinned = t.coverage("x", end=end + DAY)
    assert pinned.ratio == 1.0
    t.set_calendar(calendar_of(between(START, end + DAY)))
    assert t.scan(where="site = 'x'").completeness == 1.0
    assert t.scan(where="site = 'x' AND id = 1", require=1.0).count() == 4


@pytest.mark.parametrize("require", [0, -0.5, 1.01, 2, "most", [], False, float("nan")])
def test_what_is_no_requirement(lake, require):
    t = facts(lake)
    with pytest.raises(Invalid, match="require="):
        t.scan(require=require)
    with pytest.raises(Invalid, match="require="):
        t.as_of(START, require=require)


def test_a_table_without_coverage_is_refused_by_name(lake):
    t = lake.create_table("plain", "k VARCHAR, day DATE", key="k", event_time="day")
    for ask in (lambda: t.scan(require=0.5), lambda: t.as_of(START, require=0.5)):
        with pytest.raises(Invalid, match=r"required of main\.plain: its coverage") as refused:
            ask()
        assert "t.set_coverage" in refused.value.hint
    assert t.completeness is None
    assert t.scan().completeness is None
    assert t.scan().explain().completeness is None
    assert "complete" not in str(t.scan().explain())
    with pytest.raises(Invalid, match="not kept"):
        t.wait_complete()


def test_what_is_checked_is_what_is_read(lake, place):
    """Whenever a row goes while a state is read: either it is in it, or the state is refused."""
    told = set()
    with place.open() as other:
        for step in range(8):
            t = facts(lake, f"t{step}")
            t.append(rows({"a": {START, START + DAY}}))
            state = t.as_of(START + DAY, require=1.0)
            place_in_time = iter(range(100))

            def tell(what, text, step=step, place_in_time=place_in_time):
                if what == "read" and next(place_in_time) == step:
                    other.table(f"t{step}").delete("day = DATE '2024-01-02'")

            with watch_database(lake, tell):
                try:
                    told.add(state.to_arrow()["day"].to_pylist()[0])
                except Incomplete:
                    told.add("refused")
    assert told == {START + DAY, "refused"}


def test_a_transaction_requires_of_its_own_rows(lake):
    t = facts(lake)
    t.append(rows({"a": {START}}))
    with lake.transaction() as tx:
        inner = tx.table("t")
        with pytest.raises(Incomplete):
            inner.as_of(START + DAY, require=1.0).count()
        inner.append(rows({"a": {START + DAY}}))
        assert inner.as_of(START + DAY, require=1.0).count() == 1
        with pytest.raises(Incomplete):
            t.as_of(START + DAY, require=1.0).count()


def test_explanations_and_queries_carry_the_figure(lake):
    t = facts(lake)
    week = between(START, START + 7 * DAY)
    t.append(rows({"a": {*week}, "b": {*week[:5]}}))
    lake.create_table("plain", "k VARCHAR")
    t.set_calendar(calendar_of(week))
    told = t.as_of(week[4]).explain()
    assert told.completeness == 1.0
    assert "  complete 100.0 % of what is expected" in str(told)
    state = f"SELECT * FROM t FOR VALID_TIME AS OF DATE '{week[4]}' JOIN plain USING (k)"
    (row, other) = lake.sql(f"EXPLAIN {state}").to_arrow().to_pylist()
    assert (row["completeness"], other["completeness"]) == (1.0, None)
    assert lake.sql(state).completeness == 1.0
    assert lake.sql("FROM t").completeness == t.completeness == 12 / 14
    assert (
        lake.sql(f"FROM t JOIN t FOR VALID_TIME AS OF DATE '{week[3]}' u USING (k)").completeness
        == 12 / 14
    )
    assert lake.sql("SELECT 1").completeness is None
    lake.sql("CREATE VIEW seen AS FROM t")
    assert lake.sql("FROM seen").completeness == 12 / 14
    lake.tag("then")
    t.append(rows({"b": {*week[5:]}}))
    assert lake.sql("FROM t").completeness == 1.0
    assert lake.sql("FROM t VERSION AS OF 'then'").completeness == 12 / 14
    assert lake.sql("FROM t", known_at="then").explain()[0].completeness == 12 / 14


def test_sql_sets_and_uses_the_calendars_of_the_table(lake):
    t = create(lake)
    t.append(rows({"a": {*between(START, START + 3 * DAY)}, "b": {START}}))
    lake.sql("CALL set_calendar('t', 'weekdays')")
    lake.sql("CALL set_calendar('t', 'always', entity => 'b')", author="ann")
    assert t.calendars.of(("a",)) == Calendar.weekdays()
    assert t.calendars.of(("b",)) == Calendar.always()
    end = START + 14 * DAY
    for call, found in {
        f"coverage('t', end => DATE '{end}')": t.coverage(end=end),
        f"coverage('t', end => DATE '{end}', calendar => 'always')": t.coverage(
            end=end, calendar=Calendar.always()
        ),
        f"gaps('t', end => DATE '{end}')": t.gaps(end=end),
    }.items():
        listed = lake.sql(f"FROM {call}").to_arrow().to_pylist()
        wanted = found.to_arrow().to_pylist()
        assert len(listed) == len(wanted) > 0
        for one, other in zip(listed, wanted, strict=True):
            assert {k: v for k, v in one.items() if k != "seconds"} == {
                k: v for k, v in other.items() if k != "length"
            }
    told = lake.sql("FROM complete_through('t', entity => ['a', 'b'], start => DATE '2024-01-02')")
    assert told.to_arrow().to_pylist() == [
        {"k": "a", "complete_through": date(2024, 1, 4)},
        {"k": "b", "complete_through": date(2024, 1, 2)},
    ]
    lake.sql("CALL set_calendar('t', NULL)")
    assert not t.calendars
    with pytest.raises(Invalid, match="no calendar"):
        lake.sql("FROM coverage('t', calendar => 'sometimes')")


def test_a_state_of_the_future_is_expected_only_up_to_now(lake):
    t = facts(lake)
    t.append(rows({"a": {*between(today() - 3 * DAY, today())}}))
    later = today() + 30 * DAY
    assert t.as_of(later).completeness == 1.0
    t.set_calendar("always")
    assert t.as_of(later).coverage().end == today()
    assert t.as_of(later, require=1.0).count() == 1
    assert t.as_of(datetime.now(UTC) + timedelta(days=2)).coverage().is_complete
