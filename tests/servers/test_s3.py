import pytest
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from tests.servers.ducklake import round_trip
from tests.servers.process import listening_addresses


def store(server, bucket, **changes):
    options = {**server.storage_options, **changes}
    http = {"allow_http": options.pop("allow_http")}
    return S3Store(bucket, **options, client_options=http)


def test_round_trip(s3_server):
    bucket = store(s3_server, s3_server.new_bucket())
    bucket.put("a/b", b"tide")
    assert bytes(bucket.get("a/b").bytes()) == b"tide"


def test_put_if_absent_has_one_winner(s3_server):
    bucket = store(s3_server, s3_server.new_bucket())
    bucket.put("commit", b"first", mode="create")
    with pytest.raises(AlreadyExistsError):
        bucket.put("commit", b"second", mode="create")
    assert bytes(bucket.get("commit").bytes()) == b"first"


def test_wrong_credentials_are_refused(s3_server):
    stranger = store(s3_server, s3_server.new_bucket(), secret_access_key="wrong")
    with pytest.raises(BaseError):
        stranger.put("a", b"tide")


def test_listens_on_loopback_only(s3_server):
    assert listening_addresses(s3_server.pid) == {"127.0.0.1"}


def test_ducklake_with_data_on_s3(s3_server, new_duck, tmp_path):
    bucket = s3_server.new_bucket()
    catalog = f"sqlite:{tmp_path / 'lake.db'}"
    round_trip(new_duck, catalog, f"s3://{bucket}/lake/", prepare=s3_server.duckdb_secret)
