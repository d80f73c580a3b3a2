"""Random columns, rows and conditions on them, with DuckDB as the judge of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tidelake.model.predicate import And, Compare, In, IsNull, Like, Not, Or, Predicate, StartsWith
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats

if TYPE_CHECKING:
    import duckdb

INTEGERS = {
    f"{sign}int{bits}": (0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
DECIMALS = ["decimal(4,1)", "decimal(9,2)", "decimal(18,4)", "decimal(38,10)", "decimal(38,30)"]
TIMESTAMPS = ["timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz"]
TYPES = [
    *INTEGERS,
    *DECIMALS,
    *TIMESTAMPS,
    *["boolean", "float32", "float64", "date", "time", "varchar", "uuid", "json", "blob"],
]

_DAYS = ["2020-01-01", "2020-02-29", "1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31"]
_ODD_DAYS = ["0044-03-15 (BC)", "0001-12-31 (BC)", "10000-01-01", "12345-06-07"]
_INFINITIES = ["infinity", "-infinity"]
_CLOCKS = ["00:00:00", "12:34:56", "23:59:59", "00:00:00.5", "12:34:56.789", "23:59:59.999999"]
_NANO_DAYS = ["2020-01-01", "1970-01-01", "1969-12-31", "1700-01-01", "2262-04-10"]
_UUIDS = [
    "00000000-0000-0000-0000-000000000000",
    "7fffffff-ffff-ffff-ffff-ffffffffffff",
    "80000000-0000-0000-0000-000000000000",
    "f79c3e09-677c-4bbd-a479-3f349cb785e7",
    "F79C3E09-677C-4BBD-A479-3F349CB785E8",
]
_ZONES = [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))]
_LETTERS = st.sampled_from("abB%_ \\'\"é\U0001f600\uffff\ue000中")

_texts = st.one_of(
    st.text(_LETTERS, max_size=4), st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
)
_near = st.integers(-3, 3)
_moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)) | st.sampled_from(
    [datetime(2020, 1, 1), datetime(2020, 1, 1, 12, 34, 56, 789000), datetime(1969, 12, 31, 23)]
)


@dataclass(frozen=True)
class Case:
    """One column, the texts of its values (None is NULL), and conditions on it."""

    column: Column
    values: tuple[str | None, ...]
    predicates: tuple[Predicate, ...]

    @property
    def schema(self) -> Schema:
        return Schema((self.column,))


@st.composite
def cases(draw: st.DrawFn, types: Sequence[str] = TYPES) -> Case:
    column = Column(7, "x", draw(st.sampled_from(types)))
    pool = draw(st.lists(_value_texts(column.type), min_size=1, max_size=4))
    values = draw(st.lists(st.sampled_from([*pool, None]), max_size=5))
    leaf = _tests(column.type, pool)
    whole = st.recursive(leaf, _combined, max_leaves=4)
    return Case(column, tuple(values), tuple(draw(st.lists(whole, min_size=4, max_size=8))))


def _combined(parts: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.one_of(several.map(And), several.map(Or), parts.map(Not))


def _value_texts(kind: str) -> st.SearchStrategy[str]:
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        edges = st.sampled_from([low, low + 1, high - 1, high])
        return st.one_of(edges, st.integers(max(low, -5), 5), st.integers(low, high)).map(str)
    if kind.startswith("decimal"):
        return _decimal_texts(kind)
    if kind in ("float32", "float64"):
        width = int(kind[-2:])
        return st.one_of(
            st.floats(width=width), st.sampled_from([0.1, -0.0, 1.5, float("nan"), float("inf")])
        ).map(repr)
    if kind in TIMESTAMPS:
        return _timestamp_texts(kind)
    fixed = {
        "boolean": ["true", "false"],
        "date": _DAYS + _ODD_DAYS + _INFINITIES,
        "time": [*_CLOCKS, "24:00:00"],
        "uuid": _UUIDS,
        "json": ["1", '"a"', '{"a": 1}', "null", "10"],
        "blob": ["a", "\\xAA", "\\xBB\\x00", "", "ab"],
    }
    return st.sampled_from(fixed[kind]) if kind in fixed else _texts.filter(lambda t: "\0" not in t)


def _decimal_texts(kind: str) -> st.SearchStrategy[str]:
    width, scale = map(int, kind[8:-1].split(","))
    top = 10**width - 1
    near_one = st.integers(-(10 ** (scale + 1)), 10 ** (scale + 1))
    whole = st.one_of(st.sampled_from([top, -top, 0]), near_one, st.integers(-top, top))
    return whole.map(lambda n: _pointed(n, scale))


def _pointed(number: int, scale: int) -> str:
    digits = str(abs(number)).rjust(scale + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _timestamp_texts(kind: str) -> st.SearchStrategy[str]:
    zone = "+00" if kind == "timestamptz" else ""
    clocks = st.sampled_from(_CLOCKS[:3] if kind == "timestamp_s" else _CLOCKS)
    days = _NANO_DAYS if kind == "timestamp_ns" else _DAYS + _ODD_DAYS
    made = st.builds(lambda d, c: f"{d} {c}{zone}", st.sampled_from(days), clocks)
    return st.one_of(made, made, st.sampled_from(_INFINITIES))


def _tests(kind: str, pool: list[str]) -> st.SearchStrategy[Predicate]:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    literals = st.one_of(st.sampled_from(pool), *_literals(kind, pool), st.none())
    kinds: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, st.just("x"), operators, literals),
        st.builds(Compare, st.just("x"), operators, literals),
        st.builds(In, st.just("x"), st.lists(literals, max_size=4).map(tuple)),
        st.builds(IsNull, st.just("x"), st.booleans()),
    ]
    if kind == "varchar":
        some = st.one_of(st.sampled_from(pool), st.sampled_from(pool).map(lambda t: t[:1]), _texts)
        patterns = some.flatmap(lambda t: st.sampled_from([t, t + "%", t + "_", "%" + t, t + "%a"]))
        kinds.append(st.builds(Like, st.just("x"), patterns, st.booleans(), st.booleans()))
        kinds.append(st.builds(StartsWith, st.just("x"), some.filter(lambda t: "\0" not in t)))
    return st.one_of(kinds)


def _literals(kind: str, pool: list[str]) -> list[st.SearchStrategy[object]]:
    if kind in INTEGERS or kind.startswith("decimal"):
        numbers = [Decimal(text) for text in pool]
        near = st.builds(lambda n, by: int(n) + by, st.sampled_from(numbers), _near)
        return [
            near,
            near.map(float),
            st.sampled_from(numbers).map(float),
            st.sampled_from(numbers),
            st.builds(lambda n: n + Decimal("0.5"), st.sampled_from(numbers)),
            near.map(str),
        ]
    if kind.startswith("float"):
        numbers = [float(text) for text in pool]
        finite = [n for n in numbers if abs(n) < 1e30] or [0.0]
        return [
            st.sampled_from(numbers),
            st.builds(lambda n, by: int(n) + by, st.sampled_from(finite), _near),
            st.sampled_from(finite).map(lambda n: Decimal(f"{n:.12f}")),
            st.sampled_from([0.1, 1.5, Decimal("0.1"), float("nan"), "0.1", "nan"]),
        ]
    if kind == "boolean":
        return [st.booleans(), st.integers(-1, 2), st.sampled_from(["t", "0", "1"])]
    if kind == "varchar":
        return [_texts]
    return [_temporal_literals()] if kind == "date" or kind in TIMESTAMPS else []


def _temporal_literals() -> st.SearchStrategy[object]:
    aware = st.builds(lambda m, zone: m.replace(tzinfo=zone), _moments, st.sampled_from(_ZONES))
    return st.one_of(
        _moments,
        _moments.map(datetime.date),
        st.sampled_from([date.fromisoformat(day) for day in _DAYS]),
        aware,
        st.sampled_from([*_DAYS, *_ODD_DAYS]),
        st.sampled_from(_DAYS).map(lambda day: f"{day} 12:34:56.5"),
        st.sampled_from(_NANO_DAYS).map(lambda day: f"{day} 12:34:56.123456789"),
    )


def fill(connection: "duckdb.DuckDBPyConnection", case: Case) -> ColumnStats:
    """Make table t of the case's values; its statistics as DuckLake would store them."""
    kind = case.column.duckdb_type
    connection.execute(f"CREATE OR REPLACE TEMP TABLE t(x {kind})")
    connection.execute(f"INSERT INTO t SELECT CAST(unnest($1) AS {kind})", [list(case.values)])
    is_float = case.column.type.startswith("float")
    number = "NOT isnan(x)" if is_float else "TRUE"
    nan = "coalesce(bool_or(isnan(x)), FALSE)" if is_float else "NULL::BOOLEAN"
    row = connection.execute(
        f"SELECT CAST(min(x) FILTER ({number}) AS VARCHAR),"
        f" CAST(max(x) FILTER ({number}) AS VARCHAR), count(*) - count(x), count(x), {nan} FROM t"
    ).fetchone()
    assert row is not None
    return ColumnStats(*row)


def matches(connection: "duckdb.DuckDBPyConnection", sql: str) -> int | None:
    """How many rows of t the condition keeps; None if DuckDB refuses it."""
    import duckdb

    try:
        row = connection.execute(f"SELECT count(*) FROM t WHERE {sql}").fetchone()
    except duckdb.Error:
        return None
    return None if row is None else int(row[0])
