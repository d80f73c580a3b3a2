"""Several who follow the lake's changes together: each has some of the tables to itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.errors import Conflict
from tidelake.history import consumer_records as consumers
from tidelake.history import group_records as groups
from tidelake.history.allotment import Allotment
from tidelake.history.batch import Batch, Start, check_there, first_place, table_names
from tidelake.history.group_records import Share, TableLife
from tidelake.history.holder import Holder
from tidelake.model.changes_made import touched_tables
from tidelake.model.snapshot import Snapshot
from tidelake.session.session import Session


@dataclass(frozen=True, slots=True)
class _Scene:
    """A group as it is at one moment. `living` are members whose lease is not over, and whoever
    looks; `missing` are tables that it follows and has no share of yet."""

    head: int
    place: int | None
    shares: tuple[Share, ...]
    lives: dict[int, TableLife]
    living: frozenset[str]
    lease: datetime | None
    now: datetime
    members: frozenset[str]
    missing: tuple[int, ...]

    @classmethod
    def look(cls, reader: Reader, name: str, me: str) -> _Scene:
        wanted, lives = groups.tables_of(reader, name), groups.lives(reader)
        place = consumers.place_of(reader, name)
        shares = tuple(groups.shares(reader, name))
        members, now = groups.members(reader, name), own_tables.clock(reader)
        known = {each.table_id for each in shares}
        missing = (
            table_id
            for table_id, life in lives.items()
            if table_id not in known
            and (wanted is None or table_id in wanted)
            and (place is None or life.end is None or life.end > place)
        )
        return cls(
            snapshots.head_id(reader),
            place,
            shares,
            lives,
            frozenset({me, *(owner for owner, until in members.items() if until > now)}),
            members.get(me),
            now,
            frozenset(members),
            tuple(sorted(missing)),
        )

    def is_over(self, share: Share, start: Start) -> bool:
        """Whether nothing can come from a table any more: it was dropped, and all is taken."""
        life = self.lives.get(share.table_id)
        if life is None:
            return True
        if life.end is None:
            return False
        place = share.snapshot_id
        return start == "rows" if place is None else place >= life.end

    def open_shares(self, start: Start) -> list[Share]:
        return [each for each in self.shares if not self.is_over(each, start)]

    def reached(self, start: Start) -> int | None:
        """Up to where everything has been taken of all tables."""
        places = [each.snapshot_id for each in self.open_shares(start)]
        whole = [place for place in places if place is not None]
        return min(whole, default=self.head) if whole == places else None


@dataclass(frozen=True, slots=True)
class _Happenings:
    """Snapshots, oldest first, by the tables that they touch. Each is looked at once, however many
    tables there are."""

    ids: Sequence[int]
    touching: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, found: Sequence[Snapshot]) -> _Happenings:
        touching: dict[int, list[int]] = {}
        for each in found:
            for table_id in touched_tables(each.changes):
                touching.setdefault(table_id, []).append(each.snapshot_id)
        return cls([each.snapshot_id for each in found], touching)

    def has(self, snapshot_id: int | None) -> bool:
        if snapshot_id is None:
            return False
        at = bisect_left(self.ids, snapshot_id)
        return at < len(self.ids) and self.ids[at] == snapshot_id

    def from_on(self, place: int) -> Sequence[int]:
        return self.ids[bisect_left(self.ids, place) :]

    def is_whole_from(self, place: int) -> bool:
        """Whether none is missing between a place and the last."""
        count = len(self.ids) - bisect_left(self.ids, place)
        return count > 0 and count == self.ids[-1] - place + 1

    def to_a_table(self, life: TableLife, place: int | None, end: int) -> list[int]:
        """Those after a place, up to an end."""
        own = {*self.touching.get(life.table_id, ()), *filter(self.has, life.begins)}
        return sorted(each for each in own if each <= end and (place is None or each > place))


class GroupMember(Holder):
    """One of those who share a consumer, made by `lake.consumer_group(name)`.

    Each table is held by one member, which gets its changes in order; a batch is of one table.
    Members take free tables and give some back when more members come, when they poll. Whoever
    is silent for as long as its lease loses its tables to others, who go on from what was
    committed. Use it in a `with`.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        since: int | str | date | None = None,
        lease_seconds: float = 60,
        **wishes: Any,
    ) -> None:
        super().__init__(session, name, since, lease_seconds, **wishes)
        self._whole_at: dict[int, int] = {}
        with session.database.writing() as writer:
            place = first_place(session, writer, since, self._start)
            groups.establish(writer, self.name, self._tables, place)
            self._renew(writer)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that this member holds now, those that are there."""
        with self._reading() as reader:
            shares = groups.shares(reader, self.name)
            mine = {each.table_id for each in shares if each.owner == self.owner}
            return table_names(self._session, reader, snapshots.head_id(reader), mine)

    def _next(self, most: int | None) -> Batch | None:
        with self._reading() as reader:
            scene = _Scene.look(reader, self.name, self.owner)
            batch, passed = self._choose(reader, scene, most)
        rests = batch is None and (passed or scene.place != scene.reached(self._start))
        if rests or self._is_unsettled(scene):
            with self._session.database.writing() as writer:
                self._settle(writer, passed, scene.head)
            with self._reading() as reader:
                scene = _Scene.look(reader, self.name, self.owner)
                batch, _ = self._choose(reader, scene, most)
        self._polled = batch
        return batch

    def _is_unsettled(self, scene: _Scene) -> bool:
        """Whether somebody has to write something down."""
        if scene.lease is None or scene.lease - scene.now < self._lease / 2 or scene.missing:
            return True
        parts = self._allotment(scene)
        return bool(parts.take or parts.give) or not scene.members <= scene.living

    def _allotment(self, scene: _Scene) -> Allotment:
        at_work = None if self._polled is None else self._polled.table_id
        return Allotment.of(self.owner, scene.living, scene.open_shares(self._start), at_work)

    def _settle(self, writer: Writer, passed: Sequence[Share], up_to: int) -> None:
        """Take part for another lease, with one's part of the tables; let those go on in which
        nothing has happened `up_to` a snapshot, and with them the place of all."""
        name, scene = self.name, _Scene.look(writer, self.name, self.owner)
        self._renew(writer)
        for owner in scene.members - scene.living:
            groups.leave(writer, name, owner)
        groups.add(writer, name, scene.missing, scene.place)
        for share in set(passed) & set(scene.shares):
            groups.move(writer, name, share.table_id, up_to)
        for share in scene.shares:
            if share.table_id not in scene.lives:
                groups.strike(writer, name, share.table_id)
            elif scene.is_over(share, self._start):
                groups.hold(writer, name, share.table_id, None)
                groups.move(writer, name, share.table_id, scene.head)
            elif share.owner is not None and share.owner not in scene.living:
                groups.hold(writer, name, share.table_id, None)
        settled = _Scene.look(writer, name, self.owner)
        parts = self._allotment(settled)
        for table_id in parts.take:
            groups.hold(writer, name, table_id, self.owner)
        for table_id in parts.give:
            groups.hold(writer, name, table_id, None)
        consumers.move(writer, name, settled.reached(self._start))

    def _choose(
        self, reader: Reader, scene: _Scene, most: int | None
    ) -> tuple[Batch | None, list[Share]]:
        """The next batch of a table that is held here; and those to which nothing has happened."""
        mine = [each for each in scene.open_shares(self._start) if each.owner == self.owner]
        if not mine:
            return None, []
        first = mine[0].snapshot_id
        found = snapshots.after(reader, None if first is None else first - 1)
        happened = _Happenings.of(found)
        for place in {each.snapshot_id or 0 for each in mine if each.snapshot_id is not None}:
            if not happened.is_whole_from(place):
                check_there(reader, self.name, place, set(happened.from_on(place)))
        ends = {each: self._end_of(scene, each, happened, most) for each in mine}
        batch = next((each for each, end in ends.items() if end is not None), None)
        passed = [each for each, end in ends.items() if end is None]
        behind = [each for each in passed if each.snapshot_id != scene.head]
        if batch is None:
            return None, behind
        return self._batch(reader, batch, ends[batch] or 0, found), behind

    def _end_of(
        self, scene: _Scene, share: Share, happened: _Happenings, most: int | None
    ) -> int | None:
        """Where the next batch of a table ends; None if nothing has happened to it."""
        life, place = scene.lives[share.table_id], share.snapshot_id
        if self._begins(share):
            if not happened.has(self._whole_at.get(share.table_id)):
                self._whole_at[share.table_id] = scene.head
            return self._whole_at[share.table_id]
        end = scene.head if life.end is None else life.end
        touching = happened.to_a_table(life, place, end)
        if not touching and place is not None:
            return None
        return end if most is None or len(touching) <= most else touching[most - 1]

    def _begins(self, share: Share) -> bool:
        """Whether all rows of the table come first."""
        return share.snapshot_id is None and self._start == "rows"

    def _batch(self, reader: Reader, share: Share, until: int, found: Sequence[Snapshot]) -> Batch:
        whole, since = self._begins(share), share.snapshot_id
        listed = tuple(
            each
            for each in found
            if each.snapshot_id <= until
            and (since is None or each.snapshot_id > since)
            and (each.snapshot_id == until or not whole)
        )
        names = table_names(self._session, reader, until, {share.table_id})
        return Batch(since, until, listed, names, self._session, whole, share.table_id)

    def _move(self, writer: Writer, batch: Batch) -> bool:
        assert batch.table_id is not None
        share = groups.held_share(writer, self.name, batch.table_id, self.owner)
        self._renew(writer)
        if not self._follows(batch, share.snapshot_id):
            return False
        groups.move(writer, self.name, batch.table_id, batch.until)
        return True

    def seek(self, to: int | str | date | None) -> None:
        """Let all tables go on from another snapshot, time or tag; None: from the beginning.
        Refused while others take part."""
        self._check_open()
        with self._session.database.writing() as writer:
            at = None if to is None else self._session.resolve(writer, to).snapshot_id
            self._check_alone(writer)
            self._renew(writer)
            for share in groups.shares(writer, self.name):
                groups.move(writer, self.name, share.table_id, at)
            consumers.move(writer, self.name, at)
        self._polled = None
        self._whole_at.clear()

    def drop(self) -> None:
        """Forget the group and how far it has come. Refused while others take part."""
        self._check_open()
        with self._session.database.writing() as writer:
            self._check_alone(writer)
            groups.forget(writer, self.name)
        self._closed = True

    def _check_alone(self, writer: Writer) -> None:
        scene = _Scene.look(writer, self.name, self.owner)
        if others := sorted(scene.living - {self.owner}):
            raise Conflict(
                f"others take part in the group {self.name!r}: {', '.join(others)}",
                hint="try again when they have been closed, or their leases are over",
            )

    def _renew(self, writer: Writer) -> None:
        groups.tables_of(writer, self.name)  # which raises NotFound if there is no group
        until = own_tables.clock(writer) + self._lease
        groups.renew(writer, self.name, self.owner, until)

    def _release(self, writer: Writer) -> None:
        if not groups.is_group(writer, self.name):
            return
        groups.leave(writer, self.name, self.owner)
        for share in groups.shares(writer, self.name):
            if share.owner == self.owner:
                groups.hold(writer, self.name, share.table_id, None)
