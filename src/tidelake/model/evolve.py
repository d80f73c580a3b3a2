"""Changes of a table's columns that lose and reinterpret nothing.

Columns are named by path: `x`, `s.b` for a field of a struct, `l.element.b` inside a list,
`m.key` and `m.value.c` inside a map, `"odd.name".x` where a name needs quotes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from struct import pack, unpack
from typing import Any

from tidelake.errors import Invalid, NotFound
from tidelake.model.column_rules import assign_ids, check_characters, check_name, check_names
from tidelake.model.names import fold, split_dotted
from tidelake.model.schema import Column, Schema
from tidelake.model.widening import why_not, widens

_MIGRATE = "add a new column, fill it with update, then drop the old one"
_PATHS = 'name columns as in x, s.field, l.element, m.value or "odd.name"'


@dataclass(frozen=True, slots=True)
class Evolution:
    """What is to change. Every path but those in `order` names a column as it is before.

    It happens in this order: rename, drop, widen, nullable, default, comment, add, order.
    So a name that is renamed away or dropped can be given to a column that is added.
    `widen` gives scalar types in DuckLake's words; `default` columns that have the default
    wanted; `add` columns to be, by where they go. Columns not named in `order` follow those
    that are.
    """

    rename: Mapping[str, str] = field(default_factory=dict)
    drop: Collection[str] = ()
    widen: Mapping[str, str] = field(default_factory=dict)
    nullable: Mapping[str, bool] = field(default_factory=dict)
    default: Mapping[str, Column] = field(default_factory=dict)
    comment: Mapping[str, str | None] = field(default_factory=dict)
    add: Mapping[str, Column] = field(default_factory=dict)
    order: Sequence[str] = ()


def evolve(columns: tuple[Column, ...], next_id: int, wanted: Evolution) -> tuple[Column, ...]:
    """The columns after the changes; new ones get ids from `next_id` upwards.

    Invalid or NotFound, by name, if a change would lose data. Only the rows themselves can
    tell whether a column that becomes required holds nulls: that is for the caller to check.
    """
    edits = _edits(columns, wanted)
    dropped = _dropped(columns, wanted.drop, edits)
    added = _added(columns, next_id, wanted.add, dropped)
    touched = {id_ for id_, edit in edits.items() if "name" in edit}
    touched |= {column.id for level in added.values() for column in level}
    changed = _changed(columns, None, edits, dropped, added)
    _refuse_clashes(changed, touched)
    return _ordered(changed, wanted.order)


def find(columns: Sequence[Column], path: str) -> Column:
    """The column or nested field at a path; NotFound, with what there is, otherwise."""
    return _locate(columns, path)[0]


def _locate(columns: Sequence[Column], path: str) -> tuple[Column, Column | None]:
    """A column and its parent. A name with dots may stand unquoted if it can mean nothing else."""
    try:
        trail: list[Column] = []
        for part in _parts(path):
            level = trail[-1].children if trail else columns
            trail.append(_named(level, part, path))
    except (NotFound, Invalid):
        whole = [column for column in columns if column.name == path]
        if not whole:
            raise
        trail = whole
    return trail[-1], trail[-2] if len(trail) > 1 else None


def _parts(path: str) -> tuple[str, ...]:
    parts = split_dotted(path) if isinstance(path, str) else ()
    if not parts:
        raise Invalid(f"{path!r} names no column", hint=_PATHS)
    return parts


def _named(level: Sequence[Column], name: str, path: str) -> Column:
    if not level:
        raise NotFound(
            f"no column {path!r}: nothing is inside what stands before {name!r}", hint=_PATHS
        )
    try:
        return Schema(tuple(level)).column(name)
    except NotFound as error:
        raise NotFound(f"no column {path!r}: there is no {name!r}", hint=error.hint) from error


def _edits(columns: Sequence[Column], wanted: Evolution) -> dict[int, dict[str, Any]]:
    """What changes about each column that stays, by id."""
    edits: dict[int, dict[str, Any]] = defaultdict(dict)
    for path, name in wanted.rename.items():
        column, parent = _locate(columns, path)
        _refuse_fixed(path, parent, "renamed")
        edits[column.id]["name"] = _new_name(path, name)
    for path, kind in wanted.widen.items():
        column = find(columns, path)
        wider = _wider(path, column, kind)
        edits[column.id] |= {"type": wider, "initial_default": _same_default(column, wider)}
    for path, nullable in wanted.nullable.items():
        column, parent = _locate(columns, path)
        if parent is not None and not nullable:
            raise Invalid(
                f"{path!r} cannot be required: fields inside a column may always be null",
                hint="require the whole column instead",
            )
        edits[column.id]["nullable"] = bool(nullable)
    for path, like in wanted.default.items():
        edit = edits[find(columns, path).id]
        edit |= {"default": like.default, "default_is_expression": like.default_is_expression}
    for path, comment in wanted.comment.items():
        if not isinstance(comment, str | None):
            raise Invalid(
                f"comment={{{path!r}: {comment!r}}} is no text",
                hint="give a text, or None to take the comment away",
            )
        check_characters(comment or "", f"the comment {comment!r}")
        edits[find(columns, path).id]["comment"] = comment
    return edits


def _new_name(path: str, name: str) -> str:
    parts = split_dotted(name) if isinstance(name, str) else ()
    if len(parts) != 1:
        raise Invalid(
            f"{path!r} cannot be renamed to {name!r}",
            hint='give the new name alone, in double quotes if it is odd: "my.name"',
        )
    check_name(parts[0])
    return parts[0]


def _refuse_fixed(path: str, parent: Column | None, verb: str) -> None:
    if parent is not None and parent.type != "struct":
        raise Invalid(
            f"{path!r} cannot be {verb}: it belongs to its {parent.type}",
            hint=f"change the {parent.type} {parent.name!r} as a whole, or fields of a struct",
        )


def _wider(path: str, column: Column, kind: str) -> str:
    if column.is_nested:
        raise Invalid(
            f"{path!r} is a {column.type}, and only what is inside it has values to widen",
            hint=f"name the field, such as {path}.{column.children[0].name}",
        )
    if not widens(column.type, kind):
        raise Invalid(
            f"{path!r} cannot go from {column.type} to {kind}: {why_not(column.type, kind)}",
            hint=_MIGRATE,
        )
    return kind


def _same_default(column: Column, kind: str) -> str | None:
    """What rows have that are older than the column, as the wider type writes it: 0.1 is not the
    same FLOAT and DOUBLE."""
    text = column.initial_default
    if text is None or (column.type, kind) != ("float32", "float64"):
        return text
    (exact,) = unpack("f", pack("f", float(text)))
    return repr(exact)


def _dropped(
    columns: Sequence[Column], paths: Collection[str], edits: Mapping[int, object]
) -> frozenset[int]:
    found = set()
    for path in paths:
        column, parent = _locate(columns, path)
        _refuse_fixed(path, parent, "dropped")
        if any(below.id in edits for below in column.walk()):
            raise Invalid(
                f"{path!r} is dropped and changed at once", hint="leave out one of the two"
            )
        found.add(column.id)
        siblings = columns if parent is None else parent.children
        if all(sibling.id in found for sibling in siblings):
            inside = "a table" if parent is None else f"the struct {parent.name!r}"
            raise Invalid(
                f"{path!r} cannot be dropped: {inside} needs a column",
                hint="drop the table instead" if parent is None else "drop the whole struct",
            )
    return frozenset(found)


def _added(
    columns: Sequence[Column], next_id: int, add: Mapping[str, Column], dropped: frozenset[int]
) -> dict[int | None, list[Column]]:
    """New columns with their ids, by the id of the struct they go into."""
    found: dict[int | None, list[Column]] = defaultdict(list)
    for path, column in add.items():
        *above, name = _parts(path)
        parent = _struct(columns, above, path, dropped) if above else None
        _check_addition(path, column, nested=parent is not None)
        (new,) = assign_ids([replace(column, name=name)], next_id)
        check_names([new])
        next_id += sum(1 for _ in new.walk())
        found[parent].append(new)
    return found


def _struct(
    columns: Sequence[Column], above: Sequence[str], path: str, dropped: frozenset[int]
) -> int:
    level = columns
    for part in above:
        column = _named(level, part, path)
        level = column.children
        if column.id in dropped:
            raise Invalid(f"{path!r} is added to a column that is dropped", hint="do one of them")
    if column.type != "struct":
        raise Invalid(
            f"{path!r} cannot be added: {column.name!r} is no struct but {column.type}",
            hint="fields go into structs; inside a list or a map name its element or value first"
            if column.is_nested
            else 'a new column whose name has dots needs quotes: "my.name"',
        )
    return column.id


def _check_addition(path: str, column: Column, *, nested: bool) -> None:
    if column.nullable or (not nested and column.initial_default is not None):
        return
    raise Invalid(
        f"{path!r} cannot be added as required: the rows that are there have no value for it",
        hint="fields inside a column may always be null: leave out NOT NULL"
        if nested
        else "give it a plain DEFAULT, or add it nullable, fill it with update, then require it",
    )


def _changed(
    columns: Sequence[Column],
    parent: int | None,
    edits: Mapping[int, Mapping[str, Any]],
    dropped: frozenset[int],
    added: Mapping[int | None, Sequence[Column]],
) -> tuple[Column, ...]:
    kept = [
        replace(
            column,
            children=_changed(column.children, column.id, edits, dropped, added),
            **edits.get(column.id, {}),
        )
        for column in columns
        if column.id not in dropped
    ]
    return (*kept, *added.get(parent, ()))


def _refuse_clashes(columns: Sequence[Column], touched: Collection[int]) -> None:
    """Names must differ in more than case from those that are new or renamed."""
    for column in columns:
        same = [c for c in columns if fold(c.name) == fold(column.name)]
        if column.id in touched and len(same) > 1:
            names = " and ".join(repr(c.name) for c in same)
            raise Invalid(
                f"there would be two columns of one name: {names}", hint="choose another name"
            )
        _refuse_clashes(column.children, touched)


def _ordered(columns: tuple[Column, ...], order: Sequence[str]) -> tuple[Column, ...]:
    first: list[Column] = []
    for path in order:
        column, parent = _locate(columns, path)
        if parent is not None:
            raise Invalid(
                f"{path!r} is inside a column", hint="only whole columns can be reordered"
            )
        if column in first:
            raise Invalid(f"{path!r} is named twice in the order", hint="name every column once")
        first.append(column)
    return (*first, *(column for column in columns if column not in first))
