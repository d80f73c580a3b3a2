"""MERGE in DuckDB's SQL, cut into pieces that stay as they were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.engine.local.selection import Selection
from tidelake.errors import Invalid, Unsupported
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import Schema
from tidelake.plan.expression import respell
from tidelake.session.drafting import DraftSession
from tidelake.sql.parameters import Bindings, parameter_values
from tidelake.sql.query import Query
from tidelake.sql.text import Text, read
from tidelake.sql.words import HINT, Words
from tidelake.sql.writes import WriteStatement, assignments, target_of, top
from tidelake.syntax import tree
from tidelake.write import merge as merging
from tidelake.write import rows as writes
from tidelake.write.clauses import Clauses, MergeClause

Operation = Callable[["DraftSession"], WriteResult]

_QUALIFY = "write target.column or source.column, by the names or aliases that the tables have"
_ALIKE = (
    "match by equal columns of one name, target.x = source.x; for others, give the source a query"
    " that names them alike"
)
_BARE = {"matched": None, "unmatched": "source", "orphaned": "target"}


def merge_of(text: str, beside: Bindings) -> Operation | None:
    """What a MERGE does; None if it is none."""
    statement = WriteStatement.of(text)
    verb = statement.verb()
    if verb is None or verb.word != "MERGE":
        return None
    return _Merge.of(statement, beside).run(beside)


@dataclass(frozen=True, slots=True)
class _Merge:
    """A query for the source, the columns by which its rows match, what each side is called, and
    what is to be done when."""

    text: str
    name: TableName
    source: Text
    keys: list[str]
    names: Mapping[str, str]
    whens: Sequence[str]

    @staticmethod
    def of(statement: WriteStatement, beside: Bindings) -> _Merge:
        whole = WriteStatement.of(
            statement.with_literals(parameter_values(statement, beside.parameters))
        )
        verb = whole.verb()
        assert verb is not None
        words = Words(whole.sql[verb.start :])
        words.expect("MERGE", "INTO")
        name, own = target_of(words)
        if not words.take("USING"):
            whole.refuse_moments(name.name)
            raise words.strange("expected USING")
        rest = words.rest()
        edges = [token for token in top(rest) if token.word in ("ON", "USING", "WHEN")]
        if len(edges) < 2 or edges[0].word == "WHEN":
            raise Unsupported("cannot read the MERGE: expected ON and WHEN", hint=HINT)
        source = read(f"{whole.sql[: verb.start]} SELECT * FROM {rest[: edges[0].start]}")
        (target,) = own
        names = _sides(target, source)
        starts = [edge.start for edge in edges if edge.word == "WHEN"]
        matched = rest[edges[0].end + 1 : starts[0]]
        keys = _using(matched) if edges[0].word == "USING" else _keys(matched, names)
        stops = [*starts[1:], len(rest)]
        whens = [rest[start:stop] for start, stop in zip(starts, stops, strict=True)]
        return _Merge(whole.sql, name, source, keys, names, whens)

    def run(self, beside: Bindings) -> Operation:
        def merge(tx: DraftSession) -> WriteResult:
            schema = writes.writable(tx, self.name).after.schema
            query = Query(tx, self.text, self.source, {}, beside, written=True)
            given = query.column_names()
            rows = query.rows_for([schema.column(each) for each in given])
            if isinstance(rows, Selection):
                rows = replace(rows, exact=True)
            before = tx.replayable
            clauses = _Whens(self.names, schema, given).clauses(self.whens)
            done = merging.merge(tx, self.name, rows, self.keys, clauses)
            tx.replayable = before
            return done

        return merge


def _sides(target: str, source: Text) -> dict[str, str]:
    node = source.node["from_table"]
    called = node.get("alias") or node.get("table_name") or ""
    other = fold(str(called))
    if target == other:
        raise Invalid(f"both sides of the MERGE are called {target}", hint="give one an alias")
    return {target: "target", other: "source"}


def _using(text: str) -> list[str]:
    return [Words(each).parts()[-1] for each in Words(text).listed()]


def _keys(text: str, names: Mapping[str, str]) -> list[str]:
    """The columns of an ON that says nothing but that columns of one name are equal."""
    node = tree.expression(text.strip())
    parts = node["children"] if node["type"] == "CONJUNCTION_AND" else [node]
    found = []
    for part in parts:
        sides = [part["left"], part["right"]] if part["type"] == "COMPARE_EQUAL" else []
        columns = [side["column_names"] for side in sides if side["class"] == "COLUMN_REF"]
        places = {names.get(fold(each[-2])) for each in columns if len(each) > 1}
        if places != {"target", "source"} or len({fold(each[-1]) for each in columns}) != 1:
            raise Unsupported(f"MERGE cannot match rows ON {text.strip()}", hint=_ALIKE)
        found.append(columns[0][-1])
    return found


@dataclass(frozen=True, slots=True)
class _Whens:
    """The clauses of a MERGE, as the merge takes them."""

    names: Mapping[str, str]
    schema: Schema
    given: list[str]

    def clauses(self, whens: Sequence[str]) -> Clauses:
        found: dict[str, tuple[MergeClause, ...]] = {}
        for when in whens:
            which, clause = self._clause(when)
            found[which] = (*found.get(which, ()), clause)
        return Clauses(**found)

    def _clause(self, when: str) -> tuple[str, MergeClause]:
        then = next((token for token in top(when) if token.word == "THEN"), None)
        if then is None:
            raise Unsupported(f"cannot read {when.strip()!r}: expected THEN", hint=HINT)
        words = Words(when[: then.start])
        words.expect("WHEN")
        negated = words.take("NOT")
        words.expect("MATCHED")
        orphaned = words.take("BY", "SOURCE")
        words.take("BY", "TARGET")
        which = "matched" if not negated else "orphaned" if orphaned else "unmatched"
        bare = _BARE[which]
        condition = self._text(words.rest(), bare) if words.take("AND") else None
        words.end()
        return which, self._action(Words(when[then.end + 1 :]), condition, bare)

    def _action(self, words: Words, condition: str | None, bare: str | None) -> MergeClause:
        if words.take("DELETE"):
            words.end()
            return MergeClause("delete", None, condition)
        if words.take("UPDATE"):
            return MergeClause("update", self._updated(words, bare), condition)
        if words.take("INSERT"):
            return MergeClause("insert", self._inserted(words, bare), condition)
        raise Unsupported(f"THEN {words.rest()} is not supported", hint=HINT)

    def _updated(self, words: Words, bare: str | None) -> dict[str, str] | None:
        if not words.take("SET") or words.take("*"):
            words.end()
            self._check_everything()
            return None
        own = frozenset(self.names)
        return {name: self._text(value, bare) for name, value in assignments(words.rest(), own)}

    def _inserted(self, words: Words, bare: str | None) -> dict[str, str] | None:
        by_name = words.take("BY", "NAME")
        words.take("*")
        columns = _names(words) if words.next == "(" else self.schema.names
        if not words.take("VALUES"):
            words.end()
            if not by_name:
                self._check_everything()
            return None
        values = words.listed()
        words.end()
        if len(columns) != len(values):
            raise Invalid(
                f"{len(values)} values for {len(columns)} columns in INSERT",
                hint=f"the columns are: {', '.join(columns)}",
            )
        pairs = zip(columns, values, strict=True)
        return {name: self._text(value, bare) for name, value in pairs}

    def _check_everything(self) -> None:
        """All columns go by position for DuckDB, and by name here: both must be the same."""
        if [fold(n) for n in self.given] != [fold(n) for n in self.schema.names]:
            raise Invalid(
                f"the source has other columns than the table: {', '.join(self.given)}",
                hint="list the columns: UPDATE SET x = source.x, INSERT (x) VALUES (source.x)",
            )

    def _text(self, text: str, bare: str | None) -> str:
        """The expression with `target` or `source` before its columns."""

        def spelled(parts: Sequence[str]) -> tuple[int, str]:
            for place in range(min(len(parts) - 1, 2)):
                if side := self.names.get(fold(parts[place])):
                    return place + 2, f"{side}.{quote(parts[place + 1])}"
            if bare is None:
                raise Invalid(f"it is not clear whose column {'.'.join(parts)} is", hint=_QUALIFY)
            return 1, f"{bare}.{quote(parts[0])}"

        return respell(text, spelled)


def _names(words: Words) -> list[str]:
    return [Words(each).parts()[-1] for each in words.listed()]
