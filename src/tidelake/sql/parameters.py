"""The parameters of a statement: checked, and bound by the engine or as exact literals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from tidelake.errors import Invalid, TidelakeError
from tidelake.model.literal import Value, plain, sql_literal
from tidelake.model.moment import from_now

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
    known_at: int | str | datetime | None = None

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
