"""Point-in-time joins as SQL: to every row of the left side the facts of others that held then.

All sides are first brought into one form, in which keys are called k0, k1, …, the time t, the
other columns a0, a1, … on the left and b0, b1, … on the right. A match is found by DuckDB's ASOF
join, or where there is none by a window over all sides together: right sides that left rows ask
in the same way are found in one pass. Where every left row has its own moment of knowing, the best
of all versions that a fact ever had is looked up first; only left rows that could not know it are
asked about again, one by one. So are those whose match has ended by itself: an older one may hold.
That is DuckDB's work wherever it is done: on Spark all sides become one relation, and each task
finds the matches of its own keys. Where tasks can read the right sides themselves, DuckDB does all
of it (`task`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tidelake.event_time.row_versions import BEGAN, SINCE, UNTIL
from tidelake.join.distance import age_sql, distance_sql
from tidelake.join.plan import JoinPass, JoinPlan
from tidelake.join.question import Pair
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_MOST, _MANY = 2**63 - 1, 1 << 20
PLACE = "_tidelake_place"
"""A column in which rows of the same keys have the same value, by which they come together."""
_SIDE, _SIDES = "_tidelake_side", "_tidelake_sides"


def left_rows_sql(asked: JoinPass) -> str:
    """The left side in the form that is joined."""
    one = asked.first
    chosen = [
        *(f"{_key(pair, pair.left)} AS k{place}" for place, pair in enumerate(one.keys)),
        f"{one.clock.reading(one.clock.times.left)} AS t",
        *([f"{one.known} AS w"] if one.known else []),
        *(f"{quote(column.name)} AS {name}" for name, column in asked.left_values),
    ]
    return f"SELECT {', '.join(chosen)} FROM {asked.source}"


def right_rows_sql(plan: JoinPlan) -> str:
    """The right side in that form, without rows that nothing could match."""
    gone, life = plan.tombstone, (f"{SINCE} AS lo", f"{UNTIL} AS hi", f"{BEGAN} AS v")
    chosen = [
        *(f"{_key(pair, pair.right)} AS k{place}" for place, pair in enumerate(plan.keys)),
        f"{plan.clock.reading(plan.clock.times.right)} AS t",
        f"{ROW_NUMBER} AS n",
        *([f"{quote(gone.name)} AS gone"] if gone else []),
        *([f"{plan.clock.reading(plan.end)} AS e"] if plan.end else []),
        *(life if plan.known else ()),
        *(f"{quote(column.name)} AS {name}" for name, column in plan.right_values),
    ]
    needed = [*(pair.right for pair in plan.keys), plan.clock.times.right]
    there = dict.fromkeys(f"{quote(c.name)} IS NOT NULL" for c in needed if c.nullable)
    if plan.end:
        name, time = quote(plan.end.name), quote(plan.clock.times.right.name)
        there[f"({name} IS NULL OR {name} > {time})"] = None
    where = f" WHERE {' AND '.join(there)}" if there else ""
    return f"SELECT {', '.join(chosen)} FROM {plan.right}{where}"


def _key(pair: Pair, column: Column) -> str:
    return f"CAST({quote(column.name)} AS {pair.cast})" if pair.cast else quote(column.name)


def ties_sql(plan: JoinPlan) -> str:
    """Whether two rows of the right side have the same keys and time."""
    names = ", ".join([*(f"k{place}" for place in range(len(plan.keys))), "t"])
    return (
        f"SELECT count(*) FROM (SELECT 1 FROM {plan.rows} GROUP BY {names}"
        " HAVING count(*) > 1 LIMIT 1)"
    )


def joined_sql(asked: JoinPass, *, by_window: bool, inlined: bool) -> str:
    """The join over all sides in their form: the left side's columns, and of the right sides those
    that were asked for, NULL where nothing was found. If `inlined`, the sides are brought into
    their form by the same query."""
    ctes: list[tuple[str, str]] = []
    if inlined:
        ctes.append((asked.rows, left_rows_sql(asked)))
        ctes += [(plan.rows, right_rows_sql(plan)) for plan in asked.plans]
    steps, source = _found_in(asked, by_window=by_window)
    listed = ", ".join(f"{name} AS ({sql})" for name, sql in [*ctes, *steps])
    flat = asked.is_flat and not by_window
    return f"WITH {listed} {result_sql(asked, source, flat=flat, in_process=not by_window)}"


def result_sql(asked: JoinPass, source: str, *, flat: bool, in_process: bool) -> str:
    """The columns that were asked for, from the left rows with their matches."""
    order = " ORDER BY o" if asked.ordered and asked.output else ""
    return f"SELECT {_result(asked, flat=flat, in_process=in_process)} FROM {source}{order}"


def _found_in(asked: JoinPass, *, by_window: bool) -> tuple[list[tuple[str, str]], str]:
    """Relations that end with the left rows and their matches, and what that one is called."""
    ctes: list[tuple[str, str]] = []
    source, carried = asked.rows, list[str]()
    for place, direction in enumerate(asked.directions):
        steps = _windowed if by_window else _chained
        for name, sql, brings in steps(asked, source, direction, carried, place):
            ctes.append((name, sql))
            source = name
            carried += [each for each in brings if each not in carried]
    if len(asked.directions) > 1:
        ctes.append(("nearest", _nearest(asked, source)))
        source = "nearest"
    return ctes, source


def sides_sql(asked: JoinPass) -> str:
    """All sides as one relation, with the place at which rows of the same keys come together: the
    left rows, which have room for their matches, and the right ones, each a match."""
    keys, values = asked.key_names, [*asked.asked, *asked.value_names]
    names = asked.first.rank
    place = f"CAST(hash({', '.join(keys)}) % {_MANY} AS BIGINT) AS {PLACE}"
    matches = [_matched(0, plan) for plan in asked.plans]
    empty = [f"NULL AS {name}" for name in (*names, *matches)]
    united = [f"SELECT 0 AS {_SIDE}, {place}, {', '.join([*values, *empty])} FROM {asked.rows}"]
    for side, plan in enumerate(asked.plans, start=1):
        own = {*keys, "t", *names}
        told = {_matched(0, plan): f"{_packed(plan)} AS {_matched(0, plan)}"}
        listed = (
            each if each in own else told.get(each, f"NULL AS {each}")
            for each in (*values, *names, *matches)
        )
        united.append(f"SELECT {side} AS {_SIDE}, {place}, {', '.join(listed)} FROM {plan.rows}")
    return " UNION ALL ".join(united)


def matched_sql(work: Workbench, sql: str, asked: JoinPass) -> str:
    """A query of the left rows with their matches, from one of all sides as `sides_sql` has them,
    with the same columns."""
    work.connection.execute(f"CREATE TEMP TABLE {_SIDES} AS {sql}")
    values, names = [*asked.asked, *asked.value_names], asked.first.rank
    ctes = [(asked.rows, f"SELECT {', '.join(values)} FROM {_SIDES} WHERE {_SIDE} = 0")]
    for side, plan in enumerate(asked.plans, start=1):
        there = {*asked.key_names, "t", *names}
        told = (f"{_matched(0, plan)}.{name}" for name in plan.match if name not in there)
        listed = ", ".join([*asked.key_names, "t", *names, *told])
        ctes.append((plan.rows, f"SELECT {listed} FROM {_SIDES} WHERE {_SIDE} = {side}"))
    steps, source = _found_in(asked, by_window=False)
    listed = ", ".join(f"{name} AS ({query})" for name, query in [*ctes, *steps])
    empty = [f"CAST(NULL AS BIGINT) AS {name}" for name in names]
    matches = [_matched(0, plan) for plan in asked.plans]
    return (
        f"WITH {listed} SELECT 0 AS {_SIDE}, CAST(0 AS BIGINT) AS {PLACE},"
        f" {', '.join([*values, *empty, *matches])} FROM {source}"
    )


Step = tuple[str, str, Sequence[str]]
"""A relation, its SQL, and the matches that it adds."""


def _matched(place: int, plan: JoinPlan) -> str:
    """What the match is called that a plan finds in one of the directions."""
    return f"m{place}_{plan.number}"


def _chained(
    asked: JoinPass, source: str, direction: str, carried: Sequence[str], place: int
) -> Iterator[Step]:
    """One right side after the other."""
    there = list(carried)
    for plan in asked.plans:
        match, found = _matched(place, plan), f"f{place}_{plan.number}"
        yield found, _by_asof(asked, plan, source, direction, match), [match]
        source = found
        if plan.is_doubted:
            yield from _best(asked, plan, found, direction, place)
            source = f"g{place}_{plan.number}"
            yield source, _resolved(asked, plan, found, there, (place, direction)), [match]
        there.append(match)


def _windowed(
    asked: JoinPass, source: str, direction: str, carried: Sequence[str], place: int
) -> Iterator[Step]:
    """All right sides at once. None of them is doubted."""
    matches = [_matched(place, plan) for plan in asked.plans]
    yield f"f{place}", _by_window(asked, source, direction, list(carried), matches), matches


def _by_asof(asked: JoinPass, plan: JoinPlan, source: str, direction: str, match: str) -> str:
    """DuckDB takes a NULL for the greatest of all times, so what a left row without a time finds is
    dropped. To leave it out before would make an expression of the key, which costs more."""
    timed = "l.t IS NOT NULL" if plan.clock.times.left.nullable else ""
    if asked.is_flat:
        values = ((f"r.{name}", _flat(plan, name)) for name in plan.match)
        found = ", ".join(
            f"{f'CASE WHEN {timed} THEN {value} END' if timed else value} AS {name}"
            for value, name in values
        )
    else:
        there = f"r.t IS NOT NULL{f' AND {timed}' if timed else ''}"
        found = f"CASE WHEN {there} THEN {_packed(plan, 'r.')} END AS {match}"
    return (
        f"SELECT l.*, {found} FROM {source} AS l ASOF LEFT JOIN {plan.rows} AS r"
        f" ON {_met(asked, plan, direction)}"
    )


def _packed(plan: JoinPlan, prefix: str = "") -> str:
    """All that is to be known of a right row, as one value."""
    return "{" + ", ".join(f"'{name}': {prefix}{name}" for name in plan.match) + "}"


def _met(asked: JoinPass, plan: JoinPlan, direction: str) -> str:
    """The condition of an ASOF join. Where times may be equal it is one of rank."""
    equal = _same(asked.key_names, "l", "r")
    sign = (">" if direction == "backward" else "<") + ("=" if plan.exact else "")
    if plan.untied:
        return f"{equal} AND l.t {sign} r.t"
    forward = direction == "forward"
    edge = _MOST if plan.exact is not forward else -_MOST
    mine = ", ".join(f"'{name}': {edge}" for name in plan.rank)
    theirs = ", ".join(f"'{name}': {'-' if forward else ''}r.{name}" for name in plan.rank)
    return f"{equal} AND {{'t': l.t, {mine}}} {sign} {{'t': r.t, {theirs}}}"


def _by_window(
    asked: JoinPass, source: str, direction: str, carried: Sequence[str], matches: Sequence[str]
) -> str:
    """All sides in one, in order of time: of each right side the last row before each left row. Of
    one time, right rows go by their numbers, and left rows have a number before or behind all of
    them."""
    own, values = asked.asked, [*asked.value_names, *carried]
    mine = _MOST if asked.first.exact else -1
    sides = [[*own, *values, f"{mine} AS n", *(f"NULL AS {name}" for name in matches)]]
    unasked = [f"NULL AS {name}" for name in values]
    for plan, match in zip(asked.plans, matches, strict=True):
        told = (_packed(plan) if each == match else "NULL" for each in matches)
        named = (f"{value} AS {each}" for value, each in zip(told, matches, strict=True))
        sides.append([*own, *unasked, "n", *named])
    names = [source, *(plan.rows for plan in asked.plans)]
    united = " UNION ALL ".join(
        f"SELECT {', '.join(side)} FROM {name}" for side, name in zip(sides, names, strict=True)
    )
    order = " DESC" if direction == "forward" else ""
    window = (
        f"PARTITION BY {', '.join(asked.key_names)} ORDER BY t{order} NULLS FIRST, n"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    )
    listed = ", ".join([*own, *values])
    last = ", ".join(f"last_value({m} IGNORE NULLS) OVER ({window}) AS {m}" for m in matches)
    return (
        f"SELECT {listed}, {', '.join(matches)} FROM (SELECT {listed}, n, {last} FROM ({united})"
        f" AS all_sides) AS in_order WHERE n = {mine}"
    )


def _is_good(plan: JoinPlan, direction: str, left: str, right: str) -> str:
    """Whether a left row could know a right one, which still holds. One that begins later does."""
    tests = []
    if plan.known:
        tests.append(f"{right}.lo <= {left}.w AND ({right}.hi IS NULL OR {left}.w < {right}.hi)")
    if plan.end and direction == "backward":
        tests.append(f"({right}.e IS NULL OR {left}.t < {right}.e)")
    return " AND ".join(tests) or "TRUE"


def _best(
    asked: JoinPass, plan: JoinPlan, found: str, direction: str, place: int
) -> Iterator[Step]:
    """The best for those rows that could not yet, or no longer, know their match, or for which it
    has ended. It depends on what they ask by alone."""
    match, keys = _matched(place, plan), asked.key_names
    ask, first, best = (f"{name}{place}_{plan.number}" for name in ("ask", "first", "best"))
    operator = ("<" if direction == "backward" else ">") + ("=" if plan.exact else "")
    sign, choose = ("", "max_by") if direction == "backward" else ("-", "min_by")
    groups = ", ".join(f"q.{name}" for name in asked.asked)
    knows = " AND f.w IS NOT NULL" if plan.known else ""
    yield (
        ask,
        f"SELECT DISTINCT {', '.join(asked.asked)} FROM {found} AS f"
        f" WHERE f.{match}.t IS NOT NULL{knows}"
        f" AND NOT ({_is_good(plan, direction, 'f', f'f.{match}')})",
        (),
    )
    early = ""
    if plan.known:
        listed = ", ".join(keys)
        yield first, f"SELECT {listed}, min(lo) AS lo FROM {plan.rows} GROUP BY {listed}", ()
        early = f" JOIN {first} AS e ON {_same(keys, 'q', 'e')} AND e.lo <= q.w"
    yield (
        best,
        f"SELECT {groups}, {choose}({_packed(plan, 'r.')}, {{'t': r.t, 'n': {sign}r.n}}) AS m"
        f" FROM {ask} AS q{early} JOIN {plan.rows} AS r ON {_same(keys, 'q', 'r')}"
        f" AND r.t {operator} q.t AND {_is_good(plan, direction, 'q', 'r')}"
        f" GROUP BY {groups}",
        (),
    )


def _resolved(
    asked: JoinPass, plan: JoinPlan, found: str, carried: Sequence[str], step: tuple[int, str]
) -> str:
    """Left rows with matches that they may have."""
    place, direction = step
    match, best = _matched(place, plan), f"best{place}_{plan.number}"
    chosen = [f"f.{name}" for name in [*asked.asked, *asked.value_names, *carried]]
    good = _is_good(plan, direction, "f", f"f.{match}")
    chosen.append(f"CASE WHEN {good} THEN f.{match} ELSE b.m END AS {match}")
    return (
        f"SELECT {', '.join(chosen)} FROM {found} AS f"
        f" LEFT JOIN {best} AS b ON {_same(asked.asked, 'f', 'b')}"
    )


def _same(names: Iterable[str], one: str, other: str) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in names)


def _nearest(asked: JoinPass, source: str) -> str:
    """Of the last before and the first after the one that is nearer, else the one before."""
    chosen = [*asked.asked, *asked.value_names]
    for plan in asked.plans:
        one, other = (_matched(place, plan) for place in (0, 1))
        before = distance_sql(plan.clock, "t", f"{one}.t")
        after = distance_sql(plan.clock, f"{other}.t", "t")
        chosen.append(
            f"CASE WHEN {other}.t IS NULL THEN {one} WHEN {one}.t IS NULL THEN {other}"
            f" WHEN {before} <= {after} THEN {one} ELSE {other} END AS {one}"
        )
    return f"SELECT {', '.join(chosen)} FROM {source}"


def _is_near(asked: JoinPass, plan: JoinPlan, time: str) -> str:
    """Whether the match at a time is near enough. Bounds of moments are shifted, not subtracted:
    infinity has a place in time, but no distance."""
    backward, forward = "backward" in asked.directions, "forward" in asked.directions
    if plan.clock.kind == "moment":
        tests = [f"{time} >= t - {plan.within}"] if backward else []
        tests += [f"{time} <= t + {plan.within}"] if forward else []
    else:
        before, after = distance_sql(plan.clock, "t", time), distance_sql(plan.clock, time, "t")
        tests = [f"{before} <= {plan.within}"] if backward else []
        tests += [f"{after} <= {plan.within}"] if forward else []
    return " AND ".join(tests)


def _result(asked: JoinPass, *, flat: bool, in_process: bool) -> str:
    one = asked.first
    keys = {pair.left.name: name for pair, name in zip(one.keys, asked.key_names, strict=True)}
    values = {column.name: name for name, column in asked.left_values}
    there = {one.clock.times.left.name: "t", **keys, **values}
    found = {column.name: there[column.name] for column in asked.left}
    for plan in asked.plans:
        found |= _found(asked, plan, flat=flat, in_process=in_process)
    if asked.output is None:
        found |= {ROW_NUMBER: "o"} if asked.ordered else {}
    names = asked.output or tuple(found)
    return ", ".join(f"{found[name]} AS {quote(name)}" for name in names)


def _found(asked: JoinPass, plan: JoinPlan, *, flat: bool, in_process: bool) -> dict[str, str]:
    """What a right side adds to the result, by name."""

    def of_match(name: str) -> str:
        return _flat(plan, name) if flat else f"{_matched(0, plan)}.{name}"

    tests = [f"{of_match('gone')} IS DISTINCT FROM TRUE"] if plan.tombstone else []
    tests += [_is_near(asked, plan, of_match("t"))] if plan.within is not None else []
    names = {column.name: of_match(name) for name, column in plan.right_values}
    told = {name: names.get(column.name, of_match("t")) for column, name in plan.brought}
    if plan.age:
        told[plan.age] = age_sql(plan.clock, "t", of_match("t"), in_process=in_process)
    if not tests:
        return told
    return {
        name: f"CASE WHEN {' AND '.join(tests)} THEN {value} END" for name, value in told.items()
    }


def _flat(plan: JoinPlan, name: str) -> str:
    """What a part of the match is called beside the left row."""
    return f"r{plan.number}_{name}"
