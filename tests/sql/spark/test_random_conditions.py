"""Random conditions: what is said in Spark's words judges every row as DuckDB does."""

import random
from typing import Any

import pytest

import tidelake
from tests.sql.spark.settings import ZONES, settings
from tidelake.engine.spark.plan_frames import PlanFrames
from tidelake.errors import TidelakeError

pytestmark = pytest.mark.spark

LITERALS = {
    "i": ["0", "3", "-11", "2147483647", "-2147483648", "2.5", "1e0", "'4'", "99999999999", "NULL"],
    "b": ["0", "9223372036854775807", "9007199254740993", "9007199254740992e0", "-5e7", "1.25"],
    "t": ["0", "-128", "127", "300", "'5'", "0.5"],
    "ub": ["0", "18446744073709551615", "7", "7.5"],
    "f": ["0", "-0.0", "0.1", "'nan'", "'inf'::DOUBLE", "1e300", "2.5", "'0.1'"],
    "r": ["0", "0.1", "-0.0", "'nan'::DOUBLE", "1", "0.25", "1e0", "0.1::FLOAT"],
    "s": ["''", "'a\\b'", "'1.5'", "'Straße'", "'😀x11'", "'ÄÖÜ3'", "'İ'", "'it''s'", "5"],
    "z": ["'001'", "'2024-03-14'", "''"],
    "d": ["'1500-01-01'", "DATE '1582-10-10'", "'infinity'", "TIMESTAMP '1600-01-01 12:00:00'"],
    "ts": ["'1970-01-01'", "TIMESTAMP '1970-01-02 10:00:00.5'", "DATE '1970-01-03'", "'-infinity'",
           "TIMESTAMPTZ '1970-01-02 00:00:00+05'"],
    "tz": ["'2024-03-10 10:00'", "TIMESTAMPTZ '2024-03-10 02:30:00-05'", "DATE '2024-03-11'",
           "TIMESTAMP '2024-03-10 07:00:00'", "'2024-03-10 10:00:00+05:30'"],
    "tm": ["'12:00:00'", "TIME '00:07:02'"],
    "p": ["1.37", "1.370", "0", "-68.5", "1e0", "'1.37'", "99999999999.999", "1.37::DOUBLE"],
    "w": ["0", "2000000.0000000002", "1e6", "1e30", "5000000"],
    "bo": ["true", "false", "1", "'t'"],
    "bl": ["'b7'::BLOB", "'b7'", "''::BLOB"],
    "u": ["'c4ca4238-a0b9-2382-0dcc-509a6f75849b'", "'80000000-0000-0000-0000-000000000000'"],
    "st.x": ["6", "100", "2.5"],
    "st.y": ["'v1'", "''"],
}  # fmt: skip
NUMBERS = ["i", "b", "t", "ub", "f", "r", "p", "w", "st.x", "id", "rowid"]
TEXTS = ["s", "z", "st.y"]
FUNCTIONS = [
    "length({text}) {op} 3", "{text} LIKE '{pattern}'", "{text} NOT LIKE '{pattern}'",
    "starts_with({text}, 'a')", "{text} || {text} {op} 'b'", "f * {small} {op} f", "f + i {op} r",
    "f - 0.1 {op} 0", "coalesce({text}, 'a') {op} 'b'", "coalesce(i, {small}) {op} 2",
    "CASE WHEN {part} THEN f ELSE 1 END {op} 1", "CASE WHEN {part} THEN {text} END {op} 'a'",
    "{number} {op} {number}", "{text} {op} {text}", "i::BIGINT {op} b", "r::DOUBLE {op} f",
    "upper({text}) {op} 'A'", "abs(f) {op} 2", "i % 3 = 1", "year(d) {op} 1600", "hour(tz) {op} 4",
    "tz::DATE {op} DATE '2024-03-10'", "round(f, 1) {op} 0.1", "l[1] {op} 5",
    "md5({text}) {op} '8'",
    "TRY_CAST({text} AS INT) {op} 12", "greatest(i, {small}) {op} 2",
    "date_trunc('day', ts) {op} ts",
]  # fmt: skip
OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
PATTERNS = ["a%", "%1%", "_b%", "%\\%", "a\\b", "", "%", "İ%", "%e", "%$%", "abc_def%"]


class Conditions:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, depth: int = 2) -> str:
        kind = self.random.random()
        if depth and kind < 0.3:
            word = self.random.choice([" AND ", " OR "])
            return f"({self.one(depth - 1)}{word}{self.one(depth - 1)})"
        if depth and kind < 0.4:
            return f"(NOT {self.one(depth - 1)})"
        if depth and kind < 0.45:
            return f"(({self.one(depth - 1)}) IS {self.random.choice(['', 'NOT '])}TRUE)"
        if kind < 0.65:
            return f"({self.function(depth)})"
        return f"({self.test()})"

    def test(self) -> str:
        name = self.random.choice(list(LITERALS))
        value = self.random.choice(LITERALS[name])
        other = self.random.choice(LITERALS[name])
        forms = [f"{name} {self.random.choice(OPERATORS)} {value}"] * 4
        forms += [f"{name} IS NULL", f"{name} IN ({value}, {other})"]
        forms += [f"{name} NOT IN ({other}, NULL)", f"{name} BETWEEN {value} AND {other}"]
        return self.random.choice(forms)

    def function(self, depth: int) -> str:
        return self.random.choice(FUNCTIONS).format(
            text=self.random.choice(TEXTS),
            number=self.random.choice(NUMBERS),
            op=self.random.choice(OPERATORS),
            small=self.random.choice(["0", "2", "-1"]),
            pattern=self.random.choice(PATTERNS),
            part=self.one(max(depth - 1, 0)) if depth else "bo",
        )


def check(lake: tidelake.Lake, spark: Any, seed: int, number: int) -> int:
    """How many of the conditions were said in Spark's words; all of these judge alike."""
    table, frames = lake.table("t"), PlanFrames(spark, lake.session.local)
    making = Conditions(seed)
    here: dict[str, set[int]] = {}
    texts = {}
    for condition in dict.fromkeys(making.one() for _ in range(number)):
        try:
            scan = table.scan(columns=["id"], where=condition)
            text = frames.condition(scan.plan())
            if text is not None and "rowid" not in text:
                here[condition] = set(scan.to_arrow().column(0).to_pylist())
                texts[condition] = text
        except TidelakeError:
            continue
    chosen = [f"({text}) AS q{place}" for place, text in enumerate(texts.values())]
    rows = table.to_spark(spark).selectExpr("id", *chosen).collect()
    for place, condition in enumerate(texts):
        found = {row[0] for row in rows if row[place + 1]}
        assert found == here[condition], condition
    return len(texts)


@pytest.mark.parametrize("seed", [1])
def test_random(lake: tidelake.Lake, spark: Any, seed: int) -> None:
    with settings(spark, "America/New_York", ansi=False):
        assert check(lake, spark, seed, 60) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 20))
def test_many(lake: tidelake.Lake, spark: Any, seed: int) -> None:
    with settings(spark, ZONES[seed % 3], ansi=seed % 2 == 0):
        assert check(lake, spark, seed, 150) > 20
