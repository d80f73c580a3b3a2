"""Conditions over the corpus: skipping files must never change an answer.

The truth is the same condition run by DuckDB over all rows that Tidelake reads without it.
"""

from collections.abc import Iterator
from random import Random

import duckdb
import pytest

import tidelake
from tests.read.conftest import Lakes
from tests.read.corpus import CORPUS, is_one_of
from tests.read.scripts.script import Script
from tidelake.errors import Invalid
from tidelake.model.names import quote

pytestmark = pytest.mark.xdist_group("corpus")

_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
_MOST_COLUMNS = 10
_UNORDERED = ("VARIANT", "GEOMETRY", "MAP", "STRUCT", "[]", "JSON")


def _literals(rows: duckdb.DuckDBPyRelation, column: str, random: Random) -> list[str]:
    """Some values of a column as SQL literals of its type."""
    kind = str(rows.types[rows.columns.index(column)])
    found = rows.project(f"CAST({quote(column)} AS VARCHAR)").fetchall()
    texts = sorted({text for (text,) in found if text is not None and "\0" not in text})
    chosen = random.sample(texts, min(3, len(texts)))
    return [f"CAST('{text.replace(chr(39), chr(39) * 2)}' AS {kind})" for text in chosen]


def _conditions(rows: duckdb.DuckDBPyRelation, column: str, random: Random) -> Iterator[str]:
    name = quote(column)
    yield f"{name} IS NULL"
    yield f"{name} IS NOT NULL"
    literals = _literals(rows, column, random)
    for literal in literals:
        yield f"{name} {random.choice(_OPERATORS)} {literal}"
        yield f"NOT {name} {random.choice(_OPERATORS)} {literal}"
    if len(literals) > 1:
        yield f"{name} IN ({', '.join(literals)})"
        yield f"{name} BETWEEN {literals[0]} AND {literals[1]}"
        yield f"({name} < {literals[0]} OR {name} = {literals[1]})"


def _differences(lake: tidelake.Lake, name: str, random: Random) -> Iterator[str]:
    table = lake.table(name)
    rows = table.to_duckdb()
    columns = list(zip(rows.columns, map(str, rows.types), strict=True))
    for column, kind in random.sample(columns, min(len(columns), _MOST_COLUMNS)):
        if any(word in kind for word in _UNORDERED):
            continue
        for condition in _conditions(rows, column, random):
            try:
                expected = rows.filter(condition).aggregate("count(*)").fetchall()[0][0]
            except duckdb.ConversionException:  # the last instants do not survive as text
                continue
            try:
                got = table.scan(where=condition).count()
            except Invalid as error:
                yield f"{name} where {condition}: {error}"
                continue
            if got != expected:
                yield f"{name} where {condition}: {got} rows, not {expected}"


def _cases() -> list[object]:
    """By default every fourteenth script."""
    return [
        pytest.param(
            script,
            id=script.name,
            marks=[] if is_one_of(script, 28, 1) else [pytest.mark.slow],
        )
        for script in CORPUS.values()
    ]


@pytest.mark.parametrize("script", _cases())
def test_conditions_find_what_is_there(lakes: Lakes, script: Script) -> None:
    made, _ = lakes.get(script, script.catalogs[0], script.limits()[0])
    random = Random(script.name)
    with tidelake.connect(made.url, read_only=True) as lake:
        found = [d for name in lake.tables() for d in _differences(lake, name, random)]
    assert not found, "\n".join(found)
