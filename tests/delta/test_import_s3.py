"""Delta tables in an object store, imported by the library and from the shell."""

import json
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.cli.conftest import Tidelake
from tests.delta.logs import Log, again, checkpoint, remove, rows
from tidelake.errors import Corrupt, NotFound
from tidelake.store.files import Store


def made(place: Path) -> Log:
    log = Log(place)
    columns = [("x", "integer"), ("p", "string")]
    log.begin(columns, partitioned_by=["p"], features=["deletionVectors"])
    one = log.add({"x": [1, 2]}, "p=a b/f ü.parquet", partition={"p": "a b"})
    two = log.add({"x": [3]}, "two.parquet", partition={"p": "c"})
    log.commit(one, two)
    checkpoint(log, 1)
    log.commit(remove(one), again(one, log.vector([0])))
    return log


@pytest.mark.slow
def test_an_object_store(tmp_path: Path, s3_server: Any) -> None:
    log = made(tmp_path / "table")
    options = {name: str(value) for name, value in s3_server.storage_options.items()}
    root = f"s3://{s3_server.new_bucket()}/tables/theirs"
    store = Store(options)
    for place in log.root.rglob("*"):
        if place.is_file():
            store.write(f"{root}/{place.relative_to(log.root)}", place.read_bytes())
    with tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db", f"{root}-lake/", storage_options=options
    ) as lake:
        done = tidelake.import_delta(lake, f"{root}/", "fast")
        assert rows(lake, "fast") == [(2, "a b"), (3, "c")]
        assert (done.files, done.rewritten) == (2, 1)
        tidelake.import_delta(lake, root, "whole", mode="full-history")
        assert rows(lake, "whole") == [(2, "a b"), (3, "c")]
        assert lake.verify(deep=True).ok
        with pytest.raises(NotFound):
            tidelake.import_delta(lake, f"{root}/nothing", "u")
        store.delete([f"{root}/two.parquet"])
        with pytest.raises(Corrupt, match=r"two\.parquet"):
            tidelake.import_delta(lake, root, "u")


def test_the_shell(tmp_path: Path) -> None:
    log = made(tmp_path / "table")
    own = Tidelake(f"sqlite:///{tmp_path}/lake.db")
    own("init", "--data-path", f"{tmp_path}/data")
    to = ["import", str(log.root), "--table", "raw.t"]
    assert "would import version 2" in own(*to, "--dry-run").stdout
    found = own.json(*to, "--mode", "full-history", "--up-to-version", "1")
    assert (found["first"], found["last"], found["rows"], found["rewritten"]) == (0, 1, 3, 1)
    assert "already" in own(*to, ok=False).stderr
    assert "imported version 2 as raw.t: 2 rows" in own(*to, "--resume").stdout
    assert len(json.loads(own("scan", "raw.t", "--json").stdout)["rows"]) == 2
