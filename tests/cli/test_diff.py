"""`changes` and `diff`."""

import json


def test_changes(tidelake):
    found = tidelake.json("changes", "prices", "--since", "3", "--columns", "price")
    kinds = [row["change_type"] for row in found["rows"]]
    assert kinds == ["insert"] * (len(kinds) - 2) + ["delete"] * 2
    assert list(found["rows"][0]) == [
        "snapshot_id",
        "snapshot_time",
        "rowid",
        "change_type",
        "price",
    ]
    gone = tidelake("changes", "prices", "--where", "change_type = 'delete'").stdout
    assert "(2 rows)" in gone
    until = tidelake.json("changes", "prices", "--until", "4")
    assert len(until["rows"]) == 60


def test_changes_of_a_table_that_has_been_dropped_since(tidelake):
    created = next(s for s in _log(tidelake) if s["changes"] == ["created main.gone"])
    assert tidelake.json("changes", "gone", "--until", str(created["snapshot_id"]))["rows"] == []


def test_diff_of_the_lake(tidelake):
    last = _log(tidelake)[0]["snapshot_id"]
    found = tidelake.json("diff", "0", str(last))
    assert [each["table"] for each in found["tables"]] == ["main.prices", 'other."odd.name"']
    assert found["tables"][0]["rows"] == {"inserted": 59, "updated": 0, "deleted": 0}
    assert found["tables"][0]["schema"] == [
        {"kind": "table created", "subject": "main.prices", "before": None, "after": None}
    ]
    assert [each["kind"] for each in found["schema"]] == ["schema created", "view created"]
    text = tidelake("diff", str(last), "0").stdout
    assert "table dropped: main.prices" in text
    assert "0 inserted, 0 updated, 59 deleted" in text


def test_diff_of_a_table(tidelake):
    last = _log(tidelake)[0]["snapshot_id"]
    found = tidelake.json("diff", "4", str(last), "prices")
    assert found["rows"] == {"inserted": 1, "updated": 0, "deleted": 2}
    rows = tidelake.json("diff", "4", str(last), "prices", "--rows")["rows"]
    assert [row["change_type"] for row in rows] == ["delete", "delete", "insert"]
    created = next(s for s in _log(tidelake) if s["changes"] == ["created main.gone"])
    gone = tidelake.json("diff", str(created["snapshot_id"]), str(last), "gone")
    assert gone["schema"][0]["kind"] == "table dropped"


def test_what_cannot_be_told(tidelake):
    assert "hint" in tidelake("changes", "prices", "--since", "99", ok=False).stderr
    assert "hint" in tidelake("changes", "prices", "--since", "5", "--until", "2", ok=False).stderr
    assert "wants a TABLE" in tidelake("diff", "1", "2", "--rows", ok=False).stderr
    error = json.loads(tidelake("diff", "1", "99", "--json", ok=False).stderr)["error"]
    assert error["kind"] == "NotFound"


def _log(tidelake):
    return tidelake.json("log")["snapshots"]
