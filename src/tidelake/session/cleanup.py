"""Removing files that nothing needs: those that were scheduled, and orphans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tidelake.catalog import leftovers, mirrors, options, paths, rollups
from tidelake.catalog.leftovers import Known
from tidelake.errors import Invalid
from tidelake.model.age import moment_before
from tidelake.model.cleanup import CleanupResult, KeptFiles
from tidelake.session.alone import alone, batches
from tidelake.session.lake import Lake
from tidelake.session.mirror_upkeep import Held, held, retained_until
from tidelake.session.mirroring import sync_all
from tidelake.session.progress import progress
from tidelake.store.files import Found, Store, same_place

_OURS = re.compile(r"ducklake-.*\.(parquet|puffin|rollup)")
"""Files as DuckDB and we name them. Any other file is somebody else's."""

_IN_USE = "scheduled, but a snapshot reads them under another name"
_RECENT = "scheduled only recently: somebody may still be reading them"
_YOUNG = "in no snapshot, but young: somebody may be about to commit them"
_AGAIN = "came into use meanwhile"
_SHOWN = "a Delta log shows them"


@dataclass(frozen=True, slots=True)
class _File:
    """`file_id` is that of a scheduled file; an orphan has none. `of_rollup`: of one that has gone.
    `of_mirror`: made for one that shows it no longer. A file without bytes is missing."""

    path: str
    bytes: int | None
    file_id: int | None = None
    of_rollup: bool = False
    of_mirror: bool = False

    @property
    def is_orphan(self) -> bool:
        return self.file_id is None and not self.of_rollup and not self.of_mirror


@dataclass(frozen=True, slots=True)
class _Sorted:
    going: tuple[_File, ...]
    kept: Mapping[str, tuple[_File, ...]]


def cleanup(lake: Lake, *, older_than: object, orphans: bool, dry_run: bool) -> CleanupResult:
    """The listing comes before the look at the catalog: whatever is committed in between is then
    known by name. The other way round it would look like an orphan. Mirrors come first of all, so
    that their logs no longer show what is to go."""
    if lake._committed is not lake:
        raise Invalid("cleanup() is no part of a transaction", hint="call it on the lake itself")
    store = lake._local.store
    if not dry_run:
        sync_all(lake)
    with progress("cleaning up") as tell:
        tell(phase="listing files")
        listed = list(store.walk(lake.data_path)) if orphans else []
    with lake._reading() as reader:
        grace = options.of_lake(reader, "delete_older_than") if older_than is None else older_than
        line = moment_before(datetime.now(UTC), grace)
        known = leftovers.look(reader, lake.data_path)
        of_mirrors = held(reader)
    sizes = _sizes(store, [*known.places, *of_mirrors.stale], listed)
    found = _sort(known, of_mirrors, listed, line, sizes)
    if dry_run:
        return _result(found.going, found.kept, dry_run=True)
    done = _remove(lake, found, known)
    if of_mirrors.stale:
        until = retained_until(_milliseconds(line), _milliseconds(datetime.now(UTC)))
        alone(lake, mirrors.forget, until)
    return done


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _is_ours(file: Found) -> bool:
    return _OURS.fullmatch(paths.base(file.uri)) is not None


def _sizes(store: Store, wanted: Iterable[str], listed: Iterable[Found]) -> dict[str, int]:
    """Of files that are there; most are in the listing, if there is one."""
    sizes = {file.uri: file.bytes for file in listed}
    unknown = [path for path in wanted if path not in sizes]
    return {**sizes, **store.sizes(unknown)}


def _sort(
    known: Known,
    of_mirrors: Held,
    listed: Iterable[Found],
    line: datetime,
    sizes: Mapping[str, int],
) -> _Sorted:
    """An orphan's name is nowhere in the catalog, whatever the folder: names are never given
    twice, and one folder may be spelled in several ways."""
    used = {same_place(path) for path in known.used}
    going: list[_File] = []
    kept: dict[str, list[_File]] = {_IN_USE: [], _RECENT: [], _YOUNG: [], _SHOWN: []}
    for each in known.scheduled:
        file = _File(each.path, sizes.get(each.path), each.file_id)
        if each.since >= line:
            kept[_RECENT].append(file)
        elif used and same_place(each.path) in used:
            kept[_IN_USE].append(file)
        elif of_mirrors.shows(each.path):
            kept[_SHOWN].append(file)
        else:
            going.append(file)
    for path, since in known.ended.items():
        file = _File(path, sizes.get(path), of_rollup=True)
        (going if since < line else kept[_RECENT]).append(file)
    for path, removed_at in of_mirrors.stale.items():
        if path in sizes:
            file = _File(path, sizes[path], of_mirror=True)
            (going if removed_at < _milliseconds(line) else kept[_RECENT]).append(file)
    for found in listed:
        ours = _is_ours(found) and paths.base(found.uri) not in known.names
        if (ours and not of_mirrors.shows(found.uri)) or of_mirrors.is_orphan(found.uri):
            orphan = _File(found.uri, found.bytes)
            (going if found.modified < line else kept[_YOUNG]).append(orphan)
    return _Sorted(tuple(going), {reason: tuple(files) for reason, files in kept.items()})


def _remove(lake: Lake, found: _Sorted, known: Known) -> CleanupResult:
    """From the store first, then from the schedule: what a run that broke off has deleted is still
    scheduled, and the next one strikes it off."""
    removed: list[_File] = []
    again: list[_File] = []
    total = sum(file.bytes or 0 for file in found.going)
    with progress("cleaning up", files=len(found.going), bytes=total) as tell:
        for some in batches(found.going):
            with lake._reading() as reader:
                late = leftovers.names_since(reader, known.next_id)
            free = [file for file in some if paths.base(file.path) not in late]
            again += [file for file in some if paths.base(file.path) in late]
            lake._local.store.delete([file.path for file in free])
            struck = [file.file_id for file in free if file.file_id is not None]
            if struck:
                alone(lake, leftovers.forget, struck)
            if ended := [file.path for file in free if file.of_rollup]:
                alone(lake, rollups.forget_files, ended, lake.data_path)
            removed += free
            tell(files=len(free), bytes=sum(file.bytes or 0 for file in free), phase="files")
    return _result(removed, {**found.kept, _AGAIN: tuple(again)})


def _result(
    going: Sequence[_File], kept: Mapping[str, Sequence[_File]], *, dry_run: bool = False
) -> CleanupResult:
    there = [file for file in going if file.bytes is not None]
    return CleanupResult(
        files=len(there),
        bytes=_total(there),
        scheduled=sum(not file.is_orphan for file in there),
        orphans=sum(file.is_orphan for file in there),
        missing=len(going) - len(there),
        kept=tuple(
            KeptFiles(reason, len(files), _total(files)) for reason, files in kept.items() if files
        ),
        paths=tuple(sorted(file.path for file in there)),
        dry_run=dry_run,
    )


def _total(files: Iterable[_File]) -> int:
    return sum(file.bytes or 0 for file in files)
