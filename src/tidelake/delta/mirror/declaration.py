"""All that is declared of a table, in one text that its log keeps: Delta's own words would lose
some of it, and a lake is to be had again from its logs alone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidelake.errors import Corrupt
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, SortKey, TableInfo

PROPERTY = "tidelake.declaration"
_OPTIONAL = ("nullable", "initial_default", "default", "comment", "default_is_expression")
_PLAIN = Column(0, "", "")
Gone = tuple[int, int | None, str]
"""A column by its id, that of the column it was inside of, and its name in files."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A table as it is declared. `in_files` are its columns by the names that they have in files,
    `gone` those that it does not have: dropped before, or, in a log that was begun later, given to
    it afterwards."""

    name: TableName
    uuid: str
    columns: tuple[Column, ...]
    in_files: tuple[Column, ...]
    gone: tuple[Gone, ...]
    tags: Mapping[str, str]
    keys: tuple[PartitionKey, ...]
    sorting: tuple[SortKey, ...]

    def first(self, later: Collection[int] = ()) -> tuple[Column, ...]:
        """Columns by the names that they have in files, with those that have been dropped: whoever
        declares them, and then `columns`, has the past that matters. `later` come afterwards."""
        return _with_gone(self.in_files, [each for each in self.gone if each[0] not in later])


def declaration_text(
    info: TableInfo, physical: Mapping[int, str], parents: Mapping[int, int | None]
) -> str:
    living = {below.id for column in info.schema for below in column.walk()}
    gone = [[i, parents.get(i), physical[i]] for i in sorted(parents) if i not in living]
    said = {
        "name": [info.name.schema, info.name.name],
        "uuid": info.uuid,
        "columns": [_column_said(column, physical) for column in info.schema],
        "gone": gone,
        "tags": dict(sorted(info.tags.items())),
        "partitioned_by": [[k.column_id, k.transform] for k in _keys(info)],
        "sorted_by": [[k.expression, k.direction, k.nulls, k.dialect] for k in info.sorting],
    }
    return json.dumps(said, separators=(",", ":"))


def _keys(info: TableInfo) -> tuple[PartitionKey, ...]:
    return info.partitioning.keys if info.partitioning else ()


def _column_said(column: Column, physical: Mapping[int, str]) -> dict[str, Any]:
    said: dict[str, Any] = {"id": column.id, "name": column.name, "type": column.type}
    first = physical.get(column.id, column.name)
    said |= {"first": first} if first != column.name else {}
    for name in _OPTIONAL:
        if getattr(column, name) != getattr(_PLAIN, name):
            said[name] = getattr(column, name)
    if column.children:
        said["children"] = [_column_said(child, physical) for child in column.children]
    return said


def parse_declaration(text: str, where: str) -> Declaration:
    """What a text says that `declaration_text` has made."""
    try:
        said = json.loads(text)
        schema, table = said["name"]
        columns = tuple(_column(each, "name") for each in said["columns"])
        return Declaration(
            TableName(schema, table),
            said["uuid"],
            columns,
            tuple(_column(each, "first") for each in said["columns"]),
            tuple(tuple(each) for each in said["gone"]),
            said["tags"],
            tuple(PartitionKey(*each) for each in said["partitioned_by"]),
            tuple(SortKey(*each) for each in said["sorted_by"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise Corrupt(
            f"the log at {where} does not tell how its table was declared: {error!r}",
            hint="restore the log from a copy, or import it as any Delta table",
        ) from None


def _column(said: Mapping[str, Any], named: str) -> Column:
    return Column(
        said["id"],
        said.get(named, said["name"]),
        said["type"],
        children=tuple(_column(child, named) for child in said.get("children", ())),
        **{name: said[name] for name in _OPTIONAL if name in said},
    )


def _with_gone(columns: tuple[Column, ...], gone: Iterable[Gone]) -> tuple[Column, ...]:
    """The columns, and beside them those that are gone, as texts; what was inside one of these
    counts no more, but for the last number ever given."""
    listed = list(gone)
    alive = {below.id for column in columns for below in column.walk()}
    kept = [each for each in listed if each[1] is None or each[1] in alive]
    last = max(listed, default=None)
    if last is not None and last not in kept:
        kept.append((last[0], None, f"gone_{last[0]}"))
    tops = (Column(i, name, "varchar") for i, parent, name in kept if parent is None)
    return (*(_filled(column, kept) for column in columns), *tops)


def _filled(column: Column, gone: list[Gone]) -> Column:
    children: Iterator[Column] = (_filled(child, gone) for child in column.children)
    more = (Column(i, name, "varchar") for i, parent, name in gone if parent == column.id)
    return replace(column, children=(*children, *more))
