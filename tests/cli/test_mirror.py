"""`tidelake mirror` and `tidelake recover` from the shell."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tidelake


@pytest.fixture
def own(tmp_path: Path) -> Tidelake:
    """A lake with one table."""
    found = Tidelake(f"sqlite:///{tmp_path}/lake.db")
    found("init", "--data-path", f"{tmp_path}/data")
    rows = "".join(json.dumps({"id": n}) + "\n" for n in range(3))
    found("append", "t", "-", "--create", input=rows)
    return found


def test_a_mirror_from_start_to_stop(own: Tidelake, tmp_path: Path) -> None:
    (begun,) = own.json("mirror", "start", "t")
    assert (begun["table"], begun["status"], begun["version"]) == ("main.t", "active", 0)
    own("append", "t", "-", input='{"id": 3}\n')
    (found,) = own.json("mirror", "status")
    assert (found["version"], found["published"], found["behind"]) == (1, 1, 0)
    assert own.json("mirror", "status", "--table", "t") == [found]
    assert own.json("mirror", "sync") == own.json("mirror", "sync", "t") == [found]
    assert "active" in own("mirror", "status").stdout
    (ended,) = own.json("mirror", "stop", "t")
    assert ended["status"] == "stopped"
    (again,) = own.json("mirror", "start", "--table", "t")
    assert again["status"] == "active"


def test_diff_ends_with_what_it_found(own: Tidelake, tmp_path: Path) -> None:
    own("mirror", "start", "t")
    assert own("mirror", "diff", "--table", "t").stdout.startswith("main.t: ok")
    (log,) = tmp_path.glob("data/**/_delta_log")
    newest = log / f"{0:020d}.json"
    kept = newest.read_bytes()
    report = ["mirror", "diff", "--table", "t", "--format", "json"]
    newest.rename(log / f"{1:020d}.json")
    drifted = own(*report, ok=False)
    assert drifted.exit_code == 2
    found = json.loads(drifted.stdout)
    assert (found["status"], found["version_delta"]) == ("drift", -1)
    (log / f"{1:020d}.json").unlink()
    newest.write_bytes(kept)
    own("append", "t", "-", input='{"id": 3}\n')
    (log / f"{1:020d}.json").unlink()
    late = own("mirror", "diff", "t", "--lag-threshold-seconds", "0", ok=False)
    assert late.exit_code == 3
    assert own("mirror", "diff", "none", ok=False).exit_code == 1
    assert own("mirror", "diff", ok=False).exit_code == 1


def test_metrics_go_to_a_file(own: Tidelake, tmp_path: Path) -> None:
    own("mirror", "start", "t")
    to = ["--output", f"{tmp_path}/metrics"]
    own("mirror", "diff", "--table", "t", "--metrics-format", "prometheus", *to)
    text = Path(tmp_path, "metrics").read_text()
    assert 'tidelake_mirror_file_drift{table="main.t"} 0\n' in text
    own("mirror", "diff", "--table", "t", "--metrics-format", "json", *to)
    assert json.loads(Path(tmp_path, "metrics").read_text())["tidelake_mirror_version_delta"] == 0


def test_others_are_rejected_or_accepted(own: Tidelake, tmp_path: Path) -> None:
    own("mirror", "start", "t")
    (log,) = tmp_path.glob("data/**/_delta_log")
    for version, word in ((1, "reject"), (4, "accept")):
        (log / f"{version:020d}.json").write_text('{"commitInfo":{"engineInfo":"other"}}\n')
        (found,) = own.json("mirror", word, "t")
        assert found["status"] == "active"
        own("append", "t", "-", input='{"id": 3}\n')
    assert own("mirror", "diff", "--table", "t").exit_code == 0


def test_recover_from_the_shell(own: Tidelake, tmp_path: Path) -> None:
    own("mirror", "start", "t")
    (tmp_path / "lake.db").unlink()
    new = Tidelake(f"sqlite:///{tmp_path}/new.db")
    assert "another lake" in new("init", "--data-path", f"{tmp_path}/data", ok=False).stderr
    new("init", "--data-path", f"{tmp_path}/data", "--share-data-path")
    assert "main.t" in new("recover", "--dry-run").stdout
    assert new.json("tables") == {"tables": []}
    (found,) = new.json("recover")["tables"]
    assert (found["table"], found["rows"]) == ("main.t", 3)
    assert new.json("scan", "t")["rows"] == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert new("recover", ok=False).exit_code == 1
