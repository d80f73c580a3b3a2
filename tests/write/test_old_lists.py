"""Lists as old writers of Parquet had them: read as DuckDB reads them, or refused."""

import random

import duckdb
import pytest

from tests.engine.parquet.old_lists import (
    LIST,
    MAP,
    OPTIONAL,
    REPEATED,
    REQUIRED,
    Leaf,
    Node,
    write,
)
from tidelake.errors import Invalid

ID = Node("id", REQUIRED)
TWO = ((0, 1, 0, 0, 0), (2, 2, 0, 1, 2), (1, 2))
THREE = ((0, 1, 0, 0, 0), (3, 3, 0, 1, 3), (1, 3))
"""Levels of the rows [1, 2], NULL, [] and [3]."""


def of_two(name):
    return Node("l", OPTIONAL, (Node(name, REPEATED),), LIST), Leaf(("l", name), (1, 2, 3), *TWO)


def of_three(group, name):
    inner = Node(group, REPEATED, (Node(name, OPTIONAL),))
    return Node("l", OPTIONAL, (inner,), LIST), Leaf(("l", group, name), (1, 2, 3), *THREE)


def made(path, node, leaf, rows=4):
    ids = Leaf(("id",), tuple(range(rows)), (0,) * rows, (0,) * rows, (0, 0))
    return str(write(path, (node, ID), (leaf, ids), rows))


def rows(table):
    found = table.to_arrow().to_pylist()
    return sorted([tuple(row.values()) for row in found], key=lambda row: row[1])


@pytest.mark.parametrize(
    ("node", "leaf"),
    [
        of_two("array"),
        of_two("element"),
        of_two("l_tuple"),
        of_three("bag", "array_element"),
        of_three("bag", "array"),
        of_three("list", "item"),
    ],
)
def test_lists_of_old_forms_are_read_as_duckdb_reads_them(lake, duck, tmp_path, node, leaf):
    path = made(tmp_path / "old.parquet", node, leaf)
    table = lake.create_table("t", "l INT[], id INT")
    assert table.add_files(path).rows == 4
    assert rows(table) == [([1, 2], 0), (None, 1), ([], 2), ([3], 3)]
    assert duck.execute("FROM t ORDER BY id").fetchall() == rows(table)
    table.evolve(rename={"l": "k"}, widen={"l.element": "bigint"})
    assert rows(table) == [([1, 2], 0), (None, 1), ([], 2), ([3], 3)]


def test_a_list_inside_a_list_needs_no_group_between(lake, duck, tmp_path):
    inner = Node("array", REPEATED, (Node("array", REPEATED),), LIST)
    node = Node("l", OPTIONAL, (inner,), LIST)
    leaf = Leaf(("l", "array", "array"), (1, 2, 3), (0, 2, 1, 0, 0), (3, 3, 3, 0, 1), (2, 3))
    path = made(tmp_path / "old.parquet", node, leaf, 3)
    expected = [([[1, 2], [3]], 0), (None, 1), ([], 2)]
    ours = lake.create_table("ours", "l INT[][], id INT")
    ours.add_files(path)
    assert rows(ours) == expected
    theirs = lake.create_table("theirs", "l INT[][], id INT")
    duck.execute(f"CALL ducklake_add_data_files('lake', 'theirs', '{path}')")
    assert rows(theirs) == expected
    for name in ("ours", "theirs"):
        assert duck.execute(f"FROM {name} ORDER BY id").fetchall() == expected


@pytest.mark.parametrize("children", [(), (Node("a", REQUIRED),)])
def test_what_is_repeated_without_being_a_list_is_refused_by_name(lake, tmp_path, children):
    node = Node("l", REPEATED, children)
    names = ("l", *(child.name for child in children))
    levels = ((0, 1, 0, 0, 0), (1, 1, 0, 0, 1), (1, 1))
    path = made(tmp_path / "old.parquet", node, Leaf(names, (1, 2, 3), *levels))
    table = lake.create_table("t", "l INT[], id INT")
    with pytest.raises(Invalid, match="column l is a repeated field") as refused:
        table.add_files(path)
    assert "append()" in str(refused.value.hint)
    table.append(path)
    assert rows(table) == [([1, 2], 0), ([], 1), ([], 2), ([3], 3)]


def random_node(rng, name, depth=0):
    kinds = ["leaf", "leaf", "struct", "list", "list", "map", "repeated"]
    kind = rng.choice(kinds) if depth < 3 else "leaf"
    own = rng.choice([REQUIRED, OPTIONAL])
    if kind == "leaf":
        return Node(name, own)
    if kind == "struct":
        names = ("a", "b")[: rng.randint(1, 2)]
        return Node(name, own, tuple(random_node(rng, each, depth + 1) for each in names))
    if kind == "map":
        value = random_node(rng, "value", depth + 1)
        return Node(name, own, (Node("key_value", REPEATED, (Node("key", REQUIRED), value)),), MAP)
    group = rng.choice(["array", "bag", "list", "element", f"{name}_tuple"])
    if kind == "list" and rng.random() < 0.5:
        item = random_node(rng, rng.choice(["element", "item", "array"]), depth + 1)
        return Node(name, own, (Node(group, REPEATED, (item,)),), LIST)
    inner = random_node(rng, name if kind == "repeated" else group, depth + 1)
    repeated = Node(inner.name, REPEATED, inner.children, inner.converted)
    return repeated if kind == "repeated" else Node(name, own, (repeated,), LIST)


def leaves(node, path=(), levels=(0, 0)):
    """One entry for each leaf, which has a value."""
    path = (*path, node.name)
    levels = (levels[0] + (node.repetition == REPEATED), levels[1] + (node.repetition != REQUIRED))
    if not node.children:
        yield Leaf(path, (7,), (0,), (levels[1],), levels)
    for child in node.children:
        yield from leaves(child, path, levels)


@pytest.mark.parametrize(("seed", "files"), [(1, 12), pytest.param(2, 300, marks=pytest.mark.slow)])
def test_random_nests_are_read_as_by_duckdb_or_refused(lake, tmp_path, seed, files):
    rng, read = random.Random(seed), 0
    for n in range(files):
        node = random_node(rng, "l")
        path = str(write(tmp_path / f"{n}.parquet", (node,), tuple(leaves(node)), 1))
        with duckdb.connect() as plain:
            try:
                relation = plain.sql(f"FROM '{path}'")
            except duckdb.Error:
                continue
            kind, expected = relation.types[0], relation.fetchall()
        table = lake.create_table(f"t{n}", f"l {kind}")
        try:
            table.add_files(path)
        except Invalid:
            continue
        table.evolve(add={"more": "int"})
        assert table.scan(columns=["l"]).to_duckdb().fetchall() == expected, node
        read += 1
    assert read
