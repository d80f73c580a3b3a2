"""CREATE, DROP, ALTER and COMMENT, as functions of a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelake.engine.declare.columns import columns_of
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.model.change import WriteResult
from tidelake.model.evolve import find
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column
from tidelake.session.drafting import DraftSession
from tidelake.sql.parameters import NOTHING, Bindings
from tidelake.sql.query import Query, check_new_view, written_query
from tidelake.sql.words import Words
from tidelake.write import definitions
from tidelake.write import rows as writes
from tidelake.write.definitions import DONE
from tidelake.write.presence import has, has_schema

Operation = Callable[["DraftSession"], WriteResult]
Alteration = Callable[["DraftSession", TableName], WriteResult]


def definition(words: Words, beside: Bindings = NOTHING) -> Operation | None:
    """What the statement does, or None if it defines nothing."""
    operation = _of_a_query(words, beside) or _of_itself(words, beside)
    if operation is not None:
        words.end()
    elif defines(words):
        raise words.unknown()
    return operation


def _of_a_query(words: Words, beside: Bindings) -> Operation | None:
    """What may hold a query, and so parameters and moments."""
    if words.take("CREATE", "TABLE"):
        return _create_table(words, beside)
    if words.take("CREATE", "OR", "REPLACE", "TABLE"):
        return _create_table(words, beside, replaces=True)
    return None


def _of_itself(words: Words, beside: Bindings) -> Operation | None:
    for start, read in _STATEMENTS.items():
        if words.take(*start.split()):
            beside.refuse(start)
            return read(words)
    return None


def defines(words: Words) -> bool:
    return words.next in {start.split()[0] for start in _STATEMENTS}


def _create_schema(words: Words) -> Operation:
    tolerant = words.take("IF", "NOT", "EXISTS")
    name = words.parts()[-1]

    def create(tx: DraftSession) -> WriteResult:
        if tolerant and has_schema(tx, name):
            return DONE
        return definitions.create_schema(tx, name)

    return create


def _create_table(words: Words, beside: Bindings, *, replaces: bool = False) -> Operation:
    tolerant = words.take("IF", "NOT", "EXISTS")
    name = words.table()
    columns = ", ".join(words.listed()) if words.next == "(" else None
    partition_by = words.listed() if words.take("PARTITIONED", "BY") else []
    sort_by = words.listed() if words.take("SORTED", "BY") else []
    select = words.rest() if words.take("AS") else None
    if (columns is None) == (select is None):
        raise words.strange("expected either columns in parentheses or AS and a query")
    if select is None:
        beside.refuse("CREATE TABLE")

    def create(tx: DraftSession) -> WriteResult:
        exists = has(tx, "table", name)
        if tolerant and exists:
            return DONE
        query = None if select is None else written_query(tx, select, beside)
        if replaces and exists:
            definitions.drop(tx, name)
        definitions.create_table(
            tx,
            name,
            columns if query is None else query.column_types(),
            partition_by=partition_by,
            sort_by=sort_by,
            comment=None,
            settings={},
        )
        if query is None:
            return DONE
        return append_rows(tx, name, query, list(tx.draft(name).columns))

    return create


def append_rows(
    tx: DraftSession, name: TableName, query: Query, columns: Sequence[Column]
) -> WriteResult:
    """A query can always be asked again in a repeated write, however much it reads."""
    before = tx.replayable
    done = writes.append(tx, name, query.rows_for(columns))
    tx.replayable = before
    return done


def _create_view(words: Words, *, replaces: bool = False) -> Operation:
    tolerant = words.take("IF", "NOT", "EXISTS")
    name = words.table()
    columns = [_unquoted(item) for item in words.listed()] if words.next == "(" else []
    words.expect("AS")
    select = words.rest()

    def create(tx: DraftSession) -> WriteResult:
        if tolerant and has(tx, "view", name):
            return DONE
        return definitions.create_view(
            tx, name, select, columns=columns, replaces=replaces, check=check_new_view
        )

    return create


def _unquoted(item: str) -> str:
    return item[1:-1].replace('""', '"') if item.startswith('"') else item


def _drop(kind: str) -> Callable[[Words], Operation]:
    def read(words: Words) -> Operation:
        tolerant = words.take("IF", "EXISTS")
        name = words.table()
        words.take("RESTRICT")

        def drop(tx: DraftSession) -> WriteResult:
            if has(tx, kind, name):
                return definitions.drop(tx, name)
            other = "view" if kind == "table" else "table"
            if has(tx, other, name):
                raise Invalid(f"{name} is a {other}", hint=f"DROP {other.upper()} {name}")
            if tolerant:
                return DONE
            raise NotFound(f"there is no {kind} {name}", hint=f"DROP {kind.upper()} IF EXISTS …")

        return drop

    return read


def _drop_schema(words: Words) -> Operation:
    tolerant = words.take("IF", "EXISTS")
    name = words.parts()[-1]
    cascade = words.take("CASCADE")
    words.take("RESTRICT")

    def drop(tx: DraftSession) -> WriteResult:
        if tolerant and not has_schema(tx, name):
            return DONE
        return definitions.drop_schema(tx, name, cascade=cascade)

    return drop


def _alter_table(words: Words) -> Operation:
    tolerant = words.take("IF", "EXISTS")
    name = words.table()
    for start, read in _ALTERATIONS.items():
        if words.take(*start.split()):
            change = read(words)
            break
    else:
        raise words.strange(f"expected one of {', '.join(_ALTERATIONS)}")

    def alter(tx: DraftSession) -> WriteResult:
        return DONE if tolerant and not has(tx, "table", name) else change(tx, name)

    return alter


def _evolving(**changes: Any) -> Alteration:
    return lambda tx, name: definitions.evolve(tx, name, changes)


def _add(words: Words) -> Alteration:
    tolerant = words.take("IF", "NOT", "EXISTS")
    path = words.path()
    add = _evolving(add={path: columns_of(f"x {words.rest()}")[0]})
    return lambda tx, name: DONE if tolerant and _has_column(tx, name, path) else add(tx, name)


def _drop_column(words: Words) -> Alteration:
    tolerant = words.take("IF", "EXISTS")
    path = words.path()
    drop = _evolving(drop=[path])
    return lambda tx, name: DONE if tolerant and not _has_column(tx, name, path) else drop(tx, name)


def _rename(words: Words) -> Alteration:
    if words.take("TO"):
        parts = words.parts()
        return lambda tx, name: definitions.rename(
            tx, name, TableName(parts[-2] if parts[1:] else name.schema, parts[-1])
        )
    return _rename_column(words)


def _rename_column(words: Words) -> Alteration:
    path = words.path()
    words.expect("TO")
    return _evolving(rename={path: words.parts()[-1]})


def _alter_column(words: Words) -> Alteration:
    path = words.path()
    if words.take("SET", "NOT", "NULL"):
        return _evolving(nullable={path: False})
    if words.take("DROP", "NOT", "NULL"):
        return _evolving(nullable={path: True})
    if words.take("DROP", "DEFAULT"):
        return _evolving(default={path: None})
    if words.take("SET", "DEFAULT"):
        return _set_default(path, words.rest())
    if words.take("TYPE") or words.take("SET", "DATA", "TYPE"):
        return _evolving(widen={path: columns_of(f"x {words.rest()}")[0]})
    raise words.strange("expected SET DATA TYPE, SET or DROP NOT NULL, or SET or DROP DEFAULT")


def _set_default(path: str, expression: str) -> Alteration:
    def change(tx: DraftSession, name: TableName) -> WriteResult:
        kind = find(tx.draft(name).columns, path).duckdb_type
        (made,) = columns_of(f"x {kind} DEFAULT {expression}")
        if made.initial_default is None and made.default is not None:
            raise Unsupported(
                f"the default {expression} of {path} is not a plain value",
                hint="give a literal; what depends on the moment comes with the rows",
            )
        return definitions.evolve(tx, name, {"default": {path: made.initial_default}})

    return change


def _arranging(
    arrange: Callable[[DraftSession, TableName, list[str]], WriteResult], *, anew: bool
) -> Callable[[Words], Alteration]:
    def read(words: Words) -> Alteration:
        by = words.listed() if anew else []
        return lambda tx, name: arrange(tx, name, by)

    return read


def _comment_on_table(words: Words) -> Operation:
    name = words.table()
    words.expect("IS")
    comment = words.string()
    return lambda tx: definitions.set_comment(tx, name, comment)


def _comment_on_column(words: Words) -> Operation:
    *table, column = words.parts()
    if not table:
        raise words.strange("expected table.column before it")
    name = TableName.parse(".".join(quote(part) for part in table[-2:]))
    words.expect("IS")
    comment = words.string()
    return lambda tx: definitions.evolve(tx, name, {"comment": {quote(column): comment}})


def _has_column(tx: DraftSession, name: TableName, path: str) -> bool:
    try:
        find(tx.draft(name).columns, path)
    except NotFound:
        return False
    return True


_STATEMENTS: dict[str, Callable[[Words], Operation]] = {
    "CREATE SCHEMA": _create_schema,
    "CREATE VIEW": _create_view,
    "CREATE OR REPLACE VIEW": lambda words: _create_view(words, replaces=True),
    "DROP TABLE": _drop("table"),
    "DROP VIEW": _drop("view"),
    "DROP SCHEMA": _drop_schema,
    "ALTER TABLE": _alter_table,
    "COMMENT ON TABLE": _comment_on_table,
    "COMMENT ON COLUMN": _comment_on_column,
}
_ALTERATIONS: dict[str, Callable[[Words], Alteration]] = {
    "ADD COLUMN": _add,
    "ADD": _add,
    "DROP COLUMN": _drop_column,
    "DROP": _drop_column,
    "RENAME COLUMN": _rename_column,
    "RENAME": _rename,
    "ALTER COLUMN": _alter_column,
    "ALTER": _alter_column,
    "SET PARTITIONED BY": _arranging(definitions.set_partitioning, anew=True),
    "RESET PARTITIONED BY": _arranging(definitions.set_partitioning, anew=False),
    "SET SORTED BY": _arranging(definitions.set_sorting, anew=True),
    "RESET SORTED BY": _arranging(definitions.set_sorting, anew=False),
}
