"""Files that are there for mirrors: which of them their logs show, and which nobody needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from tidelake.catalog.annex import HeldFiles, Work
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import paths
from tidelake.delta.log.names import locate
from tidelake.delta.log.vectors import place_of
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.records import MirrorHolding
from tidelake.delta.values.mirror import Mirror
from tidelake.store.files import same_place

_MADE = re.compile(r"ducklake-.*\.delta|deletion_vector_[0-9a-f-]{36}\.bin")
_RETENTION = timedelta(days=7)
_SHOWN = "a Delta log shows them"


@dataclass(frozen=True, kw_only=True)
class MirrorFiles(HeldFiles):
    """`shown` are the files that logs show. Below `unsure` nothing may be removed: what readers
    see there is not known for certain. `made` are all copies and vectors that mirrors know of, by
    their names; those that are shown no longer have ended. `roots` are folders in which mirrors
    made them."""

    shown: frozenset[str]
    unsure: tuple[str, ...]
    made: frozenset[str]
    roots: tuple[str, ...]

    def why_needed(self, path: str, /) -> str | None:
        shown = path.startswith(self.unsure) or same_place(path) in self.shown
        return _SHOWN if shown else None

    def is_orphan(self, path: str, /) -> bool:
        """Whether a file was made for a mirror, and none knows of it."""
        name = paths.base(path)
        made = path.startswith(self.roots) and _MADE.fullmatch(name) is not None
        return made and name not in self.made

    def forget(self, _deleted: Sequence[str], before: datetime, /) -> Iterator[Work]:
        """Checkpoints tell of files for a while that are no longer shown, though they may be
        gone."""
        until = min(before, datetime.now(UTC) - _RETENTION)
        yield partial(mirrors.forget, until=int(until.timestamp() * 1000))


def mirror_files(reader: Reader) -> MirrorFiles:
    known = mirrors.every(reader)
    found = mirrors.holdings(reader)
    now = {place for each in found if each.removed_at is None for place in _places(each)}
    past = {
        place: each.removed_at
        for each in sorted(found, key=lambda each: each.removed_at or 0)
        if each.removed_at is not None
        for place in made_files(each)
    }
    made = {place for each in found for place in made_files(each)}
    return MirrorFiles(
        shown=frozenset(map(same_place, now)),
        unsure=tuple(each.root for each in known if not _is_sure(each)),
        made=frozenset(map(paths.base, made)),
        ended={place: _moment(since) for place, since in past.items() if place not in now},
        roots=tuple(each.root for each in known if each.status != "drifted"),
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _is_sure(mirror: Mirror) -> bool:
    return mirror.published == mirror.version and mirror.status != "drifted"


def _places(found: MirrorHolding) -> Iterable[str]:
    return [locate(found.file.path, found.mirror.root), *_vectors(found)]


def made_files(found: MirrorHolding) -> Iterable[str]:
    """What has been made of a file for the mirror alone."""
    copies = [locate(found.file.path, found.mirror.root)] if found.file.copied else []
    return [*copies, *_vectors(found)]


def _vectors(found: MirrorHolding) -> Iterable[str]:
    vector = found.file.vector
    place = None if vector is None else place_of(vector, found.mirror.root)
    return [] if place is None else [place]
