"""Verify from the shell, in an object store, while others work, and of many files."""

import json
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from click.testing import CliRunner

import tidelake
from tests.verify.conftest import Patient
from tidelake.cli import main

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server


def run(patient: Patient, *words: str) -> tuple[int, str]:
    patient.sql(f"UPDATE ducklake_metadata SET value = '{patient.data}/' WHERE key = 'data_path'")
    url = f"sqlite:///{patient.folder}/lake.db"
    result = CliRunner().invoke(main, ["verify", *words, "--catalog", url])
    return result.exit_code, result.output


def test_a_whole_lake_on_the_shell(patient):
    assert run(patient)[0] == 0
    code, text = run(patient, "t", "merged", "--deep", "--fingerprint", "--json")
    told = json.loads(text)
    assert code == 0
    assert told["ok"]
    assert told["deep"]
    assert told["problems"] == []
    assert told["checked"]["tables"] == 2
    assert told["checked"]["new fingerprints"] > 5


def test_a_damaged_lake_on_the_shell(patient):
    lost = patient.path("t")
    lost.unlink()
    code, text = run(patient)
    assert code == 1
    assert "missing-files" in text
    assert "    fix: " in text
    code, text = run(patient, "--json")
    (problem,) = json.loads(text)["problems"]
    assert code == 1
    assert problem["file"] == str(lost)
    assert problem["table"] == "main.t"
    code, text = run(patient, "p")
    assert code == 0, text


@pytest.mark.slow
def test_in_an_object_store(s3_server: "S3Server", tmp_path):
    bucket = s3_server.new_bucket()
    with tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db",
        f"s3://{bucket}/lake/",
        storage_options=s3_server.storage_options,
    ) as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", "a INTEGER, k INTEGER", partition_by=["k"])
        t.append(pa.table({"a": range(120), "k": range(120)}))
        t.delete("a = 3")
        t.delete("a = 4")
        report = lake.verify(deep=True, fingerprint=True)
        assert report.ok, str(report)
        assert report.checked["files"] > 100  # so that they are listed, not asked for one by one
        lost = t.scan().files()[7].path
        lake.session.local.store.delete([lost])
        assert [(p.check, p.file) for p in lake.verify().problems] == [("missing-files", lost)]


def test_while_others_write_expire_and_clean_up(tmp_path):
    """What is gone because somebody let it go is not missing."""
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        lake.create_table("t", "a INTEGER")
        done = threading.Event()

        def work() -> None:
            with tidelake.connect(url) as other:
                for number in range(12):
                    rows = pa.table({"a": range(number, number + 50)})
                    other.table("t").overwrite(rows)
                    other.expire(keep_last=1)
                    other.cleanup("0 seconds", orphans=False)
            done.set()

        worker = threading.Thread(target=work)
        worker.start()
        while not done.is_set():
            report = lake.verify()
            assert report.ok, str(report)
        worker.join()


@pytest.mark.slow
def test_while_others_compact_and_expire(tmp_path):
    """What is compacted or expired in the middle of a run is no changed past."""
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        t = lake.create_table("t", "a INTEGER")
        done = threading.Event()

        def work() -> None:
            with tidelake.connect(url) as other:
                for number in range(8):
                    other.table("t").append(pa.table({"a": range(number, number + 20)}))
                    other.table("t").delete(f"a = {number}")
                    other.compact()
                    other.expire(keep_last=3)
            done.set()

        t.append([{"a": 1}])
        worker = threading.Thread(target=work)
        worker.start()
        while not done.is_set():
            report = lake.verify(deep=True, fingerprint=True)
            assert report.ok, str(report)
        worker.join()
        assert lake.verify(deep=True, fingerprint=True).ok


@pytest.mark.slow
def test_thousands_of_files(tmp_path):
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        t = lake.create_table("t", "a INTEGER, k INTEGER", partition_by=["k"])
        t.append(pa.table({"a": range(2000), "k": range(2000)}))
        assert lake.verify().ok
        t.append(pa.table({"a": range(2000), "k": range(2000)}))
        assert lake.verify().ok
        assert lake.verify(deep=True, fingerprint=True).ok
