"""`asof_join('labels', 'prices', …)` where a table can stand: Python's point-in-time join, of
tables, views and queries that are named by texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tidelake.errors import Invalid
from tidelake.join.feature import Feature, Wish, by_name
from tidelake.join.join import AsofJoin, Right
from tidelake.join.sides import Rows, Side, Subquery, TypedRows, at_least
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName, quote
from tidelake.sql.calls import Call
from tidelake.sql.functions import moment_of, source_of
from tidelake.sql.moments import MomentReader
from tidelake.sql.scope import Scope
from tidelake.syntax.tokens import tokens

Ask = Callable[[str], TypedRows]
"""The rows of a query, given as a text."""

_QUERIES = {"SELECT", "WITH", "FROM", "VALUES", "("}
_SPELLED = (
    "asof_join('labels', 'prices', on => 'symbol', left_time => 'at', known_at => 'at',"
    " tolerance => '1 day')"
)


def asof_rows(call: Call, seen: Scope, clock: MomentReader, ask: Ask) -> AsofJoin:
    """The join that a call stands for."""
    places, names = call.values(clock.local, clock.values)
    given = dict(zip(("left", "right", "on", "left_time", "right_time"), places, strict=False))
    if len(places) > 5 or given.keys() & names.keys():
        raise Invalid("asof_join() is given something twice, or too much", hint=_SPELLED)
    given |= names
    if missing := {"left", "right"} - given.keys():
        raise Invalid(f"asof_join() has no {min(missing)} side", hint=_SPELLED)
    left, right = given.pop("left"), given.pop("right")
    ratio = _plain("require", given.pop("require", None))

    def sided(table: Any) -> Side:
        return at_least(_side("right", table, seen, ask), ratio)

    wish = _wish(given)
    features = _features(right)
    if features is None:
        rights = [Right(sided(right), wish)]
    else:
        wish.check_named()
        rights = [Right(sided(each.table), wish.of(each, name)) for name, each in features.items()]
    return AsofJoin(_side("left", left, seen, ask), rights)


def _wish(given: Mapping[str, Any]) -> Wish:
    plain = {name: _plain(name, value) for name, value in given.items() if value is not None}
    try:
        return Wish.asked(**plain)
    except TypeError as error:
        unknown = str(error).removeprefix("Wish.asked() ")
        raise Invalid(f"asof_join(): {unknown}", hint=_SPELLED) from None


def _plain(name: str, value: Any) -> Any:
    """An argument as Python spells it."""
    if name == "known_at":
        return moment_of(value)
    if name == "require" and isinstance(value, Decimal):
        return float(value)
    if name == "tolerance" and getattr(value, "months", False):
        raise Invalid("tolerance has months, which differ in length", hint="'30 days'")
    return value


def _features(right: Any) -> dict[str, Feature] | None:
    """Several right sides by name; None if there is one."""
    if isinstance(right, Mapping):
        return by_name([(str(name), _feature(each)) for name, each in right.items()], _own_name)
    if isinstance(right, list):
        return by_name([(None, _feature(each)) for each in right], _own_name)
    return None


def _feature(given: Any) -> Feature:
    if not isinstance(given, Mapping):
        return Feature(given)
    asked = {name: _plain(name, value) for name, value in given.items()}
    try:
        return Feature(**asked)
    except TypeError as error:
        raise Invalid(
            f"asof_join(): {str(error).removeprefix('Feature.__init__() ')}",
            hint="{'rating': {'table': 'ratings', 'tolerance': '90 days'}}",
        ) from None


def _own_name(table: Any) -> str | None:
    """Of a table or a view."""
    if not isinstance(table, str) or _is_query(table):
        return None
    return TableName.parse(table).name


def _is_query(text: str) -> bool:
    words = tokens(text)
    return bool(words) and words[0].word in _QUERIES


def _side(what: str, text: Any, seen: Scope, ask: Ask) -> Side:
    if not isinstance(text, str):
        raise Invalid(
            f"asof_join(): the {what} side is {text!r}, which names no table",
            hint=f"a table, a view or a query as a text: {_SPELLED}",
        )
    if _is_query(text):
        return Subquery(what, seen.session, ask(text))
    name = seen.session.namespace.parse(text)
    if (early := seen.early(name)) is not None:
        return Rows(what, early)
    seen.check_there()
    with seen.session.reading() as reader:
        if seen.session.view.find(reader, seen.at, "view", name) is not None:
            own = TableName.parse(text)
            return Subquery(what, seen.session, ask(f"FROM {quote(own.schema)}.{quote(own.name)}"))
    source = source_of(seen, text)
    with seen.session.reading() as reader:
        timed = EventTime.maybe(source.info(reader, source.at(reader))) is not None
    return Rows(what, source if timed else replace(source, as_of=None))
