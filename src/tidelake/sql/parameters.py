"""The parameters of a statement: checked, and bound by the engine or as exact literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from tidelake.errors import Invalid, TidelakeError
from tidelake.model.literal import Value, plain, sql_literal
from tidelake.model.moment import from_now
from tidelake.syntax.tokens import Edit, Token, apply_edits, tokens

if TYPE_CHECKING:
    from sqlglot import exp

SPELLED = "?, $1 or $name"
"""How parameters are written."""

Given = Sequence[object] | Mapping[str, object] | None


class ParameterizedStatement(Protocol):
    """A statement with parameters, of which `marks` are written as `?`."""

    @property
    def marks(self) -> int: ...

    def parameter_names(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a caller gives beside a statement: parameters, and the moments that hold where the
    statement names none."""

    parameters: Given = None
    as_of: str | date | None = None
    known_at: int | str | date | None = None

    def __post_init__(self) -> None:
        """What is told from now on is told from when the statement was given."""
        object.__setattr__(self, "as_of", from_now(self.as_of))
        object.__setattr__(self, "known_at", from_now(self.known_at))

    @property
    def moments(self) -> str:
        """The names of the moments that are given."""
        given = {"as_of": self.as_of, "known_at": self.known_at}
        return " and ".join(f"{name}=" for name, value in given.items() if value is not None)

    def refuse(self, what: str) -> None:
        """For a statement that has no use for any of it."""
        if self.parameters:
            raise Invalid(f"{what} takes no parameters", hint="write the values into it")
        self.refuse_moments(what)

    def refuse_moments(self, what: str) -> None:
        if self.moments:
            raise Invalid(
                f"{self.moments} given to {what}, which reads no table at a moment",
                hint="they hold for what a statement reads: SELECT, INSERT … SELECT, MERGE … USING",
            )


NOTHING = Bindings()


def with_lists(text: str, beside: Bindings) -> tuple[str, Bindings]:
    """The statement with its lists written into it, and what is still to be given beside it: as
    `(1, 2)` after IN, where that means the same and skips files, as DuckDB's `[1, 2]` elsewhere,
    as in `[x FOR x IN ?]`."""
    given = beside.parameters
    if not isinstance(text, str) or isinstance(given, str | bytes):
        return text, beside
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
    else:
        values = given if isinstance(given, Sequence) else ()
        named = {str(at): value for at, value in enumerate(values, 1)}
    lists = {name: found for name, value in named.items() if (found := _listed(value)) is not None}
    if not lists:
        return text, beside
    words = tokens(text)
    marks = [word for word in words if word.kind == "parameter"]
    unnamed = {mark.start: str(at) for at, mark in enumerate(marks, 1) if mark.text == "?"}
    places = [(mark, unnamed.get(mark.start, mark.text[1:])) for mark in marks]
    used = {name for _, name in places} & lists.keys()
    edits = [_list_edit(mark, name, lists[name], words) for mark, name in places if name in used]
    left = _without(given, used, shift=bool(unnamed)) if given is not None else None
    return apply_edits(text, edits), replace(beside, parameters=left)


def _listed(value: object) -> list[object] | None:
    """The values of a list, a set, an array or a column of a frame; None if it is none of these."""
    if isinstance(value, list | tuple | set | frozenset | range):
        return list(value)
    shape = getattr(value, "shape", None)
    one = isinstance(shape, tuple) and len(shape) == 1
    return list(value) if one and isinstance(value, Iterable) else None


def _list_edit(mark: Token, name: str, values: list[object], words: Sequence[Token]) -> Edit:
    found = [_value(name, each) for each in values]
    before = [word.word for word in words if word.end < mark.start]
    compared = before[-1:] == ["IN"] and "FOR" not in (before[-3:-2] + before[-5:-4])
    written = ", ".join(map(sql_literal, found))
    plain_in = compared and found and None not in found
    return Edit(mark.start, mark.end + 1, f"({written})" if plain_in else f"[{written}]")


def _without(
    given: Sequence[object] | Mapping[str, object], used: set[str], *, shift: bool
) -> Given:
    """Numbers after a list that is gone are smaller by one where `?` has them, and stay where they
    are written."""
    if isinstance(given, Mapping):
        return {name: value for name, value in given.items() if str(name) not in used}
    left = [(str(at) in used, value) for at, value in enumerate(given, 1)]
    if shift:
        return [value for gone, value in left if not gone]
    while left and left[-1][0]:
        left.pop()
    return [None if gone else value for gone, value in left]


def parameter_values(statement: ParameterizedStatement, given: Given) -> dict[str, Value]:
    """The values of all parameters, by name or number; Invalid unless they fit."""
    wanted = _wanted(statement)
    if given is None and not wanted:
        return {}
    values = _by_name(given, wanted)
    missing = [name for name in wanted if name not in values]
    unknown = [name for name in values if name not in wanted]
    if missing or unknown:
        raise _unfit(wanted, values, missing, unknown)
    return {name: _value(name, value) for name, value in values.items()}


def _wanted(statement: ParameterizedStatement) -> list[str]:
    given = statement.parameter_names()
    names = list(dict.fromkeys(given))
    numbers = [name for name in names if name.isdigit()]
    if (statement.marks and len(given) > statement.marks) or 0 < len(numbers) < len(names):
        raise Invalid(
            "the statement mixes kinds of parameters",
            hint=f"use one of {SPELLED} throughout",
        )
    highest = max(map(int, numbers), default=0)
    return [str(n + 1) for n in range(highest)] if numbers else names


def _by_name(given: Given, wanted: Sequence[str]) -> dict[str, object]:
    numbered = bool(wanted) and wanted[0].isdigit()
    if isinstance(given, Mapping):
        if numbered and given:
            raise Invalid("the statement's parameters have no names", hint="give a list of values")
        return {str(name): value for name, value in given.items()}
    if given is None:
        return {}
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise Invalid(
            f"parameters={given!r} is neither a list nor a dict",
            hint='parameters=[1, "a"] or parameters={"name": 1}',
        )
    if wanted and not numbered:
        raise Invalid(
            f"the statement's parameters have names: {', '.join(wanted)}",
            hint=f"give a dict of them, or write {SPELLED.split(' or ')[0]}",
        )
    return {str(place + 1): value for place, value in enumerate(given)}


def _unfit(
    wanted: Sequence[str], values: Mapping[str, object], missing: list[str], unknown: list[str]
) -> Invalid:
    if (wanted or list(values))[0].isdigit():
        return Invalid(
            f"{len(values)} values for {len(wanted)} parameters",
            hint="give parameters=[…], a value for each",
        )
    lines = [f"no value for {', '.join(missing)}"] if missing else []
    lines += [f"no parameter named {', '.join(unknown)}"] if unknown else []
    hint = f"the statement's parameters are: {', '.join(wanted) or 'none'}"
    return Invalid(" and ".join(lines), hint=hint)


def _value(name: str, given: object) -> Value:
    try:
        value = plain(given)
        sql_literal(value)
    except TidelakeError as error:
        hint = error.hint or "give a value that SQL has"
        raise Invalid(f"parameter {name}: {error.message}", hint=hint) from None
    if isinstance(value, Decimal):
        return Decimal(format(value, "f"))  # DuckDB takes 1E+3 for 1.000
    return value


def parameters(moment: exp.Expr) -> Iterator[exp.Expr]:
    """Those in the expression of a moment."""
    from sqlglot import exp

    for node in moment.find_all(exp.Placeholder, exp.Parameter):
        if not isinstance(node, exp.Placeholder) or not node.name:
            raise Invalid(f"{node.sql('duckdb')} is not a parameter", hint=f"write {SPELLED}")
        yield node


def put_literals(moment: exp.Expr, values: Mapping[str, Value]) -> exp.Expr:
    """The expression of a moment with values where its parameters stood, in DuckDB's words."""
    from sqlglot import exp

    def said(node: exp.Expr) -> exp.Expr:
        return _literal(values[node.name]) if isinstance(node, exp.Placeholder) else node

    return moment.transform(said)


def _literal(value: Value) -> exp.Expr:
    import sqlglot
    from sqlglot import exp

    found: exp.Expr = sqlglot.parse_one(sql_literal(value), read="duckdb")
    return found if isinstance(found, exp.Literal) else exp.Paren(this=found)
