"""What writes set columns to: SQL, and values that stand for themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelake.engine import Job
from tidelake.engine.incoming.conform import conformed_sql
from tidelake.engine.incoming.from_dicts import value_sql
from tidelake.errors import Invalid
from tidelake.model.literal import Literal
from tidelake.model.names import quote
from tidelake.model.predicate import Predicate, Ref
from tidelake.model.schema import Column, Schema

_VALUE = "_tidelake_value_"


@dataclass(frozen=True, slots=True)
class Assignment:
    """By the ids of columns: `expressions` are in SQL over the rows that they look at; `values`
    are in SQL too, and of the columns' types already."""

    expressions: dict[int, str] = field(default_factory=dict)
    values: dict[int, str] = field(default_factory=dict)

    def over(self, source: str) -> str:
        """The rows of a source with what the expressions give, each computed once."""
        if not self.expressions:
            return source
        computed = (f"{sql} AS {_VALUE}{id_}" for id_, sql in self.expressions.items())
        return f"(SELECT *, {', '.join(computed)} FROM {source}) AS t"

    def checked(self, job: Job, schema: Schema, empty: str, place: str) -> dict[int, str]:
        """What the columns get, in their types and over such rows: a value that would change is
        an error. `empty` is a source without rows."""
        if not self.expressions:
            return dict(self.values)
        listed = ", ".join(self.expressions.values())
        shapes = job.shapes(f"SELECT {listed} FROM {empty}")
        found = dict(self.values)
        by_id = {column.id: column for column in schema}
        for id_, shape in zip(self.expressions, shapes, strict=True):
            found[id_] = conformed_sql(by_id[id_], shape, f"{_VALUE}{id_}", place)
        return found


def parse_assignment(
    schema: Schema,
    given: Iterable[tuple[str, Any]],
    place: str,
    read: Callable[[str], str],
) -> Assignment:
    """What is given for columns by name: text is an expression for `read` to make SQL of, anything
    else stands for itself, and so does the text of a `lit(…)`."""
    found = Assignment()
    for name, value in given:
        column = schema.column(name)
        if column.id in found.expressions or column.id in found.values:
            raise Invalid(f"column {column.name!r} is set twice", hint="set it once")
        if isinstance(value, str):
            found.expressions[column.id] = read(value)
        else:
            found.values[column.id] = _value(column, value, place)
    return found


def _value(column: Column, value: Any, place: str) -> str:
    if isinstance(value, Predicate | Ref):
        raise Invalid(
            f"{place}: column {column.name!r} cannot be set to a col(…)",
            hint='write SQL as text, such as {"x": "y + 1"}',
        )
    plain = value.value if isinstance(value, Literal) else value
    return value_sql(column, plain, place)


def without_rows(columns: Iterable[tuple[str, Column]], alias: str) -> str:
    """A source without rows, of columns under these names."""
    listed = ", ".join(f"CAST(NULL AS {c.duckdb_type}) AS {quote(name)}" for name, c in columns)
    return f"(SELECT {listed} WHERE false) AS {alias}"


def pairs(given: Mapping[str, Any] | None, what: str) -> list[tuple[str, Any]]:
    if given is not None and not isinstance(given, Mapping):
        raise Invalid(
            f"{what} takes a dict of columns, not {type(given).__name__}",
            hint='update({"x": "x + 1"}, where="…")',
        )
    return list((given or {}).items())
