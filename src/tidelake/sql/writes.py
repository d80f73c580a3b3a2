"""INSERT, UPDATE and DELETE in DuckDB's SQL, cut into pieces that stay as they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tidelake.engine.incoming.conform import filler_sql
from tidelake.errors import Invalid, Unsupported
from tidelake.event_time.portion import delete_portion, update_portion
from tidelake.event_time.values.ranges import ValidRange
from tidelake.model.change import WriteResult
from tidelake.model.literal import Value, sql_literal
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import Column
from tidelake.plan.expression import respell
from tidelake.session.drafting import DraftSession
from tidelake.sql.clauses import AFTER_A_TABLE, PORTION, Finder, MomentClause
from tidelake.sql.definitions import append_rows
from tidelake.sql.moments import MomentReader
from tidelake.sql.parameters import Bindings, parameter_values
from tidelake.sql.query import Query
from tidelake.sql.text import clause_of, number_parameters, read
from tidelake.sql.words import HINT, Words
from tidelake.syntax.tokens import Edit, Token, apply_edits, blank, depths, tokens
from tidelake.write import rows as writes

Operation = Callable[["DraftSession"], WriteResult]

_CLAUSES = ("FOR", "VERSION", "TIMESTAMP", "AT")


def piecewise(text: str, beside: Bindings) -> Operation | None:
    """What an INSERT, UPDATE or DELETE does; None if it is none of these."""
    statement = WriteStatement.of(text)
    verb = statement.verb()
    if verb is None or verb.word not in _WRITES:
        return None
    _refuse_clauses(statement.without_portion()[0], verb.word)
    return _WRITES[verb.word](statement, beside)


@dataclass(frozen=True, slots=True)
class WriteStatement:
    """A statement with a number for every parameter that was written as `?`."""

    sql: str
    found: Sequence[Token]
    marks: int

    @staticmethod
    def of(text: str) -> WriteStatement:
        words = tokens(text)
        while words and words[-1].word == ";":
            words.pop()
        sql, marks = number_parameters(text[: words[-1].end + 1] if words else "", words)
        return WriteStatement(sql, tokens(sql), marks)

    def parameter_names(self) -> list[str]:
        return [token.text[1:] for token in self.found if token.kind == "parameter"]

    def verb(self) -> Token | None:
        """The word that says what is done: the first, or what follows a WITH."""
        verbs = ("SELECT", "FROM", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE")
        return next((each for each in self.top() if each.word in verbs), None)

    def top(self) -> Iterator[Token]:
        """The words that no bracket stands around."""
        return (token for token, depth in depths(self.found) if depth == 0)

    def with_literals(self, values: Mapping[str, Value]) -> str:
        return apply_edits(
            self.sql,
            [
                Edit(token.start, token.end + 1, f"({sql_literal(values[token.text[1:]])})")
                for token in self.found
                if token.kind == "parameter"
            ],
        )

    def without_portion(self) -> tuple[WriteStatement, MomentClause | None]:
        """The statement without its `FOR PORTION OF …`, and that."""
        finder = Finder(self.sql, self.found)
        portions = [each for each in finder.clauses() if each.clock == PORTION]
        if not portions:
            return self, None
        if len(portions) > 1:
            raise Invalid("there are two portions in one statement", hint="name one of them")
        clause = clause_of(portions[0], finder, self.sql, self.found)
        first, last = portions[0].span
        span = (self.found[first].start, self.found[last - 1].end + 1)
        sql = apply_edits(self.sql, [blank(*span)])
        return replace(self, sql=sql, found=tokens(sql)), clause

    def refuse_moments(self, name: str) -> None:
        for clause in Finder(self.sql, self.found).clauses():
            written = Finder(self.sql, self.found).written(*clause.span)
            raise Invalid(
                f"{name}, which is written to, cannot be asked for {written}", hint=AFTER_A_TABLE
            )


def target_of(words: Words) -> tuple[TableName, frozenset[str]]:
    """A table that is written to, and the names that its columns may be qualified by."""
    name = words.table()
    words.take("AS")
    ends = ("WHERE", "SET", "USING", "FROM", "RETURNING", "")
    alias = words.parts()[0] if words.next not in (*ends, *_CLAUSES) else None
    return name, frozenset({fold(alias or name.name)})


def _delete(statement: WriteStatement, beside: Bindings) -> Operation:
    beside.refuse_moments("DELETE")
    values = parameter_values(statement, beside.parameters)
    statement, portion = statement.without_portion()
    words = Words(statement.with_literals(values))
    words.expect("DELETE", "FROM")
    name, own = target_of(words)
    statement.refuse_moments(name.name)
    where = _bare(words.rest(), own) if words.take("WHERE") else "true"
    words.end()
    if portion is None:
        return lambda tx: writes.delete(tx, name, where)
    times = portion
    return lambda tx: delete_portion(tx, name, _range(tx, times, values), where)


def _update(statement: WriteStatement, beside: Bindings) -> Operation:
    beside.refuse_moments("UPDATE")
    given_values = parameter_values(statement, beside.parameters)
    statement, portion = statement.without_portion()
    words = Words(statement.with_literals(given_values))
    words.expect("UPDATE")
    name, own = target_of(words)
    statement.refuse_moments(name.name)
    words.expect("SET")
    rest = words.rest()
    edge = next((token for token in top(rest) if token.word == "WHERE"), None)
    given = rest if edge is None else rest[: edge.start]
    where = None if edge is None else _bare(rest[edge.end + 1 :], own)
    values = {name: _bare(value, own) for name, value in assignments(given, own)}
    if portion is None:
        return lambda tx: writes.update(tx, name, values, where)
    times = portion
    return lambda tx: update_portion(tx, name, _range(tx, times, given_values), (values, where))


def _range(tx: DraftSession, clause: MomentClause, values: Mapping[str, Value]) -> ValidRange:
    return MomentReader(tx.local, values, datetime.now(UTC)).valid_range(clause)


def top(text: str) -> list[Token]:
    """The words that no bracket stands around."""
    return [token for token, depth in depths(tokens(text)) if depth == 0]


def _listed(text: str) -> list[str]:
    """The parts between commas that no bracket stands around."""
    commas = [token for token in top(text) if token.word == ","]
    starts = [0, *(comma.end + 1 for comma in commas)]
    stops = [*(comma.start for comma in commas), len(text)]
    return [text[start:stop].strip() for start, stop in zip(starts, stops, strict=True)]


def assignments(text: str, own: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The columns that are set, and what to."""
    seen = set()
    for each in _listed(text):
        words = tokens(each)
        at = next((place for place, token in enumerate(words) if token.word == "="), 0)
        names = [token.text for token in words[:at] if token.word != "."]
        if not names or len(names) > 2 or (names[1:] and fold(names[0]) not in own):
            raise Unsupported(
                f"cannot set {each}", hint="write column = expression for each column"
            )
        name = names[-1]
        if fold(name) in seen:
            raise Invalid(f"column {name!r} is set twice", hint="set it once")
        seen.add(fold(name))
        yield name, each[words[at].end + 1 :].strip()


def _bare(text: str, own: frozenset[str]) -> str:
    """Without the table's name before its columns."""

    def spelled(names: Sequence[str]) -> tuple[int, str] | None:
        for place in range(min(len(names) - 1, 2)):
            if fold(names[place]) in own:
                return place + 2, quote(names[place + 1])
        return None

    return respell(text, spelled)


def _insert(statement: WriteStatement, beside: Bindings) -> Operation:
    values = parameter_values(statement, beside.parameters)
    verb = statement.verb()
    assert verb is not None
    words = Words(statement.sql[verb.start :])
    if not words.take("INSERT", "INTO"):
        raise words.strange("expected INSERT INTO")
    name = words.table()
    if words.next in _CLAUSES:
        statement.refuse_moments(name.name)
    listed = [Words(each).parts()[-1] for each in _column_list(words)]
    by_name = words.take("BY", "NAME")
    words.take("BY", "POSITION")
    rest = words.rest()
    before = statement.sql[: verb.start]

    def insert(tx: DraftSession) -> WriteResult:
        schema = writes.writable(tx, name).after.schema
        columns = [schema.column(each) for each in listed] or list(schema)
        source = read(before + _filled_in(rest, columns, name))
        query = Query(tx, statement.sql, source, values, beside, written=True)
        names = query.column_names()
        if by_name:
            columns = [schema.column(each) for each in names]
        _check_width(name, columns, names)
        return append_rows(tx, name, query, columns)

    return insert


def _column_list(words: Words) -> list[str]:
    """`(a, b)`, unless that is the query in brackets."""
    if words.next != "(" or words.after in ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "("):
        return []
    return words.listed()


_REFUSED = {
    "INSERT": ("OR REPLACE", "OR IGNORE", "ON CONFLICT", "RETURNING", "DEFAULT VALUES"),
    "UPDATE": ("FROM", "RETURNING"),
    "DELETE": ("USING", "RETURNING"),
}


_MERGE = {
    "FROM": "MERGE INTO t USING (SELECT …) AS s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET v = s.v",
    "USING": "MERGE INTO t USING (SELECT …) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    **dict.fromkeys(
        ("OR REPLACE", "OR IGNORE", "ON CONFLICT"),
        "MERGE INTO t USING (VALUES …) AS s(id, v) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)",
    ),
}


def _refuse_clauses(statement: WriteStatement, verb: str) -> None:
    """For what DuckDB can do and a lake cannot."""
    words = ["", *(token.word for token in statement.top()), ""]
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        for refused in _REFUSED[verb]:
            said = f"{word} {after}" if " " in refused else word
            if said == refused and before not in ("DISTINCT", "."):
                raise Unsupported(
                    f"{verb} with {refused} is not supported", hint=_MERGE.get(refused, HINT)
                )


def _filled_in(query: str, columns: Sequence[Column], name: TableName) -> str:
    """With the columns' defaults where DEFAULT is written in VALUES."""
    found = list(depths(tokens(query)))
    if not found or found[0][0].word != "VALUES":
        return query
    edits, place = [], 0
    for token, depth in found:
        if depth == 1 and token.word in ("(", ","):
            place = 0 if token.word == "(" else place + 1
        if depth == 1 and token.word == "DEFAULT" and place < len(columns):
            default = filler_sql(columns[place], str(name), defaults=True)
            edits.append(Edit(token.start, token.end + 1, default))
    return apply_edits(query, edits)


def _check_width(name: TableName, columns: Sequence[Column], given: Sequence[str]) -> None:
    if len(columns) != len(given):
        raise Invalid(
            f"{len(given)} values for {len(columns)} columns of {name}",
            hint=f"the columns are: {', '.join(column.name for column in columns)}",
        )
    if len({column.id for column in columns}) < len(columns):
        raise Invalid(f"a column of {name} is named twice", hint="name each column once")


_WRITES: dict[str, Callable[[WriteStatement, Bindings], Operation]] = {
    "INSERT": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
}
