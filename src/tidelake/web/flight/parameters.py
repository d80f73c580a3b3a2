"""The parameters of prepared statements: their names, what types they seem to have, the values
that come for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from tidelake.errors import Invalid, TidelakeError
from tidelake.lake.lake import Lake
from tidelake.model.names import TableName, fold
from tidelake.sql.text import number_parameters, read
from tidelake.sql.words import Words
from tidelake.syntax import tree
from tidelake.syntax.tokens import tokens
from tidelake.syntax.tree import NotSelect
from tidelake.web.flight.catalog import relation_schema

_UNKNOWN = pa.string()


def parameter_names(text: str) -> tuple[str, ...]:
    """In the order of their numbers, or of their first mention."""
    numbered, _ = number_parameters(text, tokens(text))
    found = [token.text[1:] for token in tokens(numbered) if token.kind == "parameter"]
    names = list(dict.fromkeys(found))
    if names and all(name.isdigit() for name in names):
        return tuple(str(n + 1) for n in range(max(map(int, names))))
    return tuple(names)


def parameter_schema(lake: Lake, text: str, names: tuple[str, ...]) -> pa.Schema:
    """A field for each; of what it is compared with or inserted into the type, of the others
    text."""
    try:
        known = _types_in_query(lake, text)
    except NotSelect:
        known = _types_in_insert(lake, text, names)
    except TidelakeError:
        known = {}
    return pa.schema([pa.field(name, known.get(name, _UNKNOWN)) for name in names])


def _types_in_query(lake: Lake, text: str) -> dict[str, pa.DataType]:
    asked = read(text)
    columns: dict[str, pa.DataType] = {}
    for table in asked.tables:
        name = TableName(table.schema or "main", table.name)
        try:
            fields = relation_schema(lake, name)
        except TidelakeError:
            continue
        columns |= {fold(field.name): field.type for field in fields}
    return dict(_compared(asked.node, columns))


def _compared(node: Any, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[str, pa.DataType]]:
    """Parameters that stand beside a column in a comparison, BETWEEN or IN."""
    for each in tree.walk(node):
        if each.get("class") not in ("COMPARISON", "BETWEEN", "OPERATOR"):
            continue
        named = [each.get(name) for name in ("left", "right", "input", "lower", "upper")]
        sides = [side for side in (*named, *(each.get("children") or ())) if side is not None]
        kinds = [
            columns[fold(side["column_names"][-1])]
            for side in sides
            if side.get("class") == "COLUMN_REF" and fold(side["column_names"][-1]) in columns
        ]
        for side in sides:
            if side.get("class") == "PARAMETER" and kinds:
                yield str(side["identifier"]), kinds[0]


def _types_in_insert(lake: Lake, text: str, names: tuple[str, ...]) -> dict[str, pa.DataType]:
    """Of INSERT INTO t [(columns)] VALUES (?, ?, …), where all values are parameters."""
    try:
        words = Words(text)
        for word in ("INSERT", "INTO"):
            if words.next != word:
                return {}
            words.take(word)
        fields = relation_schema(lake, words.table())
    except TidelakeError:
        return {}
    found = [token.text for token in tokens(text)]
    start = next((n for n, each in enumerate(found) if each.upper() == "VALUES"), len(found))
    before = found[:start]
    listed = before[before.index("(") + 1 : -1 : 2] if "(" in before else fields.names
    values = [each for each in found[start + 1 :] if each not in ("(", ")", ",", ";")]
    if not all(each.startswith(("?", "$")) for each in values) or not listed:
        return {}
    kinds = {fold(field.name): field.type for field in fields}
    columns = [kinds.get(fold(str(each).strip('"')), _UNKNOWN) for each in listed]
    return {name: columns[n % len(columns)] for n, name in enumerate(names)}


def bound_rows(reader: Any, names: tuple[str, ...], most: int) -> list[list[object]]:
    """The values that come, row by row. Invalid if they are too many, or not one for each."""
    rows: list[list[object]] = []
    size = 0
    for batch in reader.to_reader():
        size += batch.nbytes
        if size > most:
            raise Invalid(
                f"parameters of more than {most:,} bytes", hint="ingest rows as a stream instead"
            )
        columns = [column.to_pylist() for column in batch.columns]
        rows += [list(row) for row in zip(*columns, strict=True)]
        if batch.num_columns != len(names):
            raise Invalid(
                f"{batch.num_columns} values for {len(names)} parameters",
                hint="give one for each ? or $name",
            )
    return rows


def as_given(names: tuple[str, ...], row: list[object]) -> list[object] | dict[str, object] | None:
    """As `lake.sql` takes them: by number or by name."""
    if not names:
        return None
    return row if names[0].isdigit() else dict(zip(names, row, strict=True))
