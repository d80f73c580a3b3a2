"""What tenants have, what they may have at most, and how long their past stays."""

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from click.testing import CliRunner

import tidelake
from tidelake import Quota
from tidelake.cli import main
from tidelake.errors import Conflict, Denied, Invalid, NotFound
from tidelake.tenants.values import TenantState
from tidelake.testing.place import Place


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("own", "id BIGINT").append(pa.table({"id": range(50)}))
        for name in ("acme", "bolt"):
            tenant = lake.create_tenant(name)
            table = tenant.create_table("t", "id BIGINT")
            table.append(pa.table({"id": range(1000)}))
            table.append([{"id": -1}, {"id": -2}])
            tenant.close()
        yield lake


def _state(lake: tidelake.Lake, name: str = "acme") -> TenantState:
    (found,) = [each for each in lake.tenants() if each.name == name]
    return found


def test_numbers_are_those_of_the_tables(lake: tidelake.Lake) -> None:
    acme = lake.tenant("acme")
    table = acme.table("t")
    table.delete("id = 5")
    table.delete("id < 500 AND id >= 0")
    acme.create_table("gone", "id BIGINT").append(pa.table({"id": range(100)}))
    acme.drop("gone")
    acme.create_schema("more")
    acme.create_table("more.u", "id BIGINT").append([{"id": 1}])
    state = _state(lake)
    assert (state.tables, state.rows) == (2, 503)
    assert state.rows == table.count() + acme.table("more.u").count()
    assert state.inlined_rows == 3
    assert state.files > state.files_now >= 1
    assert (
        state.bytes
        > state.bytes_now
        == sum(file.bytes + sum(each.bytes for each in file.deletes) for file in table.files())
    )
    assert state.snapshots == len(acme.log()) == state.commits_last_day == state.commits_last_week
    assert state.last_commit == acme.log()[-1].time
    assert _state(lake, "bolt").rows == 1002


def test_a_tenant_without_anything(lake: tidelake.Lake) -> None:
    lake.create_tenant("none").close()
    state = _state(lake, "none")
    assert (state.tables, state.rows, state.files, state.bytes, state.snapshots) == (0, 0, 0, 0, 1)


def test_quotas_are_exact(lake: tidelake.Lake) -> None:
    table = lake.tenant("acme").table("t")
    state = _state(lake)
    lake.set_quota("acme", Quota(files=state.files + 1, snapshots=state.snapshots + 2))
    table.append(pa.table({"id": range(1000)}))
    with pytest.raises(Denied, match="2 files, and would have 3"):
        table.append(pa.table({"id": range(1000)}))
    table.append([{"id": 7}])
    before = table.count()
    with pytest.raises(Denied, match="snapshots"):
        table.append([{"id": 8}])
    assert table.count() == before
    lake.table("acme.t").append([{"id": 8}])  # its owner is not held to it
    lake.expire(keep_last=1)
    table.append([{"id": 9}])


def test_what_was_promised_does_not_expire(lake: tidelake.Lake) -> None:
    lake.set_retention("acme", "30d")
    assert _state(lake).retention == "30d"
    before = lake.snapshots()
    for asked in ({"keep_last": 1}, {"older_than": "0 seconds"}):
        with pytest.raises(Conflict, match="tenant acme is promised its past of 30d"):
            lake.expire(**asked)  # type: ignore[arg-type]
    assert lake.expire().snapshots == ()
    assert lake.snapshots() == before
    lake.set_retention("acme", "0 seconds")
    lake.set_retention("bolt", "1 day")
    assert lake.expire().snapshots == ()
    lake.set_retention("bolt", None)
    assert len(lake.expire().snapshots) == len(before) - 1


def test_the_longer_of_promise_and_option_holds(lake: tidelake.Lake) -> None:
    lake.set_retention("acme", "0 seconds")
    lake.set_option("expire_older_than", "7 days")
    assert lake.expire().snapshots == ()


def test_by_force(lake: tidelake.Lake) -> None:
    lake.set_retention("acme", "30d")
    assert lake.expire(keep_last=1, force=True).snapshots


def test_odd_promises(lake: tidelake.Lake) -> None:
    for odd in ("soon", "", "-3 days", 7):
        with pytest.raises(Invalid):
            lake.set_retention("acme", odd)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        lake.set_retention("nobody", "30d")
    with pytest.raises(Denied, match="whole lake"):
        lake.tenant("acme").set_retention("acme", "1d")


def test_a_promise_goes_with_its_tenant(lake: tidelake.Lake) -> None:
    lake.set_retention("acme", "30d")
    lake.drop_tenant("acme")
    assert lake.expire(keep_last=1).snapshots
    lake.create_tenant("acme").close()
    assert _state(lake).retention is None


def test_a_name_that_would_run_into_another(lake: tidelake.Lake) -> None:
    """Of a tenant `a_` the schema `x` would be `a___x`, which is also `_x` of a tenant `a`."""
    for name in ("a_", "acme_"):
        with pytest.raises(Invalid, match="no name for a tenant"):
            lake.create_tenant(name)


def test_the_command(place: Place, lake: tidelake.Lake) -> None:
    lake.set_retention("acme", "30d")
    runner = CliRunner()
    told = runner.invoke(main, ["tenants", "--catalog", place.url, "--json"])
    acme, _ = json.loads(told.output)["tenants"]
    assert acme["rows"] == 1002
    assert acme["inlined_rows"] == 2
    assert acme["snapshots"] == 4
    assert acme["retention"] == "30d"
    assert acme["quota"]["snapshots"] is None
    assert acme["last_commit"]
    plain = runner.invoke(main, ["tenants", "--catalog", place.url])
    assert "last commit" in plain.output
