"""`doctor`, on machines and lakes that are well, and on some that are not."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import tidelake
from tests.cli.conftest import Tidelake
from tidelake.cli import main


def statuses(found) -> dict[str, str]:
    return {each["name"]: each["status"] for each in found["checks"]}


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_all_is_well(tidelake_with_rows, tmp_path):
    before = files(tmp_path)
    found = tidelake_with_rows.json("doctor")
    assert found["ok"]
    assert "fail" not in statuses(found).values()
    assert {"python", "tidelake", "duckdb", "java", "spark", "extras", "catalog"} < set(
        statuses(found)
    )
    told = {each["name"]: each["what"] for each in found["checks"]}
    assert told["catalog"].endswith("DuckLake 1.0, snapshot 2")
    assert "a data file is there; a small file was written, read and deleted" in told["store"]
    assert files(tmp_path) - before <= {tmp_path / "lake.db.files" / "_tidelake"}
    assert "ok    store: " in tidelake_with_rows("doctor").stdout


@pytest.fixture
def tidelake_with_rows(tmp_path) -> Tidelake:
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        lake.create_table("t", "n BIGINT").append([{"n": n} for n in range(1000)])
    return Tidelake(url)


def test_nothing_is_configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 0
    assert "warn  lake: none is named\n      do: --catalog URL" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_lake_is_not_there(tmp_path):
    done = Tidelake(f"sqlite:///{tmp_path}/none.db")("doctor", "--json", ok=False)
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert (found["ok"], statuses(found)["catalog"]) == (False, "fail")
    assert "tidelake init" in found["checks"][-1]["remedy"]
    assert not (tmp_path / "none.db").exists()


def test_the_file_of_settings_is_broken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    Path("tidelake.toml").write_text("catalogue = 'sqlite:///lake.db'")
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 1
    assert "do you mean catalog?" in done.stdout


def test_files_are_gone(tidelake_with_rows, tmp_path):
    for path in (tmp_path / "lake.db.files").rglob("*.parquet"):
        path.unlink()
    found = json.loads(tidelake_with_rows("doctor", "--json", ok=False).stdout)
    assert statuses(found)["store"] == "fail"


def test_the_data_path_cannot_be_written(tmp_path):
    url = f"sqlite:///{tmp_path}/lake.db"
    tidelake.connect(url, data_path=tmp_path / "data").close()
    for path in sorted(files(tmp_path / "data"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (tmp_path / "data").rmdir() if (tmp_path / "data").exists() else None
    (tmp_path / "data").write_text("a file where a folder should be")
    done = Tidelake(url)("doctor", ok=False)
    assert "fail  " in done.stdout
    assert "do: " in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_the_catalog_can_only_be_read(tidelake_with_rows, tmp_path):
    (tmp_path / "lake.db").chmod(0o444)
    found = tidelake_with_rows.json("doctor")
    assert statuses(found)["permissions"] == "warn"


def test_java_is_old_or_missing(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    told = CliRunner().invoke(main, ["doctor"]).stdout
    assert f"warn  java: there is no {java}" in told
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    java.chmod(0o755)
    assert "warn  java: Java 8; Spark needs it" in CliRunner().invoke(main, ["doctor"]).stdout
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\" 2023-10-17' >&2\n")
    assert "ok    java: Java 21" in CliRunner().invoke(main, ["doctor"]).stdout
