"""Tables on Spark beside Delta's and Iceberg's own, all three in one session.

They come from Maven Central, so this part runs only where BENCH_JVM is set, in a process of its
own with the newest Spark that all three fit.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import COMPILING, ROOT
from tests.servers.process import server_folder
from tests.servers.spark import ENVIRONMENT

_ROWS = 2_000_000
_MOST_SECONDS = 1800
_SPARK = ".venv/peers-spark-4.1.4"
_HEADER = ["work", "Tidelake, s", "Delta, s", "Iceberg, s", "to Delta", "to Iceberg"]


def run(folder: Path) -> Part:
    part = Part("Tables on Spark, beside Delta and Iceberg", _HEADER)
    if os.environ.get("BENCH_JVM") in (None, "", "0"):
        part.notes = ["not measured: BENCH_JVM=1 fetches Delta and Iceberg from Maven Central"]
        return part
    rows = int(os.environ.get("BENCH_JVM_ROWS", _ROWS))
    place = folder / "peers"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        found = _measured(place, rows)
    except _NoPeersError as error:
        print(f"\n*** {error}: Delta and Iceberg were NOT measured ***\n", flush=True)
        part.notes = [f"*** NOT MEASURED: {error} ***"]
        part.verdicts = [Verdict("beside Delta and Iceberg", None, 1)]
        return part
    for work, times in found["times"].items():
        _add(part, work, times)
    part.notes = [
        f"{rows:,} rows of six columns; medians of {found['rounds']} runs in turns, compaction"
        " once, after all of it has been done with few rows",
        f"Spark {found['spark']}, {', '.join(found['packages'])}; Delta with deletion vectors,"
        " Iceberg of format 3 with merge-on-read; Tidelake's catalog on SQLite; on a local disk",
        "in the end all three had the same rows",
    ]
    return part


def _add(part: Part, work: str, times: dict[str, float]) -> None:
    ours, *theirs = (times[name] for name in ("Tidelake", "Delta", "Iceberg"))
    ratios = [ours / each for each in theirs]
    part.rows.append(
        [work, *(f"{t:.2f}" for t in (ours, *theirs)), *(f"{ratio:.2f}" for ratio in ratios)]
    )
    part.numbers[work] = times
    part.verdicts += [
        Verdict(f"{work}, against {name}", ratio, 1)
        for name, ratio in zip(("Delta", "Iceberg"), ratios, strict=True)
    ]


class _NoPeersError(Exception):
    """Why there is nothing to compare with."""


def _measured(place: Path, rows: int) -> dict[str, Any]:
    spark = Path(os.environ.get("PEERS_SPARK", ROOT / _SPARK)).absolute()
    if not (spark / "pyspark").is_dir():
        raise _NoPeersError("their Spark is not installed; `make bench BENCH_JVM=1` does it")
    log = place / "stderr.log"
    with log.open("w") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.peers_child", str(place), str(rows)],
            cwd=ROOT,
            env={
                **COMPILING,
                **ENVIRONMENT,
                "PYTHONPATH": os.pathsep.join(map(str, (spark, ROOT / "src", ROOT))),
                "SPARK_HOME": str(spark / "pyspark"),
                "TZ": "UTC",
                "TIDELAKE_BENCH_FOLDER": str(server_folder("peers")),
            },
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
        try:
            out, _ = child.communicate(timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            raise _NoPeersError(f"not done after {_MOST_SECONDS // 60} minutes") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    said = log.read_text()
    if child.returncode == 0:
        found: dict[str, Any] = json.loads(out.splitlines()[-1])
        return found
    if "unresolved dependency" in said or "download failed" in said:
        raise _NoPeersError("Maven Central did not give their packages")
    raise RuntimeError(f"the comparison with Delta and Iceberg failed:\n{said[-5000:]}")
