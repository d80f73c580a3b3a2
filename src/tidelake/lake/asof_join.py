"""Point-in-time joins, as callers ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import cast

from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Invalid
from tidelake.join.feature import SUFFIX, Feature, On, Wish, by_name
from tidelake.join.join import AsofJoin, Right
from tidelake.join.sides import TAKEN, Frame, Result, Rows, Side, at_least
from tidelake.lake.scan import Scan
from tidelake.lake.table import Table
from tidelake.model.forms import Data, Single
from tidelake.model.misfit import with_misfits_named
from tidelake.sql.query import Query

_FRAMES = {"pandas": {"DataFrame"}, "polars": {"DataFrame", "LazyFrame"}, "pyarrow": {"Table"}}


@with_misfits_named
def asof_join(
    left: Data,
    right: Single | Feature | Iterable[Data | Feature] | Mapping[str, Data | Feature],
    on: On | None = None,
    left_time: str | None = None,
    right_time: str | None = None,
    *,
    tolerance: timedelta | str | int | None = None,
    direction: str = "backward",
    known_at: int | str | date | None = None,
    allow_exact_matches: bool = True,
    suffix: str = SUFFIX,
    age: bool = False,
    completeness: bool = False,
    require: float | None = None,
) -> AsofJoin:
    """Join to each row of `left` the row of `right` with the same keys that held at its time.

    A side is a Table, a Scan, a query of `lake.sql`, a frame of pandas, Polars, Arrow or Spark, or
    dicts. `on` names the key columns, as pairs or a dict if the sides have other names for them.
    `left_time` and `right_time` name the times. Without them the key and the event time of the
    table count. `direction` is "backward" (the last up to then), "forward" (the first from then on)
    or "nearest". `tolerance` is how far away a match may be. A tombstone is found as any fact is,
    and means that there is nothing.

    `right` may also be a list of tables, or a dict of them by name. Their columns then begin with
    their names: `prices_bid`. A `Feature` sets arguments for one of them. With `age` a column tells
    how old each match is, in seconds. With `completeness` a column tells how complete the right
    table was up to then, from 0 to 1. `require`, from 0 to 1, refuses the join as Incomplete if a
    right table has less of what it should cover by now.

    `known_at` reads `right` as the lake knew it then: at a snapshot, a time or a tag, or, if it
    names a left column, at each row's own moment. The result has each left row exactly once. If
    the left side is a frame or dicts, it keeps their order.
    """
    wish = Wish.asked(
        on,
        left_time,
        right_time,
        tolerance=tolerance,
        direction=direction,
        known_at=known_at,
        allow_exact_matches=allow_exact_matches,
        suffix=suffix,
        age=age,
        completeness=completeness,
    )
    features = _features(right)
    if features is None:
        rights = [Right(at_least(_side_of("right", cast(Data, right)), require), wish)]
    else:
        wish.check_named()
        rights = [
            Right(at_least(_side_of("right", each.table), require), wish.of(each, name))
            for name, each in features.items()
        ]
    return AsofJoin(_side_of("left", left), rights)


def _features(right: object) -> dict[str, Feature] | None:
    """Several right sides by name; None if there is one."""
    if isinstance(right, Feature):
        right = [right]
    if isinstance(right, Mapping):
        if not right or not any(map(_is_side, right.values())):
            return None
        listed = [(name, _feature(each)) for name, each in right.items()]
    elif isinstance(right, list | tuple):
        if not any(map(_is_side, right)):
            return None
        listed = [(None, _feature(each)) for each in right]
    else:
        return None
    return by_name(listed, _own_name)


def _feature(given: Data | Feature) -> Feature:
    return given if isinstance(given, Feature) else Feature(given)


def _own_name(table: object) -> str | None:
    return table.source.name.name if isinstance(table, Table | Scan) else None


def _is_side(given: object) -> bool:
    """Whether it is a whole side, and not a row of one."""
    if isinstance(given, Feature | Table | Scan | Query) or is_spark_frame(given):
        return True
    kind = type(given)
    return kind.__name__ in _FRAMES.get(kind.__module__.partition(".")[0], ())


def _side_of(what: str, data: Data) -> Side:
    if isinstance(data, Table):
        return Rows(what, data.source)
    if isinstance(data, Scan):
        return Rows(what, data.source, data.selected, data.condition)
    if isinstance(data, Query):
        return Result(what, data)
    if data is None or isinstance(data, str | bytes | int | float):
        raise Invalid(f"the {what} side is {data!r}, which has no rows", hint=TAKEN)
    return Frame(what, data)
