"""The state of a table as of a moment, as a plan and SQL: of every key the fact that holds.

The winner is chosen here alone: the greatest event time, then the greatest row id. Rows may come to
it twice, or be such that others beat them; what must not happen is that one is missing that could
win. So conditions on values wait until it is chosen, while conditions on keys, and a lower bound on
the time, may go first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.event_time.values.rollup import RollupUse
from tidelake.model.comparable import domain
from tidelake.model.event_time import EventTime, names
from tidelake.model.file import DataFile, InlinedRows
from tidelake.model.names import TableName, quote
from tidelake.model.predicate import And, Compare, Not, Opaque, Or, Predicate
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.types import FLOATS
from tidelake.plan.scan import PruneStep, ScanPlan
from tidelake.plan.where import Where

_BEST = "_tidelake_best"
_ENDLESS = "_tidelake_endless"
_VOLATILE = ("random", "uuid", "nextval", "currval", "setseed", "current_", "sleep", "write_log")
_PLACE = "_tidelake_place"
_KEPT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AsOfPlan:
    """A complete, picklable description of one read of a table's state as of a moment.

    `parts` read, together, every row that may be the fact that holds; each gives the columns that
    `wanted` names. `where` is what is left to ask of the winners, `predicate` the same; `asked` is
    the whole condition. Where a `rollup` is used, the first part reads it, the second facts about
    later times, and all others what came since. `keeps_ended`: keys that are no more come too,
    each as the tombstone that ended it. `keeps_beaten`: so do facts that may hold again, as soon
    as those that beat them have ended by themselves.
    """

    as_of: int
    event: EventTime
    parts: tuple[ScanPlan, ...]
    columns: tuple[Column, ...]
    output: tuple[str, ...]
    where: str | None = None
    predicate: Predicate | None = None
    asked: str | None = None
    rollup: RollupUse | None = None
    keeps_ended: bool = False
    keeps_beaten: bool = False
    total_files: int = 0
    pruned: tuple[PruneStep, ...] = ()

    @property
    def table(self) -> TableName:
        return self.parts[0].table

    @property
    def snapshot_id(self) -> int:
        return self.parts[0].snapshot_id

    @property
    def wanted(self) -> tuple[str, ...]:
        """What every part gives."""
        return self.parts[0].output

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The table's own files that are read."""
        own = self.parts[1:] if self.rollup else self.parts
        return tuple(file for part in own for file in part.files)

    @property
    def follows_rollup(self) -> bool:
        """Whether there is a rollup with one fact of each key, and every other fact is later."""
        one_each = self.rollup is not None and self.event.valid_to is None
        return one_each and all(part.is_empty for part in self.parts[2:])

    def lasting(self) -> AsOfPlan:
        """All of the facts that a state as of a later moment may need."""
        return replace(self, keeps_ended=True, keeps_beaten=self.event.valid_to is not None)

    def bytes_after(self, first: int) -> int:
        """How large what the parts read from a place on is."""
        return sum(file.bytes for part in self.parts[first:] for file in part.files)

    @property
    def inlined(self) -> tuple[InlinedRows, ...]:
        return tuple(inlined for part in self.parts for inlined in part.inlined)


def divide_condition(
    where: Where | None, event: EventTime
) -> tuple[list[Predicate], list[Predicate]]:
    """What of a condition may be asked before the winner is chosen, and what must wait."""
    early: list[Predicate] = []
    late: list[Predicate] = []
    for part in _conjuncts(where.predicate) if where else ():
        (early if _may_go_first(part, event) else late).append(part)
    return early, late


def _conjuncts(predicate: Predicate) -> list[Predicate]:
    if isinstance(predicate, And):
        return [each for part in predicate.parts for each in _conjuncts(part)]
    return [predicate]


def _may_go_first(part: Predicate, event: EventTime) -> bool:
    """A condition on keys keeps or drops all facts of a key alike, unless it throws dice, or is
    one that can tell equal keys apart, as 0.0 and -0.0. One that asks for a later time drops
    facts which the winner, if it passes, has beaten anyway."""
    if part.columns() <= {column.name for column in event.key}:
        seen = [column for column in event.key if column.name in part.columns()]
        return not list(_opaque(part)) or not (_is_volatile(part) or any(map(_has_twins, seen)))
    later = isinstance(part, Compare) and part.op in (">", ">=")
    return later and part.columns() == {event.time.name}


def _has_twins(column: Column) -> bool:
    """Whether values of the column may be equal and still not the same; rather yes than no."""
    kind = domain(column.type)
    return column.type != "blob" and (kind is None or kind == "rounded")


def _opaque(part: Predicate) -> Iterator[Opaque]:
    """What of a condition only an engine understands."""
    if isinstance(part, Opaque):
        yield part
    elif isinstance(part, And | Or):
        for each in part.parts:
            yield from _opaque(each)
    elif isinstance(part, Not):
        yield from _opaque(part.part)


def _is_volatile(part: Predicate) -> bool:
    """Whether a condition may differ between rows that it sees alike; rather yes than no."""
    return any(word in each.text.casefold() for each in _opaque(part) for word in _VOLATILE)


def together(parts: Sequence[Predicate]) -> Where | None:
    if not parts:
        return None
    whole = parts[0] if len(parts) == 1 else And(tuple(parts))
    return Where(whole, whole.sql(), whole.columns())


def share_of_keys(plan: AsOfPlan, number: int, shares: int) -> AsOfPlan:
    """The state of some of the keys: all shares together are the state. Each reads all files.

    DuckDB's `hash` is the same for all that it takes for one key in a group, as 0.0 and -0.0; but
    another version of DuckDB may hash otherwise.
    """
    keys = ", ".join(quote(column.name) for column in plan.event.key)
    mine = Opaque(f"hash({keys}) % {shares} = {number}", frozenset(c.name for c in plan.event.key))
    return replace(plan, parts=tuple(_with_condition(part, mine) for part in plan.parts))


def _with_condition(part: ScanPlan, condition: Predicate) -> ScanPlan:
    where = together([condition] if part.predicate is None else [part.predicate, condition])
    assert where is not None
    return replace(part, where=where.sql, predicate=where.predicate)


def by_keys(columns: Iterable[Column]) -> str:
    """What to partition or sort by. DuckDB gives back a -0.0 that it did so by as 0.0, unless it
    was computed for that."""
    floats = (f"{quote(c.name)} + 0" if c.type in FLOATS else quote(c.name) for c in columns)
    return ", ".join(floats)


def winners_sql(plan: AsOfPlan, relations: Sequence[str]) -> str:
    """Of every key the fact that holds, unless it says that the key is no more: the columns that
    the plan's parts give. The SQL is DuckDB's; `relations` are subqueries, one for each part.

    The latest time of every key is found by keys and times alone, and then the rows that have it.
    Only if these are more than the keys are there two of one time, and row ids choose. Where all
    else is later than the rollup, keys of which there is something else take it, and all others
    what the rollup has. Few rows are read once and kept; of many, it is cheaper to read keys and
    times first, and then all again.
    """
    if plan.keeps_beaten:
        return _lasting_sql(plan, f"({' UNION ALL '.join(relations)})")
    first = 1 if plan.follows_rollup else 0
    keys, wanted = (", ".join(map(quote, each)) for each in (names(plan.event.key), plan.wanted))
    time, end = quote(plan.event.time.name), _alive(plan)
    kept = "MATERIALIZED" if plan.bytes_after(first) <= _KEPT_BYTES else "NOT MATERIALIZED"
    alike = by_keys(plan.event.key)
    ranked = f"row_number() OVER (PARTITION BY {alike} ORDER BY {ROW_NUMBER} DESC) AS {_PLACE}"
    sql = (
        f"WITH _tidelake_facts AS {kept} ({' UNION ALL '.join(relations[first:])}),"
        f" _tidelake_latest AS MATERIALIZED (SELECT {keys}, max({time}) AS {time}"
        f" FROM _tidelake_facts GROUP BY {keys}), _tidelake_last AS MATERIALIZED"
        f" (SELECT * FROM _tidelake_facts SEMI JOIN _tidelake_latest USING ({keys}, {time})),"
        " _tidelake_ties AS MATERIALIZED (SELECT (SELECT count(*) FROM _tidelake_last) <>"
        f" (SELECT count({time}) FROM _tidelake_latest) AS tied) SELECT {wanted}"
        f" FROM _tidelake_last, _tidelake_ties WHERE NOT tied{f' AND {end}' if end else ''}"
        f" UNION ALL SELECT {wanted} FROM (SELECT *, {ranked} FROM _tidelake_last, _tidelake_ties"
        f" WHERE tied) AS _tidelake_ranked WHERE {_PLACE} = 1{f' AND {end}' if end else ''}"
    )
    if first:
        rollup = f"{relations[0]} AS _tidelake_rollup ANTI JOIN _tidelake_latest USING ({keys})"
        sql += f" UNION ALL SELECT {wanted} FROM {rollup}{f' WHERE {end}' if end else ''}"
    return sql


def winners_at_once_sql(plan: AsOfPlan, relation: str) -> str:
    """The same in one pass, for where `relation` lies scattered, and joining it with itself would
    move all of it."""
    if plan.keeps_beaten:
        return _lasting_sql(plan, relation)
    fields = ", ".join(f"'f{place}': {quote(name)}" for place, name in enumerate(plan.wanted))
    rank = f"{{'t': {quote(plan.event.time.name)}, 'r': {ROW_NUMBER}}}"
    keys = ", ".join(quote(column.name) for column in plan.event.key)
    taken = {name: f"{_BEST}.f{place}" for place, name in enumerate(plan.wanted)}
    chosen = ", ".join(f"{field} AS {quote(name)}" for name, field in taken.items())
    end = _alive(plan, taken)
    return (
        f"SELECT {chosen} FROM (SELECT max_by({{{fields}}}, {rank}) AS {_BEST}"
        f" FROM {relation} AS _tidelake_facts GROUP BY {keys}) AS _tidelake_winners"
        f"{f' WHERE {end}' if end else ''}"
    )


def _lasting_sql(plan: AsOfPlan, relation: str) -> str:
    """Facts that outlast all of their key that beat them: those that do not can hold no more."""
    assert plan.event.valid_to is not None
    keys, wanted = by_keys(plan.event.key), ", ".join(map(quote, plan.wanted))
    end, time = quote(plan.event.valid_to.name), quote(plan.event.time.name)
    better = (
        f"(PARTITION BY {keys} ORDER BY {time} DESC, {ROW_NUMBER} DESC"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    )
    return (
        f"SELECT {wanted} FROM (SELECT *, max({end}) OVER {better} AS {_BEST},"
        f" max(CASE WHEN {end} IS NULL THEN 1 ELSE 0 END) OVER {better} AS {_ENDLESS}"
        f" FROM {relation} AS _tidelake_facts) AS _tidelake_ranked"
        f" WHERE coalesce({_ENDLESS}, 0) = 0"
        f" AND ({end} IS NULL OR {_BEST} IS NULL OR {end} > {_BEST})"
    )


def _alive(plan: AsOfPlan, spelled: Mapping[str, str] | None = None) -> str | None:
    """A condition on winners: not the tombstone of a key."""
    end = plan.event.tombstone
    if end is None or plan.keeps_ended:
        return None
    return f"{(spelled or {}).get(end.name, quote(end.name))} IS DISTINCT FROM TRUE"


def state_sql(plan: AsOfPlan, winners: str) -> str:
    """What the caller asked for, of the winners."""
    chosen = ", ".join(quote(name) for name in plan.output)
    where = f" WHERE ({plan.where})" if plan.where else ""
    return f"SELECT {chosen} FROM ({winners}) AS _tidelake_rows{where}"
