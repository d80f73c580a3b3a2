"""Fingerprints that were kept of a table, as they are without the rows that go.

They are trusted only if they hold before: a past that has changed already is not made good. What
they were is not kept: with a hash of it, guesses at what was erased could be tried.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.erasure.survey import Survey
from tidelake.erasure.task import as_data_file
from tidelake.errors import Conflict
from tidelake.model.change import Purge
from tidelake.session.session import Session
from tidelake.verify import deep, fingerprints
from tidelake.verify.slices import LifeOfTable, Question
from tidelake.verify.values import Fingerprint


@dataclass(frozen=True, slots=True)
class NewHashes:
    """Fingerprints as they were kept, and as they are to be kept from now on."""

    kept: tuple[Fingerprint, ...] = ()
    after: tuple[Fingerprint, ...] = ()


def rebased_hashes(session: Session, known: Survey, purge: Purge) -> NewHashes:
    """Costs two looks at all rows of the table; nothing if none are kept."""
    with session.reading() as reader:
        kept = fingerprints.of_table(reader, known.found.info.id)
    if not kept:
        return NewHashes()
    _check(known, kept, _hashes(session, known, known.life))
    now = _hashes(session, known, _without(known.life, known, purge))
    after = [_moved(each, following, now) for each, following in _pairs(kept)]
    return NewHashes(tuple(kept), tuple(each for each in after if each is not None))


def _hashes(session: Session, known: Survey, life: LifeOfTable) -> dict[int, Fingerprint]:
    """What the table holds at every snapshot."""
    asked = Question(known.epochs, deep=False, hashed=True, doubtful=frozenset())
    told = list(deep.reports(session, life, asked))
    found = {}
    for place, epoch in enumerate(known.epochs):
        for at, content in deep.states(life, epoch, [each.epochs[place] for each in told]):
            found[at] = Fingerprint(life.id, at, content.rows, content.hash(epoch.columns))
    return found


def _check(known: Survey, kept: Sequence[Fingerprint], now: Mapping[int, Fingerprint]) -> None:
    marks = [each.snapshot_id for each in kept]
    for at, found in now.items():
        place = bisect_right(marks, at) - 1
        held = place >= 0 and at <= marks[-1]
        if held and kept[place].content_hash != found.content_hash:
            raise Conflict(
                f"the past of {known.found.info.name} is not what it was when fingerprints of it"
                f" were kept (snapshot {at})",
                hint="lake.verify(fingerprint=True) tells what has changed; nothing was erased",
            )


def _pairs(kept: Sequence[Fingerprint]) -> list[tuple[Fingerprint, int | None]]:
    """Each with the snapshot before which it holds."""
    following = [each.snapshot_id for each in kept[1:]]
    return list(zip(kept, [*following, None], strict=True))


def _moved(
    kept: Fingerprint, following: int | None, now: Mapping[int, Fingerprint]
) -> Fingerprint | None:
    """None if no snapshot is left that it holds for."""
    last = kept.snapshot_id + 1 if following is None else following
    within = [at for at in sorted(now) if kept.snapshot_id <= at < last]
    if not within:
        return None
    return replace(now[within[0]], snapshot_id=kept.snapshot_id)


def _without(life: LifeOfTable, known: Survey, purge: Purge) -> LifeOfTable:
    """The table as it will be."""
    gone = {each.before.id for each in purge.files}
    made = [as_data_file(each) for each in purge.files if each.file is not None]
    going = {name: set(rows) for name, rows in purge.rows.items()}
    inlined = [
        replace(
            each.rows,
            rows=tuple(
                row
                for row in each.rows.rows
                if (row[0], row[1]) not in going.get(each.table_name, ())
            ),
        )
        for each in known.found.kept
    ]
    files = [file for file in life.files if file.id not in gone]
    return replace(life, files=(*files, *made), inlined=tuple(inlined))
