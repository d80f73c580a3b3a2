"""The notes of erasures are a chain: whoever changes one, or takes one out, is found out."""

import json

import pytest

import tidelake
from tests.erasure.search import MARK
from tests.erasure.test_erase import WHERE, rows
from tidelake.errors import Conflict
from tidelake.testing.place import Place


@pytest.fixture
def noted(place: Place) -> Place:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        for n in range(3):
            t.append(rows("a", MARK, start=10 * n))
            lake.erase("t", WHERE, reason=f"request {n}", author="kim")
    return place


def problems(place: Place) -> list[str]:
    with place.open() as lake:
        return [problem.what for problem in lake.verify().problems]


def test_what_a_note_says(noted: Place) -> None:
    with noted.open() as lake:
        notes = lake.erasures()
        assert [(each.reason, each.author, each.rows, each.table) for each in notes] == [
            (f"request {n}", "kim", 1, "main.t") for n in range(3)
        ]
        assert [each.snapshot_id for each in notes] == [3, 5, 7]
        assert all(each.is_finished and not each.signed for each in notes)
        assert "request 1" in str(notes[1])
        log = lake.log()[-1]
        assert (log.operation, log.deleted, log.author) == ("erase", 1, "kim")
    ((text,),) = noted.catalog("SELECT note FROM tidelake_erasure WHERE erasure_id = 2")
    assert json.loads(text)["previous"] == notes[0].digest
    assert problems(noted) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            "UPDATE tidelake_erasure SET note = replace(note, 'kim', 'sam') WHERE erasure_id = 2",
            "changed",
        ),
        ("DELETE FROM tidelake_erasure WHERE erasure_id = 2", "does not follow"),
        ("DELETE FROM tidelake_erasure WHERE erasure_id = 1", "does not follow"),
        ("DELETE FROM tidelake_erasure WHERE erasure_id = 3", "its note is not there"),
        ("DROP TABLE tidelake_erasure", "its note is not there"),
        ("UPDATE tidelake_erasure SET remaining = '{}' WHERE erasure_id = 3", "cannot be read"),
        (
            "UPDATE tidelake_erasure SET finished_at = NULL,"
            """ remaining = '{"files": [], "mirrors": [], "shrink": true}' WHERE erasure_id = 3""",
            "not finished",
        ),
    ],
)
def test_who_tampers_is_found_out(noted: Place, damage: str, said: str) -> None:
    noted.catalog(damage)
    assert any(said in each for each in problems(noted)), problems(noted)


def test_signatures(noted: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELAKE_AUDIT_KEY", "a secret")
    with noted.open() as lake:
        lake.erase("t", "id = 0", reason="signed")
        assert [each.signed for each in lake.erasures()] == [False, False, False, True]
    assert problems(noted) == []
    noted.catalog("UPDATE tidelake_erasure SET signature = 'none' WHERE erasure_id = 4")
    assert any("not signed" in each for each in problems(noted))
    monkeypatch.setenv("TIDELAKE_AUDIT_KEY", "another")
    assert problems(noted) == []
    monkeypatch.delenv("TIDELAKE_AUDIT_KEY")
    assert problems(noted) == []


def test_a_past_that_has_changed_is_not_made_good(place: Place) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        t.append(rows("a", MARK))
        lake.verify(fingerprint=True)
    (table,) = place.catalog("SELECT table_name FROM ducklake_inlined_data_tables")[0]
    place.catalog(f"UPDATE {table} SET name = 'other' WHERE name = 'a'")
    with place.open() as lake, place.refuses(Conflict, "not what it was"):
        lake.erase("t", WHERE, reason="r")


def test_fingerprints_follow(place: Place) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        t.append(rows("a", MARK))
        t.append(rows("b", start=10))
        lake.verify(fingerprint=True)
        before = place.catalog("SELECT snapshot_id, content_hash FROM tidelake_fingerprint")
        lake.erase("t", WHERE, reason="r")
        after = dict(place.catalog("SELECT snapshot_id, content_hash FROM tidelake_fingerprint"))
        assert after.keys() == dict(before).keys()
        assert all(after[at] != content for at, content in before if at > 1)
        assert lake.verify(fingerprint=True).ok
        t.append(rows(MARK, start=20))
    ((text,),) = place.catalog("SELECT note FROM tidelake_erasure")
    assert set(json.loads(text)["fingerprints"].values()) == set(after.values())


def test_the_notes_go_and_the_lake_stays(noted: Place) -> None:
    noted.catalog("DROP TABLE tidelake_erasure")
    noted.catalog("DROP TABLE tidelake_audit")
    with noted.open() as lake:
        assert lake.erasures() == []
        assert lake.audit()
        assert lake.table("t").count() == 3
        assert isinstance(lake, tidelake.Lake)
