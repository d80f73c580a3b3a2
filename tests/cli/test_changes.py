"""`changes`: what happened to the rows of a table."""


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
    created = next(
        s for s in tidelake.json("log")["snapshots"] if s["changes"] == ["created main.gone"]
    )
    assert tidelake.json("changes", "gone", "--until", str(created["snapshot_id"]))["rows"] == []


def test_changes_that_cannot_be_told(tidelake):
    assert "hint" in tidelake("changes", "prices", "--since", "99", ok=False).stderr
    assert "hint" in tidelake("changes", "prices", "--since", "5", "--until", "2", ok=False).stderr
