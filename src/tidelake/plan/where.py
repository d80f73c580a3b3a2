"""The row filter of a read: from SQL text or a Predicate to something both engines run.

`where` text is one DuckDB condition on the columns of one table. What can be understood
becomes Predicate nodes, which prune files; the rest stays SQL that only an engine judges.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.errors import Invalid
from tidelake.model.names import quote
from tidelake.model.paths import fields_at, is_path, path_sql
from tidelake.model.predicate import (
    Always,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from tidelake.model.schema import Column, Schema
from tidelake.model.zone import with_zone_of
from tidelake.plan import condition


@dataclass(frozen=True, slots=True)
class Where:
    """A row filter whose every column exists, in the schema's own spelling.

    `sql` is DuckDB's SQL and can be embedded as it is; comparisons that were understood do
    not depend on the session's time zone. `columns` may hold `rowid` and `snapshot_id`.
    """

    predicate: Predicate
    sql: str
    columns: frozenset[str]


def parse_where(text: str, schema: Schema) -> Where:
    """Read one condition in DuckDB's dialect; Invalid if it is anything else."""
    return _where(_settled(condition.parse(text, schema), schema))


def as_where(where: str | Predicate | None, schema: Schema) -> Where | None:
    """What a caller may give as `where=`, in one form."""
    if where is None:
        return None
    if isinstance(where, str):
        return parse_where(where, schema)
    if isinstance(where, Predicate):
        return _where(_settled(_with_parsed_sql(where, schema), schema))
    raise Invalid(
        f"where= takes SQL text or a condition, not {type(where).__name__}",
        hint="for example where=\"x > 5\" or where=col('x') > 5",
    )


def _where(settled: Predicate) -> Where:
    return Where(settled, settled.sql(), settled.columns())


def _with_parsed_sql(predicate: Predicate, schema: Schema) -> Predicate:
    """A caller's own Opaque holds any text: it must pass the same door as other text."""
    if isinstance(predicate, And | Or):
        return type(predicate)(tuple(_with_parsed_sql(part, schema) for part in predicate.parts))
    if isinstance(predicate, Not):
        return Not(_with_parsed_sql(predicate.part, schema))
    if isinstance(predicate, Opaque):
        return condition.parse(predicate.text, schema)
    return predicate


def _settled(predicate: Predicate, schema: Schema) -> Predicate:
    """With the schema's spelling of every name and explicit zones."""
    if isinstance(predicate, And | Or):
        return type(predicate)(tuple(_settled(part, schema) for part in predicate.parts))
    if isinstance(predicate, Not):
        return Not(_settled(predicate.part, schema))
    if isinstance(predicate, Always | Opaque):
        return predicate
    return _settled_test(predicate, schema)


def _settled_test(predicate: Predicate, schema: Schema) -> Predicate:
    (given,) = predicate.columns()
    if is_path(schema, given):
        return _of_field(predicate, given, schema)
    name = condition.column_name(given, schema)
    return _on(predicate, name, condition.find_column(name, schema))


def _of_field(predicate: Predicate, path: str, schema: Schema) -> Predicate:
    """A test of a field in a struct, as text says it."""
    fields = fields_at(schema, path)
    text = _on(predicate, path, fields[-1]).sql().replace(quote(path), path_sql(fields), 1)
    return condition.parse(text, schema)


def _on(predicate: Predicate, name: str, column: Column | None) -> Predicate:
    """The test of one column."""
    if isinstance(predicate, Compare):
        return Compare(name, predicate.op, with_zone_of(column, predicate.value))
    if isinstance(predicate, In):
        return In(name, tuple(with_zone_of(column, value) for value in predicate.values))
    if isinstance(predicate, IsNull):
        return IsNull(name, predicate.negated)
    if isinstance(predicate, Like):
        return Like(name, predicate.pattern, predicate.negated, predicate.case_insensitive)
    assert isinstance(predicate, StartsWith)
    return StartsWith(name, predicate.prefix)
