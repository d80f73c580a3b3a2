"""DESCRIBE of a table: DuckDB's names and types of its columns, and what is declared of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.engine.row_source import RowSource
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import Column, Schema
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.sql.summary import without_rows
from tidelake.sql.text import Table
from tidelake.syntax.tokens import Edit

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

_WORDS = ("DESCRIBE", "DESC", "SHOW")
_NAMES = ("column_name", "column_type", "null", "key", "default", "extra")
_NONE = "CAST(NULL AS VARCHAR)"
_PLAIN = ("int", "uint", "float", "decimal", "boolean")


def is_described(table: Table) -> bool:
    """Whether a query only asks what columns a table has."""
    return table.before is not None and table.before.word in _WORDS


def description(
    table: Table, plan: ScanPlan | AsOfPlan | RowSource, schema: Schema, local: LocalEngine
) -> Edit:
    """The answer in the place of the question. Of a view, and of columns that a range adds,
    nothing is declared."""
    declared = {fold(column.name): column for column in schema}
    rows = []
    for name, kind in local.described("FROM asked", {"asked": without_rows(plan)}):
        column = declared.get(fold(name))
        null = "NO" if column is not None and not column.nullable else "YES"
        default = _NONE if column is None or column.default is None else _default(column)
        told = map(text_literal, (name, str(kind), null))
        rows.append(f"({', '.join([*told, _NONE, default, _NONE])})")
    names = ", ".join(map(quote, _NAMES))
    answer = f"FROM (VALUES {', '.join(rows)}) AS _tidelake_columns({names})"
    first = table.before or table.first
    return Edit(first.start, table.last.end + 1, answer)


def _default(column: Column) -> str:
    """A default as DuckDB spells it, as a text."""
    text = column.default or ""
    if column.default_is_expression:
        return text_literal(text)
    return text_literal(text if column.type.startswith(_PLAIN) else text_literal(text))
