"""Who did what: commits, and what leaves none."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

import tidelake
from tests.erasure.search import MARK
from tests.erasure.test_erase import KINDS, WHERE, rows
from tidelake.cli import main
from tidelake.errors import Invalid
from tidelake.testing.faults import watch_database
from tidelake.testing.place import Place


def busy(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id INTEGER, name VARCHAR")
    lake.set_option("data_inlining_row_limit", 0)
    t.append(rows("a", MARK), author="kim", message="first")
    lake.tag("one", author="sam", message="to keep")
    lake.untag("one")
    lake.create_tenant("acme").create_table("own", "n INTEGER")
    lake.set_quota("acme", tidelake.Quota(files=9))
    lake.drop_tenant("acme")
    t.append(rows("b"))
    t.compact()
    lake.erase("t", WHERE, reason="request 4711", author="ann")
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_it_tells_of_everything(place: Place) -> None:
    with place.open() as lake:
        busy(lake)
        found = lake.audit()
        told = [each.action for each in found]
        for action in (
            "set option",
            "tag",
            "untag",
            "create tenant",
            "set quota",
            "drop tenant",
            "erase",
            "expire",
            "cleanup",
        ):
            assert told.count(action) == 1, (action, told)
        assert [each.time for each in found] == sorted(each.time for each in found)
        (erased,) = lake.audit(action="erase")
        assert (erased.actor, erased.table, erased.rows) == ("ann", "main.t", 1)
        assert "request 4711" in str(erased)
        (tagged,) = lake.audit(action="tag")
        assert (tagged.actor, tagged.snapshot_id, tagged.detail) == ("sam", 2, "'one': to keep")
        assert [each.tenant for each in found if each.action == "set quota"] == ["acme"]
        assert MARK not in str(found)
        assert lake.verify().ok


def test_commits_and_tenants(place: Place) -> None:
    with place.open() as lake:
        lake.create_tenant("acme").create_table("own", "n INTEGER").append([{"n": 1}])
        lake.create_table("t", "n INTEGER").append([{"n": 1}, {"n": 2}], author="kim", message="m")
        found = lake.audit()
        assert [(e.action, e.table, e.rows, e.tenant) for e in found if e.action == "append"] == [
            ("append", "acme.own", 1, "acme"),
            ("append", "main.t", 2, None),
        ]
        assert (found[-1].actor, found[-1].detail) == ("kim", "m")


def test_filters_and_frames(place: Place) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        for n in range(5):
            t.append(rows("a", start=n))
            lake.tag(f"tag {n}")
        found = lake.audit()
        assert lake.audit(limit=3) == found[-3:]
        assert [each.action for each in lake.audit(action="tag", limit=2)] == ["tag", "tag"]
        middle = found[6].time
        assert lake.audit(since=middle) == [each for each in found if each.time >= middle]
        assert lake.audit(until=middle.isoformat()) == [e for e in found if e.time < middle]
        assert lake.audit(since=datetime.now(UTC) + timedelta(days=1)) == []
        arrow = lake.audit().to_arrow()
        assert arrow.column_names[:4] == ["time", "actor", "action", "table"]
        assert len(lake.audit().to_pandas()) == len(lake.audit().to_polars()) == len(found)
        assert lake.audit(action="none").to_arrow().num_rows == 0
        for wrong in ({"limit": 0}, {"since": "soon"}, {"until": 7}, {"action": 7}):
            with pytest.raises(Invalid) as told:
                lake.audit(**wrong)  # type: ignore[arg-type]
            assert told.value.hint


def test_a_limit_does_not_read_all(place: Place) -> None:
    """Whatever the lake has behind it, as many rows are read."""
    with place.open() as lake:
        t = lake.create_table("t", "n INTEGER")
        for n in range(3):
            t.append([{"n": n}])
        asked: list[str] = []
        with watch_database(lake, lambda what, sql: asked.append(sql) if what == "ask" else None):
            lake.audit(limit=1)
        assert all("LIMIT" in sql for sql in asked if "FROM ducklake_snapshot s LEFT" in sql)


def test_commands(place: Place) -> None:
    with place.open() as lake:
        lake.create_table("t", "id INTEGER, name VARCHAR").append(rows("a", MARK))

    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, ["--catalog", place.url, *words])
        assert done.exit_code == code, done.output
        return done.output

    assert "would erase 1 versions" in run("erase", "t", "--where", WHERE, "--dry-run")
    assert "reason" in run("erase", "t", "--where", WHERE, code=1)
    run("erase", "t", code=1)
    run("erase", "--reason", "r", code=1)
    told = json.loads(run("erase", "t", "--where", WHERE, "--reason", "request", "--json"))
    assert (told["rows"], told["remaining"], told["table"]) == (1, [], "main.t")
    assert MARK not in json.dumps(told)
    assert json.loads(run("erase", "--json"))["erasures"][0]["reason"] == "request"
    assert "request" in run("erase")
    assert json.loads(run("erase", "--finish", "--json")) == {"erasures": []}
    events = json.loads(run("audit", "--json"))["events"]
    assert [each["action"] for each in events][-1] == "erase"
    assert "erasure 1: request" in run("audit", "--action", "erase")
