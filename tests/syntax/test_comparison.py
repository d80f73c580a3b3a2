"""Every tree that is made without DuckDB is the one that DuckDB makes."""

import random
from typing import Any

import duckdb
import pytest

from tidelake.errors import Invalid
from tidelake.syntax import tree
from tidelake.syntax.comparison import comparisons

PLAIN = [
    "a=1",
    "id >= 5 AND id < 100",
    "Ts >= '2024-01-01' and ts<'2024-02-01'\nAND s != 'it is \\ so' And _x9 <> -1.50 AND y == 007",
    "a = 2147483647 AND a = 2147483648 AND a > -2147483649 AND a < 999999999999999999",
    "a = -0 AND a = 0.0 AND a = 00.10 AND a >= 12345678.1234567890",
    "date = '' AND name = ' ' AND \t key = 'AND x = 1'",
    "ts >= TIMESTAMP '2024-01-01' AND d < date'x' AND at_ = Timestamptz\n'2024-01-01 00:00+00'",
    "a IN (1,-2 , '3') AND b not\tin('x') AND c in (DATE '2024-01-01',00.5)",
    "a IS NULL AND b is not\nnull AND c = 'IS NULL'",
    f"id IN ({', '.join(map(str, range(20)))})",
    f"{'n' * 200} = '{'x' * 5000}'",
]
PARTS = {
    "name": ["a", "B_2", "_", "ts", "date", "value", "end", "order", "time", "rowid", "a.b", '"a"'],
    "operator": ["=", "==", "<", "<=", ">", ">=", "<>", "!=", "=<", "=>", "<=>", "~", "IS", "<-"],
    "literal": [
        *("0", "1", "-1", "007", "2147483647", "2147483648", "1.5", "-0.0", "00.50", "'x'", "''"),
        *("'\\'", "'a\nb'", "12345678901234567.8"),
        *("DATE '2024-01-01'", "timestamp'x'", "TIMESTAMPTZ ''", "TIMESTAMP\n'1 day'"),
        *("- 1", "--1", "+1", "999999999999999999", "9223372036854775808", "1_000", "1e3", "0x10"),
        *("1.", ".5", "123456789012345678.9", "1x", "NULL", "TRUE", "b", "1::BIGINT", "(1)", "?"),
        *("'it''s'", "'a' 'b'", "'a'\n'b'", "E'\\n'", "$$x$$", "'é'", "'x", "1 + 1", "1;", "'\0'"),
        *(
            "DATE '2024-01-01'",
            "1 -- one",
            "/* one */ 1",
            "1 /* one */",
            "1 COLLATE x",
            "1 IS NULL",
        ),
    ],
    "joint": [" AND ", " and ", "\nAND\t", "AND ", " AND", " OR ", " AND NOT ", ", ", " AND AND "],
}
NULLS = ["IS NULL", "is\tnot null", "IS  NOT\nNULL", "ISNULL", "NOTNULL", "IS NOT", "IS NULLS"]
LISTS = ["IN", "in", "NOT IN", "not\n in", "NOTIN", "IN NOT", "IS IN", "IN IN"]
SPACES = ["", " ", " ", " ", "\n", "\t ", "\r", "\v", "\u00a0"]


def placed(node: Any) -> Any:
    """A tree as DuckDB 1.5 places its nodes in the text; DuckDB 2 has other places for some."""
    if duckdb.__version__.startswith("1."):
        return node
    if isinstance(node, list):
        return [placed(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {name: placed(each) for name, each in node.items() if name != "query_location"}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_conditions_are_read(text: str) -> None:
    assert placed(comparisons(text)) == placed(tree.by_duckdb(text))


def agrees(text: str) -> bool:
    """Whether it was read; if so, DuckDB must read it alike."""
    found = comparisons(text)
    if found is None:
        return False
    try:
        assert placed(found) == placed(tree.by_duckdb(text)), text
    except Invalid as error:
        raise AssertionError(f"{text!r} was read, and DuckDB does not: {error}") from error
    return True


def test_a_keyword_is_read_if_duckdb_takes_it_for_a_column() -> None:
    found = duckdb.sql("SELECT keyword_name, keyword_category FROM duckdb_keywords()").fetchall()
    for word, category in found:
        for spelled in (word, word.upper()):
            for rest in (">= 5", "= 'x'", "IN (1, 2)", "IS NOT NULL"):
                text = f"{spelled} {rest} AND {spelled} {rest}"
                assert agrees(text) or category != "unreserved", text


def test_functions_without_brackets_are_read_as_duckdb_does() -> None:
    for name in ("current_date", "current_timestamp", "localtime", "user", "session_user"):
        agrees(f"{name} > '2024-01-01'")


@pytest.mark.parametrize("seed", range(4))
def test_random_texts(seed: int) -> None:
    chance = random.Random(seed)
    read = 0
    for _ in range(1_500):
        read += agrees(random_text(chance))
    assert read > 150


def random_text(chance: random.Random) -> str:
    """Mostly plain, with something odd here and there."""

    def some(kind: str) -> str:
        usual = {"name": 6, "operator": 8, "literal": 18, "joint": 3}[kind]
        listed = PARTS[kind]
        return chance.choice(listed[:usual] if chance.random() < 0.85 else listed)

    def space() -> str:
        return chance.choice(SPACES[:6] if chance.random() < 0.97 else SPACES)

    def test() -> str:
        name = some("name")
        if chance.random() < 0.15:
            return f"{name}{space()}{chance.choice(NULLS)}"
        if chance.random() < 0.2:
            items = (f"{space()}{some('literal')}{space()}" for _ in range(chance.randrange(4)))
            return f"{name}{space()}{chance.choice(LISTS)}{space()}({','.join(items)})"
        return f"{name}{space()}{some('operator')}{space()}{some('literal')}"

    text = test()
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        text += f"{some('joint')}{test()}"
    return text + chance.choice(("", "", "", "", "", " ", "\n", ";", ")"))
