"""What storage options say to each kind of store."""

import os
from collections.abc import Iterator
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import duckdb
import pytest

from tidelake.engine.local.object_stores import allow_remote
from tidelake.errors import Invalid, Unsupported
from tidelake.store.access import StoreAccess
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server


def _has_httpfs() -> bool:
    """Not every DuckDB has one on PyPI."""
    try:
        return version("duckdb-extension-httpfs") == duckdb.__version__
    except PackageNotFoundError:
        return False


def test_each_store_takes_its_own() -> None:
    options = {
        "aws_region": "eu-1",
        "google_bearer_token": "g",
        "AZURE_STORAGE_ACCOUNT_NAME": "a",
        "allow_http": "true",
        "timeout": "5s",
        "max_retries": "2",
        "retry_timeout": 30,
    }
    s3, google, azure = (StoreAccess.of(scheme, options) for scheme in ("s3", "gs", "abfss"))
    assert s3.config == {"aws_region": "eu-1"}
    assert google.config == {"google_bearer_token": "g"}
    assert azure.config == {"azure_storage_account_name": "a"}
    assert s3.client == {"allow_http": True, "timeout": "5s"}
    assert s3.retry == {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}
    assert StoreAccess.of("https", options).config == {}


def test_the_name_of_the_store_may_stand_before_every_option() -> None:
    options = {
        "AWS_ALLOW_HTTP": "true",
        "aws_timeout": "5s",
        "aws_max_retries": 1,
        "aws_http1_only": "true",
        "azure_read_timeout": "9s",
    }
    s3, azure = (StoreAccess.of(scheme, options) for scheme in ("s3", "az"))
    assert s3.config == azure.config == {}
    assert s3.client == {"allow_http": True, "timeout": "5s", "http1_only": "true"}
    assert s3.retry == {"max_retries": 1}
    assert azure.client == {"allow_http": False, "read_timeout": "9s"}


@pytest.mark.parametrize(
    ("place", "options", "said"),
    [
        ("az://c/x", {}, "Account must be specified"),
        ("gs://b/x", {"google_service_account": "/not/there.json"}, "No such file"),
        ("s3://b/x", {"timeout": "soon"}, "soon"),
    ],
)
def test_what_no_store_can_be_opened_with(
    place: str, options: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    with pytest.raises(
        Invalid, match=f"cannot be reached with these storage_options.*{said}"
    ) as no:
        Store(options).exists(place)
    assert no.value.hint


def test_no_key_is_shown() -> None:
    assert "hidden" not in repr(StoreAccess.of("s3", {"secret_access_key": "hidden"}))


@pytest.mark.parametrize("said", ["often", "-1", None])
def test_retries_that_are_no_number(said: object) -> None:
    with pytest.raises(Invalid, match="max_retries"):
        StoreAccess.of("s3", {"max_retries": said})


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        yield connection


@pytest.mark.skipif(not _has_httpfs(), reason="there is no httpfs for this DuckDB")
def test_keys_of_the_environment(
    connection: duckdb.DuckDBPyConnection, s3_server: "S3Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret_key)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    place = f"s3://{s3_server.new_bucket()}/x.parquet"
    allow_remote(connection, ["s3"], {"region": "us-east-1"})
    connection.execute(f"COPY (SELECT 7 AS n) TO '{place}'")
    assert connection.execute(f"FROM read_parquet('{place}')").fetchall() == [(7,)]
    assert "s3" not in connection.list_filesystems()  # but httpfs


def test_keys_that_must_be_fetched(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key is known: obstore, which can fetch some, opens the files."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    allow_remote(connection, ["s3", "gs", "az"], {})
    assert sorted(connection.list_filesystems()) == ["az", "gs", "s3"]


def test_odd_names(connection: duckdb.DuckDBPyConnection, s3_server: "S3Server") -> None:
    from tidelake.store.file_system import file_system

    connection.register_filesystem(file_system("s3", s3_server.storage_options))
    place = f"s3://{s3_server.new_bucket()}/a#b %20ü.parquet"
    connection.execute(f"COPY (SELECT 7 AS n) TO '{place}'")
    assert connection.execute(f"FROM read_parquet('{place}')").fetchall() == [(7,)]
    assert Store(s3_server.storage_options).exists(place)


def test_patterns(connection: duckdb.DuckDBPyConnection, s3_server: "S3Server") -> None:
    from tidelake.store.file_system import file_system

    connection.register_filesystem(file_system("s3", s3_server.storage_options))
    bucket = f"s3://{s3_server.new_bucket()}"
    names = [f"{bucket}/in/{name}.csv" for name in ("2024/a", "2024/b #1", "2025/c ü")]
    for name in names:
        connection.execute(f"COPY (SELECT 7 AS n) TO '{name}'")

    def found(pattern: str) -> list[str]:
        rows = connection.execute("FROM glob(?)", [f"{bucket}/{pattern}"]).fetchall()
        return sorted(name for (name,) in rows)

    assert found("in/*/*.csv") == found("**/*.csv") == found("in/202?/*") == names
    assert found("in/2024/*.csv") == names[:2]
    assert found("in/*/[ac]*") == names[::2]
    assert found("in/2024/a.csv") == names[:1]
    assert found("in/*/*.json") == found("out/*") == []
    read = f"SELECT count(*) FROM read_csv('{bucket}/in/*/*.csv')"
    assert connection.execute(read).fetchall() == [(3,)]


def test_a_scheme_of_nobody(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(Unsupported, match="hdfs"):
        allow_remote(connection, ["hdfs"], {})


@pytest.mark.parametrize("said", ["localhost:9000", "minio", "http://", "http://local host:1", ""])
@pytest.mark.parametrize("key", ["endpoint", "aws_endpoint", "endpoint_url", "AWS_ENDPOINT_URL"])
def test_an_endpoint_without_its_scheme(
    key: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    with pytest.raises(Invalid, match="is not an address") as told:
        StoreAccess.of("s3", {key: said})
    assert "http://localhost:9000" in str(told.value.hint)
    monkeypatch.setenv("AWS_ENDPOINT_URL", said or "localhost:9000")
    with pytest.raises(Invalid, match=r"AWS_ENDPOINT_URL = .* is not an address"):
        StoreAccess.of("s3", {})
    StoreAccess.of("gs", {})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "")
    StoreAccess.of("s3", {})
    assert StoreAccess.of("s3", {key: "http://127.0.0.1:9000"}).config
    assert StoreAccess.of("s3", {key: "https://ann@example.com/x"}).config


@pytest.mark.parametrize("key", ["use_fabric_endpoint", "azure_use_fabric_endpoint"])
def test_an_option_that_is_called_an_endpoint_and_is_none(key: str) -> None:
    assert StoreAccess.of("az", {key: "true"}).config == {key: "true"}
