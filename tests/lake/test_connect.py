"""Where a lake is, and what a bad address gets."""

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

import tidelake
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError, Unsupported

if TYPE_CHECKING:
    import duckdb

    from tests.servers.postgres import PostgresServer

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("sqlite:////data/lake.db", "sqlite", "/data/lake.db"),
        ("duckdb:////data/a%20b.duckdb", "duckdb", "/data/a b.duckdb"),
        ("ducklake:sqlite:/data/lake.db", "sqlite", "/data/lake.db"),
        ("ducklake:/data/meta.ducklake", "duckdb", "/data/meta.ducklake"),
        ("ducklake:duckdb:/data/meta.ducklake", "duckdb", "/data/meta.ducklake"),
    ],
)
def test_embedded_addresses(text: str, kind: str, path: str) -> None:
    assert parse_url(text) == CatalogUrl(kind, path=Path(path))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("postgresql://me:pw@db:5433/lake", "postgresql://me:pw@db:5433/lake"),
        ("postgres://me@db/lake", "postgresql://me@db/lake"),
        ("mariadb://me@db/lake", "mysql://me@db/lake"),
        (
            "ducklake:postgres:dbname=lake host=db port=5433 user=me password='p w'",
            "postgresql://me:p%20w@db:5433/lake",
        ),
        ("ducklake:mysql:db=lake host=h user=u", "mysql://u@h/lake"),
        ("ducklake:postgres:dbname=lake host=/run/pg", "postgresql:///lake?host=/run/pg"),
    ],
)
def test_server_addresses(text: str, url: str) -> None:
    assert parse_url(text).url == url


def test_relative_paths_start_at_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tidelake.connect("sqlite:///lake.db", data_path="data") as lake:
        assert lake.data_path == f"{tmp_path}/data/"
    assert (tmp_path / "lake.db").exists()


def test_passwords_stay_out_of_messages() -> None:
    assert "secret" not in str(parse_url("postgresql://me:secret@db/lake"))


@pytest.mark.parametrize(
    "text", ["", "lake.db", "oracle://x/y", "sqlite://", "ducklake:", "postgresql://h"]
)
def test_a_bad_address_says_what_to_write(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        tidelake.connect(text)
    assert caught.value.hint


def test_the_environment_names_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDELAKE_CATALOG", f"sqlite:///{tmp_path}/env.db")
    monkeypatch.setenv("TIDELAKE_DATA_PATH", f"{tmp_path}/env_data")
    with tidelake.connect() as lake:
        assert lake.data_path == f"{tmp_path}/env_data/"


def test_a_file_names_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    (tmp_path / "tidelake.toml").write_text('catalog = "sqlite:///toml.db"\ndata_path = "there"\n')
    with tidelake.connect() as lake:
        assert lake.data_path == f"{tmp_path}/there/"


def test_no_lake_named_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    with pytest.raises(Invalid, match="no catalog was named"):
        tidelake.connect()


def test_a_broken_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    (tmp_path / "tidelake.toml").write_text("catalog = ")
    with pytest.raises(Invalid, match="not valid TOML"):
        tidelake.connect()


def test_another_data_path_is_refused_unless_the_files_moved(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    tidelake.connect(url, data_path=str(tmp_path / "one")).close()
    with pytest.raises(Invalid, match="data path is"):
        tidelake.connect(url, data_path=str(tmp_path / "two"))
    with tidelake.connect(url, data_path=str(tmp_path / "two"), override_data_path=True) as lake:
        assert lake.data_path == f"{tmp_path}/two/"
    with tidelake.connect(url) as lake:
        assert lake.data_path == f"{tmp_path}/one/"


def test_read_only_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        tidelake.connect(f"sqlite:///{tmp_path}/none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        tidelake.connect(f"sqlite:///{tmp_path}/no/such/lake.db")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_read_only_never_writes_a_byte(kind: str, tmp_path: Path, new_duck: DuckFactory) -> None:
    prefix = "sqlite:" if kind == "sqlite" else ""
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:{prefix}{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}/data/')"
    )
    connection.execute("CREATE TABLE lake.t AS SELECT range AS i FROM range(50)")
    connection.execute("INSERT INTO lake.t VALUES (7)")
    connection.execute("DETACH lake")
    connection.close()
    before = _fingerprint(tmp_path)
    with tidelake.connect(f"{kind}:///{tmp_path}/c.db", read_only=True) as lake:
        assert lake.table("t").count() == 51
        assert lake.table("t").to_arrow().num_rows == 51
        assert lake.sql("SELECT max(i) AS m FROM t").to_arrow().to_pylist() == [{"m": 49}]
        with pytest.raises(Denied), lake.session.database.writing():
            pass
    assert _fingerprint(tmp_path) == before


def _fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_closed_lake_says_so(tmp_path: Path) -> None:
    lake = tidelake.connect(f"sqlite:///{tmp_path}/lake.db")
    lake.close()
    with pytest.raises(Invalid, match="closed"):
        lake.tables()


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no engine"):
        tidelake.connect(f"sqlite:///{tmp_path}/lake.db", engine="flink")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (":memory:", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("duckdb:///:memory:", "in memory"),
        ("ducklake::memory:", "in memory"),
        ("ducklake:sqlite::memory:", "in memory"),
        ("ducklake:md:mine", "MotherDuck"),
        ("ducklake:md:", "MotherDuck"),
        ("ducklake:sqlite:", "names no catalog"),
        ("sqlite:///lake.db?mode=memory", "no options"),
        ("sqlite:///" + "a" * 5000, "cannot be a file"),
        ("sqlite:///a\0b", "not a catalog address"),
        ("sqlite:////", "is a folder"),
        ("postgresql://[::1/db", "not an address"),
        ("postgresql://h:abc/db", "not an address"),
        ("ducklake:mysql:port=abc database=x", "not an address"),
        ("mysql://h/db?nope=1", "not an option"),
        ("mysql://h/db?read_default_file=/etc/passwd", "not an option"),
        ("mysql://h/db?connect_timeout=x", "number of seconds"),
        (" oracle://me:secret@h/db", "not a catalog address"),
        ("oracle://me:sec@ret@h/db", "not a catalog address"),
    ],
)
def test_addresses_that_are_none(
    address: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Invalid, match=says) as caught:
        tidelake.connect(address)
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    assert "ret@" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "instead"),
    [
        ("lake", "sqlite:///lake/lake.db"),
        ("./lake/", "sqlite:///./lake/lake.db"),
        ("lake.db", "sqlite:///lake.db"),
        ("s3://bucket/lake", "data_path"),
        ("", "sqlite:///lake.db"),
    ],
)
def test_a_path_alone_is_answered_with_its_address(address: str, instead: str) -> None:
    with pytest.raises(Invalid, match="not a catalog address") as caught:
        tidelake.connect(address)
    assert instead in str(caught.value.hint)


@pytest.mark.parametrize(
    ("data_path", "says"),
    [
        ("https://host/lake", "https:// is not supported"),
        ("azure://box/lake", "azure:// is not supported.*az://"),
        ("az:///lake", "no bucket"),
        ("hdfs://host/lake", "hdfs:// is not supported"),
        ("memory://x", "memory:// is not supported"),
        ("gcs://bucket/lake", "gcs:// is not supported.*gs://"),
        ("r2://bucket/lake", "r2:// is not supported.*r2.cloudflarestorage.com"),
        ("s3://", "no bucket"),
        ("s3:///x", "no bucket"),
        ("s3://b/../x", "no bucket and prefix"),
        ("", "no place"),
        (5, "no place"),
        (b"x", "no place"),
        ("a\0b", "NUL"),
        ("a" * 5000, "cannot be a folder"),
        ("file", "is a file"),
        ("file/deeper", "is a file"),
    ],
)
def test_data_paths_that_are_none(
    data_path: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(Invalid, match=says) as caught:
        tidelake.connect("sqlite:///lake.db", data_path)
    assert caught.value.hint
    assert not (tmp_path / "lake.db").exists()


def test_other_stores_are_refused_by_the_store_too() -> None:
    from tidelake.store.files import Store

    with pytest.raises(Unsupported, match="r2:// is not supported"):
        Store().exists("r2://bucket/x")


def test_no_lake_is_created_if_none_is_wanted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    with pytest.raises(NotFound, match="no lake"):
        tidelake.connect(url, create=False)
    assert list(tmp_path.iterdir()) == []
    tidelake.connect(url).close()
    tidelake.connect(url, create=False).close()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_somebodys_database_is_left_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    if kind == "sqlite":
        with sqlite3.connect(path) as application:
            application.execute("CREATE TABLE users (id INTEGER)")
    else:
        import duckdb

        with duckdb.connect(str(path)) as application:
            application.execute("CREATE TABLE users (id INTEGER)")
    url = f"{kind}:///{path}"
    before = path.read_bytes()
    with pytest.raises(Invalid, match="tables of its own: users") as caught:
        tidelake.connect(url)
    assert "create=True" in str(caught.value)
    assert path.read_bytes() == before
    with tidelake.connect(url, create=True) as lake:
        assert lake.tables() == []
    tidelake.connect(url).close()


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    monkeypatch.delenv("TIDELAKE_DATA_PATH", raising=False)
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    return tmp_path


def test_the_file_is_looked_for_above_too(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / "tidelake.toml").write_text('catalog = "sqlite:///lake.db"\ndata_path = "data"\n')
    with tidelake.connect() as lake:
        assert lake.url == f"sqlite:///{nowhere}/lake.db"
        assert lake.data_path == f"{nowhere}/data/"
    monkeypatch.setenv("HOME", str(nowhere / "a"))
    with pytest.raises(Invalid, match="no catalog was named"):
        tidelake.connect()
    monkeypatch.setenv("HOME", str(nowhere))
    tidelake.connect().close()


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ('catalogue = "sqlite:///lake.db"', "unknown key 'catalogue'.*do you mean catalog"),
        ('catalog = "sqlite:///x.db"\nzone = 1', "unknown key 'zone'"),
        ("catalog = 5", "catalog = 5 is not a text"),
        ("", "names no catalog"),
        ('catalog = "sqlite:///x.db"\ndata_path = 5', "is not a text"),
        ('catalog = "sqlite:///x.db"\nstorage_options = 5', "is not a table"),
        ('catalog = "sqlite:///x.db"\n[storage_options]\nregion = ["a"]', "region"),
        ('catalog = "sqlite:///x.db"\noverride_data_path = "no"', "true or false"),
        ('catalog = "nope"', "the lake is named by"),
        ('catalog = "sqlite:///no/such/x.db"', "the lake is named by"),
        ("catalog = ", "not valid TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_path(
    nowhere: Path, said: str, says: str
) -> None:
    (nowhere / "tidelake.toml").write_text(said)
    with pytest.raises(TidelakeError, match=says) as caught:
        tidelake.connect()
    assert f"{nowhere}/tidelake.toml" in str(caught.value)


def test_a_file_that_is_none(nowhere: Path) -> None:
    (nowhere / "tidelake.toml").mkdir()
    with pytest.raises(Invalid, match="cannot read"):
        tidelake.connect()


def test_the_file_can_say_that_the_files_are_elsewhere(nowhere: Path) -> None:
    url = f"sqlite:///{nowhere}/lake.db"
    tidelake.connect(url, f"{nowhere}/one").close()
    said = f'catalog = "{url}"\ndata_path = "two"\n'
    (nowhere / "tidelake.toml").write_text(said)
    with pytest.raises(Invalid, match="tidelake move --data-path"):
        tidelake.connect()
    (nowhere / "tidelake.toml").write_text(f"{said}override_data_path = true\n")
    with tidelake.connect() as lake:
        assert lake.data_path == f"{nowhere}/two/"


@pytest.mark.parametrize("schema", ["fresh", "Odd Schema -c x=y", 'q"uote'])
def test_a_schema_of_postgresql_is_created(
    schema: str, postgres_server: "PostgresServer", tmp_path: Path, new_duck: DuckFactory
) -> None:
    base = postgres_server.new_database()
    url = f"{base}?schema={quote(schema)}"
    with pytest.raises(NotFound):
        tidelake.connect(url, create=False)
    with tidelake.connect(url, f"{tmp_path}/data") as lake:
        lake.create_table("t", "i BIGINT").append([{"i": n} for n in range(20)])
    with tidelake.connect(url) as lake:
        assert lake.table("t").count() == 20
    if schema == "fresh":
        connection = new_duck()
        connection.execute(f"ATTACH 'ducklake:postgres:{base}' AS l (METADATA_SCHEMA '{schema}')")
        assert connection.execute("SELECT count(i) FROM l.t").fetchall() == [(20,)]


def test_long_names_make_short_folders(tmp_path: Path) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_schema("s" * 300)
        t = lake.create_table(f"{'s' * 300}.{'t' * 300}", "i BIGINT")
        t.append([{"i": n} for n in range(20)])
        assert len(t.to_arrow()) == 20


def test_an_address_with_too_few_slashes():
    with pytest.raises(Invalid) as told:
        tidelake.connect("sqlite:lake.db")
    assert "write sqlite:///lake.db, or" in str(told.value.hint)


def test_a_catalog_of_sqlite_is_no_duckdb_file(tmp_path):
    tidelake.connect(f"sqlite:///{tmp_path}/lake.db", tmp_path / "data").close()
    with pytest.raises(Invalid, match="is an SQLite database") as told:
        tidelake.connect(f"duckdb:///{tmp_path}/lake.db")
    assert "sqlite:///" in str(told.value.hint)


@pytest.mark.parametrize("path", ["s3:/bucket/x", "s3:bucket", "gs:/bucket/x", "file:/tmp/x"])
def test_a_data_path_with_too_few_slashes_is_no_folder(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Invalid, match="too few slashes") as told:
        tidelake.connect("sqlite:///lake.db", path)
    assert "://" in str(told.value.hint)
    assert not any(each.is_dir() for each in tmp_path.iterdir())
    tidelake.connect("sqlite:///lake.db", f"./{path}").close()


@pytest.mark.parametrize("name", ["a b", "50%", "plain"])
def test_a_data_path_may_be_the_url_of_a_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    url = f"sqlite:///{tmp_path}/lake.db"
    for _ in range(2):
        with tidelake.connect(url, folder.as_uri()) as lake:
            lake.set_option("data_inlining_row_limit", 0)
            lake.append("t", [{"k": 1}], create=True)
            found = lake.table("t").to_dicts()
            assert lake.verify(deep=True).ok
    assert found == [{"k": 1}, {"k": 1}]
    assert list(folder.rglob("*.parquet"))
