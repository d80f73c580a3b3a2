"""What a service counts, for Prometheus: `/metrics`; and whether it works at all: `/health`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from time import monotonic
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tidelake import __version__
from tidelake.errors import TidelakeError
from tidelake.lake.lake import Lake
from tidelake.model.change import WriteResult
from tidelake.model.settings import Settings
from tidelake.session.watch import Watch
from tidelake.web.lakes import Lakes

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_FRESH_S = 15.0
"""How long what was found out about the lake is told again: scraping must not cost much."""
_MOST_TABLES = 100


class Metrics(Watch):
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._commits = self._counter("commits", "Commits that landed")
        self._retries = self._counter("commit_retries", "Attempts to commit beyond the first")
        self._conflicts = self._counter("commit_conflicts", "Attempts that others came before")
        self._commit_s = self._seconds("commit_seconds", "Commits")
        self._rows = self._counter("rows_written", "Rows of commits")
        self._bytes = self._counter("bytes_written", "Bytes of their files")
        self._calls = self._counter("flight_calls", "Calls of Flight", "method", "outcome")
        self._call_s = self._seconds("flight_seconds", "Calls of Flight", "method")
        self._requests = self._counter("http_requests", "Requests over HTTP", "method", "status")
        self._request_s = self._seconds("http_seconds", "Requests over HTTP")
        self._answers = self._counter("answers", "Plain reads, from memory or not", "kept")
        self.sent = self._counter("flight_sent_bytes", "Rows sent, in Arrow")
        self.received = self._counter("flight_received_bytes", "Rows received, in Arrow")
        self.stalled = self._counter("flight_stalled", "Streams that nobody took rows of")
        about = Gauge("tidelake_info", "What runs here", ["version"], registry=self.registry)
        about.labels(__version__).set(1)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"tidelake_{name}", about, labels, registry=self.registry)

    def _seconds(self, name: str, about: str, *labels: str) -> Histogram:
        return Histogram(
            f"tidelake_{name}", about, labels, buckets=_SECONDS, registry=self.registry
        )

    def landed(self, done: WriteResult) -> None:
        self._commits.inc()
        self._retries.inc(max(0, done.attempts - 1))
        self._commit_s.observe(done.commit_ms / 1000)
        self._rows.inc(done.rows)
        self._bytes.inc(done.bytes)

    def conflict(self) -> None:
        self._conflicts.inc()

    def flight_call(self, method: str, seconds: float, *, failed: bool) -> None:
        self._calls.labels(method, "error" if failed else "ok").inc()
        self._call_s.labels(method).observe(seconds)

    def answer_asked(self, *, found: bool) -> None:
        self._answers.labels(str(found).lower()).inc()

    def request(self, method: str, status: int, seconds: float) -> None:
        self._requests.labels(method, str(status)).inc()
        self._request_s.observe(seconds)

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """A number that is asked for when somebody looks."""
        Gauge(name, about, registry=self.registry).set_function(value)

    def about_lake(self, lakes: Lakes) -> None:
        """Also tell how the lake stands."""
        lakes.whole.session.watch = self
        self.registry.register(_LakeFacts(lakes))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _LakeFacts:
    """How the lake stands: caches, mirrors, consumers, coverage."""

    def __init__(self, lakes: Lakes) -> None:
        self._lakes = lakes
        self._told: list[Any] = []
        self._at = float("-inf")
        self._lock = Lock()

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        yield from self._caches()
        with self._lock:
            if monotonic() - self._at > _FRESH_S:
                self._told = list(self._slow())
                self._at = monotonic()
            yield from self._told

    def _caches(self) -> Iterator[Any]:
        hits = CounterMetricFamily("tidelake_cache_hits", "Found there", labels=["cache"])
        misses = CounterMetricFamily("tidelake_cache_misses", "Not there", labels=["cache"])
        kept = [lake.session.caches for lake in self._lakes.every()]
        for name in ("plans", "metas", "declarations"):
            found = [getattr(each, name) for each in kept]
            hits.add_metric([name], sum(each.hits for each in found))
            misses.add_metric([name], sum(each.misses for each in found))
        yield from (hits, misses)

    def _slow(self) -> Iterator[Any]:
        """What the catalog is asked for; a part that cannot be told is left out."""
        lake = self._lakes.whole
        for tell in (_snapshots, _mirrors, _consumers, _coverage):
            try:
                yield from tell(lake)
            except TidelakeError:
                continue


def _snapshots(lake: Lake) -> Iterator[Any]:
    newest = GaugeMetricFamily("tidelake_snapshot", "The newest snapshot")
    newest.add_metric([], head_of(lake))
    yield newest


def head_of(lake: Lake) -> int:
    """The newest snapshot; asking for it shows that the catalog answers."""
    with lake.session.reading() as reader:
        return lake.session.at(reader)


def _mirrors(lake: Lake) -> Iterator[Any]:
    labels = ["table", "kind"]
    behind = GaugeMetricFamily("tidelake_mirror_behind", "Commits not in the log", labels=labels)
    lag = GaugeMetricFamily("tidelake_mirror_lag_seconds", "Since the first of them", labels=labels)
    active = GaugeMetricFamily("tidelake_mirror_active", "Whether it goes on", labels=labels)
    for each in lake.mirrors():
        behind.add_metric([each.table, each.kind], each.behind)
        lag.add_metric([each.table, each.kind], each.lag_seconds)
        active.add_metric([each.table, each.kind], each.status == "active")
    yield from (behind, lag, active)


def _consumers(lake: Lake) -> Iterator[Any]:
    lag = GaugeMetricFamily("tidelake_consumer_lag", "Snapshots to take", labels=["consumer"])
    for each in lake.consumers():
        lag.add_metric([each.name], each.lag)
    yield lag


def _coverage(lake: Lake) -> Iterator[Any]:
    """Of tables that keep it, as it is known; computing it for files of others can take long."""
    ratio = GaugeMetricFamily("tidelake_coverage_ratio", "Of all entities", labels=["table"])
    for name in lake.tables()[:_MOST_TABLES]:
        table = lake.table(name)
        if Settings.of(table.tags).bucket is not None:
            ratio.add_metric([name], table.coverage().ratio)
    yield ratio
