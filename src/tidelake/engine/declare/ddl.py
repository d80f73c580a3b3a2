"""Column definitions in SQL, read by DuckDB itself.

They run in a database of their own, in memory, that can reach nothing outside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from tidelake import duck
from tidelake.engine.incoming.conform import DataShape, expression
from tidelake.engine.incoming.from_dicts import value_sql
from tidelake.engine.local.errors import refusal_in
from tidelake.engine.local.expression_shapes import computed_shapes
from tidelake.errors import Invalid, Unsupported
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.names import text_literal
from tidelake.model.schema import Column
from tidelake.model.types import DUCKDB_NAMES, FROM_DUCKDB
from tidelake.plan.expression import check_stored

if TYPE_CHECKING:
    import duckdb
    from sqlglot.tokenizer_core import Token

_INSTEAD = {
    "enum": "use VARCHAR",
    "union": "use a STRUCT with a field for each member, or VARIANT",
    "bit": "use BLOB or VARCHAR",
    "bignum": "use DECIMAL(38,0) or VARCHAR",
    "time_ns": "use TIME, of microseconds: DuckDB cannot write TIME_NS into Parquet files",
}
_EXAMPLE = "write columns as in \"id BIGINT NOT NULL, name VARCHAR DEFAULT 'x' COMMENT 'who'\""
_MORE_THAN_COLUMNS = {
    **dict.fromkeys(
        ("PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK", "CONSTRAINT"), "constraints"
    ),
    **dict.fromkeys(("GENERATED", "AS"), "computed columns"),
    "COLLATE": "collations",
    "USING": "compression settings",
}
_NO_DEFAULTS = frozenset({"struct", "list", "map", "variant", "geometry"})


class _Declarer:
    """A DuckDB in which columns are declared, by one at a time."""

    def __init__(self) -> None:
        self.busy = Lock()
        self._duck: duckdb.DuckDBPyConnection | None = None
        tell_after_fork(self)

    def duck(self) -> duckdb.DuckDBPyConnection:
        if self._duck is None:
            self._duck = _database()
        return self._duck

    def after_fork(self) -> None:
        if self._duck is not None:
            keep_forever(self._duck)
        self._duck = None
        self.busy = Lock()


_DECLARER = _Declarer()


@dataclass(frozen=True, slots=True)
class _Definition:
    sql: str
    comment: str | None


def from_ddl(text: str) -> list[Column]:
    """The columns of a comma-separated list of definitions."""
    return _columns(list(_split(text)))


def from_definitions(texts: Iterable[str]) -> list[Column]:
    """The columns of definitions that each stand alone."""
    definitions = []
    for text in texts:
        found = list(_split(text))
        if len(found) != 1:
            raise Invalid(f"{text!r} is not the definition of one column", hint=_EXAMPLE)
        definitions += found
    return _columns(definitions)


def _split(text: str) -> Iterator[_Definition]:
    import sqlglot
    from sqlglot.tokenizer_core import TokenType as T

    opening = {T.L_PAREN, T.L_BRACKET, T.L_BRACE}
    closing = {T.R_PAREN, T.R_BRACKET, T.R_BRACE}
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except sqlglot.errors.TokenError as error:
        raise Invalid(f"{text!r} is not SQL: {error}", hint=_EXAMPLE) from error
    depth, current = 0, list["Token"]()
    for token in tokens:
        depth += (token.token_type in opening) - (token.token_type in closing)
        if depth < 0 or token.token_type is T.SEMICOLON:
            raise Invalid(f"{text!r} holds more than columns", hint=_EXAMPLE)
        if not depth:
            _refuse_more(token, first=not current)
        if depth or token.token_type is not T.COMMA:
            current.append(token)
            continue
        yield _piece(text, current)
        current = []
    yield _piece(text, current)


def _refuse_more(token: Token, *, first: bool) -> None:
    from sqlglot.tokenizer_core import TokenType as T

    word = token.text.upper().partition(" ")[0]
    names = token.token_type in {T.STRING, T.IDENTIFIER} or (first and word == "GENERATED")
    if word in _MORE_THAN_COLUMNS and not names:
        raise Unsupported(
            f"DuckLake has no {_MORE_THAN_COLUMNS[word]}, so {word} means nothing here",
            hint="leave it out; for keys see key=[…] of create_table",
        )


def _piece(text: str, tokens: Sequence[Token]) -> _Definition:
    from sqlglot.tokenizer_core import TokenType as T

    comment = None
    if [token.token_type for token in tokens[2:][-2:]] == [T.COMMENT, T.STRING]:
        comment, tokens = tokens[-1].text, tokens[:-2]
    if not tokens:
        raise Invalid(f"{text!r} leaves out a column", hint=_EXAMPLE)
    return _Definition(text[tokens[0].start : tokens[-1].end + 1], comment)


def _columns(definitions: Sequence[_Definition]) -> list[Column]:
    """All at once; if DuckDB refuses, one by one, to know which it was."""
    import duckdb

    with _DECLARER.busy:
        try:
            return _created(definitions)
        except duckdb.Error:
            return [column for each in definitions for column in _created_alone(each)]


def _created_alone(definition: _Definition) -> list[Column]:
    import duckdb

    try:
        return _created([definition])
    except duckdb.Error as error:
        reason = str(error).split("\n")[0]
        raise Invalid(f"column {definition.sql!r}: {reason}", hint=_EXAMPLE) from error


def _database() -> duckdb.DuckDBPyConnection:
    connection = duck.open_duckdb()
    connection.execute("SET threads = 1; SET enable_external_access = false")
    for ducklake in ("float32", "float64"):
        connection.execute(f"CREATE TYPE {ducklake} AS {DUCKDB_NAMES[ducklake]}")
    connection.execute("SET lock_configuration = true")
    return connection


def _created(definitions: Sequence[_Definition]) -> list[Column]:
    """The columns as DuckDB has them in a table made of them."""
    database = _DECLARER.duck()
    listed = ", ".join(definition.sql for definition in definitions)
    database.execute(f"CREATE OR REPLACE TABLE declared ({listed})")
    found = database.execute(
        "SELECT column_name, is_nullable, column_default FROM duckdb_columns()"
        " WHERE table_name = 'declared' ORDER BY column_index"
    ).fetchall()
    types = database.table("declared").types
    columns = []
    for definition, (name, nullable, default), kind in zip(definitions, found, types, strict=True):
        column = from_duckdb_type(name, kind)
        column = replace(column, nullable=nullable, comment=definition.comment)
        columns.append(column if default is None else _with_default(column, default))
    return columns


def from_duckdb_type(name: str, kind: duckdb.sqltypes.DuckDBPyType, path: str = "") -> Column:
    """A column, not numbered yet, of a DuckDB type."""
    path = f"{path}.{name}" if path else name
    if kind.id in ("list", "array"):
        return _nested(name, "list", [("element", kind.children[0][1])], path)
    if kind.id in ("struct", "map"):
        return _nested(name, kind.id, kind.children, path)
    if kind.id == "decimal":
        shape = dict(kind.children)
        return Column(0, name, f"decimal({shape['precision']},{shape['scale']})")
    ducklake = FROM_DUCKDB.get(str(kind))
    if ducklake is None or kind.id in _INSTEAD:
        raise Unsupported(
            f"column {path!r}: a table cannot have the type {kind}",
            hint=_INSTEAD.get(kind.id, "use a type that DuckLake has, or VARCHAR"),
        )
    return Column(0, name, ducklake)


def _nested(name: str, kind: str, parts: Sequence[tuple[str, Any]], path: str) -> Column:
    children = tuple(from_duckdb_type(part, below, path) for part, below in parts)
    return Column(0, name, kind, children=children)


def _with_default(column: Column, sql: str) -> Column:
    """A literal in the plain text of its value; any other expression as DuckDB writes it. It is
    computed here, so it must be harmless first."""
    check_stored(sql, "the default")
    (shape,) = computed_shapes(_DECLARER.duck(), f"SELECT ({sql})")
    value = _text_of(column, sql, shape)
    if not _is_literal(sql):
        return replace(column, default=sql, default_is_expression=True)
    return _with_text(column, value)


def with_default(column: Column, value: object) -> Column:
    """The column with a Python value as default; None takes the default away.

    `initial_default` is the value too: that of rows from before the column, if it is new.
    """
    if value is None:
        return replace(column, default=None, default_is_expression=False)
    with _DECLARER.busy:
        if isinstance(value, str):
            text = _text_of(column, text_literal(value), DataShape(column.name, "text"))
        else:
            _refuse_without_default(column)
            sql = value_sql(column, value, "the default")
            text = _text_of(column, sql, DataShape(column.name, column.type))
    return _with_text(column, text)


def _with_text(column: Column, text: str | None) -> Column:
    """DuckLake writes NULL for no default, so the text NULL is an expression instead."""
    is_null_text = text == "NULL"
    return replace(
        column,
        default=text_literal(text) if is_null_text and text else text,
        default_is_expression=is_null_text,
        initial_default=text,
    )


def _text_of(column: Column, sql: str, shape: DataShape) -> str | None:
    """What the expression gives for the column now. Invalid if that is not of its type, or would
    be another value in it."""
    import duckdb

    _refuse_without_default(column)
    value = expression(column, shape, "v", f"column {column.name!r}: the default {sql}")
    try:
        row = _DECLARER.duck().execute(f"SELECT CAST({value} AS VARCHAR) FROM (SELECT {sql} AS v)")
        found = row.fetchone()
    except duckdb.Error as error:
        raise refusal_in(str(error)) or Invalid(
            f"column {column.name!r}: the default {sql!r} is not of type {column.duckdb_type}",
            hint=str(error).split("\n")[0],
        ) from error
    return found[0] if found else None


def _refuse_without_default(column: Column) -> None:
    if column.type in _NO_DEFAULTS:
        raise Unsupported(
            f"column {column.name!r}: DuckLake has no defaults for {column.type} columns",
            hint="leave the default out and give the value in every row",
        )


def _is_literal(sql: str) -> bool:
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, dialect="duckdb")
    return not any(
        isinstance(node, exp.Func | exp.Column | exp.Binary) and not isinstance(node, exp.Cast)
        for node in tree.walk()
    )
