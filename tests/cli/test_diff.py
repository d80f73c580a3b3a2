"""`diff`: what differs between two snapshots; `diff --late` is in test_history."""

import json


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


def test_a_difference_that_cannot_be_told(tidelake):
    assert "wants a TABLE" in tidelake("diff", "1", "2", "--rows", ok=False).stderr
    error = json.loads(tidelake("diff", "1", "99", "--json", ok=False).stderr)["error"]
    assert error["kind"] == "NotFound"


def test_who_begins_with_the_table_is_told_the_order(tidelake):
    for words, hint in {
        ("prices", "1", "4"): "tidelake diff 1 4 prices",
        ("prices", "1"): "tidelake diff 1 now prices",
        ("1", "prices"): "tidelake diff 1 now prices",
        ("prices",): "tidelake diff A B prices",
    }.items():
        told = tidelake("diff", *words, ok=False).stderr
        assert "prices is a table" in told
        assert f"hint: {hint}\n" in told
    assert "prices" in tidelake("diff", "4", "now", "prices").stdout


def _log(tidelake):
    return tidelake.json("log")["snapshots"]
