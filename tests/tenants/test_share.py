"""Tables that the owner shares: tenants read them, and do nothing else with them."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError
from tidelake.testing.place import Place


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_schema("ref")
        table = lake.create_table("ref.currencies", "code VARCHAR, n BIGINT")
        table.append(pa.table({"code": ["EUR", "USD"] * 500, "n": range(1000)}))
        lake.create_table("ref.unseen", "n BIGINT").append(pa.table({"n": range(1000)}))
        for name in ("acme", "bolt"):
            lake.create_tenant(name).create_table("t", "code VARCHAR").append([{"code": "EUR"}])
        yield lake


def _count(lake: tidelake.Lake, table: str) -> int:
    return int(lake.sql(f"SELECT count(*) AS n FROM {table}").to_arrow()["n"][0].as_py())


@pytest.mark.slow
def test_a_tenant_reads_what_is_shared(lake: tidelake.Lake) -> None:
    early = lake.tenant("acme")
    done = lake.share("ref.currencies")
    assert (done.table, done.name, done.with_tenants) == ("ref.currencies", "currencies", ("*",))
    assert lake.shares() == [done]
    assert early.tables() == ["main.t"]
    acme = lake.tenant("acme")
    assert acme.tables() == ["main.t", "shared.currencies"]
    assert acme.schemas() == ["main", "shared"]
    assert _count(acme, "shared.currencies") == 1000
    table = acme.table("shared.currencies")
    assert table.scan(where="n < 10").count() == 10
    assert "ref" not in repr(table.info.name) + str(table.scan().explain())
    joined = acme.sql("SELECT max(n) AS n FROM t JOIN shared.currencies USING (code)").to_arrow()
    assert joined["n"].to_pylist() == [998]
    acme.sql("CREATE VIEW v AS SELECT n FROM shared.currencies WHERE code = 'USD'")
    assert _count(acme, "v") == 500
    acme.sql("CREATE TABLE mine AS SELECT * FROM shared.currencies")
    assert acme.table("mine").count() == 1000
    copy = pickle.loads(pickle.dumps(acme))
    assert _count(copy, "shared.currencies") == 1000
    lake.table("ref.currencies").append([{"code": "GBP", "n": 5}])
    assert _count(acme, "shared.currencies") == 1001


@pytest.mark.slow
def test_its_past_is_shared_too(lake: tidelake.Lake) -> None:
    before = lake.snapshots()[-1].snapshot_id
    lake.table("ref.currencies").delete("n >= 10")
    lake.share("ref.currencies", ["acme"])
    acme = lake.tenant("acme")
    assert _count(acme, "shared.currencies") == 10
    assert _count(acme.known_at(before), "shared.currencies") == 1000
    assert acme.table("shared.currencies").known_at(before).count() == 1000
    with pytest.raises(NotFound):
        acme.known_at(1).table("shared.currencies")


@pytest.mark.slow
def test_only_with_those_named_and_only_as_long(lake: tidelake.Lake) -> None:
    lake.share("ref.currencies", ["acme"], name="money")
    acme, bolt = lake.tenant("acme"), lake.tenant("bolt")
    table = acme.table("shared.money")
    assert table.count() == table.scan().to_arrow().num_rows == 1000
    assert bolt.tables() == ["main.t"]
    with pytest.raises(NotFound):
        bolt.table("shared.money")
    lake.unshare("ref.currencies")
    assert lake.shares() == []
    for attempt in (
        lambda: acme.table("shared.money"),
        lambda: _count(acme, "shared.money"),
        lambda: table.scan().to_arrow(),
        lambda: table.count(),
    ):
        with pytest.raises(NotFound):
            attempt()
    with pytest.raises(NotFound, match="not shared"):
        lake.unshare("ref.currencies")


def test_nothing_else_can_be_done_with_it(lake: tidelake.Lake) -> None:
    lake.share("ref.currencies")
    acme = lake.tenant("acme", role="maintain")
    table = acme.table("shared.currencies")
    (file,) = [each.path for each in table.files()]
    before = lake.snapshots()
    for attempt in (
        lambda: table.append([{"code": "X", "n": 1}]),
        lambda: table.delete("n = 1"),
        lambda: table.update({"n": "1"}, where="n = 2"),
        lambda: table.merge([{"code": "X", "n": 1}], on="n"),
        lambda: table.overwrite([{"code": "X", "n": 1}]),
        lambda: table.set_comment("x"),
        lambda: table.set_event_time("n", key="code"),
        lambda: table.evolve(drop="n"),
        lambda: table.drop(),
        lambda: table.compact(),
        lambda: table.rollback(before[-1].snapshot_id),
        lambda: table.rollup("2024-01-01"),
        lambda: table.drop_rollups(),
        lambda: table.recompute_coverage(),
        lambda: acme.mirror("shared.currencies"),
        lambda: acme.drop("shared.currencies"),
        lambda: acme.rename("shared.currencies", "mine"),
        lambda: acme.rename("t", "shared.t"),
        lambda: acme.create_schema("shared"),
        lambda: acme.create_schema("Shared"),
        lambda: acme.create_schema("acme__shared"),
        lambda: acme.create_table("shared.x", "a BIGINT"),
        lambda: acme.create_view("shared.x", "SELECT 1 AS a"),
        lambda: acme.sql("INSERT INTO shared.currencies VALUES ('X', 1)"),
        lambda: acme.sql("DELETE FROM shared.currencies"),
        lambda: acme.sql("UPDATE shared.currencies SET n = 1"),
        lambda: acme.sql("DROP TABLE shared.currencies"),
        lambda: acme.sql("ALTER TABLE shared.currencies RENAME TO mine"),
        lambda: acme.sql("COMMENT ON TABLE shared.currencies IS 'x'"),
        lambda: acme.sql(
            "MERGE INTO shared.currencies c USING t ON c.code = t.code"
            " WHEN MATCHED THEN UPDATE SET n = 1"
        ),
    ):
        with pytest.raises(Denied, match="shared by the lake's owner"):
            attempt()
    for attempt in (
        lambda: table.add_files(file),
        lambda: tidelake.ingest(acme, "shared.currencies", file),
        lambda: acme.table("t").add_files(file),
        lambda: acme.table("t").add_files(file, take_over=True),
        lambda: acme.session.store.delete([file]),
        lambda: acme.session.store.write(file, b""),
        lambda: acme.undrop("shared.currencies"),
        lambda: acme.drop_schema("shared", cascade=True),
    ):
        with pytest.raises(TidelakeError):
            attempt()
    assert lake.snapshots() == before
    assert Path(file).stat().st_size
    assert {each.table for each in acme.compact(dry_run=True).actions} == {"acme.t"}


def test_nothing_beside_it_can_be_read(lake: tidelake.Lake) -> None:
    lake.share("ref.currencies")
    acme = lake.tenant("acme")
    (other,) = [each.path for each in lake.table("ref.unseen").files()]
    for attempt in (
        lambda: acme.table("shared.unseen"),
        lambda: acme.table("ref.currencies"),
        lambda: acme.sql(f"FROM '{other}'").to_arrow(),
        lambda: acme.session.local.query(f"FROM '{other}'", {}).to_arrow(),
        lambda: acme.session.store.read(other),
        lambda: acme.table("t").append(other),
    ):
        with pytest.raises(TidelakeError) as caught:
            attempt()
        assert "unseen" not in str(caught.value).replace(other, "").replace("shared.unseen", "")


def test_what_cannot_be_shared(lake: tidelake.Lake) -> None:
    lake.sql("CREATE VIEW ref.v AS SELECT 1 AS a")
    lake.create_table("currencies", "a BIGINT")
    lake.share("ref.currencies")
    with pytest.raises(Invalid, match="is a view"):
        lake.share("ref.v")
    with pytest.raises(Invalid, match="shared as currencies already"):
        lake.share("currencies")
    with pytest.raises(Invalid, match="tenant's own"):
        lake.share("acme.t")
    with pytest.raises(NotFound, match="no tenant"):
        lake.share("ref.currencies", ["nobody"])
    with pytest.raises(Invalid, match="nobody is named"):
        lake.share("ref.currencies", [])
    with pytest.raises(Invalid, match="every tenant has"):
        lake.create_tenant("shared")
    for verb in ("share", "unshare"):
        with pytest.raises(Denied, match="whole lake"):
            getattr(lake.tenant("acme"), verb)("t")


def test_a_folder_that_holds_others_is_not_shared(place: Place) -> None:
    """A catalog may say that a table's files lie anywhere below the data path."""
    with place.open() as lake:
        lake.create_table("t", "a BIGINT")
        lake.create_tenant("acme")
    place.catalog("UPDATE ducklake_table SET path = ''")
    place.catalog("UPDATE ducklake_schema SET path = '' WHERE schema_name = 'main'")
    with place.open() as lake, pytest.raises(Invalid, match="files of others"):
        lake.share("t")


def test_what_is_dropped_is_not_shared(lake: tidelake.Lake) -> None:
    lake.share("ref.currencies")
    acme = lake.tenant("acme")
    lake.drop("ref.currencies")
    assert acme.tables() == ["main.t"]
    assert lake.shares() == []
    lake.undrop("ref.currencies")
    assert acme.tables() == ["main.t", "shared.currencies"]
    lake.rename("ref.currencies", "money")
    assert _count(acme, "shared.currencies") == 1000
    lake.drop("ref.money")
    lake.expire(keep_last=1)
    assert place_shares(lake) == []


def place_shares(lake: tidelake.Lake) -> list[object]:
    with lake.session.reading() as reader:
        return list(reader.rows("SELECT * FROM tidelake_share"))
