"""Tenants of one lake: each sees its own, and nothing of the others."""

import inspect
import pickle
import traceback
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tidelake import Quota
from tidelake.errors import Conflict, Denied, Invalid, NotFound, TidelakeError
from tidelake.lake.lake import Lake
from tidelake.testing.faults import watch_database
from tidelake.testing.place import Place

_ALLOWED = """
append close compact create_schema create_table create_view data_path drop drop_frozen drop_schema
encrypted engine exists freeze frozen health known_at log mirror mirrored rename schemas snapshots
sql table tables transaction undrop url view views
"""
_OF_THE_WHOLE = """
across_tenants audit backup cleanup consumer consumer_group consumers create_tenant delta_versions
diff drop_tenant erase erasures expire finish_erasures macros mirrors move names options recover
reindex
set_option set_quota set_retention share shares sync_mirrors tag tags tenant tenant_login tenants
unshare untag verify
"""
_HIDDEN = ("bolt", "hidden", "unseen")
"""Parts of names that acme must never hear."""


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("hidden", "id BIGINT").append([{"id": 1}])
        for name in ("acme", "bolt"):
            tenant = lake.create_tenant(name)
            table = tenant.create_table("t", "id BIGINT, s VARCHAR")
            table.append(pa.table({"id": range(1000), "s": [name] * 1000}))
            tenant.close()
        bolt = lake.tenant("bolt")
        bolt.create_schema("unseen")
        bolt.create_table("unseen.u", "id BIGINT").append([{"id": 2}])
        bolt.create_table("gone", "id BIGINT").append([{"id": 3}])
        bolt.drop("gone")
        bolt.sql("CREATE VIEW v AS SELECT s FROM t")
        bolt.close()
        lake.tag("unseen tag")
        yield lake


@pytest.fixture
def acme(lake: tidelake.Lake) -> Iterator[tidelake.Lake]:
    tenant = lake.tenant("acme", role="maintain")
    yield tenant
    tenant.close()


def test_a_tenant_works_as_a_lake_does(acme: tidelake.Lake, place: Place) -> None:
    assert acme.tables() == ["main.t"]
    assert acme.schemas() == ["main"]
    table = acme.table("t")
    assert table.count() == 1000
    assert acme.sql("SELECT DISTINCT s FROM t").to_arrow()["s"].to_pylist() == ["acme"]
    acme.create_schema("other")
    acme.create_table("other.x", "a BIGINT").append([{"a": 1}])
    acme.sql("INSERT INTO other.x SELECT id FROM main.t WHERE id < 3")
    acme.sql("CREATE VIEW v AS SELECT a FROM other.x")
    assert acme.sql("SELECT count(*) AS n FROM v").to_arrow()["n"].to_pylist() == [4]
    table.update({"s": "'new'"}, where="id = 1")
    table.merge(pa.table({"id": [5000], "s": ["m"]}), on="id")
    table.delete("id = 2")
    with acme.transaction() as tx:
        tx.table("t").append([{"id": 9000, "s": "x"}])
        tx.create_table("y", "a BIGINT")
    assert sorted(acme.tables()) == ["main.t", "main.y", "other.x"]
    acme.rename("y", "z")
    acme.drop("z")
    acme.undrop("z")
    table.compact()
    assert table.count() == 1001
    below = place.data / "tenants" / "acme"
    assert all(Path(file.path).is_relative_to(below) for file in table.files())


@pytest.mark.slow
def test_duckdb_sees_ordinary_schemas(
    acme: tidelake.Lake, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    assert duck.execute("SELECT count(*), min(s) FROM lake.acme.t").fetchone() == (1000, "acme")
    duck.execute("INSERT INTO lake.acme.t VALUES (7777, 'duck')")
    assert acme.table("t").scan(where="id = 7777").count() == 1
    assert lake.table("acme.t").count() == 1001


_NAMES = (
    "bolt.t",
    '"bolt"."t"',
    "BOLT.t",
    "bolt__unseen.u",
    "bolt__main.t",
    "unseen.u",
    "hidden",
    "main.hidden",
    '"main"."hidden"',
    "acme__bolt.t",
    "gone",
    "bolt.gone",
    "v",
    "bolt.v",
)


@pytest.mark.parametrize("name", _NAMES)
def test_no_name_leads_to_others(acme: tidelake.Lake, lake: tidelake.Lake, name: str) -> None:
    before = lake.snapshots()
    dotted = name if '"' in name else ".".join(f'"{part}"' for part in name.split("."))
    for attempt in (
        lambda: acme.table(name),
        lambda: acme.view(name),
        lambda: acme.drop(name),
        lambda: acme.undrop(name),
        lambda: acme.rename(name, "mine"),
        lambda: acme.sql(f"SELECT * FROM {dotted}").to_arrow(),
        lambda: acme.sql(f"SELECT * FROM {dotted} FOR SYSTEM_TIME AS OF 8").to_arrow(),
        lambda: acme.sql(f"SELECT * FROM t WHERE id IN (SELECT id FROM {dotted})").to_arrow(),
        lambda: acme.sql(f"INSERT INTO t SELECT id, 'x' FROM {dotted}"),
        lambda: acme.sql(f"INSERT INTO {dotted} VALUES (1)"),
        lambda: acme.sql(f"DELETE FROM {dotted}"),
        lambda: acme.sql(f"UPDATE {dotted} SET id = 1"),
        lambda: acme.sql(f"DROP TABLE {dotted}"),
        lambda: acme.sql(f"ALTER TABLE {dotted} RENAME TO mine"),
        lambda: acme.sql(f"COMMENT ON TABLE {dotted} IS 'x'"),
        lambda: acme.sql(f"CREATE VIEW w AS SELECT * FROM {dotted}"),
        lambda: acme.sql(f"CREATE TABLE w AS SELECT * FROM {dotted}"),
        lambda: acme.mirror(name),
        lambda: acme.mirrored(name),
        lambda: tidelake.ingest(acme, name, "nothing.csv"),
    ):
        with pytest.raises((NotFound, Denied, Invalid)) as caught:
            attempt()
        _check_silence(caught.value, name)
    assert lake.snapshots() == before


def _check_silence(error: BaseException, given: str) -> None:
    """Nothing is told but what was asked."""
    told = "".join(traceback.format_exception_only(error)).lower()
    for each in _HIDDEN:
        assert each in given.lower() or each not in told, told


@pytest.mark.parametrize("name", _OF_THE_WHOLE.split())
def test_what_concerns_the_whole_lake_is_refused_by_name(acme: tidelake.Lake, name: str) -> None:
    needed = [
        "1"
        for each in inspect.signature(getattr(acme, name)).parameters.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    with pytest.raises(Denied, match="whole lake"):
        getattr(acme, name)(*needed)
    with acme.transaction() as tx, pytest.raises((Denied, Invalid)):
        getattr(tx, name)(*needed)


def test_every_public_method_was_thought_of() -> None:
    """A method that comes to Lake is refused to tenants, or stands here."""
    public = {name for name, _ in inspect.getmembers(Lake) if not name.startswith("_")}
    assert public - set(_ALLOWED.split()) - set(_OF_THE_WHOLE.split()) == set()


def test_the_log_tells_of_its_own(acme: tidelake.Lake, lake: tidelake.Lake) -> None:
    with lake.transaction(author="owner", message="hidden words") as tx:
        tx.table("acme.t").append([{"id": 1, "s": "o"}])
        tx.table("bolt.t").append([{"id": 1, "s": "o"}])
    told = acme.log()
    assert [entry.tables for entry in told] == [(), ("acme.t",), ("acme.t",), ("acme.t",)]
    assert len(acme.snapshots()) == len(told)
    with acme.transaction() as tx:
        seen = [told, acme.snapshots(), acme.table("t").log(), tx.log(), tx.snapshots(), tx.url]
    words = repr(seen) + "".join(map(str, told)) + acme.url + acme.data_path
    assert not [each for each in _HIDDEN if each in words]
    assert told[-1].inserted is None


def test_files_of_others_are_out_of_reach(acme: tidelake.Lake, lake: tidelake.Lake) -> None:
    other = lake.table("bolt.t").files()[0].path
    table = acme.table("t")
    for attempt in (
        lambda: table.add_files(other),
        lambda: table.append(other),
        lambda: tidelake.ingest(acme, "t", other),
        lambda: acme.session.local.query(f"FROM '{other}'", {}).to_arrow(),
        lambda: acme.session.store.read(other),
        lambda: acme.session.store.delete([other]),
    ):
        with pytest.raises(TidelakeError):
            attempt()
    assert lake.table("bolt.t").count() == 1000


def test_time_travel_stays_inside(acme: tidelake.Lake, lake: tidelake.Lake) -> None:
    own = [entry.snapshot_id for entry in acme.log()]
    head = lake.snapshots()[-1].snapshot_id
    for number in (*range(head + 1), head + 1, 10**6, 2**70):
        before = [each for each in own if each <= number]
        if not before:
            with pytest.raises(NotFound):
                acme.known_at(number)
            continue
        then = acme.known_at(number)
        assert then.session.pinned == before[-1]
        assert set(then.tables()) <= {"main.t"}
        assert then.tables() == (["main.t"] if len(before) > 1 else [])
    for words in ("unseen tag", "no tag", "1999-01-01", -1):
        with pytest.raises(NotFound, match="there is no snapshot") as caught:
            acme.known_at(words)
        assert caught.value.hint == "name a time or a snapshot id of lake.log()"


def test_others_and_nobodys_names_cost_the_same(acme: tidelake.Lake) -> None:
    """Whoever takes the time learns nothing: the catalog is asked the same."""
    asked: dict[str, list[tuple[str, str]]] = {}
    for name in ("bolt.t", "bolt.x", "bolt__unseen.u", "bolt__unseen.x", "hidden", "nobody"):
        asked[name] = []
        with watch_database(acme, lambda *told, name=name: asked[name].append(told)):
            for attempt in (
                lambda name=name: acme.table(name),
                lambda name=name: acme.sql(f"SELECT * FROM {name}"),
                lambda name=name: acme.drop(name),
                lambda name=name: acme.undrop(name),
            ):
                with pytest.raises(NotFound):
                    attempt()
    for theirs, nobodys in (("bolt.t", "bolt.x"), ("hidden", "nobody")):
        assert asked[theirs] == asked[nobodys]
    assert asked["bolt__unseen.u"] == asked["bolt__unseen.x"]


def test_time_travel_over_what_has_expired(acme: tidelake.Lake, lake: tidelake.Lake) -> None:
    acme.table("t").append([{"id": 1, "s": "a"}])
    at = lake.snapshots()[-1].snapshot_id
    lake.table("bolt.t").append([{"id": 1, "s": "b"}])
    lake.expire(keep_last=1)
    assert acme.known_at(at + 1).table("t").count() == 1001
    with pytest.raises(NotFound):
        acme.known_at(at)


def test_a_token_is_the_tenants_own(lake: tidelake.Lake) -> None:
    for name in ("acme", "bolt"):
        tenant = lake.tenant(name)
        for duplicate in (False, True):
            done = tenant.table("t").append([{"id": 1, "s": "once"}], once="job/1")
            assert done.duplicate is duplicate
        assert tenant.table("t").count() == 1001


def test_roles(lake: tidelake.Lake) -> None:
    reader = lake.tenant("acme", role="read")
    assert reader.table("t").count() == 1000
    for attempt in (
        lambda: reader.table("t").append([{"id": 1, "s": "x"}]),
        lambda: reader.sql("DELETE FROM t"),
        lambda: reader.create_table("u", "a BIGINT"),
        lambda: reader.transaction(),
        lambda: reader.compact(),
    ):
        with pytest.raises(Denied, match="opened to read"):
            attempt()
    writer = lake.tenant("acme")
    writer.table("t").append([{"id": 1, "s": "x"}])
    for tidy in (writer.compact, writer.table("t").compact):
        with pytest.raises(Denied, match="not enough to maintain"):
            tidy()
    with pytest.raises(Invalid, match="no role"):
        lake.tenant("acme", role="admin")


def test_quotas(lake: tidelake.Lake, place: Place) -> None:
    lake.set_quota("acme", Quota(rows_per_commit=100))
    table = lake.tenant("acme").table("t")
    table.append(pa.table({"id": range(100), "s": ["q"] * 100}))
    with pytest.raises(Denied, match="100 rows in one commit") as caught:
        table.append(pa.table({"id": range(101), "s": ["q"] * 101}))
    assert type(caught.value) is Denied
    (state,) = [each for each in lake.tenants() if each.name == "acme"]
    before = place.files()
    lake.set_quota("acme", Quota(bytes=state.bytes + 10, files=100))
    with pytest.raises(Denied, match="bytes"):
        table.append(pa.table({"id": range(1000), "s": ["q"] * 1000}))
    lake.set_quota("acme", Quota(files=state.files))
    with pytest.raises(Denied, match="files"):
        table.append(pa.table({"id": range(1000), "s": ["q"] * 1000}))
    assert table.count() == 1100
    assert place.files() == before
    lake.table("bolt.t").append(pa.table({"id": range(1000), "s": ["q"] * 1000}))


def test_tenants_are_listed_and_dropped(lake: tidelake.Lake) -> None:
    found = {each.name: each for each in lake.tenants()}
    assert set(found) == {"acme", "bolt"}
    assert (found["acme"].tables, found["acme"].rows) == (1, 1000)
    assert found["bolt"].rows == 1001
    told = lake.drop_tenant("bolt", dry_run=True)
    assert set(told.tables) == {"bolt.t", "bolt__unseen.u"}
    assert told.rows == 1001
    assert "bolt.t" in lake.tables()
    bolt = lake.tenant("bolt")
    before = lake.snapshots()[-1].snapshot_id
    lake.drop_tenant("bolt")
    assert [each.name for each in lake.tenants()] == ["acme"]
    assert lake.tables() == ["main.hidden", "acme.t"]
    assert lake.known_at(before).table("bolt.t").count() == 1000
    with pytest.raises((Denied, NotFound, Conflict)):
        bolt.create_table("again", "a BIGINT")
    with pytest.raises(NotFound):
        lake.tenant("bolt")
    with pytest.raises(Invalid, match="past would be the new one's"):
        lake.create_tenant("bolt")
    lake.untag("unseen tag")
    lake.expire(keep_last=1)
    again = lake.create_tenant("bolt")
    assert again.tables() == []
    again.close()


@pytest.mark.parametrize("name", ["", "Main", "main", "a__b", "1a", "a b", "ä", "a/b", "..", 7])
def test_names_that_no_tenant_has(lake: tidelake.Lake, name: object) -> None:
    with pytest.raises(Invalid):
        lake.create_tenant(name)  # type: ignore[arg-type]


def test_a_name_that_is_taken(lake: tidelake.Lake) -> None:
    lake.create_schema("corp__x")
    for name in ("acme", "corp"):
        with pytest.raises(Invalid, match="already"):
            lake.create_tenant(name)


def test_a_tenant_travels(acme: tidelake.Lake) -> None:
    copy = pickle.loads(pickle.dumps(acme))
    assert copy.tables() == ["main.t"]
    assert copy.sql("SELECT count(*) AS n FROM t").to_arrow()["n"].to_pylist() == [1000]
    with pytest.raises(NotFound):
        copy.table("bolt.t")
    copy.close()
