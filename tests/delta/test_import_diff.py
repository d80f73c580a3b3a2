"""A table that was imported against the log it came from; logs that lie elsewhere than files."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

import tidelake
from tests.delta.logs import lake_at
from tidelake import Lake
from tidelake.cli import main
from tidelake.delta.values.reports import ImportDiff
from tidelake.errors import Invalid, NotFound


def numbers(first: int, count: int = 10) -> pa.Table:
    listed = list(range(first, first + count))
    return pa.table({"id": pa.array(listed, pa.int64()), "s": [f"s{n}" for n in listed]})


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A Delta table of two files, of which one was written twice."""
    place = str(tmp_path / "delta")
    write_deltalake(place, numbers(0))
    write_deltalake(place, numbers(10), mode="append")
    DeltaTable(place).delete("id = 13")
    return place


@pytest.fixture
def lake(tmp_path: Path, root: str) -> Lake:
    found = lake_at(tmp_path)
    tidelake.import_delta(found, root, "t")
    return found


def kinds(found: ImportDiff) -> set[str]:
    return {each.kind for each in found.findings}


def test_what_was_imported_is_the_same(lake: Lake) -> None:
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, found.exit_code, found.version) == ("ok", 0, 2)
    assert (found.lake_files, found.log_files, found.by_rows) == (2, 2, False)


def test_a_log_that_has_gone_on(lake: Lake, root: str) -> None:
    write_deltalake(root, numbers(30), mode="append")
    write_deltalake(root, numbers(40), mode="append")
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, found.exit_code, found.behind) == ("lagging", 3, 2)
    assert found.lag_seconds > 0
    assert tidelake.diff_delta(lake, "t", lag_threshold_seconds=3600).status == "ok"
    tidelake.import_delta(lake, root, "t", resume=True)
    assert tidelake.diff_delta(lake, "t").status == "ok"


def test_rows_that_changed_here(lake: Lake) -> None:
    lake.table("t").delete("id = 4")
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, found.by_rows, kinds(found)) == ("drift", True, {"rows"})
    assert "not in the lake: 1 row of the log" in str(found)


def test_rows_that_came_here(lake: Lake) -> None:
    lake.table("t").append(numbers(100))
    (finding,) = tidelake.diff_delta(lake, "t").findings
    assert finding.message == "not in the log: 10 rows of the lake"


def test_one_row_for_another(lake: Lake) -> None:
    lake.table("t").update({"s": "'other'"}, where="id = 4")
    assert len(tidelake.diff_delta(lake, "t").findings) == 2


def test_a_compaction_changes_no_row(lake: Lake) -> None:
    lake.table("t").compact()
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, found.lake_files, found.by_rows) == ("ok", 1, True)


def test_columns_that_changed_here(lake: Lake) -> None:
    lake.table("t").evolve(rename={"s": "name"}, add={"more": "INTEGER"})
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, kinds(found)) == ("drift", {"metadata"})
    assert "name VARCHAR in the lake, s VARCHAR in the log" in str(found)


def test_a_file_that_is_gone(lake: Lake, root: str) -> None:
    Path(DeltaTable(root).file_uris()[0]).unlink()
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, kinds(found)) == ("drift", {"missing file"})


def test_another_table_in_the_same_place(lake: Lake, root: str) -> None:
    shutil.rmtree(root)
    for n in range(3):
        write_deltalake(root, numbers(n), mode="append")
    assert kinds(tidelake.diff_delta(lake, "t")) == {"foreign"}


def test_a_log_that_went_back(lake: Lake, root: str) -> None:
    (Path(root) / "_delta_log" / f"{2:020d}.json").unlink()
    found = tidelake.diff_delta(lake, "t")
    assert (found.status, kinds(found)) == ("drift", {"gap"})


def test_a_log_that_ends_where_versions_are_missing(lake: Lake, root: str) -> None:
    write_deltalake(root, numbers(30), mode="append")
    (Path(root) / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(tidelake.errors.Corrupt, match="lacks version 1"):
        tidelake.diff_delta(lake, "t")


def test_a_copy_of_the_log(lake: Lake, root: str, tmp_path: Path) -> None:
    shutil.copytree(Path(root) / "_delta_log", tmp_path / "kept")
    (tmp_path / "logs").mkdir()
    shutil.move(Path(root) / "_delta_log", tmp_path / "logs" / "_delta_log")
    with pytest.raises(NotFound, match="there is no Delta log"):
        tidelake.diff_delta(lake, "t")
    assert tidelake.diff_delta(lake, "t", log_dir=str(tmp_path / "logs")).status == "ok"
    assert tidelake.diff_delta(lake, "t", log_dir=f"{tmp_path}/logs/_delta_log").status == "ok"


def test_what_does_not_come_from_delta(lake: Lake) -> None:
    lake.create_table("own", "id BIGINT")
    with pytest.raises(Invalid, match="does not come from Delta"):
        tidelake.diff_delta(lake, "own")
    with pytest.raises(NotFound):
        tidelake.diff_delta(lake, "nothing")


@pytest.mark.parametrize("mode", ["fast", "full-history"])
def test_log_and_files_in_different_places(root: str, tmp_path: Path, mode: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.move(Path(root) / "_delta_log", logs / "_delta_log")
    ways = ((root, {"log_dir": str(logs)}), (str(logs), {"table_location": root}))
    with lake_at(tmp_path) as lake:
        for number, (path, where) in enumerate(ways):
            tidelake.import_delta(lake, path, f"t{number}", mode=mode, **where)
            found = lake.table(f"t{number}").to_arrow()["id"].to_pylist()
            assert sorted(found) == [n for n in range(20) if n != 13]
            assert tidelake.diff_delta(lake, f"t{number}", path, **where).status == "ok"
            lake.table(f"t{number}").compact()
            compared = tidelake.diff_delta(lake, f"t{number}", path, **where)
            assert (compared.status, compared.by_rows) == ("ok", True)


def test_the_command(lake: Lake, root: str, tmp_path: Path) -> None:
    tidelake.import_delta(lake, root, "u")
    lake.close()
    run = CliRunner()
    catalog = ["--catalog", f"sqlite:///{tmp_path}/lake.db", "import", "--check"]
    assert run.invoke(main, [*catalog, "--table", "t"]).exit_code == 0
    write_deltalake(root, numbers(30), mode="append")
    said = run.invoke(main, [*catalog, "--all", "--json"])
    assert said.exit_code == 3
    assert [each["status"] for each in json.loads(said.stdout)] == ["lagging", "lagging"]
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as again:
        again.table("u").delete("id = 1")
    assert run.invoke(main, [*catalog, "--all"]).exit_code == 2
    assert run.invoke(main, [*catalog]).exit_code == 1
    assert "--check takes --table" in run.invoke(main, [*catalog, root, "--all"]).stderr
