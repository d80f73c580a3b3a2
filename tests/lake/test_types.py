"""The face is typed: nothing of it is `Any`, and mypy finds what is wrong with a user's program."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_overloads, get_type_hints, is_typeddict

import pytest

import tidelake
import tidelake.spark
import tidelake.testing
from tidelake.errors import Invalid
from tidelake.lake.transaction import Transaction
from tidelake.model.change import WriteResult
from tidelake.sql.query import Query
from tidelake.testing.place import Place

ROOT = Path(__file__).parents[2]
FACES = {
    *(getattr(tidelake, name) for name in tidelake.__all__ if name != "errors"),
    *(getattr(tidelake.spark, name) for name in tidelake.spark.__all__),
    *(Place, Query, Transaction, WriteResult),
} - {tidelake.__version__}

ROWS_ARE_OF_ANY_TYPE = {"LazyRows.to_dicts", "Query.to_dicts"}
"""What a column holds, only the schema tells, at run time."""


def functions(face: Any) -> Iterator[Any]:
    """Functions of the face, and the overloads that a type checker looks at instead."""
    if not inspect.isclass(face):
        yield from get_overloads(face) or [face]
        return
    for name in dir(face):
        if name.startswith("_") and name != "__init__":
            continue
        found = inspect.getattr_static(face, name)
        found = getattr(found, "fget", None) or getattr(found, "__func__", found)
        if inspect.isfunction(found) and found.__module__.startswith("tidelake"):
            yield from get_overloads(found) or [found]


def hints(thing: Any) -> dict[str, Any]:
    """With the names that a module imports for type checkers alone."""
    names: dict[str, Any] = {}
    for each in thing.__mro__ if inspect.isclass(thing) else [thing]:
        if each.__module__.partition(".")[0] in ("tidelake", "tests"):
            names |= names_of(importlib.import_module(each.__module__))
    return get_type_hints(thing, names, names)


def names_of(home: Any) -> dict[str, Any]:
    names = dict(vars(home))
    for block in ast.parse(inspect.getsource(home)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    exec(ast.unparse(node), names)
    return names


def has_any(kind: Any) -> bool:
    if is_typeddict(kind):
        return any(map(has_any, get_type_hints(kind).values()))
    return kind is Any or any(map(has_any, get_args(kind)))


@pytest.mark.parametrize("face", sorted(FACES, key=lambda each: each.__qualname__))
def test_nothing_of_the_face_is_any(face: Any) -> None:
    found = {
        f"{each.__qualname__}({name})"
        for each in functions(face)
        if each.__qualname__ not in ROWS_ARE_OF_ANY_TYPE
        for name, kind in hints(each).items()
        if has_any(kind)
    }
    if inspect.isclass(face):
        fields = [each for each in getattr(face, "__annotations__", {}) if each[0] != "_"]
        found |= {name for name in fields if has_any(hints(face)[name])}
    assert found == set()


def test_any_is_found() -> None:
    """The test above would see it."""

    def wrong(a: list[dict[str, Any]] | None) -> None: ...

    assert has_any(hints(wrong)["a"])
    assert not has_any(hints(tidelake.connect)["url"])


PROGRAM = """
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import numpy
import polars
import pyspark.sql

import tidelake
from tidelake.model.change import WriteResult
from tidelake.sql.query import Query


def fill(lake: tidelake.Lake, spark: pyspark.sql.SparkSession) -> None:
    t = lake.create_table(
        "prices",
        {"symbol": "VARCHAR", "ts": datetime, "price": polars.Float64()},
        key="symbol", event_time="ts", entity=["symbol"], bucket=timedelta(minutes=1),
        partition_by=["day(ts)"], message="the table",
    )
    lake.create_table("others", [{"a": 1}], rows=True)
    lake.create_table("more", spark.range(3).schema)
    lake.create_table("typed", polars.Schema({"a": polars.Int64}))
    done: WriteResult = t.append([{"symbol": "ACME", "price": 1.5}], once="job-1")
    t.append(polars.DataFrame({"symbol": ["A"]}))
    t.append(polars.LazyFrame({"symbol": ["A"]}))
    t.append(spark.range(3))
    t.append(duckdb.sql("SELECT 1"))
    t.append("more.parquet")
    t.append([Path("a.csv"), Path("b.csv")])
    t.append({"symbol": name} for name in ("A", "B"))
    t.append(t.scan(where=tidelake.col("price") > 3))
    t.overwrite(lake.sql("SELECT * FROM prices"), where="price > 3")
    t.merge(t.known_at(3), on=["symbol"])
    t.put({"symbol": "A", "ts": datetime.now(UTC)})
    t.end("A", at=date.today())
    t.end({"symbol": "A"}, at="now")
    t.update({"price": 3, "ts": datetime(2024, 1, 1)}, where="true", values={"symbol": "B"})
    t.evolve(add={"volume": int}, widen={"price": "DOUBLE"}, default={"volume": 0})
    t.set_calendar("weekdays", entity=["A", "B"])
    print(done.rows)


def ask(lake: tidelake.Lake) -> None:
    t = lake["prices"]
    found: Query = lake.sql("SELECT 1 AS one", as_of="2024-01-01")
    written: WriteResult = lake.sql("DELETE FROM prices", message="all")
    frame: polars.DataFrame = t.scan(["price"]).to_polars()
    lazy: polars.LazyFrame = t.to_polars(lazy=True)
    ratio: float = t.coverage("A", start=date(2024, 1, 1), end="now - 1h").ratio
    t.coverage(["A", "B"]).missing()
    t.coverage(numpy.int64(3), numpy.datetime64("2024-01-01"))
    t.history({"symbol": "A"}).to_pandas()
    joined = tidelake.asof_join(
        [{"symbol": "A", "at": date(2024, 1, 1)}], {"p": t, "q": tidelake.Feature(t)},
        left_time="at", tolerance="1d",
    )
    tidelake.asof_join(t, [t, tidelake.Feature(t, tolerance="1d")], on="symbol")
    lake.freeze("training", joined)
    lake.known_at(date(2024, 1, 1)).tables()
    t.diff(date(2024, 1, 1), "now - 1d")
    lake.expire(older_than=date(2024, 1, 1))
    t.order_by(["price DESC"]).limit(3)
    t.scan(where=tidelake.col("a")["b"] > 3)
    lake.sql("SELECT 1 WHERE 1 IN ?", [[1, 2]])
    lake.drop("prices", if_exists=True)
    ok = bool(tidelake.is_compatible("a INT", t))
    tidelake.ingest(lake, "raw", Path("raw"), types={"a": int}, csv={"header": True}, key="a")
    with lake.transaction(message="two") as tx:
        tx["prices"].append([{"symbol": "A"}])
        rows: int = tx.sql("SELECT 1").count()
    print(found, written, frame, lazy, ratio, ok, rows, t.to_spark().count())
"""

WRONG = {
    'lake.create_table("t", "a INT", kye="a")': "call-arg",
    'lake.append("t", [{"a": 1}], create=True, kye="a")': "call-arg",
    't.append([{"a": 1}], massage="typo")': "call-arg",
    't.set_event_time("ts", keys=["a"])': "call-arg",
    'tidelake.ingest(lake, "t", "raw", kye="a")': "call-arg",
    'tidelake.ingest(lake, "t", "raw", csv={"headers": True})': "arg-type",
    "t.append(5)": "arg-type",
    't.put("a")': "arg-type",
    "t.scan(wehre=3)": "call-arg",
    'lake.sql("SELECT 1").rows': "attr-defined",
    't.history(["a"])': "arg-type",
    'tidelake.connect("sqlite:///x.db", spark="local")': "arg-type",
    "t.coverage(start=1.5)": "arg-type",
    't["price"]': "index",
    'tidelake.col("a") + 1': "operator",
}


@pytest.mark.slow
def test_mypy_takes_what_is_right_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    lines = [f"    {each}" for each in WRONG]
    head = "\n\ndef wrong(lake: tidelake.Lake, t: tidelake.Table) -> None:\n"
    whole = PROGRAM + head + "\n".join(lines) + "\n"
    program = tmp_path / "program.py"
    program.write_text(whole)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    kept = ["--cache-dir", str(ROOT / ".mypy_cache" / "programs"), str(program)]
    done = subprocess.run([*mypy, *kept], capture_output=True, text=True, cwd=tmp_path)
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    first = whole[: whole.index(lines[0])].count("\n") + 1
    expected = {first + n: code for n, code in enumerate(WRONG.values())}
    told = {int(line.split(":")[1]): line.rpartition("[")[2].rstrip("]") for line in found}
    assert told == expected, done.stdout + done.stderr


@pytest.mark.parametrize(
    "call",
    [
        lambda lake: lake.create_table("t", "a INT", kye="a"),
        lambda lake: lake.append("t", [{"a": 1}], create=True, kye="a"),
        lambda lake: tidelake.ingest(lake, "t", "raw", kye="a"),
    ],
)
def test_a_setting_that_there_is_not_is_refused(tmp_path: Path, call: Any) -> None:
    with (
        tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake,
        pytest.raises(Invalid, match="kye") as refused,
    ):
        call(lake)
    assert "key" in str(refused.value.hint)
