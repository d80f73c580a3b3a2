"""Point-in-time joins as SQL: to every row of the left side the fact of the right that held then.

Both sides are first brought into one form, in which keys are called k0, k1, …, the time t, the
other columns a0, a1, … on the left and b0, b1, … on the right. The match is DuckDB's ASOF join, or
where there is none a window over both sides together. Where every left row has its own moment of
knowing, the best of all versions that a fact ever had is looked up first; only left rows that
could not know it are asked about again, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelake.event_time.row_versions import BEGAN, SINCE, UNTIL
from tidelake.join.question import Pair, TimeComparison
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column

LEFT, RIGHT = "_tidelake_left", "_tidelake_right"
LEFT_ROWS, RIGHT_ROWS = "_tidelake_left_rows", "_tidelake_right_rows"

_MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """A complete description of one join.

    `brought` are the right side's columns in the result, and the names that they have there.
    `within` is the greatest distance that counts, in SQL; `known` is how a left row tells when it
    knew, in SQL, and then right rows carry since and until when they were known.
    `untied` says that no two right rows have the same keys and time; `ordered` that left rows
    carry their numbers, in whose order the result is to be.
    """

    left: tuple[Column, ...]
    brought: tuple[tuple[Column, str], ...]
    keys: tuple[Pair, ...]
    clock: TimeComparison
    direction: str = "backward"
    exact: bool = True
    within: str | None = None
    tombstone: Column | None = None
    known: str | None = None
    untied: bool = False
    ordered: bool = False

    @property
    def key_names(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.keys))]

    @property
    def is_native(self) -> bool:
        """Whether any engine brings both sides into their form alike."""
        return self.known is None and all(p.native for p in (*self.keys, self.clock.times))

    @property
    def directions(self) -> tuple[str, ...]:
        return ("backward", "forward") if self.direction == "nearest" else (self.direction,)

    @property
    def is_flat(self) -> bool:
        """Whether a match is never compared with another, so that it need not be one value."""
        return self.direction != "nearest" and self.known is None

    @property
    def asked(self) -> list[str]:
        """What a left row is looked up by."""
        return [*self.key_names, "t", *(["w"] if self.known else [])]

    @property
    def left_values(self) -> list[tuple[str, Column]]:
        """What else there is of a left row. Keys and times that were not cast are there."""
        there = {pair.left.name for pair in self.keys if not pair.cast}
        if self.clock.is_plain:
            there.add(self.clock.times.left.name)
        others = (column for column in self.left if column.name not in there)
        number = [("o", Column(0, ROW_NUMBER, "int64"))] if self.ordered else []
        return [*((f"a{place}", column) for place, column in enumerate(others)), *number]

    @property
    def right_values(self) -> list[tuple[str, Column]]:
        return [
            (f"b{place}", column)
            for place, (column, _) in enumerate(self.brought)
            if not (self.clock.is_plain and column == self.clock.times.right)
        ]

    @property
    def match(self) -> list[str]:
        """What is to be known of a right row once it has been found."""
        gone = ["gone"] if self.tombstone else []
        life = ["lo", "hi"] if self.known else []
        return ["t", *gone, *life, *(name for name, _ in self.right_values)]


def left_rows_sql(plan: JoinPlan) -> str:
    """The left side in the form that is joined."""
    chosen = [
        *(f"{_key(pair, pair.left)} AS k{place}" for place, pair in enumerate(plan.keys)),
        f"{plan.clock.reading(plan.clock.times.left)} AS t",
        *([f"{plan.known} AS w"] if plan.known else []),
        *(f"{quote(column.name)} AS {name}" for name, column in plan.left_values),
    ]
    return f"SELECT {', '.join(chosen)} FROM {LEFT}"


def right_rows_sql(plan: JoinPlan) -> str:
    """The right side in that form, without rows that nothing could match."""
    gone, life = plan.tombstone, (f"{SINCE} AS lo", f"{UNTIL} AS hi", f"{BEGAN} AS v")
    chosen = [
        *(f"{_key(pair, pair.right)} AS k{place}" for place, pair in enumerate(plan.keys)),
        f"{plan.clock.reading(plan.clock.times.right)} AS t",
        f"{ROW_NUMBER} AS n",
        *([f"{quote(gone.name)} AS gone"] if gone else []),
        *(life if plan.known else ()),
        *(f"{quote(column.name)} AS {name}" for name, column in plan.right_values),
    ]
    needed = [*(pair.right for pair in plan.keys), plan.clock.times.right]
    there = dict.fromkeys(f"{quote(c.name)} IS NOT NULL" for c in needed if c.nullable)
    where = f" WHERE {' AND '.join(there)}" if there else ""
    return f"SELECT {', '.join(chosen)} FROM {RIGHT}{where}"


def _key(pair: Pair, column: Column) -> str:
    return f"CAST({quote(column.name)} AS {pair.cast})" if pair.cast else quote(column.name)


def ties_sql(plan: JoinPlan) -> str:
    """Whether two rows of the right side have the same keys and time."""
    names = ", ".join((*plan.key_names, "t"))
    return (
        f"SELECT count(*) FROM (SELECT 1 FROM {RIGHT_ROWS} GROUP BY {names}"
        " HAVING count(*) > 1 LIMIT 1)"
    )


def joined_sql(plan: JoinPlan, *, by_window: bool) -> str:
    """The join over both sides in their form: the left side's columns, and of the right side those
    that were asked for, NULL where nothing was found. By a window, and if `is_native`, the sides
    are brought into their form by the same query."""
    ctes: list[tuple[str, str]] = []
    if by_window and plan.is_native:
        ctes = [(LEFT_ROWS, left_rows_sql(plan)), (RIGHT_ROWS, right_rows_sql(plan))]
    source = LEFT_ROWS
    for place, direction in enumerate(plan.directions):
        found = f"f{place}"
        carried = [f"m{before}" for before in range(place)]
        find = _by_window if by_window else _by_asof
        ctes.append((found, find(plan, source, direction, [*carried, f"m{place}"])))
        source = found
        if plan.known:
            ctes += _resolved(plan, found, direction, carried, place)
            source = f"g{place}"
    if len(plan.directions) > 1:
        ctes.append(("nearest", _nearest(plan, source)))
        source = "nearest"
    listed = ", ".join(f"{name} AS ({sql})" for name, sql in ctes)
    flat = plan.is_flat and not by_window
    order = " ORDER BY o" if plan.ordered else ""
    return f"WITH {listed} SELECT {_result(plan, '' if flat else 'm0.')} FROM {source}{order}"


def _by_asof(plan: JoinPlan, source: str, direction: str, matches: Sequence[str]) -> str:
    if plan.is_flat:
        found = ", ".join(f"r.{name} AS {_flat(name)}" for name in plan.match)
    else:
        packed = ", ".join(f"'{name}': r.{name}" for name in plan.match)
        found = f"CASE WHEN r.t IS NOT NULL THEN {{{packed}}} END AS {matches[-1]}"
    return (
        f"SELECT l.*, {found} FROM {source} AS l ASOF LEFT JOIN {RIGHT_ROWS} AS r"
        f" ON {_met(plan, direction)}"
    )


def _met(plan: JoinPlan, direction: str) -> str:
    """The condition of an ASOF join. Where times may be equal it is one of rank. DuckDB takes a
    NULL for the greatest of all times, so a left row without a time has no key either."""
    equal = _same(plan.key_names, "l", "r")
    if plan.clock.times.left.nullable:
        equal = equal.replace("l.k0", "CASE WHEN l.t IS NOT NULL THEN l.k0 END", 1)
    sign = (">" if direction == "backward" else "<") + ("=" if plan.exact else "")
    if plan.untied:
        return f"{equal} AND l.t {sign} r.t"
    forward = direction == "forward"
    edge = _MOST if plan.exact is not forward else -_MOST
    names = ["n", "v"] if plan.known else ["n"]
    mine = ", ".join(f"'{name}': {edge}" for name in names)
    theirs = ", ".join(f"'{name}': {'-' if forward else ''}r.{name}" for name in names)
    return f"{equal} AND {{'t': l.t, {mine}}} {sign} {{'t': r.t, {theirs}}}"


def _by_window(plan: JoinPlan, source: str, direction: str, matches: Sequence[str]) -> str:
    """Both sides in one, in order of time: the last right row before each left row. Of one time,
    right rows go by their numbers, and left rows have a number before or behind all of them."""
    *carried, found = matches
    asked, own = plan.asked, [*plan.key_names, "t"]
    values = [*_names(plan.left_values), *carried]
    mine = _MOST if plan.exact else -1
    packed = ", ".join(f"'{name}': {name}" for name in plan.match)
    version = ["v"] if plan.known else []
    left = [*asked, *values, f"{mine} AS n", *(f"NULL AS {name}" for name in version), "NULL AS m"]
    unasked = (f"NULL AS {name}" for name in (*asked[len(own) :], *values))
    right = [*own, *unasked, "n", *version, f"{{{packed}}} AS m"]
    order = " DESC" if direction == "forward" else ""
    window = (
        f"PARTITION BY {', '.join(plan.key_names)}"
        f" ORDER BY t{order} NULLS FIRST, {', '.join(['n', *version])}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    )
    listed = ", ".join([*asked, *values])
    return (
        f"SELECT {listed}, {found} FROM (SELECT {listed}, n,"
        f" last_value(m IGNORE NULLS) OVER ({window}) AS {found} FROM ("
        f"SELECT {', '.join(left)} FROM {source} UNION ALL SELECT {', '.join(right)}"
        f" FROM {RIGHT_ROWS}) AS both_sides) AS in_order WHERE n = {mine}"
    )


def _resolved(
    plan: JoinPlan, found: str, direction: str, carried: Sequence[str], place: int
) -> list[tuple[str, str]]:
    """Rows that could not yet, or no longer, know their match are given the best that they could.
    What they are given depends on what they ask by alone."""
    match, keys, asked = f"m{place}", plan.key_names, plan.asked
    seen = f"(f.{match}.lo <= f.w AND (f.{match}.hi IS NULL OR f.w < f.{match}.hi))"
    ask, first, best, done = (f"{name}{place}" for name in ("ask", "first", "best", "g"))
    operator = ("<" if direction == "backward" else ">") + ("=" if plan.exact else "")
    sign, choose = ("", "max_by") if direction == "backward" else ("-", "min_by")
    packed = ", ".join(f"'{name}': r.{name}" for name in plan.match)
    groups = ", ".join(f"q.{name}" for name in asked)
    others = ", ".join(f"f.{name}" for name in [*asked, *_names(plan.left_values), *carried])
    return [
        (
            ask,
            f"SELECT DISTINCT {', '.join(asked)} FROM {found} AS f"
            f" WHERE f.{match}.t IS NOT NULL AND f.w IS NOT NULL AND NOT {seen}",
        ),
        (
            first,
            f"SELECT {', '.join(keys)}, min(lo) AS lo FROM {RIGHT_ROWS} GROUP BY {', '.join(keys)}",
        ),
        (
            best,
            f"SELECT {groups}, {choose}({{{packed}}}, {{'t': r.t, 'n': {sign}r.n}}) AS m"
            f" FROM {ask} AS q JOIN {first} AS e ON {_same(keys, 'q', 'e')} AND e.lo <= q.w"
            f" JOIN {RIGHT_ROWS} AS r ON {_same(keys, 'q', 'r')}"
            f" AND r.t {operator} q.t AND r.lo <= q.w AND (r.hi IS NULL OR q.w < r.hi)"
            f" GROUP BY {groups}",
        ),
        (
            done,
            f"SELECT {others}, CASE WHEN {seen} THEN f.{match} ELSE b.m END AS {match}"
            f" FROM {found} AS f LEFT JOIN {best} AS b ON {_same(asked, 'f', 'b')}",
        ),
    ]


def _same(names: Iterable[str], one: str, other: str) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in names)


def _names(values: Iterable[tuple[str, Column]]) -> list[str]:
    return [name for name, _ in values]


def _nearest(plan: JoinPlan, source: str) -> str:
    """Of the last before and the first after the one that is nearer, else the one before."""
    before, after = _distance(plan, "t", "m0.t"), _distance(plan, "m1.t", "t")
    listed = ", ".join([*plan.asked, *_names(plan.left_values)])
    return (
        f"SELECT {listed}, CASE WHEN m1.t IS NULL THEN m0 WHEN m0.t IS NULL THEN m1"
        f" WHEN {before} <= {after} THEN m0 ELSE m1 END AS m0 FROM {source}"
    )


def _distance(plan: JoinPlan, later: str, earlier: str) -> str:
    """How far two times are from each other."""
    if plan.clock.kind == "date":
        return f"date_diff('day', {earlier}, {later})"
    if plan.clock.kind == "number":
        return f"(CAST({later} AS DECIMAL(38, 0)) - CAST({earlier} AS DECIMAL(38, 0)))"
    return f"({later} - {earlier})"


def _is_near(plan: JoinPlan, time: str) -> str:
    """Whether the match at a time is near enough. Bounds of moments are shifted, not subtracted:
    infinity has a place in time, but no distance."""
    backward, forward = "backward" in plan.directions, "forward" in plan.directions
    if plan.clock.kind == "moment":
        tests = [f"{time} >= t - {plan.within}"] if backward else []
        tests += [f"{time} <= t + {plan.within}"] if forward else []
    else:
        tests = [f"{_distance(plan, 't', time)} <= {plan.within}"] if backward else []
        tests += [f"{_distance(plan, time, 't')} <= {plan.within}"] if forward else []
    return " AND ".join(tests)


def _result(plan: JoinPlan, prefix: str) -> str:
    def of_match(name: str) -> str:
        return f"{prefix}{name}" if prefix else _flat(name)

    keys = {pair.left.name: name for pair, name in zip(plan.keys, plan.key_names, strict=True)}
    values = {column.name: name for name, column in plan.left_values}
    time = {plan.clock.times.left.name: "t"}
    there = {**time, **keys, **values}
    chosen = [f"{there[column.name]} AS {quote(column.name)}" for column in plan.left]
    tests = [f"{of_match('gone')} IS DISTINCT FROM TRUE"] if plan.tombstone else []
    tests += [_is_near(plan, of_match("t"))] if plan.within is not None else []
    found = {column.name: of_match(name) for name, column in plan.right_values}
    for column, name in plan.brought:
        value = found.get(column.name, of_match("t"))
        kept = f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value
        chosen.append(f"{kept} AS {quote(name)}")
    return ", ".join(chosen)


def _flat(name: str) -> str:
    """What a part of the match is called beside the left row, which has a time too."""
    return "bt" if name == "t" else name
