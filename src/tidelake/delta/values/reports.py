"""What is known of the import of a Delta table.

What came of comparing a lake with the log of a mirror.

What came of having a lake again from its logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tidelake.drawing.amounts import quantity
from tidelake.drawing.report import DrawableReport


@dataclass(frozen=True, slots=True)
class ImportState:
    """How far it has come: up to a version of the Delta table, with a snapshot of the lake.
    `next_file_id` was the first free one then. `committed_at` is when that version was committed,
    in milliseconds; `columns` tells, as JSON, which of our columns is which of Delta's."""

    table_id: int
    root: str
    delta_id: str
    version: int
    snapshot_id: int
    next_file_id: int
    committed_at: int
    columns: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that was written for one of the Delta table, without the rows that a deletion vector
    of it names."""

    source: str
    vector: str | None = None


@dataclass(frozen=True, slots=True)
class ImportResult(DrawableReport):
    """What an import did: Delta versions from `first` to `last` are in the lake, the last one as
    `snapshot_id` (None for a dry run), in so many new `snapshots`. The table has `files` and
    `rows` then; `rewritten` of the files had to be written anew. `notes` are what is not as it
    was in Delta."""

    table: str
    mode: str
    first: int
    last: int
    snapshot_id: int | None
    snapshots: int
    files: int
    rows: int
    rewritten: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        versions = f"version {self.last}"
        if self.first < self.last and self.mode == "full-history":
            versions = f"versions {self.first} to {self.last}"
        done = "would import" if self.snapshot_id is None else "imported"
        rows, files = quantity(self.rows, "row"), quantity(self.files, "file")
        told = f"{done} {versions} as {self.table}: {rows} in {files}"
        if self.rewritten:
            told += f", {self.rewritten:,} of them written anew"
        if self.snapshots:
            many = "snapshots" if self.snapshots > 1 else "snapshot"
            told += f" ({self.snapshots:,} {many})"
        return "\n".join([told, *(f"note: {note}" for note in self.notes)])


Kind = Literal[
    "missing in log",
    "missing in lake",
    "size",
    "rows",
    "deletes",
    "missing file",
    "metadata",
    "protocol",
    "gap",
    "ahead",
    "foreign",
    "checkpoint",
    "unreadable",
]
OF_FILES = frozenset(
    {"missing in log", "missing in lake", "size", "rows", "deletes", "missing file"}
)
Verdict = Literal["ok", "drift", "lagging"]
_CODES: dict[Verdict, int] = {"ok": 0, "drift": 2, "lagging": 3}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference. `where` is a file as the log spells it, a version, or a property."""

    kind: Kind
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class PublishCounts:
    """What publishing has come to since the mirror began: how often, how long after the commits
    in all, and how often in vain."""

    publishes: int = 0
    seconds: float = 0.0
    failures: int = 0

    def __add__(self, other: PublishCounts) -> PublishCounts:
        return PublishCounts(
            self.publishes + other.publishes,
            self.seconds + other.seconds,
            self.failures + other.failures,
        )


@dataclass(frozen=True, slots=True)
class MirrorDiff(DrawableReport):
    """`sql_version` is what the lake has decided upon, `log_version` the newest that is in the
    log; `behind` commits of the table are not shown there, the first since `lag_seconds`."""

    table: str
    root: str
    status: Verdict
    mirror: str
    reason: str | None
    sql_version: int
    log_version: int
    snapshot_id: int
    behind: int
    lag_seconds: float
    sql_files: int
    log_files: int
    findings: tuple[Finding, ...]
    counts: PublishCounts

    @property
    def exit_code(self) -> int:
        """0 the same, 2 different, 3 only late."""
        return _CODES[self.status]

    @property
    def version_delta(self) -> int:
        """Versions that the log lacks; less than none if it has more than it should."""
        return self.sql_version - self.log_version

    @property
    def file_drift(self) -> int:
        """How many files are not the same."""
        return len({each.where for each in self.findings if each.kind in OF_FILES})

    @property
    def metadata_drift(self) -> bool:
        return any(each.kind == "metadata" for each in self.findings)

    @property
    def protocol_drift(self) -> bool:
        return any(each.kind == "protocol" for each in self.findings)

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        found |= {
            "version_delta": self.version_delta,
            "file_drift": self.file_drift,
            "metadata_drift": self.metadata_drift,
            "protocol_drift": self.protocol_drift,
            "exit_code": self.exit_code,
        }
        return found

    def metrics(self) -> dict[str, float]:
        """Numbers for who watches, by their names."""
        return {
            "tidelake_mirror_lag_seconds": self.lag_seconds,
            "tidelake_mirror_file_drift": self.file_drift,
            "tidelake_mirror_metadata_drift": int(self.metadata_drift),
            "tidelake_mirror_protocol_drift": int(self.protocol_drift),
            "tidelake_mirror_version_delta": self.version_delta,
            "tidelake_mirror_publishes_total": self.counts.publishes,
            "tidelake_mirror_publish_seconds_total": self.counts.seconds,
            "tidelake_mirror_publish_failures_total": self.counts.failures,
        }

    def __str__(self) -> str:
        lines = [
            f"{self.table}: {self.status}",
            f"  lake     version {self.sql_version}, {quantity(self.sql_files, 'file')},"
            f" snapshot {self.snapshot_id}, {self.mirror}"
            + (f" ({self.reason})" if self.reason else ""),
            f"  log      version {self.log_version}, {quantity(self.log_files, 'file')},"
            f" at {self.root}",
            f"  behind   {quantity(self.behind, 'commit')}, {self.lag_seconds:.1f} s",
        ]
        return "\n".join([*lines, *_told(self.findings)])


@dataclass(frozen=True, slots=True)
class ImportDiff(DrawableReport):
    """A table that was imported, against the log it came from. `version` is the one that has been
    imported, `log_version` the newest of the log, which is `behind` versions further, the first of
    them since `lag_seconds`. `by_rows`: files differ, so that the rows were compared."""

    table: str
    root: str
    status: Verdict
    version: int
    log_version: int
    snapshot_id: int
    lag_seconds: float
    lake_files: int
    log_files: int
    by_rows: bool
    findings: tuple[Finding, ...]

    @property
    def behind(self) -> int:
        return max(self.log_version - self.version, 0)

    @property
    def exit_code(self) -> int:
        """0 the same, 2 different, 3 the log has only gone on."""
        return _CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"behind": self.behind, "exit_code": self.exit_code}

    def __str__(self) -> str:
        compared = ", compared row by row" if self.by_rows else ""
        lines = [
            f"{self.table}: {self.status}",
            f"  lake     version {self.version}, {quantity(self.lake_files, 'file')}{compared}",
            f"  log      version {self.log_version}, {quantity(self.log_files, 'file')} at version"
            f" {self.version}, at {self.root}",
            f"  behind   {quantity(self.behind, 'version')}, {self.lag_seconds:.1f} s",
        ]
        return "\n".join([*lines, *_told(self.findings)])


def _told(findings: Sequence[Finding]) -> list[str]:
    lines = [f"  {each.kind}: {each.message}" for each in findings[:_SHOWN]]
    if len(findings) > _SHOWN:
        lines.append(f"  … and {len(findings) - _SHOWN:,} more (all with --format json)")
    return lines


_HELP = {
    "tidelake_mirror_lag_seconds": (
        "gauge",
        "Age of the oldest commit of the table that its log does not show.",
    ),
    "tidelake_mirror_file_drift": ("gauge", "Files that are not the same in lake and log."),
    "tidelake_mirror_metadata_drift": ("gauge", "1 if the log's metadata is not the lake's."),
    "tidelake_mirror_protocol_drift": ("gauge", "1 if the log's protocol is not the lake's."),
    "tidelake_mirror_version_delta": (
        "gauge",
        "Versions decided upon that the log lacks; negative if it is ahead.",
    ),
    "tidelake_mirror_publishes_total": ("counter", "Versions put into the log."),
    "tidelake_mirror_publish_seconds_total": (
        "counter",
        "Seconds from commits to their versions in the log, in all.",
    ),
    "tidelake_mirror_publish_failures_total": ("counter", "Attempts to publish that failed."),
}


def prometheus(found: MirrorDiff) -> str:
    """The numbers in Prometheus' text form."""
    label = found.table.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    lines = []
    for name, value in found.metrics().items():
        kind, said = _HELP[name]
        lines += [f"# HELP {name} {said}", f"# TYPE {name} {kind}"]
        lines.append(f'{name}{{table="{label}"}} {value:g}')
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """A table that is back, as the version of its log showed it, and as those before it did from
    `first_version` on, which is of the snapshot `since`. `note` says why not from earlier on, if
    there was something earlier."""

    table: str
    root: str
    version: int
    files: int
    rows: int
    first_version: int
    since: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedLog:
    """A log that no table was made from, and why."""

    root: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecoverResult:
    """`snapshot_id` is the snapshot that has all tables; None if nothing was done. `snapshots` is
    how many are back, each with the id and the time that it had."""

    snapshot_id: int | None
    tables: tuple[RecoveredTable, ...]
    skipped: tuple[SkippedLog, ...]
    snapshots: int = 0
