"""Point-in-time joins: sides meet, on the engine that has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tidelake.engine import Engine, Job, Reading
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.join import sql as sql_of
from tidelake.join.completeness import (
    Measure,
    enter_measures,
    horizon_of,
    runs_now,
    runs_plan,
    runs_then,
    series_of,
)
from tidelake.join.feature import Wish
from tidelake.join.knowing import enter_lives, warn_if_early
from tidelake.join.plan import LEFT, RIGHT, JoinPass, JoinPlan, passes
from tidelake.join.question import clock_of, distance_within, key_pair
from tidelake.join.sides import Rows, Side, column_of
from tidelake.join.task import columns_of, joined_sql, sides_of
from tidelake.model.event_time import EventTime, names
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.session.caches import Memory, Recent
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.readable import Read
from tidelake.session.session import Session

_FOUND = "_tidelake_joined"
_NOBODYS = LocalEngine()
"""Where frames meet that are in no lake. It opens its DuckDB when it is first needed."""


class TieMemory(Memory):
    """Of which snapshots of tables it is known whether two rows have the same keys and time."""

    def __init__(self) -> None:
        self.known: Recent[bool] = Recent()


@dataclass(frozen=True, slots=True)
class Right:
    """A right side, and what is asked of it."""

    side: Side
    wish: Wish

    @property
    def pinned(self) -> Side:
        """The side as it was known at the moment that is asked for."""
        moment = self.wish.known_at
        if moment is None:
            return self.side
        if not isinstance(self.side, Rows):
            raise Invalid(
                f"known_at={moment!r}: only a table of a lake can tell what it knew when",
                hint="give a Table as the right side, or a column of the left side",
            )
        return replace(self.side, source=self.side.source.known_at(moment))

    @property
    def narrow(self) -> Right:
        """With no other columns than are needed."""
        side, wish = self.side, self.wish
        if wish.columns is None or not isinstance(side, Rows):
            return self
        event = side.event
        keys = [theirs for _, theirs in wish.on] if wish.on else names(event.key) if event else ()
        time = wish.right_time or (event.time.name if event else None)
        wanted = {fold(name): name for name in (*wish.columns, *keys, *([time] if time else []))}
        return replace(self, side=replace(side, columns=tuple(wanted.values())))


class AsofJoin(LazyRows):
    """The left side's rows with what held then. Immutable; every `to_*` plans afresh."""

    def __init__(self, left: Side, rights: Sequence[Right]) -> None:
        self._left = left
        self._rights = tuple(rights)
        sides = [left, *(right.side for right in self._rights)]
        self._spark = next((side.spark for side in sides if side.spark is not None), None)
        lakes = [side.session for side in sides if side.session is not None]
        _check_together(lakes)
        self._own = lakes[0] if lakes else None
        self._here = self._own.local if self._own is not None else _NOBODYS

    def reads(self) -> Iterator[Read]:
        """The tables of all sides. Of frames nothing is told."""
        with self._default_engine().job("cannot tell what is joined") as job:
            left = self._left.enter(job, f"{LEFT}_0", numbered=False)
        yield from self._left.reads()
        for right in self._rights:
            own = self._own_moment(left, right.wish)
            yield from (right.narrow.pinned if own is None else right.narrow.side).reads()

    def count(self) -> int:
        """How many rows: as many as the left side has."""
        job = self._default_engine().job("cannot count")
        steps, _ = self._prepare(job)
        return int(job.reading(f"SELECT * FROM {steps[0].source}").count())

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        job = engine.job("cannot join")
        ordered = ordered and self._left.is_ordered
        steps, measures = self._prepare(job, ordered=ordered)
        if not job.in_process and not measures and self._is_found_beside(job, steps):
            return job.reading(f"SELECT * FROM {_FOUND}")
        if measures:
            steps[-1] = replace(steps[-1], output=None)
        before = steps if measures else steps[:-1]
        for place, each in enumerate(before):
            job.define(f"{LEFT}_{place + 1}", self._joined(job, each))
        if not measures:
            return job.reading(self._joined(job, steps[-1]))
        return job.reading(enter_measures(job, steps, measures))

    def _prepare(self, job: Job, *, ordered: bool = False) -> tuple[list[JoinPass], list[Measure]]:
        """Enter all sides, and plan how they are joined, and what is told of them beside."""
        left = self._left.enter(job, f"{LEFT}_0", numbered=ordered)
        taken = {fold(column.name) for column in left}
        plans: list[JoinPlan] = []
        measures: list[Measure] = []
        for number, right in enumerate(self._rights):
            with _naming(right.wish.name):
                plans.append(self._entered(job, number, left, right.narrow, taken))
                if right.wish.completeness:
                    measures.append(self._measure(job, plans[-1], right, left))
        runs = [each.plan for each in measures if each.plan is not None]
        return list(passes(left, [*plans, *runs], ordered=ordered)), measures

    def _measure(self, job: Job, plan: JoinPlan, right: Right, left: Sequence[Column]) -> Measure:
        """How complete a right side is, and how that is found out."""
        name, number = plan.completeness or "", plan.number + len(self._rights)
        series = series_of(right.side)
        if series is None or not isinstance(right.side, Rows):
            return Measure(name)
        runs, horizon = runs_plan(plan, series, number), horizon_of(job, plan)
        if (own := self._own_moment(left, right.wish)) is not None:
            job.scan(runs.right, runs_then(right.side.source, own, horizon))
        else:
            side = right.pinned
            assert isinstance(side, Rows)
            side.source.check_recorded("coverage")
            job.scan(runs.right, runs_now(side.source, horizon))
        return Measure(name, series, runs)

    def _entered(
        self, job: Job, number: int, left: Sequence[Column], right: Right, taken: set[str]
    ) -> JoinPlan:
        own, name = self._own_moment(left, right.wish), f"{RIGHT}_{number}"
        known = None
        if own is None:
            right = replace(right, side=right.pinned)
            columns = right.side.enter(job, name, numbered=True)
        else:
            known, columns = enter_lives(job, name, right.side, own)
            if job.in_process:
                warn_if_early(job, f"{LEFT}_0", right.side, own)
        plan = self._plan(left, right, columns)
        brought = _brought(plan, right, columns)
        named = _Names(taken, right.wish)
        return replace(
            plan,
            number=number,
            known=known,
            brought=tuple((column, named.of(column.name)) for column in brought),
            age=named.of("age") if right.wish.age else None,
            completeness=named.of("completeness") if right.wish.completeness else None,
        )

    def _own_moment(self, left: Sequence[Column], wish: Wish) -> Column | None:
        """The left column that `known_at` names, if it does."""
        name = wish.known_at
        if not isinstance(name, str) or fold(name) not in {fold(c.name) for c in left}:
            return None
        return column_of(self._left, left, name, "known_at")

    def _plan(self, left: Sequence[Column], right: Right, columns: Sequence[Column]) -> JoinPlan:
        wish, side = right.wish, right.side
        event = side.event
        pairs = wish.on or (tuple((name, name) for name in names(event.key)) if event else ())
        if not pairs:
            raise Invalid("on is missing, and the right side has no key", hint='on="id"')
        keys = (
            key_pair(
                column_of(self._left, left, mine, "on"), column_of(side, columns, theirs, "on")
            )
            for mine, theirs in pairs
        )
        clock = clock_of(
            _time(self._left, left, wish.left_time), _time(side, columns, wish.right_time)
        )
        ends = event is not None and clock.times.right.name == event.time.name
        stone, end = (event.tombstone, event.valid_to if ends else None) if event else (None, None)
        return JoinPlan(
            brought=(),
            keys=tuple(sorted(keys, key=lambda pair: pair.left.name)),
            clock=clock,
            direction=wish.direction,
            exact=wish.exact,
            within=None if wish.tolerance is None else distance_within(clock, wish.tolerance),
            tombstone=None if stone is None else column_of(side, columns, stone.name, "tombstone"),
            end=None if end is None else column_of(side, columns, end.name, "valid_to"),
        )

    def _is_found_beside(self, job: Job, steps: Sequence[JoinPass]) -> bool:
        """Whether tasks find all of it, each for some left rows, as they can read the right sides
        themselves."""
        if any(step.first.known is not None for step in steps):
            return False
        left, rights = sides_of(steps)
        told = [replace(step, plans=tuple(map(self._as_known, step.plans))) for step in steps]
        find = partial(joined_sql, steps=told)
        return job.beside(_FOUND, left, rights, columns_of(steps), find)

    def _as_known(self, plan: JoinPlan) -> JoinPlan:
        return replace(plan, untied=plan.untied or self._known_untied(plan) is True)

    def _joined(self, job: Job, asked: JoinPass) -> str:
        """The SQL of a pass, with the relations that it stands on defined, if they do not go into
        the query: what DuckDB is told in one it plans once."""
        if job.in_process and asked.first.known is None:
            known = [plan.untied or self._known_untied(plan) for plan in asked.plans]
            told = zip(asked.plans, known, strict=True)
            asked = replace(
                asked, plans=tuple(replace(p, untied=is_so is True) for p, is_so in told)
            )
            inlined = asked.is_flat and None not in known
        else:
            inlined = not job.in_process and asked.is_native and not asked.is_doubted
        if not inlined:
            job.define(asked.rows, sql_of.left_rows_sql(asked))
            for plan in asked.plans:
                job.define(plan.rows, sql_of.right_rows_sql(plan))
        if not job.in_process and asked.is_doubted:
            return self._joined_by_tasks(job, asked)
        if job.in_process and asked.first.known is None and not inlined:
            plans = (replace(plan, untied=self._is_untied(job, plan)) for plan in asked.plans)
            asked = replace(asked, plans=tuple(plans))
        return sql_of.joined_sql(asked, by_window=not job.in_process, inlined=inlined)

    def _joined_by_tasks(self, job: Job, asked: JoinPass) -> str:
        """The same where a match may not count: tasks find them as this process does."""
        sides, found = f"{asked.source}_sides", f"{asked.source}_found"
        job.gather(sides, sql_of.sides_sql(asked), sql_of.PLACE)
        job.pick(found, f"SELECT * FROM {sides}", partial(sql_of.matched_sql, asked=asked))
        return sql_of.result_sql(asked, found, flat=False, in_process=False)

    def _is_untied(self, job: Job, plan: JoinPlan) -> bool:
        """Whether no two right rows have the same keys and time. What has been found out about a
        snapshot of a table remains so."""
        found = plan.untied or self._known_untied(plan)
        if found is None:
            found = not job.rows(sql_of.ties_sql(plan))[0][0]
            if (kept := self._ties_kept(plan)) is not None:
                kept[0].keep(kept[1], found)
        return found

    def _known_untied(self, plan: JoinPlan) -> bool | None:
        """The same, if it is known."""
        kept = self._ties_kept(plan)
        return None if kept is None else kept[0].get(kept[1])

    def _ties_kept(self, plan: JoinPlan) -> tuple[Recent[bool], str] | None:
        """Where it is remembered, and by which name; None if its rows may be others next time."""
        side = self._rights[plan.number].pinned
        if side.session is None or (key := side.key) is None:
            return None
        by = [*(pair.right.name for pair in plan.keys), plan.clock.times.right.name]
        return side.session.memory(TieMemory).known, f"{key} {by}"

    # Where it is computed.

    def _default_engine(self) -> Any:
        if self._spark is not None:
            return self._on_spark(self._spark)
        return self._here if self._own is None else self._own.engine

    def _local_engine(self) -> Any:
        return self._here

    def _on_spark(self, spark: Any) -> Any:
        if self._own is not None:
            return self._own.spark_engine(spark or self._spark)
        from tidelake.engine.spark.engine import SparkEngine

        return SparkEngine(spark or self._spark, self._here)

    def __repr__(self) -> str:
        listed = ", ".join(f"{right.side!r} ({right.wish})" for right in self._rights)
        return f"<AsofJoin of {self._left!r} and {listed}>"


@contextmanager
def _naming(feature: str | None) -> Iterator[None]:
    """Errors about one of several right sides say which it is."""
    try:
        yield
    except (Invalid, NotFound) as error:
        if feature is None:
            raise
        raise type(error)(f"{feature}: {error.message}", hint=error.hint) from error


def _check_together(sessions: Sequence[Session]) -> None:
    if len({session.engine_name for session in sessions}) > 1:
        raise Unsupported(
            "one side's lake is on the local engine, the other's on Spark",
            hint="open both lakes with the same engine",
        )
    if len({repr(sorted(session.local.options.items())) for session in sessions}) > 1:
        raise Unsupported(
            "the lakes of the sides have different storage_options",
            hint="hand over one of them as a frame, for example with to_arrow()",
        )


def _time(side: Side, columns: Sequence[Column], name: str | None) -> Column:
    own: EventTime | None = side.event
    if name is None and own is None:
        raise Invalid(
            f"{side.what}_time is missing, and the {side.what} side has no event time",
            hint=f'{side.what}_time="ts"',
        )
    wanted = own.time.name if name is None and own else name
    return column_of(side, columns, wanted, f"{side.what}_time")


def _brought(plan: JoinPlan, right: Right, columns: Sequence[Column]) -> list[Column]:
    """The columns of the right side that the result is to have."""
    if right.wish.columns is not None:
        return [column_of(right.side, columns, name, "columns") for name in right.wish.columns]
    unseen = {pair.right.name for pair in plan.keys}
    unseen |= {plan.tombstone.name} if plan.tombstone else set()
    asked = right.side.columns if isinstance(right.side, Rows) else None
    if plan.end and asked is not None and fold(plan.end.name) not in map(fold, asked):
        unseen.add(plan.end.name)
    return [column for column in columns if column.name not in unseen]


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of the result: `taken` are in lower case, and grow."""

    taken: set[str]
    wish: Wish

    def of(self, name: str) -> str:
        """What a column of a right side is called."""
        if self.wish.name is not None:
            found, hint = f"{self.wish.name}_{name}", "rename one, or name the feature otherwise"
        else:
            clashes = fold(name) in self.taken
            found = f"{name}{self.wish.suffix}" if clashes else name
            hint = "rename one, or give another suffix"
        if fold(found) in self.taken:
            raise Invalid(f"two columns of the result would be called {found!r}", hint=hint)
        self.taken.add(fold(found))
        return found
