"""A stream and two batch writers feed one table of facts, in SeaweedFS and PostgreSQL, while the
stream is killed and started again, files are compacted, snapshots expire and Delta is mirrored.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tests.servers.spark import ENVIRONMENT
from tests.spark.soak import COLUMNS, TABLE, Soak, fact, facts_of_file
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

ROOT = Path(__file__).parents[2]
KILLS = 12


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_every_fact_is_there_once(tmp_path: Path, new_place: Any, s3_server: "S3Server") -> None:
    soak = made(tmp_path, new_place("postgresql"), s3_server)
    wanted = [row for n in range(soak.files) for row in facts_of_file(soak, n)]
    wanted += [fact(writer, n) for writer in (1, 2) for n in range(soak.batches * 5)]
    with ExitStack() as stack:
        writers = [stack.enter_context(program(soak, "batches", w)) for w in (1, 2)]
        keeper = stack.enter_context(program(soak, "upkeep"))
        kills = killed_again_and_again(soak, Random(1))
        for each in writers:
            assert each.wait(600) == 0, said(each)
        Path(soak.checkpoint).with_name("done").touch()
        assert keeper.wait(300) == 0, said(keeper)
    assert kills >= 10
    with soak.open() as lake:
        check(lake, wanted)


def made(folder: Path, place: Place, server: "S3Server") -> Soak:
    """The files come one by one, so that every batch of the stream has something to do."""
    incoming = folder / "incoming"
    incoming.mkdir()
    soak = Soak(
        url=place.url,
        storage_options=server.storage_options,
        incoming=str(incoming),
        checkpoint=str(folder / "checkpoint"),
        files=60,
        rows_of_a_file=20,
        batches=60,
    )
    for number in range(soak.files):
        lines = "\n".join(json.dumps(row) for row in facts_of_file(soak, number))
        (incoming / f"{number:05}.json").write_text(lines)
    data = f"s3://{server.new_bucket()}/lake/"
    with tidelake.connect(soak.url, data, storage_options=soak.storage_options) as lake:
        lake.create_table(TABLE, COLUMNS, key="k", event_time="ts", tombstone="gone")
        lake.mirror(TABLE)
    return soak


@contextmanager
def program(soak: Soak, name: str, *more: int) -> Iterator["subprocess.Popen[str]"]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.soak", name, soak.text, *map(str, more)],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            os.killpg(child.pid, 9)
            child.wait(60)


def said(child: "subprocess.Popen[str]") -> str:
    return "" if child.stderr is None else child.stderr.read()[-5000:]


def killed_again_and_again(soak: Soak, chance: Random) -> int:
    """The stream dies with all its family while it writes; the last one reads to the end."""
    for number in range(KILLS):
        with program(soak, "stream") as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "started\n", said(child)
            time.sleep(chance.uniform(0.1, 5.0))
            if child.poll() is not None:
                return number
    with program(soak, "stream") as child:
        assert child.wait(600) == 0, said(child)
    return KILLS


def check(lake: tidelake.Lake, wanted: list[dict[str, Any]]) -> None:
    table = lake.table(TABLE)
    found = table.to_arrow().to_pylist()
    assert sorted(row["v"] for row in found) == sorted(row["v"] for row in wanted)
    for moment in sorted({row["ts"] for row in wanted})[:: len(wanted) // 25]:
        state = table.as_of(moment).to_arrow().to_pylist()
        assert sorted(row["v"] for row in state) == truth(wanted, moment), moment
    assert lake.verify(deep=True).ok
    lake.sync_mirrors()
    assert lake.mirrored(TABLE).diff().status == "ok"


def truth(wanted: list[dict[str, Any]], moment: str) -> list[str]:
    last: dict[int, dict[str, Any]] = {}
    for row in sorted(wanted, key=lambda row: row["ts"]):
        if row["ts"] <= moment:
            last[row["k"]] = row
    return sorted(row["v"] for row in last.values() if not row["gone"])
