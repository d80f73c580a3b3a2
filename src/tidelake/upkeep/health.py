"""What of a lake is worth a look: from the catalog alone, but for what mirrors have published."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidelake.catalog.expire.choose import choose
from tidelake.catalog.own_tables import clock
from tidelake.catalog.read import options, sizes
from tidelake.catalog.read.sizes import TableSize
from tidelake.coverage.question import Question, coverage
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid, Unsupported
from tidelake.event_time.rollups.make import list_rollups
from tidelake.event_time.values.rollup import TAG as ROLLUP_TAG
from tidelake.history import consumer_records as consumers
from tidelake.model.age import moment_before
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName
from tidelake.model.table import TableInfo
from tidelake.session.session import Session
from tidelake.upkeep.values_health import Health, HealthLimits, Remedy, Signal

_MOST_TABLES = 1000
"""Of how many tables what is declared is looked at."""


def health(session: Session, limits: HealthLimits | None = None) -> Health:
    """What is worth a look now."""
    if limits is not None and not isinstance(limits, HealthLimits):
        raise Invalid(f"limits={limits!r} are none", hint="give HealthLimits(…)")
    most = limits or HealthLimits()
    looks: tuple[Callable[[Session, HealthLimits], Iterator[Signal]], ...] = (
        _files,
        _declared,
        *((_snapshots, _leftovers, _consumers, _mirrors) if session.namespace.is_whole else ()),
    )
    with session.reading() as reader:
        at = session.at(reader)
    found = [signal for look in looks for signal in look(session, most)]
    return Health(at, tuple(sorted(found, key=lambda each: not each.severe)))


def _tables(session: Session) -> dict[int, TableName]:
    with session.reading() as reader:
        return dict(session.view.names(reader, session.at(reader), "table"))


def _files(session: Session, limits: HealthLimits) -> Iterator[Signal]:
    names = _tables(session)
    with session.reading() as reader:
        target = options.of_table(reader).file_bytes
        known = sizes.table_sizes(reader, session.at(reader), names, target // 2)
    for table_id, size in known.items():
        name = str(session.namespace.inner_table(names[table_id]))
        yield from _of_files(name, size, limits)


def _of_files(name: str, size: TableSize, limits: HealthLimits) -> Iterator[Signal]:
    if size.small >= limits.small_files:
        yield Signal(
            "small files",
            f"{size.small:,} of {size.files:,} files are small",
            "Reads open each of them; compaction puts them together and changes no snapshot.",
            name,
            remedy=Remedy("compact", name),
        )
    if size.delete_ratio >= limits.delete_ratio:
        yield Signal(
            "deletes",
            f"{size.delete_ratio:.0%} of the rows in files are deleted",
            "They are read and passed over; compaction writes files without them.",
            name,
            remedy=Remedy("compact", name),
        )


def _declared(session: Session, limits: HealthLimits) -> Iterator[Signal]:
    for name in list(_tables(session).values())[:_MOST_TABLES]:
        info = session.newest_info(name)
        shown = str(session.namespace.inner_table(name))
        if Series.maybe(info) is not None:
            yield from _coverage(session, info, shown, limits)
        if EventTime.maybe(info) is not None:
            yield from _rollups(session, info, shown)


def _coverage(
    session: Session, info: TableInfo, shown: str, limits: HealthLimits
) -> Iterator[Signal]:
    try:
        found = coverage(session, info.name, None, Question())
    except Unsupported:  # a calendar needs a library that is not here
        return
    if found.expected and found.ratio < limits.coverage:
        yield Signal(
            "coverage",
            f"{found.ratio:.1%} of {found.expected:,} buckets are covered",
            f"That is under {limits.coverage:.0%}; gaps() lists what to fetch again.",
            shown,
            severe=True,
        )


def _rollups(session: Session, info: TableInfo, shown: str) -> Iterator[Signal]:
    with session.reading() as reader:
        kept = list_rollups(session, reader, session.at(reader), info)
    useless = [each for each in kept if each.usable is False]
    if useless:
        operation = Remedy("compact" if ROLLUP_TAG in info.tags else "drop_rollups", shown)
        yield Signal(
            "rollups",
            f"{len(useless):,} of {len(kept):,} rollups are of no use any more",
            "Rows that they rest on have changed, so reads go round them.",
            shown,
            remedy=operation,
        )


def _snapshots(session: Session, limits: HealthLimits) -> Iterator[Signal]:
    with session.reading() as reader:
        age = options.of_lake(reader, "expire_older_than") or limits.older_than
        chosen = choose(reader, moment_before(clock(reader), age), None)
    if chosen.snapshots:
        yield Signal(
            "snapshots",
            f"{len(chosen.snapshots):,} snapshots are older than {age}",
            "Files that only they need stay until they expire. What is tagged is kept.",
            remedy=Remedy("expire", older_than=age),
        )


def _leftovers(session: Session, _: HealthLimits) -> Iterator[Signal]:
    with session.reading() as reader:
        waiting = sizes.scheduled_files(reader)
    if waiting:
        yield Signal(
            "leftovers",
            f"{waiting:,} files are needed by no snapshot any more",
            "They wait to be deleted; cleanup also finds orphans.",
            remedy=Remedy("cleanup"),
        )


def _consumers(session: Session, limits: HealthLimits) -> Iterator[Signal]:
    with session.reading() as reader:
        found = consumers.every(reader)
    for each in found:
        if each.lag >= limits.consumer_lag:
            yield Signal(
                "consumers",
                f"consumer {each.name} is {each.lag:,} snapshots behind",
                "Nothing that it still needs can expire. Is what runs it alive?",
                severe=True,
            )


def _mirrors(session: Session, limits: HealthLimits) -> Iterator[Signal]:
    for mirror in (one for each in session.formats for one in each.statuses(session)):
        if mirror.status in ("drifted", "blocked"):
            yield Signal(
                "mirrors",
                f"the {mirror.kind} mirror is {mirror.status}",
                mirror.reason or "Nothing more is published.",
                mirror.table,
                severe=True,
            )
        elif mirror.behind and mirror.lag_seconds >= limits.mirror_seconds:
            yield Signal(
                "mirrors",
                f"the {mirror.kind} mirror is {mirror.behind:,} commits behind,"
                f" since {mirror.lag_seconds:,.0f} s",
                "Others read an older table there.",
                mirror.table,
                severe=True,
                remedy=Remedy("sync_mirrors"),
            )
