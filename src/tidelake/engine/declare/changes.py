"""Changes of columns as a caller writes them, with types and defaults in any form."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidelake.engine.declare.columns import columns_of, type_of
from tidelake.engine.declare.ddl import with_default
from tidelake.errors import Invalid
from tidelake.model.evolve import Evolution, evolve, find
from tidelake.model.names import quote
from tidelake.model.schema import Column


def evolve_columns(
    columns: tuple[Column, ...],
    next_id: int,
    *,
    add: Any = None,
    drop: str | Collection[str] = (),
    rename: Mapping[str, str] | None = None,
    widen: Mapping[str, Any] | None = None,
    nullable: Mapping[str, bool] | None = None,
    default: Mapping[str, Any] | None = None,
    comment: Mapping[str, str | None] | None = None,
    order: str | Sequence[str] = (),
) -> tuple[Column, ...]:
    """The columns after the changes; see `Evolution` for names and the order of things.

    `add` is a dict of paths to types, or any schema that `columns_of` takes; `widen` gives
    types and `default` Python values, None for no default.
    """
    types = {path: _scalar(path, kind) for path, kind in _mapping("widen", widen).items()}
    wanted = Evolution(
        rename=_mapping("rename", rename),
        drop=_list("drop", drop),
        widen=types,
        nullable=_mapping("nullable", nullable),
        default={
            path: _with_default(columns, path, types.get(path), value)
            for path, value in _mapping("default", default).items()
        },
        comment=_mapping("comment", comment),
        add={} if add is None else _additions(add),
        order=_list("order", order),
    )
    return evolve(columns, next_id, wanted)


def _mapping(name: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise Invalid(
            f"{name}= takes a dict of columns, not {type(given).__name__}",
            hint=f"for example {name}={{'column': …}}",
        )
    return given or {}


def _list(name: str, given: str | Collection[str]) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, Collection):
        return list(given)
    raise Invalid(f"{name}= takes columns, not {given!r}", hint=f'for example {name}=["column"]')


def _additions(add: Any) -> dict[str, Column]:
    if isinstance(add, Mapping):
        return {path: _addition(path, kind) for path, kind in add.items()}
    return {quote(column.name): column for column in columns_of(add)}


def _addition(path: str, kind: Any) -> Column:
    """Its name, the end of the path, comes later; that it is a path shows in errors."""
    return replace(type_of(path, kind), name=path)


def _scalar(path: str, kind: Any) -> str:
    return type_of(path, kind).type


def _with_default(columns: Sequence[Column], path: str, wider: str | None, value: object) -> Column:
    column = find(columns, path)
    return with_default(replace(column, type=wider or column.type), value)
