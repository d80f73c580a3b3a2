"""What other libraries call it: an error says what it is called here, and that is there."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelake
from tidelake.errors import Invalid, NotFound
from tidelake.lake.transaction import Transaction
from tidelake.model import reflexes
from tidelake.model.schema import Schema
from tidelake.session.lazy_rows import LazyRows


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


FACES = {
    "t": (tidelake.Table, reflexes.OF_TABLES),
    "rows": (LazyRows, reflexes.OF_ROWS),
    "lake": (tidelake.Lake, reflexes.OF_LAKES),
    "tx": (Transaction, reflexes.OF_LAKES),
    "schema": (Schema, reflexes.OF_SCHEMAS),
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
