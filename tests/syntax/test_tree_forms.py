"""Trees of DuckDB 2, kept as it put them, come into the form of the DuckDB that is here."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidelake import duck
from tidelake.errors import Unsupported
from tidelake.syntax import tree
from tidelake.syntax.tree_forms import older_form, own_form

KEPT = json.loads((Path(__file__).parents[1] / "data" / "duckdb-2.0-trees.json").read_text())
_SPELLED = {
    *("query_location", "type_expr", "catalog", "extension_info", "is_operator"),
    *("payload_aggregates", "repeatable", "sample_rate"),
}

older_only = pytest.mark.skipif(duck.has_new_trees(), reason="compares with DuckDB 1.5")


def meaning(node: Any) -> Any:
    """What a tree means, without what each form spells in its own way."""
    if isinstance(node, list):
        return [meaning(each) for each in node]
    if not isinstance(node, dict):
        return node
    if set(node) == {"id", "type_info"} and node["id"] != "DECIMAL":
        return node["id"]
    if node.get("type") == "OPERATOR_NOT" and node["children"][0]["type"] == "COMPARE_IN":
        return meaning({**node["children"][0], "type": "COMPARE_NOT_IN"})
    said = {name: meaning(each) for name, each in node.items() if name not in _SPELLED}
    if said.get("schema") == "main":
        said["schema"] = ""
    return said


@older_only
@pytest.mark.parametrize("text", KEPT)
def test_the_same_tree(text):
    came = older_form(KEPT[text], tree.types)
    assert meaning(came["statements"][0]["node"]) == meaning(tree.select(text))


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"type": "JOIN", "ranking_expression": {"class": "COLUMN_REF"}}, "nearest rows"),
        (
            {"type": "BASE_TABLE", "qualified_name": {"path": ["a", "b", "c", "d"]}},
            r"a\.b\.c\.d has more than three parts",
        ),
    ],
)
def test_what_the_older_form_has_no_words_for_is_refused(node, said):
    with pytest.raises(Unsupported, match=said):
        older_form(node, tree.types)


def test_types_and_literals_that_are_said_in_part_stay_beside_it():
    literal = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": 0}
    bits = {**literal, "literal": {"kind": "BIT", "text": "1"}}
    came = older_form(bits, tree.types)
    assert came["value"]["type"]["id"] == "BIT"
    assert own_form(came) == bits
