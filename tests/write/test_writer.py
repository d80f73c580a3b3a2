"""A writer commits many rows at once, and leaves what separate commits would have left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.errors import Denied, Invalid, NotFound, Unsupported
from tidelake.model.change import WriteResult
from tidelake.session.watch import Watch

NEVER = 3600.0


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        yield lake


def fact(key: str, day: int, v: int) -> dict[str, Any]:
    return {"k": key, "ts": datetime(2024, 1, day), "v": v}


def rows_of(table: tidelake.Table) -> list[dict[str, Any]]:
    return table.to_arrow().to_pylist()


@pytest.mark.parametrize("arranged", [{}, {"sort_by": "v"}, {"partition_by": "v"}])
def test_it_leaves_what_separate_commits_leave(
    lake: tidelake.Lake, arranged: dict[str, Any]
) -> None:
    """Of facts about one key and moment the later holds, however files are laid out."""
    columns = "k VARCHAR, ts TIMESTAMP, v INT, gone BOOLEAN NOT NULL"
    facts = [fact(f"k{n % 7}", n % 3 + 1, 40 - n) for n in range(40)]
    alone, together = (
        lake.create_table(name, columns, key="k", event_time="ts", tombstone="gone", **arranged)
        for name in ("alone", "together")
    )
    for each in facts:
        alone.put(each)
    with together.writer(rows=15, seconds=NEVER) as w:
        for each in facts:
            w.put(each)
    assert (w.committed, w.pending) == (40, 0)
    for day in (1, 2, 3):
        found = [
            sorted(rows_of(t.as_of(datetime(2024, 1, day))), key=lambda row: row["k"])
            for t in (alone, together)
        ]
        assert found[0] == found[1]
    if not arranged:
        assert rows_of(together) == rows_of(alone)
        assert len(together.snapshots()) == 4
        assert together.log()[-1].operation == "put"
    else:
        key = str
        assert sorted(rows_of(together), key=key) == sorted(rows_of(alone), key=key)


def test_a_flush_says_what_it_did(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT")
    with table.writer(seconds=NEVER, author="ann", message="why") as w:
        assert w.flush() == WriteResult(None)
        given = {"n": 1}
        w.append(given)
        given["n"] = 2  # what came has come
        w.append([{"n": 3}] * 11)
        assert (w.pending, w.committed, table.count()) == (12, 0, 0)
        done = w.flush()
        assert (done.rows, done.inserted, done.files) == (12, 12, 1)
        assert done.snapshot_id == lake.snapshots()[-1].snapshot_id
        assert (w.pending, w.committed, table.count()) == (0, 12, 12)
    assert (lake.snapshots()[-1].author, lake.snapshots()[-1].message) == ("ann", "why")
    assert rows_of(table) == [{"n": 1}] + [{"n": 3}] * 11


def test_bytes_are_a_limit_too(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "s VARCHAR")
    with table.writer(bytes=1000, seconds=NEVER) as w:
        w.append({"s": "x" * 999})
        assert w.committed == 0
        w.append({"s": "y"})
        assert w.committed == 2


def test_a_row_that_does_not_fit_is_refused_when_it_comes(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT, s VARCHAR")
    with table.writer(seconds=NEVER) as w:
        w.append({"n": 1})
        with pytest.raises(Invalid, match="row 2: column 'n'"):
            w.append([{"n": 2}, {"n": "x"}])
        with pytest.raises(Invalid, match="no key and event time"):
            w.put({"n": 2})
        with pytest.raises(Invalid, match="takes a dict"):
            w.append("file.csv")
        w.append({"n": 3})
    assert [row["n"] for row in rows_of(table)] == [1, 3]


def test_a_row_that_no_longer_fits_is_left_out_alone(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT, s VARCHAR")
    with table.writer(seconds=NEVER) as w:
        w.append([{"n": n} | ({"s": "here"} if n in (7, 30) else {}) for n in range(40)])
        table.evolve(drop="s")
        with pytest.raises(
            Invalid, match=r"row 8 of 40 that waited, .*'n': 7.* left out"
        ) as raised:
            w.flush()
        assert raised.value.__notes__ == ["1 more rows were left out for such reasons"]
        assert (w.pending, w.committed) == (0, 38)
        w.append({"n": 40})
    found = sorted(row["n"] for row in rows_of(table))  # those in the catalog come last
    assert found == [n for n in range(41) if n not in (7, 30)]


def test_what_is_no_row_s_fault_leaves_all_waiting(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT")
    with (  # noqa: PT012
        pytest.raises(NotFound) as raised,
        table.writer(seconds=NEVER) as w,
    ):
        w.append([{"n": 1}, {"n": 2}])
        table.drop()
        with pytest.raises(NotFound):
            w.flush()
        assert w.pending == 2
    assert "2 rows waited" in raised.value.__notes__[0]


def test_if_the_body_raises_what_waits_is_not_committed(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT")
    with pytest.raises(RuntimeError) as raised, table.writer(seconds=NEVER) as w:  # noqa: PT012
        w.append([{"n": 1}, {"n": 2}])
        w.flush()
        w.append({"n": 3})
        raise RuntimeError("second thoughts")
    assert raised.value.__notes__ == [
        "1 rows waited in the writer of main.t to be committed, and they were not. 2 that came"
        " before them were."
    ]
    assert table.count() == w.committed == 2
    with pytest.raises(Invalid, match="closed"):
        w.append({"n": 4})


def test_what_has_waited_long_enough_is_committed(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT")
    with table.writer(seconds=0.05) as w:
        for n in range(2):
            w.append({"n": n})
            deadline = time.monotonic() + 30
            while table.count() <= n:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        table.evolve(rename={"n": "m"})
        w.append({"m": 2})
        table.drop()
        while w.pending and time.monotonic() < deadline:  # the commit fails, which the next tells
            time.sleep(0.1)
            try:
                w.flush()
            except NotFound:
                break
        lake.create_table("t", "m INT")
        with suppress(NotFound):  # the writer's clock may have tried once more before that
            w.flush()
    assert rows_of(lake.table("t")) == [{"m": 2}]


class Interruption(Watch):
    """Ctrl-C right after a commit."""

    def landed(self, done: WriteResult) -> None:
        raise KeyboardInterrupt


def test_a_commit_without_an_answer_is_looked_up(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "n INT")
    watch = lake.session.watch
    with table.writer(seconds=NEVER) as w:
        w.append({"n": 1})
        lake.session.watch = Interruption()
        with pytest.raises(KeyboardInterrupt):
            w.flush()
        lake.session.watch = watch
        w.append({"n": 2})
        done = w.flush()
        assert (done.rows, w.committed) == (2, 2)
        w.append({"n": 3})
    assert rows_of(table) == [{"n": 1}, {"n": 2}, {"n": 3}]
    with (  # noqa: PT012
        pytest.raises(KeyboardInterrupt) as raised,
        table.writer(seconds=NEVER) as w,
    ):
        w.append({"n": 4})
        lake.session.watch = Interruption()
        w.flush()
    assert w.committed == 1
    assert not hasattr(raised.value, "__notes__")


def test_several_threads_use_one(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "who INT, n INT")
    with table.writer(rows=37, seconds=0.01) as w:

        def keep_adding(who: int) -> None:
            for n in range(100):
                w.append({"who": who, "n": n})

        threads = [threading.Thread(target=keep_adding, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = rows_of(table)
    for who in range(4):
        assert sorted(row["n"] for row in found if row["who"] == who) == list(range(100))


def test_what_it_is_not_for(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "ts TIMESTAMP")
    table.append({"ts": datetime(2024, 1, 1)})
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tx.table("t").writer()
    with pytest.raises(Denied, match="pinned"):
        table.known_at(2).writer()
    with pytest.raises(Invalid, match="in a `with`"):
        table.writer().append({"ts": datetime(2024, 1, 2)})
    with pytest.raises(Invalid, match="rows=0"):
        table.writer(rows=0)
    series = lake.create_table("s", "ts TIMESTAMP", event_time="ts", bucket="1d", overlap="reject")
    with pytest.raises(Unsupported, match="overlap='reject'"), series.writer():
        pass
    with table.writer() as w:
        pass
    with pytest.raises(Invalid, match="used once"), w:
        pass


VICTIM = """
import sys
import tidelake

with tidelake.connect(sys.argv[1]) as lake, lake.table("t").writer(rows=25, seconds=60) as w:
    n = lake.table("t").count()
    while True:
        w.append({"n": n})
        n += 1
        print(w.committed, flush=True)
"""


def test_killed_in_the_middle(lake: tidelake.Lake, tmp_path: Path) -> None:
    """What was said to be committed is there, once, and no commit is there by half."""
    table, before = lake.create_table("t", "n INT"), 0
    for lines in (90, 200):
        victim = subprocess.Popen(
            [sys.executable, "-c", VICTIM, lake.url],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        assert victim.stdout is not None
        said = [int(victim.stdout.readline()) for _ in range(lines)][-1]
        victim.send_signal(signal.SIGKILL)
        said = max([said, *(int(line) for line in victim.stdout.read().split("\n")[:-1])])
        victim.wait()
        victim.stdout.close()
        after = table.count()
        assert after >= before + said
        assert (after - before) % 25 == 0
        assert [row["n"] for row in rows_of(table)] == list(range(after))
        before = after
