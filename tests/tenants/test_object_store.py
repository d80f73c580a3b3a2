"""Keys of an object store that open one tenant's folder: the walls outside of the process."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tidelake
from tests.servers.s3 import SHARED_BUCKET
from tidelake.errors import Denied
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer
    from tests.servers.s3 import S3Server

_ROWS = pa.table({"id": range(1000), "s": ["x"] * 1000})


@pytest.fixture(scope="module")
def lake(
    s3_server: "S3Server", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tidelake.Lake]:
    folder = tmp_path_factory.mktemp("keys")
    place = f"s3://{s3_server.new_bucket(SHARED_BUCKET)}/lake/"
    options = s3_server.storage_options
    with tidelake.connect(f"sqlite:///{folder}/lake.db", place, storage_options=options) as lake:
        lake.create_table("hidden", "id BIGINT, s VARCHAR").append(_ROWS)
        for name in ("acme", "bolt"):
            tenant = lake.create_tenant(name)
            tenant.create_table("t", "id BIGINT, s VARCHAR").append(_ROWS)
            tenant.close()
        yield lake


def test_its_keys_are_enough(lake: tidelake.Lake, s3_server: "S3Server") -> None:
    acme = lake.tenant("acme", role="maintain", storage_options=s3_server.options_of("acme"))
    table = acme.table("t")
    table.append(_ROWS)
    assert acme.sql("SELECT count(*) AS n FROM t").to_arrow()["n"].to_pylist() == [2000]
    table.delete("id < 500")
    table.update({"s": "'y'"}, where="id = 999")
    table.compact()
    acme.mirror("t")
    table.append(_ROWS)
    assert table.count() == 2000
    assert table.scan(where="s = 'y'").count() == 2
    acme.close()
    assert lake.table("acme.t").count() == 2000


def test_its_keys_open_nothing_else(lake: tidelake.Lake, s3_server: "S3Server") -> None:
    """Whatever somebody could do with the keys alone."""
    store = Store(s3_server.options_of("acme"))
    place = lake.data_path
    foreign = [
        lake.table("bolt.t").files()[0].path,
        lake.table("hidden").files()[0].path,
        f"{place}tenants/bolt/new.parquet",
        f"{place}tenants/acme2/new.parquet",
        f"{place}_tidelake/lake.json",
    ]
    for path in foreign:
        for attempt in (
            lambda path=path: store.read(path),
            lambda path=path: store.write(path, b"x"),
            lambda path=path: store.delete([path]),
        ):
            with pytest.raises(Denied):
                attempt()
    for folder in (place, f"{place}tenants/", f"{place}tenants/bolt/"):
        with pytest.raises(Denied):
            list(store.walk(folder))
    assert lake.table("bolt.t").count() == 1000
    own = lake.table("acme.t").files()[0].path
    assert store.read(own)


@pytest.mark.slow
def test_anothers_keys_are_denied(lake: tidelake.Lake, s3_server: "S3Server") -> None:
    before = lake.snapshots()
    mixed = lake.tenant("acme", storage_options=s3_server.options_of("bolt"))
    with pytest.raises(Denied):
        mixed.table("t").append(_ROWS)
    with pytest.raises(Denied):
        mixed.table("t").scan(where="id % 2 = 0").to_arrow()
    mixed.close()
    assert lake.snapshots() == before


@pytest.mark.slow
def test_both_walls(
    postgres_server: "PostgresServer", s3_server: "S3Server", lake: tidelake.Lake
) -> None:
    """A login to the catalog and keys to the store: neither the owner's."""
    place = f"{lake.data_path}tenants/acme/nested/"
    options = s3_server.storage_options
    url = postgres_server.new_database()
    with tidelake.connect(url, place, storage_options=options, share_data_path=True) as owner:
        login = owner.create_tenant("acme", database_role=True)
        with tidelake.connect(login.url, storage_options=s3_server.options_of("acme")) as acme:
            acme.create_table("t", "id BIGINT, s VARCHAR").append(_ROWS)
            assert acme.table("t").count() == 1000
        others = s3_server.options_of("bolt")
        with tidelake.connect(login.url, storage_options=others) as acme, pytest.raises(Denied):
            acme.table("t").append(_ROWS)
