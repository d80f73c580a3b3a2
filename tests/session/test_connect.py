"""Where a lake is, and what a bad address gets."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tidelake.catalog.url import CatalogUrl, parse_url
from tidelake.errors import Denied, Invalid, NotFound

if TYPE_CHECKING:
    import duckdb

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
def test_read_only_never_writes_a_byte(kind: str, tmp_path: Path, duck: DuckFactory) -> None:
    prefix = "sqlite:" if kind == "sqlite" else ""
    connection = duck()
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
        with pytest.raises(Denied), lake._database.writing():
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
