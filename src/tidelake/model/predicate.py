"""Conditions on rows: built in Python, rendered as SQL, and understood by pruning.

    (col("x") > 5) & col("name").starts_with("a") | ~col("y").is_null()

A condition is TRUE, FALSE or NULL for a row, as in SQL; only TRUE keeps it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from tidelake.errors import Invalid
from tidelake.model.literal import Value, plain, sql_literal
from tidelake.model.names import quote
from tidelake.model.reflexes import OF_COLUMNS, Guessable

OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">="})


class Predicate(ABC):
    """A condition. Combine with & (and), | (or) and ~ (not)."""

    __slots__ = ()

    @abstractmethod
    def sql(self) -> str:
        """The condition as DuckDB SQL; safe to stand beside AND, OR and NOT as it is."""

    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The names of the columns it depends on."""

    def __and__(self, other: Predicate) -> Predicate:
        return And(_parts(And, self) + _parts(And, other))

    def __or__(self, other: Predicate) -> Predicate:
        return Or(_parts(Or, self) + _parts(Or, other))

    def __invert__(self) -> Predicate:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise Invalid(
            "a condition is neither true nor false in Python",
            hint="combine conditions with & | ~ and parentheses, not with and, or, not",
        )

    def __str__(self) -> str:
        return self.sql()


@dataclass(frozen=True, slots=True)
class Always(Predicate):
    """TRUE, FALSE or NULL whatever the row."""

    value: bool | None

    def sql(self) -> str:
        return "CAST(NULL AS BOOLEAN)" if self.value is None else sql_literal(self.value)

    def columns(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class Compare(Predicate):
    """`column op value`. A value of None is SQL's NULL: the comparison is NULL for every row."""

    column: str
    op: str
    value: Value

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise Invalid(f"{self.op!r} is no comparison", hint=f"use one of {sorted(OPERATORS)}")

    def sql(self) -> str:
        return f"({quote(self.column)} {self.op} {sql_literal(self.value)})"

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})


@dataclass(frozen=True, slots=True)
class In(Predicate):
    """The column equals one of the values; none at all is FALSE."""

    column: str
    values: tuple[Value, ...]

    def sql(self) -> str:
        if not self.values:
            return "FALSE"
        return f"({quote(self.column)} IN ({', '.join(map(sql_literal, self.values))}))"

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})


@dataclass(frozen=True, slots=True)
class IsNull(Predicate):
    column: str
    negated: bool = False

    def sql(self) -> str:
        return f"({quote(self.column)} IS {'NOT ' if self.negated else ''}NULL)"

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})


@dataclass(frozen=True, slots=True)
class Like(Predicate):
    """SQL's LIKE with no escape character: % is any text and _ any one character."""

    column: str
    pattern: str
    negated: bool = False
    case_insensitive: bool = False

    def sql(self) -> str:
        word = ("NOT " if self.negated else "") + ("ILIKE" if self.case_insensitive else "LIKE")
        return f"({quote(self.column)} {word} {sql_literal(self.pattern)})"

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})


@dataclass(frozen=True, slots=True)
class StartsWith(Predicate):
    column: str
    prefix: str

    def sql(self) -> str:
        return f"starts_with({quote(self.column)}, {sql_literal(self.prefix)})"

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """All of the parts; none at all is TRUE."""

    parts: tuple[Predicate, ...]

    def sql(self) -> str:
        return _joined(" AND ", self.parts, empty="TRUE")

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns() for part in self.parts))


@dataclass(frozen=True, slots=True)
class Or(Predicate):
    """Any of the parts; none at all is FALSE."""

    parts: tuple[Predicate, ...]

    def sql(self) -> str:
        return _joined(" OR ", self.parts, empty="FALSE")

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns() for part in self.parts))


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    part: Predicate

    def sql(self) -> str:
        return f"(NOT {self.part.sql()})"

    def columns(self) -> frozenset[str]:
        return self.part.columns()


@dataclass(frozen=True, slots=True)
class Opaque(Predicate):
    """A condition that only an engine understands: it may be anything for any row.

    `text` is DuckDB's SQL, as the caller wrote it but for comments: names may be in any case, with
    quotes or without, and the first part of a name with dots is a column. It is one expression,
    which means the same in brackets. `names` are the columns it names, as the schema spells them.
    """

    text: str
    names: frozenset[str] = frozenset()

    def sql(self) -> str:
        return f"({self.text})"

    def columns(self) -> frozenset[str]:
        return self.names


class Ref(Guessable):
    """A column by name; comparing it makes a Predicate."""

    __slots__ = ("name",)
    _reflexes = ("col(…)", OF_COLUMNS)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("=", value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: object) -> Predicate:
        return self._compare("<", value)

    def __le__(self, value: object) -> Predicate:
        return self._compare("<=", value)

    def __gt__(self, value: object) -> Predicate:
        return self._compare(">", value)

    def __ge__(self, value: object) -> Predicate:
        return self._compare(">=", value)

    def is_in(self, values: Iterable[object]) -> Predicate:
        if isinstance(values, str | bytes):
            raise Invalid("is_in takes a list of values, not one text", hint="write is_in([value])")
        return In(self.name, tuple(self._value(value) for value in values))

    def isin(self, values: Iterable[object]) -> Predicate:
        """As `is_in`: pandas calls it so."""
        return self.is_in(values)

    def between(self, low: object, high: object) -> Predicate:
        """Both ends included."""
        return (self >= low) & (self <= high)

    def is_null(self) -> Predicate:
        return IsNull(self.name)

    def is_not_null(self) -> Predicate:
        return IsNull(self.name, negated=True)

    def starts_with(self, prefix: str) -> Predicate:
        return StartsWith(self.name, _text("starts_with", prefix))

    def like(self, pattern: str) -> Predicate:
        return Like(self.name, _text("like", pattern))

    def __getitem__(self, field: str) -> Ref:
        """A field of a struct: `col("who")["name"]` is `col("who.name")`."""
        if not isinstance(field, str):
            raise Invalid(
                f"{self!r}[{field!r}] is no field of a struct",
                hint=f'write it as SQL: where="{self.name}[…] = …"',
            )
        return Ref(f"{self.name}.{field if field.isidentifier() else quote(field)}")

    __iter__ = None  # or Python would ask for fields by number

    def __bool__(self) -> NoReturn:
        raise Invalid(f"column {self.name!r} is not a condition", hint="compare it: col(…) == True")

    if not TYPE_CHECKING:

        def _computed(self, *_: object) -> NoReturn:
            raise Invalid(
                f"{self!r} can be compared, and not computed with",
                hint=f'write it as SQL: where="{self.name} + 1 > 5", or'
                f' update({{"{self.name}": "{self.name} + 1"}})',
            )

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _computed
        __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __neg__ = __pow__ = _computed
        __abs__ = __and__ = __or__ = __invert__ = _computed

    def __repr__(self) -> str:
        return f"col({self.name!r})"

    def _compare(self, op: str, value: object) -> Predicate:
        return Compare(self.name, op, self._value(value))

    def _value(self, value: object) -> Value:
        if value is None:
            raise Invalid(
                f"comparing {self.name!r} with None is never true",
                hint="use is_null() or is_not_null()",
            )
        if isinstance(value, Ref):
            raise Invalid(
                "a column can only be compared with a value",
                hint=f'write it as SQL: where="{self.name} > {value.name}"',
            )
        return plain(value)


def col(name: str) -> Ref:
    """A column to build a condition from: `col("x") > 5`."""
    if not isinstance(name, str):
        raise Invalid(f"col({name!r}) names no column", hint='give its name: col("x") > 5')
    return Ref(name)


def _text(method: str, value: object) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{method} takes a text, not {value!r}", hint=f"write {method}('a%')")
    return value


def _parts(kind: type[And | Or], predicate: Predicate) -> tuple[Predicate, ...]:
    if not isinstance(predicate, Predicate):
        raise Invalid(
            f"{predicate!r} is not a condition",
            hint="put parentheses round each comparison: (col('x') > 1) & (col('y') < 2)",
        )
    return predicate.parts if isinstance(predicate, kind) else (predicate,)


def _joined(word: str, parts: tuple[Predicate, ...], *, empty: str) -> str:
    return f"({word.join(part.sql() for part in parts)})" if parts else empty
