"""CALL does what the method of that name does, with the same arguments."""

from typing import Any

import pytest

import tidelake
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError
from tidelake.lake.procedures import OF_LAKES, OF_TABLES
from tidelake.testing.place import Place


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    made = lake.create_table(
        "prices",
        "symbol VARCHAR NOT NULL, ts TIMESTAMP NOT NULL, price DOUBLE, gone BOOLEAN",
        key=["symbol"],
        event_time="ts",
        tombstone="gone",
    )
    lake.set_option("data_inlining_row_limit", 0)
    for day in range(1, 5):
        lake.sql(f"INSERT INTO prices VALUES ('ACME', '2024-03-0{day}', {day}, false)")
    return made


def prices(t: tidelake.Table) -> list[Any]:
    return sorted(t.to_arrow()["price"].to_pylist())


def test_compact(lake: tidelake.Lake, t: tidelake.Table) -> None:
    before = prices(t)
    planned = lake.sql("CALL compact('prices', dry_run => true)")
    assert planned == t.compact(dry_run=True)
    assert len(t.files()) == 4
    assert lake.sql("call COMPACT('main.prices');").files_merged == 4
    assert len(t.files()) == 1
    assert prices(t) == before
    assert lake.sql("CALL compact()").files_merged == 0


def test_rollback_tag_and_expiry(lake: tidelake.Lake, t: tidelake.Table) -> None:
    assert lake.sql("CALL tag('eod', known_at => ?)", [3]).snapshot_id == 3
    done = lake.sql("CALL rollback('prices', to => 'eod')", author="ann", once="back/1")
    assert prices(t) == [1.0, 2.0]
    assert lake.sql("CALL rollback('prices', to => 'eod')", once="back/1").duplicate
    assert t.log()[-1].author == "ann"
    assert t.log()[-1].snapshot_id == done.snapshot_id
    gone = lake.sql("CALL expire(keep_last => 1, dry_run => true)")
    assert gone == lake.expire(keep_last=1, dry_run=True)
    for span in ("INTERVAL 7 DAY", "INTERVAL 1 MONTH", "INTERVAL (1) HOUR"):
        gone = lake.sql(f"CALL expire(older_than => {span}, dry_run => true)")
        assert not gone.snapshots
    with pytest.raises(Invalid, match="older_than"):
        lake.sql("CALL expire(older_than => INTERVAL '1 month 1 day', dry_run => true)")
    assert lake.sql("CALL untag('eod')").name == "eod"
    assert lake.sql("CALL verify(deep => true)").ok


def test_facts_and_rollups(lake: tidelake.Lake, t: tidelake.Table) -> None:
    assert str(lake.sql("CALL rollup('prices', as_of => DATE '2024-03-03')")) == str(t.rollups()[0])
    lake.sql("CALL end('prices', {'symbol': 'ACME'}, at => '2024-03-09')")
    assert t.as_of("2024-03-10").count() == 0
    assert lake.sql("CALL drop_rollups('prices')") == 1


def test_what_stays(lake: tidelake.Lake, t: tidelake.Table) -> None:
    assert lake.sql("CALL clone('prices', 'before', known_at => 4)").count() == 3
    asked = "FROM prices WHERE price < 4"
    made = lake.sql(f"CALL freeze('march', '{asked}', as_of => DATE '2024-03-03')", author="ann")
    assert made.facts == lake.frozen("march").facts
    assert (made.facts.query, made.facts.author, made.rows) == (asked, "ann", 1)
    assert lake.sql("SELECT price FROM frozen.march").to_dicts() == [{"price": 3.0}]
    lake.sql("CALL drop_frozen('march')")
    assert lake.frozen() == []


def test_an_option_of_a_table(lake: tidelake.Lake, t: tidelake.Table) -> None:
    lake.sql("CALL set_option('target_file_size', 1000000, table => 'prices')")
    assert str(lake.options(table="prices")["target_file_size"]) == "1000000"


BAD: list[tuple[str, type[TidelakeError], str]] = [
    ("CALL nonsense()", NotFound, "nonsense"),
    ("CALL close()", NotFound, "close"),
    ("CALL rollback()", Invalid, "which table"),
    ("CALL rollback(3)", Invalid, "which table"),
    ("CALL rollback('prices')", Invalid, "to"),
    ("CALL compact('prices', wrong => 1)", Invalid, "wrong"),
    ("CALL compact('nothing')", NotFound, "nothing"),
    ("CALL compact('prices') WHERE 1 = 1", Invalid, "one call"),
    ("CALL prices", Invalid, "no call"),
    ("CALL rollback('prices', to => (SELECT 1))", TidelakeError, "rollback"),
    ("CALL rollback('prices', to => 99)", NotFound, "99"),
    ("CALL compact('prices', dry_run => true, DRY_RUN => false)", Invalid, "dry_run twice"),
    ("CALL compact('prices', dry_run => 'false')", Invalid, "dry_run => 'false'"),
    ("CALL expire('7d', force => 'false')", Invalid, "force => 'false'"),
    ("CALL clone('prices')", Invalid, "name"),
    ("CALL freeze('f', 'DELETE FROM prices')", TidelakeError, "DELETE"),
    ("SELECT * FROM changes('prices', since => 1, since => 2)", Invalid, "since twice"),
    ("FROM asof_join('prices', 'prices', age => true, AGE => false)", Invalid, "age twice"),
]


@pytest.mark.parametrize(("text", "kind", "words"), BAD)
def test_what_is_refused(
    place: Place, lake: tidelake.Lake, t: tidelake.Table, text: str, kind: Any, words: str
) -> None:
    with place.refuses(kind, words):
        lake.sql(text)


def test_moments_and_transactions(lake: tidelake.Lake, t: tidelake.Table) -> None:
    with pytest.raises(Invalid, match="reads no table"):
        lake.sql("CALL compact('prices')", known_at=1)
    with lake.transaction() as tx:
        tx.sql("CALL rollback('prices', to => 3)")
        assert prices(tx.table("prices")) == [1.0, 2.0]
        with pytest.raises(TidelakeError):
            tx.sql("CALL expire(keep_last => 1)")
    assert prices(t) == [1.0, 2.0]


def test_a_tenant_calls_what_it_may(lake: tidelake.Lake) -> None:
    acme = lake.create_tenant("acme")
    acme.create_table("t", "id BIGINT").append([{"id": 1}])
    for text in ("CALL expire(keep_last => 1)", "CALL tag('x')", "CALL compact('t')"):
        with pytest.raises(Denied):
            acme.sql(text)


def test_every_procedure_is_a_method() -> None:
    assert all(hasattr(tidelake.Table, name) for name in OF_TABLES)
    assert all(hasattr(tidelake.Lake, name) for name in OF_LAKES)
