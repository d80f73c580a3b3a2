"""Ways of timing: in turns, in new processes, and with imports counted apart."""

import builtins
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
# Modules are compiled once and then kept, as in any installation that is in use.
COMPILING = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def medians(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median time of each call, taking turns so that a busy machine hits all alike, and every
    other round the other way round, so that none always pays for what the one before it left."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in reversed(calls) if turn % 2 else calls:
            times[name].append(seconds(calls[name]))
    return {name: statistics.median(found) for name, found in times.items()}


def seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def best_of(measure: Callable[[str], dict[str, Any]], names: Sequence[str], rounds: int) -> Any:
    """For each name the least of every number that `measure` returned, taking turns after one
    round that does not count."""
    best: dict[str, dict[str, Any]] = {}
    for turn in range(rounds + 1):
        for name in names:
            found = measure(name)
            known = best[name] if turn > 1 else found
            best[name] = {key: min(known[key], value) for key, value in found.items()}
    return best


def in_new_process(*arguments: str, module: str = "bench.child") -> dict[str, Any]:
    """What a function of `bench.child`, or another module, measured in a process of its own."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=COMPILING, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def new_python(code: str, *arguments: str) -> dict[str, float]:
    """Wall clock and processor time of a whole Python process that runs `code`."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, cwd=ROOT, env=COMPILING, check=True, stdout=subprocess.DEVNULL)
    wall = perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": wall, "cpu": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime}


@dataclass
class Stopwatch:
    """Time since the last lap, without what was spent importing modules meanwhile."""

    imports: float = 0.0
    _depth: int = 0
    _start: float = 0.0
    _imports_then: float = 0.0

    def __enter__(self) -> Self:
        self._originals = builtins.__import__, importlib.import_module
        builtins.__import__, importlib.import_module = map(self._counted, self._originals)
        self.restart()
        return self

    def __exit__(self, *_: object) -> None:
        builtins.__import__, importlib.import_module = self._originals

    def restart(self) -> None:
        self._start, self._imports_then = perf_counter(), self.imports

    def lap(self) -> float:
        taken = perf_counter() - self._start - (self.imports - self._imports_then)
        self.restart()
        return taken

    def _counted(self, importer: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            start = perf_counter()
            self._depth += 1
            try:
                return importer(*arguments, **options)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.imports += perf_counter() - start

        return counted
