"""History from before the lake: a column says when rows became known, against a list of rows."""

import pickle
import random
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner

import tidelake
from tests.cases import every
from tests.join.pairs import Row, flattened, in_order, joined
from tidelake.cli import main
from tidelake.errors import Conflict, Denied, Invalid, NotFound
from tidelake.testing.place import Place

DAY = datetime(2014, 1, 1)
COLUMNS = "k VARCHAR NOT NULL, t TIMESTAMP NOT NULL, p BIGINT, gone BOOLEAN, known TIMESTAMP"
SETTINGS = {"key": "k", "event_time": "t", "tombstone": "gone", "knowledge_time": "known"}


def day(number: float) -> datetime:
    return DAY + timedelta(days=number)


@pytest.fixture
def lake(tmp_path) -> Iterator[Any]:
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


def fact(chance: random.Random, number: int) -> Row:
    """Something that was true on a day, and known some days later, or nobody knows when."""
    held = chance.randrange(12)
    known = None if chance.random() < 0.15 else day(held + chance.randrange(6))
    return {
        "k": chance.choice("ab"),
        "t": day(held),
        "p": number,
        "gone": chance.random() < 0.15,
        "known": known,
    }


class Vendor:
    """A vendor's history that is loaded in several commits, and then lives on."""

    def __init__(self, lake: Any, chance: random.Random) -> None:
        self.lake, self.chance = lake, chance
        self.table = lake.create_table("facts", COLUMNS, **SETTINGS)
        self.rows: list[Row] = []

    def load(self) -> None:
        self.lake.set_option("data_inlining_row_limit", self.chance.choice([0, 10]))
        facts = [fact(self.chance, len(self.rows) + n) for n in range(self.chance.randrange(2, 8))]
        since = self.table.append(facts).snapshot_id
        first = 1 + max((row["uid"] for row in self.rows), default=-1)
        self.rows += [
            {**each, "uid": first + place, "since": since, "until": None}
            for place, each in enumerate(facts)
        ]

    def change(self) -> None:
        alive = [row for row in self.rows if row["until"] is None]
        row = self.chance.choice(alive)
        if self.chance.random() < 0.5:
            row["until"] = self.table.delete(f"p = {row['p']}").snapshot_id
        else:
            done = self.table.update({"p": "p + 1000"}, where=f"p = {row['p']}").snapshot_id
            row["until"] = done
            self.rows.append({**row, "p": row["p"] + 1000, "since": done, "until": None})

    def live(self) -> None:
        self.load()
        for _ in range(5):
            self.chance.choice([self.load, self.load, self.change, self.table.compact])()
        self.times = {each.snapshot_id: each.time for each in self.lake.snapshots()}
        self.first = self.times[min(row["since"] for row in self.rows)]

    def is_known(self, row: Row, moment: datetime) -> bool:
        moment = moment.replace(tzinfo=UTC)
        if moment < self.first:
            known = row["known"]
            return (
                row["until"] is None and known is not None and known.replace(tzinfo=UTC) <= moment
            )
        ended = row["until"]
        return self.times[row["since"]] <= moment and (ended is None or moment < self.times[ended])

    def in_order(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: row["uid"])

    def known_at(self, moment: datetime) -> list[Row]:
        return [row for row in self.in_order() if self.is_known(row, moment)]

    def state(self, as_of: datetime, known_at: datetime) -> dict[str, int]:
        found = {}
        for row in sorted(self.known_at(known_at), key=lambda row: (row["t"], row["uid"])):
            if row["t"] <= as_of:
                found[row["k"]] = row
        return {key: row["p"] for key, row in found.items() if not row["gone"]}

    @property
    def moments(self) -> list[datetime]:
        commits = [time.replace(tzinfo=None) for time in self.times.values()]
        return [day(-1), *(day(n + 0.5) for n in range(0, 18, 3)), day(5), *commits]


@pytest.fixture
def vendor(lake, request) -> Vendor:
    found = Vendor(lake, random.Random(request.param))
    found.live()
    return found


SEEDS = pytest.mark.parametrize("vendor", every(24, range(24)), indirect=True)


@SEEDS
def test_what_was_known_then(vendor):
    table, lake = vendor.table, vendor.lake
    early = [moment for moment in vendor.moments if moment.replace(tzinfo=UTC) < vendor.first]
    for moment in early:
        expected = sorted(row["p"] for row in vendor.known_at(moment))
        then = table.known_at(moment)
        assert sorted(then.to_arrow()["p"].to_pylist()) == expected
        assert then.count() == len(expected)
        some = [p for p in expected if p > 3]
        assert then.scan(where="p > 3").count() == len(some)
        query = f"SELECT p FROM facts FOR SYSTEM_TIME AS OF TIMESTAMP '{moment}'"
        assert sorted(lake.sql(query).to_arrow()["p"].to_pylist()) == expected
        asked = lake.sql("SELECT p FROM facts WHERE p > 3", known_at=moment)
        assert sorted(asked.to_arrow()["p"].to_pylist()) == some
        for held in (0, 3, 7.5, 20):
            found = then.as_of(day(held)).to_arrow().to_pylist()
            expected_state = vendor.state(day(held), moment)
            assert {row["k"]: row["p"] for row in found} == expected_state
            told = lake.sql("FROM facts", as_of=day(held), known_at=moment).to_arrow().to_pylist()
            assert {row["k"]: row["p"] for row in told} == expected_state


@SEEDS
def test_history_says_what_every_state_was(vendor):
    for key in "ab":
        told = vendor.table.history(key).to_arrow().to_pylist()
        for moment in vendor.moments:
            for held in (0, 3, 7.5, 11, 20):
                held_at, known = day(held), moment.replace(tzinfo=UTC)
                found = [
                    row["p"]
                    for row in told
                    if row["valid_from"] <= held_at
                    and (row["valid_to"] is None or held_at < row["valid_to"])
                    and row["known_from"] <= known
                    and (row["known_to"] is None or known < row["known_to"])
                ]
                expected = vendor.state(held_at, moment)
                assert found == ([expected[key]] if key in expected else []), (held, moment)


@SEEDS
def test_labels_know_what_was_known_then(vendor):
    left = [
        {"k": key, "t": day(held), "at": moment}
        for key in "ab"
        for held in (0, 3, 7.5, 20)
        for moment in (*vendor.moments, None)
    ]
    pairs = joined(
        left,
        vendor.in_order(),
        on=[("k", "k")],
        times=("t", "t"),
        tombstone="gone",
        visible=lambda mine, theirs: mine["at"] is not None and vendor.is_known(theirs, mine["at"]),
    )
    expected = flattened(pairs, {"t": "t_right", "p": "p", "known": "known"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        join = tidelake.asof_join(left, vendor.table, left_time="t", known_at="at")
        assert in_order(join.to_arrow().to_pylist()) == expected
    narrow = tidelake.asof_join(
        left, [tidelake.Feature(vendor.table, columns=["p"])], left_time="t", known_at="at"
    )
    assert in_order(narrow.to_arrow().to_pylist()) == flattened(pairs, {"p": "facts_p"})
    moment = day(8.5)
    seen = joined(
        left,
        vendor.known_at(moment),
        on=[("k", "k")],
        times=("t", "t"),
        tombstone="gone",
    )
    join = tidelake.asof_join(left, vendor.table, left_time="t", known_at=moment)
    names = {"t": "t_right", "p": "p", "known": "known"}
    assert in_order(join.to_arrow().to_pylist()) == flattened(seen, names)


ROW = {"k": "a", "t": day(1), "p": 1, "gone": False, "known": day(2)}


def test_ids_and_tags_are_commits_as_ever(lake):
    table = lake.create_table("facts", COLUMNS, **SETTINGS)
    empty = lake.tag("empty").snapshot_id
    table.append([ROW])
    assert table.known_at("empty").count() == table.known_at(empty).count() == 0
    left = [{"k": "a", "t": day(3), "id": empty}, {"k": "a", "t": day(3), "id": empty + 1}]
    join = tidelake.asof_join(left, table, left_time="t", known_at="id")
    assert join.to_arrow()["p"].to_pylist() == [None, 1]


def test_the_first_commit_ends_the_time_before(lake):
    table = lake.create_table("facts", COLUMNS, **SETTINGS)
    first = table.append([ROW]).snapshot_id
    table.append([{**ROW, "p": 2, "known": day(3)}])
    time = lake.snapshots()[first].time
    tick = timedelta(microseconds=1)
    assert table.known_at(time - tick).count() == 2
    assert table.known_at(time).count() == 1
    (now,) = table.history("a").to_arrow().to_pylist()[-1:]
    assert now["known_to"] is None


def test_history_begins_when_a_row_was_known(lake):
    table = lake.create_table("facts", COLUMNS, **SETTINGS)
    table.append([ROW, {**ROW, "k": "b", "known": None}])
    (row,) = table.history("a").to_arrow().to_pylist()
    assert (row["known_from"], row["known_to"]) == (day(2).replace(tzinfo=UTC), None)
    (row,) = table.history("b").to_arrow().to_pylist()
    assert row["known_from"] == lake.snapshots()[-1].time


def test_expiry_takes_nothing_from_the_time_before(lake):
    table = lake.create_table("facts", COLUMNS, **SETTINGS)
    table.append([ROW])
    began = lake.snapshots()[-1].time
    for number in range(3):
        table.append([{**ROW, "p": number + 2, "t": day(number + 2), "known": None}])
    lake.expire(keep_last=1)
    assert table.known_at(day(3)).count() == 1
    left = [{"k": "a", "t": day(9), "at": day(3)}]
    join = tidelake.asof_join(left, table, left_time="t", known_at="at")
    assert join.to_arrow()["p"].to_pylist() == [1]
    assert table.history("a").to_arrow()["p"][0].as_py() == 1
    lost = [{"k": "a", "t": day(9), "at": began}]
    with pytest.raises(Invalid, match="have been expired"):
        tidelake.asof_join(lost, table, left_time="t", known_at="at").to_arrow()
    with pytest.raises(NotFound):
        table.known_at(began)


def test_a_table_that_was_there_can_be_told(lake):
    table = lake.create_table("facts", COLUMNS)
    table.append([ROW])
    with pytest.raises(NotFound):
        table.known_at(day(3))
    table.set_event_time("t", key="k", knowledge_time="known")
    assert table.known_at(day(3)).count() == 1
    table.set_coverage("1d", entity="k")
    assert table.known_at(day(3)).count() == 1
    table.set_event_time("t", key="k")
    with pytest.raises(NotFound):
        table.known_at(day(3))


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMP_S"])
def test_times_of_every_kind(lake, kind):
    table = lake.create_table(
        "facts",
        f"k BIGINT, t TIMESTAMP, known {kind}",
        key="k",
        event_time="t",
        knowledge_time="known",
    )
    known = date(2014, 1, 3)
    table.append([{"k": 1, "t": day(0), "known": known if kind == "DATE" else day(2)}])
    assert [table.known_at(day(n)).count() for n in (1.5, 2, 2.5)] == [0, 1, 1]
    left = [{"k": 1, "t": day(9), "at": day(n)} for n in (1.5, 2, 2.5)]
    join = tidelake.asof_join(left, [table], left_time="t", known_at="at", age=True)
    assert [row is not None for row in join.to_arrow()["facts_age"].to_pylist()] == [
        *(False, True, True)
    ]
    (row,) = table.history(1).to_arrow().to_pylist()
    assert row["known_from"] == day(2).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.history("a").to_arrow(),
        lambda t: t.changes().to_arrow(),
        lambda t: t.coverage(),
        lambda t: t.gaps(),
        lambda t: t.between(day(0)),
        lambda t: t.diff(0),
        lambda t: t.plane(),
    ],
)
def test_what_only_commits_tell_is_refused_of_the_time_before(lake, ask):
    table = lake.create_table("facts", COLUMNS, **SETTINGS)
    table.append([ROW])
    with pytest.raises(Invalid, match="of the time before the lake"):
        ask(table.known_at(day(3)))


def test_what_cannot_work_is_refused(lake):
    with pytest.raises(Invalid, match="knowledge_time='p' is a int64"):
        lake.create_table("facts", COLUMNS, **{**SETTINGS, "knowledge_time": "p"})
    with pytest.raises((Invalid, NotFound), match="nothing"):
        lake.create_table("facts", COLUMNS, **{**SETTINGS, "knowledge_time": "nothing"})
    table = lake.create_table("facts", COLUMNS, **SETTINGS)
    with pytest.raises(Invalid, match="knowledge time needs it"):
        table.evolve(drop=["known"])


def vendors_table(lake: Any) -> Any:
    """Two rows that were known in March 2014, and one that came in July."""
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("facts", COLUMNS, **SETTINGS, entity="k", bucket="1d")
    rows = [("a", 1, 10), ("a", 2, 180), ("b", 3, 20)]
    t.append([{"k": k, "t": day(0), "p": p, "known": day(known)} for k, p, known in rows])
    return t


EARLY = day(60)


@pytest.mark.parametrize(
    "copy",
    {
        "clone": lambda _, t: t.known_at(EARLY).clone("copy"),
        "clone(known_at=…)": lambda _, t: t.clone("copy", known_at=EARLY),
        "a state": lambda _, t: t.clone("copy", known_at=EARLY, as_of=day(5)),
        "freeze": lambda lake, t: lake.freeze("copy", t.known_at(EARLY)),
        "freeze(known_at=…)": lambda lake, t: lake.freeze("copy", t, known_at=EARLY),
        "freeze of a state": lambda lake, t: lake.freeze("copy", t.known_at(EARLY).as_of(day(5))),
        "of a scan": lambda lake, t: lake.freeze("copy", t.scan(where="p > 0", known_at=EARLY)),
        "of SQL": lambda lake, _: lake.freeze("copy", "FROM facts", known_at=EARLY),
        "of a query": lambda lake, _: lake.freeze("copy", lake.sql("FROM facts", known_at=EARLY)),
        "CALL": lambda lake, _: lake.sql(f"CALL clone('facts', 'copy', known_at => '{EARLY}')"),
    }.values(),
)
def test_copies_have_what_was_known_then(lake, copy):
    t = vendors_table(lake)
    made = copy(lake, t)
    assert sorted(row["p"] for row in made.to_dicts()) == [1, 3]
    if lake.frozen():
        facts = lake.frozen("copy").facts
        assert facts.known_at == t.log()[-1].snapshot_id
        assert EARLY.isoformat()[:10] in str(facts)
        assert lake.frozen("copy").verify().ok


@pytest.mark.parametrize("inlined", [0, 100])
def test_a_copy_keeps_which_fact_came_last(lake, inlined):
    lake.set_option("data_inlining_row_limit", inlined)
    t = lake.create_table("facts", COLUMNS, **SETTINGS, sort_by=["p"])
    for p, known in ((9, 10), (1, 20), (5, 30), (7, 180)):
        t.append([{"k": "a", "t": day(0), "p": p, "known": day(known)}])
    t.compact()
    then = t.known_at(EARLY)
    copy = then.clone("copy")
    assert sorted(row["p"] for row in copy.to_dicts()) == [1, 5, 9]
    assert [row["p"] for row in copy.as_of(day(1)).to_dicts()] == [5]
    assert copy.as_of(day(1)).to_dicts() == then.as_of(day(1)).to_dicts()
    copy.put({"k": "a", "t": day(0), "p": 2})
    assert [row["p"] for row in copy.as_of(day(1)).to_dicts()] == [2]
    assert lake.verify(deep=True).ok


def test_what_knows_nothing_of_that_time_is_not_frozen(lake):
    vendors_table(lake)
    lake.create_table("plain", "id INT").append([{"id": 1}])
    for query in ("FROM plain", "SELECT * FROM facts, plain"):
        with pytest.raises(NotFound, match="no snapshot at or before 2014"):
            lake.freeze("copy", query, known_at=EARLY)
    with pytest.raises(NotFound):
        lake.freeze("copy", "FROM facts", known_at="no tag")
    assert lake.frozen() == []


def test_nobody_says_how_many_or_how_complete_at_that_time(lake):
    early = vendors_table(lake).known_at(EARLY)
    assert early.count() == 2
    assert "<td>3</td>" not in early._repr_html_()
    assert "rows" not in early._repr_html_().partition("head()")[0]
    assert early.completeness is None
    assert early.explain().completeness is None
    with pytest.raises(Invalid, match="no coverage"):
        early.scan(require=0.1).count()


@pytest.mark.parametrize("command", ["count", "scan", "export --to - --format csv"])
def test_the_command_line_knows_that_time(tmp_path, command):
    place = Place.at("sqlite", tmp_path)
    with place.open() as lake:
        vendors_table(lake)
    name, *more = command.split()
    asked = ["--catalog", place.url, name, "facts", *more, "--known-at", EARLY.isoformat()]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    told = done.output.strip()
    assert (
        told == "2" if name == "count" else all(day(n).date().isoformat() in told for n in (10, 20))
    )


def told(lake: Any, name: str = "facts") -> list[int]:
    return sorted(row["p"] for row in lake.table(name).to_dicts())


@SEEDS
def test_the_whole_lake_knows_what_its_table_knows(vendor):
    lake = vendor.lake
    for moment in vendor.moments:
        expected = sorted(row["p"] for row in vendor.known_at(moment))
        then = lake.known_at(moment)
        assert then.tables() == ["main.facts"]
        assert told(then) == expected
        assert sorted(then.sql("SELECT p FROM facts").to_arrow()["p"].to_pylist()) == expected
        assert told(pickle.loads(pickle.dumps(then))) == expected
        for held in (0, 7.5, 20):
            found = then.table("facts").as_of(day(held)).to_dicts()
            asked = then.sql("FROM facts", as_of=day(held)).to_dicts()
            for rows in (found, asked):
                assert {row["k"]: row["p"] for row in rows} == vendor.state(day(held), moment)


def test_a_lake_before_it_was_there(lake):
    vendors_table(lake)
    lake.create_table("plain", "id INT").append([{"id": 1}])
    lake.create_view("v", "SELECT p FROM facts")
    then = lake.known_at(EARLY)
    assert (then.tables(), then.views(), then.schemas()) == (["main.facts"], [], ["main"])
    assert "facts" in then
    assert "plain" not in then
    assert repr(then).endswith(f"known at {EARLY.isoformat()}Z>")
    assert "facts" in then._repr_html_()
    names = "SELECT name, kind FROM tables()"
    assert then.sql(names).to_dicts() == [{"name": "facts", "kind": "table"}]
    assert lake.sql(names, known_at=EARLY).to_dicts() == then.sql(names).to_dicts()
    assert then.sql("DESCRIBE facts").to_dicts() == lake.sql("DESCRIBE facts").to_dicts()
    assert told(then.known_at(day(15))) == [1]
    for ask in (
        lambda: then.table("plain"),
        lambda: then.sql("FROM plain"),
        lambda: then.sql("FROM v"),
        lambda: then.sql("FROM snapshots()").to_dicts(),
        then.snapshots,
        then.log,
        lambda: then.diff(0),
        lambda: then.tag("early"),
        lambda: lake.known_at(day(-400).replace(year=1)).table("plain"),
    ):
        with pytest.raises(NotFound, match=r"no snapshot at or before|no table"):
            ask()
    for ask in (
        lambda: then.known_at(EARLY + timedelta(days=200)),
        lambda: then.known_at(0),
        lambda: then.table("facts").known_at(EARLY + timedelta(days=200)),
        lambda: then.table("facts").known_at(1),
        lambda: then.create_table("new", "id INT"),
        lambda: then.table("facts").append([ROW]),
    ):
        with pytest.raises(Denied):
            ask()
    for name in ("history('facts', 'a')", "changes('facts')", "coverage('facts')"):
        with pytest.raises(Invalid, match="of the time before the lake"):
            then.sql(f"FROM {name}").to_dicts()


def test_a_lake_of_no_such_table_has_no_time_before_it(lake):
    lake.create_table("plain", "id INT").append([{"id": 1}])
    with pytest.raises(NotFound, match="no snapshot at or before 2014"):
        lake.known_at(EARLY)


def test_between_the_lake_and_the_first_rows_a_column_tells_too(lake):
    began = lake.create_table("other", "id INT").append([{"id": 1}]).snapshot_id
    lake.create_table("facts", COLUMNS, **SETTINGS, entity="k", bucket="1d")
    lake.table("facts").append([ROW])
    moment = lake.snapshots()[began].time
    then = lake.known_at(moment)
    assert then.tables() == ["main.other", "main.facts"]
    assert told(then) == [1]
    assert then.sql("SELECT p, id FROM facts, other").to_dicts() == [{"p": 1, "id": 1}]
    assert then.sql("DESCRIBE facts").to_dicts() == lake.sql("DESCRIBE facts").to_dicts()
    assert then.sql("FROM facts").completeness is None
    with pytest.raises(Invalid, match="of the time before the lake"):
        lake.sql("FROM coverage('facts', known_at => ?)", [moment]).to_dicts()
    frozen = lake.freeze("copy", then.sql("FROM facts"))
    assert [row["p"] for row in frozen.to_dicts()] == [1]
    assert told(then.known_at(moment + timedelta(microseconds=1))) == [1]
    assert "facts" not in lake.known_at(began)


def test_a_transaction_sees_one_snapshot_of_the_time_before(lake):
    t = lake.create_table("facts", COLUMNS, **SETTINGS)
    t.append([ROW])
    with lake.transaction(isolation="serializable") as tx:
        t.append([{**ROW, "p": 2}])
        assert told(tx.known_at(day(3))) == [1]
        assert [row["p"] for row in tx.table("facts").known_at(day(3)).to_dicts()] == [1]
        assert tx.sql("SELECT p FROM facts", known_at=day(3)).to_dicts() == [{"p": 1}]
    tx = lake.transaction(isolation="serializable")
    assert told(tx.known_at(day(3))) == [1, 2]
    t.append([{**ROW, "p": 3}])
    tx.create_table("new", "id INT")
    with pytest.raises(Conflict):
        tx.commit()


def test_a_tenant_has_a_time_before_the_lake(lake):
    acme = lake.create_tenant("acme")
    acme.create_table("facts", COLUMNS, **SETTINGS).append([ROW])
    lake.create_table("others", COLUMNS, **SETTINGS).append([ROW])
    then = acme.known_at(day(3))
    assert then.tables() == ["main.facts"]
    assert told(then) == [1]
    assert told(lake.known_at(day(3)).tenant("acme")) == [1]
