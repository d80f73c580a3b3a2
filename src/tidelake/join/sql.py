"""Point-in-time joins as SQL: to every row of the left side the facts of others that held then.

All sides are first brought into one form, in which keys are called k0, k1, …, the time t, the
other columns a0, a1, … on the left and b0, b1, … on the right. A match is found by DuckDB's ASOF
join, or where there is none by a window over all sides together: right sides that left rows ask
in the same way are found in one pass. Where every left row has its own moment of knowing, the best
of all versions that a fact ever had is looked up first; only left rows that could not know it are
asked about again, one by one. So are those whose match has ended by itself: an older one may hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidelake.event_time.row_versions import BEGAN, SINCE, UNTIL
from tidelake.join.distance import age_sql, distance_sql
from tidelake.join.plan import JoinPass, JoinPlan
from tidelake.join.question import Pair
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column

_MOST = 2**63 - 1


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
    listed = ", ".join(f"{name} AS ({sql})" for name, sql in ctes)
    order = " ORDER BY o" if asked.ordered and asked.output else ""
    chosen = _result(asked, flat=asked.is_flat and not by_window, in_process=not by_window)
    return f"WITH {listed} SELECT {chosen} FROM {source}{order}"


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
            yield source, _resolved(asked, [plan], found, there, (place, direction)), [match]
        there.append(match)


def _windowed(
    asked: JoinPass, source: str, direction: str, carried: Sequence[str], place: int
) -> Iterator[Step]:
    """All right sides at once."""
    before, found = list(carried), f"f{place}"
    matches = [_matched(place, plan) for plan in asked.plans]
    yield found, _by_window(asked, source, direction, before, matches), matches
    if any(plan.is_doubted for plan in asked.plans):
        for plan in asked.plans:
            if plan.is_doubted:
                yield from _best(asked, plan, found, direction, place)
        yield f"g{place}", _resolved(asked, asked.plans, found, before, (place, direction)), matches


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
    names = ["n", "v"] if plan.known else ["n"]
    mine = ", ".join(f"'{name}': {edge}" for name in names)
    theirs = ", ".join(f"'{name}': {'-' if forward else ''}r.{name}" for name in names)
    return f"{equal} AND {{'t': l.t, {mine}}} {sign} {{'t': r.t, {theirs}}}"


def _by_window(
    asked: JoinPass, source: str, direction: str, carried: Sequence[str], matches: Sequence[str]
) -> str:
    """All sides in one, in order of time: of each right side the last row before each left row. Of
    one time, right rows go by their numbers, and left rows have a number before or behind all of
    them."""
    own, values = [*asked.key_names, "t"], [*asked.value_names, *carried]
    mine = _MOST if asked.first.exact else -1
    version = ["v"] if asked.first.known else []
    sides = [
        [
            *asked.asked,
            *values,
            f"{mine} AS n",
            *(f"NULL AS {name}" for name in (*version, *matches)),
        ]
    ]
    unasked = [f"NULL AS {name}" for name in (*asked.asked[len(own) :], *values)]
    for plan, match in zip(asked.plans, matches, strict=True):
        told = (_packed(plan) if each == match else "NULL" for each in matches)
        named = (f"{value} AS {each}" for value, each in zip(told, matches, strict=True))
        sides.append([*own, *unasked, "n", *version, *named])
    names = [source, *(plan.rows for plan in asked.plans)]
    united = " UNION ALL ".join(
        f"SELECT {', '.join(side)} FROM {name}" for side, name in zip(sides, names, strict=True)
    )
    order = " DESC" if direction == "forward" else ""
    window = (
        f"PARTITION BY {', '.join(asked.key_names)}"
        f" ORDER BY t{order} NULLS FIRST, {', '.join(['n', *version])}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    )
    listed = ", ".join([*asked.asked, *values])
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
    asked: JoinPass,
    plans: Sequence[JoinPlan],
    found: str,
    carried: Sequence[str],
    step: tuple[int, str],
) -> str:
    """Left rows with matches that they may have. What was found is gone through once more for
    each right side, and not once more for each that came before: Spark computes it every time."""
    chosen = [f"f.{name}" for name in [*asked.asked, *asked.value_names, *carried]]
    joins, (place, direction) = "", step
    for plan in plans:
        match, best = _matched(place, plan), f"b{plan.number}"
        if not plan.is_doubted:
            chosen.append(f"f.{match}")
            continue
        good = _is_good(plan, direction, "f", f"f.{match}")
        chosen.append(f"CASE WHEN {good} THEN f.{match} ELSE {best}.m END AS {match}")
        joins += (
            f" LEFT JOIN best{place}_{plan.number} AS {best} ON {_same(asked.asked, 'f', best)}"
        )
    return f"SELECT {', '.join(chosen)} FROM {found} AS f{joins}"


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
