"""`python -m bench [PART …] [--json FILE] [--plots FOLDER]`: all parts, or some of them."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from time import perf_counter

from bench import (
    as_of,
    asof_join,
    compact,
    coverage,
    curves,
    expire,
    flight,
    growth,
    import_delta,
    ingest,
    latency,
    mirror,
    peers,
    plan,
    plots,
    scan,
    small,
    spark_history,
    spark_memory,
    spark_read,
    spark_source,
    spark_write,
    sql_functions,
    start,
    stream,
    tables,
    web,
    write,
)
from bench.report import aligned, machine
from bench.timing import ROOT

PARTS = {
    "scan": scan.run,
    "plan": plan.run,
    "start": start.run,
    "write": write.run,
    "spark-write": spark_write.run,
    "spark-read": spark_read.run,
    "spark-source": spark_source.run,
    "spark-history": spark_history.run,
    "spark-memory": spark_memory.run,
    "peers": peers.run,
    "compact": compact.run,
    "expire": expire.run,
    "curves": curves.run,
    "stream": stream.run,
    "latency": latency.run,
    "small": small.run,
    "as-of": as_of.run,
    "asof-join": asof_join.run,
    "coverage": coverage.run,
    "import": import_delta.run,
    "ingest": ingest.run,
    "mirror": mirror.run,
    "web": web.run,
    "flight": flight.run,
    "sql": sql_functions.run,
    "tables": tables.run,
    "growth": growth.run,
}
FIRST = ("tables", "plan", "write", "growth", "as-of", "coverage", "scan", "asof-join", "mirror")
"""What is measured first where time is short: what users do most, and how it scales."""


def in_time(
    names: Sequence[str], minutes: float, now: Callable[[], float] = perf_counter
) -> Iterator[str]:
    """The parts that begin within so many minutes of the first, those of `FIRST` before others."""
    began = now()
    ordered = [name for name in FIRST if name in names]
    for name in [*ordered, *(name for name in names if name not in ordered)]:
        if now() - began >= 60 * minutes:
            return
        yield name


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Tidelake and its peers")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="also draw pictures there")
    parser.add_argument(
        "--minutes",
        type=float,
        default=inf,
        metavar="N",
        help="begin no part later than that; what is left out is named",
    )
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    folder = _folder()
    about = machine()
    print(", ".join(f"{name}: {value}" for name, value in about.items()), end="\n\n", flush=True)
    done = {}
    wanted = options.parts or list(PARTS)
    for name in in_time(wanted, options.minutes):
        start = perf_counter()
        done[name] = PARTS[name](folder)
        print(done[name].text(), f"({perf_counter() - start:.0f} s)\n", sep="\n", flush=True)
    verdicts = [verdict.row() for part in done.values() for verdict in part.verdicts]
    print("\n".join(["Verdicts", "========", "", *aligned(verdicts)]))
    left_out = [name for name in wanted if name not in done]
    if left_out:
        print(
            f"\n*** no time was left for: {', '.join(left_out)} (make bench BENCH_MINUTES=60) ***"
        )
    if options.json:
        parts = {name: part.json() for name, part in done.items()}
        options.json.write_text(
            json.dumps({"machine": about, "parts": parts, "left out": left_out}, indent=2)
        )
    if options.plots:
        for path in plots.draw(done, about, options.plots):
            print(path)


def _folder() -> Path:
    """Where lakes are kept between runs; Git ignores it."""
    folder = ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


if __name__ == "__main__":
    main()
