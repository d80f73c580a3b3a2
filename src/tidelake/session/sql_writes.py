"""INSERT, UPDATE, DELETE and MERGE, as functions of a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidelake.engine.conform import filled
from tidelake.engine.selection import Selection
from tidelake.errors import Invalid, Unsupported
from tidelake.model.change import WriteResult
from tidelake.model.literal import Value
from tidelake.model.names import DEFAULT_SCHEMA, TableName, fold
from tidelake.model.schema import Column, Schema
from tidelake.session import merge as merging
from tidelake.session import writes
from tidelake.session.merge import Clause, Clauses
from tidelake.session.sql import Query
from tidelake.session.sql_clauses import refuse_clauses
from tidelake.session.sql_conditions import conjuncts
from tidelake.session.sql_definitions import append_rows
from tidelake.session.sql_parameters import Beside, put_literals
from tidelake.session.sql_words import HINT

if TYPE_CHECKING:
    from sqlglot import exp

    from tidelake.session.transaction import Transaction

Operation = Callable[["Transaction"], WriteResult]

_CLAUSES = {
    "insert": {"this", "expression", "by_name", "with_"},
    "update": {"this", "expressions", "where"},
    "delete": {"this", "where"},
    "merge": {"this", "using", "on", "using_cond", "whens", "with_"},
}
_QUALIFY = "write target.column or source.column, by the names or aliases that the tables have"


def is_write(statement: exp.Expr) -> bool:
    return statement.key in _CLAUSES


def write(statement: exp.Expr, values: Mapping[str, Value], beside: Beside) -> Operation:
    """What an INSERT, UPDATE, DELETE or MERGE does."""
    for clause, value in statement.args.items():
        if value and clause not in _CLAUSES[statement.key]:
            kind, what = statement.key.upper(), clause.strip("_").replace("_", " ").upper()
            raise Unsupported(f"{kind} with {what} is not supported", hint=HINT)
    if statement.key in ("update", "delete"):
        beside.refuse_moments(statement.key.upper())
        return _WRITES[statement.key](put_literals(statement, values))
    return _READS[statement.key](statement, values, beside)


def _insert(statement: exp.Expr, values: Mapping[str, Value], beside: Beside) -> Operation:
    from sqlglot import exp

    into = statement.this
    listed = [item.name for item in into.expressions] if isinstance(into, exp.Schema) else []
    name = _name(into.this if isinstance(into, exp.Schema) else into)
    source = statement.expression
    if statement.args.get("with_"):
        source.set("with_", statement.args["with_"])
    by_name = bool(statement.args.get("by_name"))

    def insert(tx: Transaction) -> WriteResult:
        schema = writes.writable(tx, name).after.schema
        columns = [schema.column(each) for each in listed] or list(schema)
        rows = source.copy()
        if isinstance(rows, exp.Values):
            _fill_in(rows, columns, name)
        query = Query(tx, statement.sql(), rows, values, beside, written=True)
        names = query._names()
        if by_name:
            columns = [schema.column(each) for each in names]
        _check_width(name, columns, names)
        return append_rows(tx, name, query, columns)

    return insert


def _check_width(name: TableName, columns: Sequence[Column], given: Sequence[str]) -> None:
    if len(columns) != len(given):
        raise Invalid(
            f"{len(given)} values for {len(columns)} columns of {name}",
            hint=f"the columns are: {', '.join(column.name for column in columns)}",
        )
    if len({column.id for column in columns}) < len(columns):
        raise Invalid(f"a column of {name} is named twice", hint="name each column once")


def _fill_in(rows: exp.Expr, columns: Sequence[Column], name: TableName) -> None:
    """Put the columns' defaults where DEFAULT is written."""
    import sqlglot
    from sqlglot import exp

    for row in rows.expressions:
        for column, value in zip(columns, list(row.expressions), strict=False):
            if isinstance(value, exp.Var) and value.name.upper() == "DEFAULT":
                default = filled(column, str(name), defaults=True)
                value.replace(sqlglot.parse_one(default, read="duckdb"))


def _update(statement: exp.Expr) -> Operation:
    name, own = _name(statement.this), _own(statement.this)
    values = dict(_assignments(statement.expressions, own))
    where = _where(statement, own)
    return lambda tx: writes.update(tx, name, values, where)


def _delete(statement: exp.Expr) -> Operation:
    name, own = _name(statement.this), _own(statement.this)
    where = _where(statement, own)
    return lambda tx: writes.delete(tx, name, "true" if where is None else where)


def _assignments(
    given: Sequence[exp.Expr], names: Mapping[str, str | None]
) -> Iterator[tuple[str, str]]:
    from sqlglot import exp

    seen = set()
    for each in given:
        column = each.this
        plain = isinstance(each, exp.EQ) and isinstance(column, exp.Column)
        if not plain or fold(column.table) not in {"", *names}:
            raise Unsupported(
                f"cannot set {each.sql('duckdb')}", hint="write column = expression for each column"
            )
        if fold(column.name) in seen:
            raise Invalid(f"column {column.name!r} is set twice", hint="set it once")
        seen.add(fold(column.name))
        yield column.name, _text(each.expression, names)


def _where(statement: exp.Expr, names: Mapping[str, str | None]) -> str | None:
    where = statement.args.get("where")
    return None if where is None else _text(where.this, names)


def _text(node: exp.Expr, names: Mapping[str, str | None], bare: str | None = None) -> str:
    """The expression in DuckDB's SQL, its columns qualified as `names` says; those that have no
    qualifier get `bare`."""
    from sqlglot import exp

    copy = node.copy()
    for column in list(copy.find_all(exp.Column)):
        qualifier, rest = _split(column, names)
        if qualifier is not None or bare is not None:
            place = bare if qualifier is None else names[qualifier]
            parts = [*([] if place is None else [exp.to_identifier(place)]), *rest]
            for part, own in zip(("this", "table", "db", "catalog"), reversed(parts), strict=False):
                column.set(part, own)
            for part in ("table", "db", "catalog")[len(parts) - 1 :]:
                column.set(part, None)
    return copy.sql(dialect="duckdb", comments=False)


def _split(
    column: exp.Column, names: Mapping[str, str | None]
) -> tuple[str | None, list[exp.Expr]]:
    """What a column is qualified by, if that is one of the names, and the column alone. The
    table may have its schema before it, and a struct its field behind it."""
    parts = column.parts
    for place in range(min(len(parts) - 1, 2)):
        if fold(parts[place].name) in names:
            return fold(parts[place].name), parts[place + 1 :]
    return None, parts


def _name(table: exp.Expr) -> TableName:
    from sqlglot import exp

    if not isinstance(table, exp.Table) or not table.name:
        raise Unsupported(f"{table.sql('duckdb')} is not a table", hint=HINT)
    refuse_clauses(table, f"{table.name}, which is written to,")
    return TableName(table.db or DEFAULT_SCHEMA, table.name)


def _own(table: exp.Expr) -> dict[str, str | None]:
    return {fold(table.alias_or_name): None}


def _merge(statement: exp.Expr, values: Mapping[str, Value], beside: Beside) -> Operation:
    match = _Match.of(statement)
    put_literals(statement.args["whens"], values)
    whens = statement.args["whens"].expressions
    name = _name(statement.this)

    def merge(tx: Transaction) -> WriteResult:
        schema = writes.writable(tx, name).after.schema
        query = Query(tx, statement.sql(), match.source.copy(), values, beside, written=True)
        names = query._names()
        rows = query._rows([schema.column(each) for each in names])
        if isinstance(rows, Selection):
            rows = replace(rows, exact=True)
        reading = _Reading(match, schema, names, exact=tx.engine == "local")
        before = tx.replayable
        done = merging.merge(tx, name, rows, match.keys, reading.clauses(whens))
        tx.replayable = before
        return done

    return merge


@dataclass(frozen=True, slots=True)
class _Match:
    """The two sides of a MERGE: a query for the source, the columns by which its rows match, and
    what each side is called."""

    source: exp.Expr
    keys: list[str]
    names: Mapping[str, str | None]

    @staticmethod
    def of(statement: exp.Expr) -> _Match:
        from sqlglot import exp

        using = statement.args["using"].copy()
        target, other = fold(statement.this.alias_or_name), fold(using.alias_or_name)
        if target == other:
            raise Invalid(f"both sides of the MERGE are called {target}", hint="give one an alias")
        source = exp.select("*").from_(using)
        if statement.args.get("with_"):
            source.set("with_", statement.args["with_"].copy())
        names: dict[str, str | None] = {target: "target", other: "source"}
        return _Match(source, list(_keys(statement, names)), names)


def _keys(statement: exp.Expr, names: Mapping[str, str | None]) -> Iterator[str]:
    """The columns of an ON that says nothing but that columns of one name are equal."""
    from sqlglot import exp

    yield from (item.name for item in statement.args.get("using_cond") or ())
    for part in conjuncts(statement.args["on"]) if statement.args.get("on") else ():
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        columns = [side for side in sides if isinstance(side, exp.Column)]
        places = {names.get(fold(column.table)) for column in columns}
        if places != {"target", "source"} or len({fold(c.name) for c in columns}) != 1:
            raise Unsupported(
                f"MERGE cannot match rows ON {part.sql('duckdb')}",
                hint="match by equal columns of one name, target.x = source.x; for others, give"
                " the source a query that names them alike",
            )
        yield columns[0].name


@dataclass(frozen=True, slots=True)
class _Reading:
    """The clauses of a MERGE, as the merge takes them."""

    match: _Match
    schema: Schema
    given: list[str]
    exact: bool

    def clauses(self, whens: Sequence[exp.Expr]) -> Clauses:
        found: dict[str, tuple[Clause, ...]] = {}
        for when in whens:
            which = "matched" if when.args["matched"] else "unmatched"
            which = "orphaned" if when.args.get("source") else which
            found[which] = (*found.get(which, ()), self._clause(when, which))
        return Clauses(**found)

    def _clause(self, when: exp.Expr, which: str) -> Clause:
        bare = {"matched": None, "unmatched": "source", "orphaned": "target"}[which]
        condition = when.args.get("condition")
        then = when.args["then"]
        kind = then.name.lower() if then.key == "var" else then.key
        if kind not in ("update", "delete", "insert"):
            raise Unsupported(f"{when.sql('duckdb')} is not supported", hint=HINT)
        values = None if kind == "delete" else _VALUES[kind](self, then, bare)
        return Clause(kind, values, None if condition is None else self._text(condition, bare))

    def updated(self, then: exp.Expr, bare: str | None) -> dict[str, Any] | None:
        given = then.expressions
        if not given or given[0].key == "star":
            self._check_everything()
            return None
        names = [name for name, _ in _assignments(given, self.match.names)]
        return {n: self._text(e.expression, bare) for n, e in zip(names, given, strict=True)}

    def inserted(self, then: exp.Expr, bare: str | None) -> dict[str, Any] | None:
        from sqlglot import exp

        into, values = then.this, then.expression
        if not values:
            if not _is_by_name(into):
                self._check_everything()
            return None
        columns = [item.name for item in into.expressions] if into else self.schema.names
        given = values.expressions if isinstance(values, exp.Tuple) else [values]
        if len(columns) != len(given):
            raise Invalid(
                f"{len(given)} values for {len(columns)} columns in {then.sql('duckdb')}",
                hint=f"the columns are: {', '.join(columns)}",
            )
        return {name: self._text(value, bare) for name, value in zip(columns, given, strict=True)}

    def _check_everything(self) -> None:
        """All columns go by name for Spark and by position for DuckDB: so both must be the same."""
        if self.exact and [fold(n) for n in self.given] != [fold(n) for n in self.schema.names]:
            raise Invalid(
                f"the source has other columns than the table: {', '.join(self.given)}",
                hint="list the columns: UPDATE SET x = source.x, INSERT (x) VALUES (source.x)",
            )

    def _text(self, node: exp.Expr, bare: str | None) -> str:
        from sqlglot import exp

        for column in node.find_all(exp.Column):
            if bare is None and _split(column, self.match.names)[0] is None:
                raise Invalid(
                    f"it is not clear whose column {column.sql('duckdb')} is", hint=_QUALIFY
                )
        return _text(node, self.match.names, bare)


def _is_by_name(into: exp.Expr | None) -> bool:
    """`INSERT BY NAME`, which the parser takes for a column BY under the alias NAME."""
    items = into.expressions if into is not None else []
    return [item.sql().upper() for item in items] == ["BY AS NAME"]


_VALUES: dict[str, Callable[[_Reading, Any, str | None], dict[str, Any] | None]] = {
    "update": _Reading.updated,
    "insert": _Reading.inserted,
}
_WRITES: dict[str, Callable[[Any], Operation]] = {"update": _update, "delete": _delete}
_READS: dict[str, Callable[[Any, Mapping[str, Value], Beside], Operation]] = {
    "insert": _insert,
    "merge": _merge,
}
