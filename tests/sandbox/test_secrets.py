"""Passwords and keys are told to nobody: not by a command, an error, a repr, a log or a file."""

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from click.testing import CliRunner

import tidelake
from tidelake.cli import main
from tidelake.errors import TidelakeError
from tidelake.store.files import Store
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

_PASSWORD = "marked-pw-55d1"
_ARGUMENTS: dict[str, list[str]] = {
    "append": ["t", "more.parquet"],
    "changes": ["t", "--since", "1"],
    "coverage": ["t"],
    "delete": ["t", "id = 3"],
    "diff": ["1"],
    "gaps": ["t"],
    "history": ["t", "1"],
    "import": ["nowhere", "d"],
    "ingest": ["t", "more.parquet"],
    "merge": ["t", "more.parquet", "--on", "id"],
    "mirror": ["start", "t"],
    "rollback": ["t", "--to", "2"],
    "rollup": ["t"],
    "scan": ["t", "--where", "id < 3"],
    "serve": ["--tokens", "nowhere"],
    "sql": ["SELECT count(*) FROM t"],
    "tag": ["first"],
    "ui": ["--port", "nowhere"],
    "count": ["t"],
    "show": ["t"],
    "schema": ["t"],
    "undrop": ["gone"],
    "expire": ["--older-than", "1 day"],
    "log": ["t"],
}
_NONSENSE = (["nope"], ["--bogus"], ["t", "--where", "x("], ["t", "--known-at", "999"])


@pytest.fixture
def marked(
    new_place: Callable[[str], Place],
    s3_server: "S3Server",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[str, str]:
    """The address of a lake with a password in it, and where its files are; the key is beside it
    in tidelake.toml."""
    scheme, _, rest = new_place("postgresql").url.partition("://")
    url = f"{scheme}://{rest.partition('@')[0].partition(':')[0]}:{_PASSWORD}@{rest.partition('@')[2]}"
    bucket = s3_server.new_bucket()
    options = {key: str(value) for key, value in s3_server.storage_options.items()}
    told = "\n".join(f'{key} = "{value}"' for key, value in options.items())
    monkeypatch.chdir(tmp_path)
    Path("tidelake.toml").write_text(
        f'catalog = "{url}"\ndata_path = "s3://{bucket}/lake"\n[storage_options]\n{told}\n'
    )
    with tidelake.connect() as lake:
        table = lake.create_table("t", "id BIGINT, s VARCHAR")
        table.append(pa.table({"id": range(100), "s": ["a"] * 100}))
        lake.mirror("t")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1], "s": ["b"]}), "more.parquet")
    return url, f"s3://{bucket}/lake/"


def _leaks(text: str, secrets: tuple[str, ...]) -> list[str]:
    return [secret for secret in secrets if secret in text]


def _runs(name: str) -> list[list[str]]:
    return [_ARGUMENTS.get(name, []), *_NONSENSE, ["--help"]]


@pytest.mark.slow
def test_no_command_tells_a_secret(
    marked: tuple[str, str], s3_server: "S3Server", caplog: pytest.LogCaptureFixture
) -> None:
    secrets = (_PASSWORD, s3_server.secret_key)
    caplog.set_level(logging.DEBUG)
    worked = 0
    for name in sorted(main.commands):
        for arguments in _runs(name):
            done = CliRunner().invoke(main, [name, *arguments])
            said = done.output + "".join(traceback.format_exception(done.exception))
            assert not _leaks(said, secrets), (name, arguments, said[-500:])
            worked += done.exit_code == 0
    assert worked > len(main.commands) * 1.5  # --help of all, and half of the others
    assert not _leaks(caplog.text, secrets)
    _check_what_is_stored(marked, secrets, s3_server)


def _check_what_is_stored(
    marked: tuple[str, str], secrets: tuple[str, ...], server: "S3Server"
) -> None:
    import psycopg

    url, data = marked
    with psycopg.connect(url) as catalog:
        names = catalog.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchall()
        for (name,) in names:
            rows = catalog.execute(f'SELECT * FROM "{name}"').fetchall()  # type: ignore[call-overload]
            assert not _leaks(str(rows), secrets), name
    store = Store(server.storage_options)
    for each in store.walk(data):
        found = store.read(each.uri)
        assert not [secret for secret in secrets if secret.encode() in found], each.uri


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://{user}:{secret}@127.0.0.1:1/db",
        "postgresql://{user}:{secret}@127.0.0.1:99999/db",
        "postgresql://{user}:{secret}@no.such.host.invalid/db",
        "postgresql://{user}:{secret}@[::bad/db",
        " postgresql://{user}:{secret}@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user={user}&password={secret}",
        "postgres://{user}:{secret}@127.0.0.1:1/db?sslmode=nonsense",
        "postgresql:/{user}:{secret}@127.0.0.1/db",
        "mysql://{user}:{secret}@127.0.0.1:1/db",
        "mysql://{user}:{secret}@127.0.0.1:1/db?charset=nonsense",
        "ducklake:postgres:host=127.0.0.1 port=1 user={user} password={secret}",
        "ducklake:postgres:host=127.0.0.1 port=1 password='{secret}'",
        "redis://{user}:{secret}@127.0.0.1/1",
    ],
)
def test_no_address_that_fails_tells_its_password(url: str) -> None:
    given = url.format(user="ann", secret=_PASSWORD)
    with pytest.raises(TidelakeError) as caught:
        tidelake.connect(given, "data", create=False)
    assert _PASSWORD not in "".join(traceback.format_exception(caught.value))
    done = CliRunner().invoke(main, ["--catalog", given, "tables"])
    assert done.exit_code != 0
    assert _PASSWORD not in done.output


def test_no_repr_tells_a_secret(marked: tuple[str, str], s3_server: "S3Server") -> None:
    with tidelake.connect() as lake:
        table = lake.table("t")
        query = lake.sql("SELECT count(*) FROM t")
        scan = table.scan(where="id < 3")
        seen = [lake, table, query, scan, scan.explain(), lake.log(), table.files(), lake.url]
        seen += [lake.data_path, lake.session, lake.session.local, lake.session.database]
        seen += [lake.mirrored("t"), lake.mirrored("t").status]
        for each in seen:
            assert not _leaks(f"{each!r} {each}", (_PASSWORD, s3_server.secret_key)), type(each)
