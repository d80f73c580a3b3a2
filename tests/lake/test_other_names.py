"""What other libraries call it: an error says what it is called here, and that is there."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelake
from tidelake.errors import Invalid, NotFound, TidelakeWarning
from tidelake.history.values import Log
from tidelake.lake.transaction import Transaction
from tidelake.model import reflexes
from tidelake.model.change import WriteResult
from tidelake.model.schema import Schema
from tidelake.model.snapshot import Snapshot
from tidelake.session.lazy_rows import LazyRows
from tidelake.write.merge import Merge


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_table("t", "n INT, s VARCHAR").append([{"n": 1, "s": "a"}])
        yield lake


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda lake: lake["t"].to_list(), "t.to_dicts()"),
        (lambda lake: lake["t"].columns, "t.schema.names"),
        (lambda lake: lake["t"].filter("n = 1"), "t.scan("),
        (lambda lake: lake["t"].rename_columns({"n": "m"}), "t.evolve(rename="),
        (lambda lake: lake["t"].schema.fields, "schema.columns"),
        (lambda lake: lake.sql("FROM t").df(), "rows.to_pandas()"),
        (lambda lake: lake.sql("FROM t").pl(), "rows.to_polars()"),
        (lambda lake: lake.sql("FROM t").fetchall(), "rows.to_dicts()"),
        (lambda lake: lake.list_tables(), "lake.tables()"),
        (lambda lake: lake.transaction().load_table("t"), "tx.table(name)"),
        (lambda lake: lake.vacuum(), "lake.compact(), then lake.expire(…) and lake.cleanup(…)"),
        (lambda _: tidelake.merge_asof(1, 2), "tidelake.asof_join("),
        (lambda lake: lake.t, 'lake["t"], if that is a table'),
        (lambda lake: lake.read_parquet("x"), "lake.append(name, path, create=True)"),
        (lambda lake: lake.coverage("t"), "lake.table(name).coverage()"),
        (lambda lake: lake.rollback(), "lake.table(name).rollback(to=3)"),
        (lambda lake: lake.items(), "lake.tables(), or lake.table(name)"),
        (lambda lake: lake["t"].scan().where("n = 1"), 'lake.sql("SELECT'),
        (lambda lake: lake["t"].scan().columns, "rows.column_types()"),
        (
            lambda lake: lake["t"].merge([{"n": 1}], on="n").when_matched_update_all(),
            'table.merge_builder(rows, on="id") has clauses; then execute()',
        ),
        (lambda lake: lake["t"].append([]).version, "result.snapshot_id"),
        (lambda lake: lake["t"].snapshots()[0].timestamp, "snapshot.time"),
        (lambda lake: lake.snapshots()[0].version, "snapshot.snapshot_id"),
        (lambda lake: lake.log().to_pandas(), 'lake.sql("FROM snapshots()").to_pandas()'),
        (
            lambda lake: lake["t"].merge_builder([], on="n").when_not_matched_insert_all(),
            "merge.when_not_matched_insert(), which fills all columns",
        ),
        (lambda _: tidelake.col("n").isnull(), "col(…).is_null()"),
        (lambda _: tidelake.col("s").str, "conditions in SQL"),
    ],
)
def test_a_name_of_another_library_is_told_what_it_is_here(lake, ask, hint):
    with pytest.raises(AttributeError, match=re.escape(f"(hint: {hint}")):
        ask(lake)


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda t: t.scan(limit=1), ".limit(10)"),
        (lambda t: t.scan(filter="n = 1"), "where="),
        (lambda t: t.append([], mode="append"), "overwrite()"),
        (lambda t: t.merge([], keys="n"), "on="),
        (lambda t: t.to_pandas(columns=["n"]), "scan(columns="),
        (lambda t: t.scan().count(where="n = 1"), "scan(where="),
        (lambda t: t.order_by("n", descending=True), 'order_by("ts DESC")'),
        (lambda t: t["n"], "scan(columns=['n'])"),
        (lambda t: t.scan()[["n", "s"]], "scan(columns=['n', 's'])"),
        (lambda t: t[:5], "head(10)"),
        (lambda t: list(t), "to_dicts()"),
        (lambda t: list(t.head(3)), "to_dicts()"),
    ],
)
def test_so_is_an_argument(lake, ask, hint):
    with pytest.raises(TypeError, match=re.escape(hint)):
        ask(lake["t"])


def test_a_setting_too_and_all_that_there_are_are_named(lake):
    for given, hint in (({"primary_key": "n"}, "key="), ({"exist_ok": True}, "if_not_exists=True")):
        with pytest.raises(Invalid, match=re.escape(hint)):
            lake.create_table("u", "n INT", **given)
    with pytest.raises(Invalid, match="partition_by, sort_by, comment"):
        lake.create_table("u", "n INT", prtition_by="n")


def test_a_name_that_nobody_knows_is_missing_as_ever(lake):
    t = lake["t"]
    with pytest.raises(AttributeError, match=r"a Table has no 'nosuch'$") as missing:
        t.nosuch  # noqa: B018
    assert (missing.value.name, missing.value.obj) == ("nosuch", t)
    assert not hasattr(t, "to_list")
    assert getattr(lake, "nosuch", 3) == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'nosuch'"):
        t.scan(nosuch=1)
    assert copy.copy(t.schema) == t.schema == pickle.loads(pickle.dumps(t.schema))
    assert copy.deepcopy(t).count() == 1


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            lambda lake: lake.compact("t"),
            'Lake.compact(): too many positional arguments (hint: lake.table("t").compact()'
            " compacts one table)",
        ),
        (lambda lake: lake.verify("t"), '(hint: lake.verify(tables=["t"]))'),
        (lambda lake: lake.snapshots("t"), '(hint: lake.table("t").snapshots())'),
        (
            lambda lake: lake["t"].delete(),
            "Table.delete(): missing a required argument: 'where' (hint: delete(where, *,"
            " portion=None, once=None, expected=None, author=None, message=None))",
        ),
        (
            lambda lake: lake["t"].coverage(symbol="ACME"),
            "Table.coverage(): got an unexpected keyword argument 'symbol' (hint: coverage("
            "entity=None, start=None, end=None, known_at=None, calendar=None))",
        ),
        (lambda lake: lake["t"].count("n = 1"), "Table.count(): too many positional arguments"),
        (
            lambda lake: lake["t"].merge([], predicate="t.n = s.n"),
            "merge() takes no 'predicate' (hint: merge(rows, on=\"id\") goes by columns",
        ),
        (lambda lake: lake.expire(days=7), "expire() takes no 'days' (hint: expire(older_than="),
        (lambda _: tidelake.connect(path="x"), "takes no 'path' (hint: connect(\"sqlite:///"),
        (lambda _: tidelake.asof_join(1, 2, by="x"), "left_time= and right_time= the times"),
        (lambda lake: lake["t"].schema["n"], "a Schema has no [ ] (hint: schema.column('n'))"),
        (list, "a Lake is no dict of tables (hint: for name in lake.tables())"),
        (lambda lake: lake.__setitem__("u", []), "lake.append(name, rows, create=True)"),
        (lambda lake: lake.__delitem__("t"), "lake.drop(name)"),
    ],
)
def test_a_call_that_does_not_fit_is_told_how_it_is_made(lake, ask, told):
    with pytest.raises(TypeError, match=re.escape(told)):
        ask(lake)


def test_what_passes_a_transaction_by_is_told(lake: tidelake.Lake) -> None:
    with pytest.warns(TidelakeWarning, match="done through the transaction"):  # noqa: SIM117
        with lake.transaction():
            lake.append("t", [{"n": 2}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with lake.transaction() as tx:  # nothing is written at all
            tx.table("t").count()
        with lake.transaction() as tx:  # it is read as it was, whatever comes
            before = tx.table("t").count()
            lake.append("t", [{"n": 7}])
            assert tx.table("t").count() == before
        with lake.transaction() as tx:  # both are meant
            tx.append("t", [{"n": 3}])
            lake.append("t", [{"n": 4}])
        for _ in range(2):  # the job is done already
            with lake.transaction(once="job") as tx:
                if not tx.is_done:
                    tx.append("t", [{"n": 5}])
                lake.append("t", [{"n": 6}])
    assert lake["t"].count() == 8


FACES = {
    "t": (tidelake.Table, reflexes.OF_TABLES),
    "rows": (LazyRows, reflexes.OF_ROWS),
    "lake": (tidelake.Lake, reflexes.OF_LAKES),
    "tx": (Transaction, reflexes.OF_LAKES),
    "schema": (Schema, reflexes.OF_SCHEMAS),
    "snapshot": (Snapshot, reflexes.OF_SNAPSHOTS),
    "log": (Log, reflexes.OF_LOGS),
    "coverage": (tidelake.Coverage, reflexes.OF_COVERAGES),
    "result": (WriteResult, reflexes.OF_RESULTS),
    "merge": (Merge, reflexes.OF_MERGES),
}
APART = {"expire", "cleanup", "restore"}
"""Of a lake, where a transaction tells of them."""


def called(face: type, instead: str) -> Iterator[tuple[type, str]]:
    yield from ((face, name) for name in re.findall(r"(?:^|[ ])\.(\w+)", instead))
    yield from ((tidelake.Lake, name) for name in re.findall(r"\blake\.(\w+)", instead))
    yield from (
        (tidelake.Table, name) for name in re.findall(r"table\((?:name)?\)\.(\w+)", instead)
    )


@pytest.mark.parametrize("it", FACES)
def test_what_is_named_is_there(it: str) -> None:
    face, told = FACES[it]
    for name, instead in told.items():
        assert not hasattr(face, name) or name in reflexes.OF_ROWS or face is Transaction, name
        for where, method in called(face, instead):
            known = face is Schema and method in Schema.__slots__
            assert known or hasattr(where, method) or method in APART, (name, instead)


def test_what_is_named_of_the_module_is_there() -> None:
    for instead in reflexes.OF_MODULE.values():
        for name in re.findall(r"tidelake\.(\w+)", instead):
            assert hasattr(tidelake, name), instead
        for name in re.findall(r"errors\.(\w+)", instead):
            assert hasattr(tidelake.errors, name), instead


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("LakeError", "TidelakeError"),
        *[(name, name) for name in ["TidelakeError", "NotFound", "Conflict", "TidelakeWarning"]],
    ],
)
def test_an_error_asked_of_the_module_is_told_where_it_is(name: str, called: str) -> None:
    with pytest.raises(AttributeError, match=rf"tidelake\.errors\.{called}\b"):
        getattr(tidelake, name)


def test_the_tables_with_names_like_it_come_first(lake):
    for number in range(30):
        lake.create_table(f"a{number}", "n INT")
    lake.create_table("prices", "n INT")
    with pytest.raises(NotFound, match=r"there are: main\.prices, ") as missing:
        lake.table("price")
    assert str(missing.value.hint).endswith("…")
