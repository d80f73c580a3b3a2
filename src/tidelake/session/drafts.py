"""What a transaction has changed so far, and the lake as it looks with that."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, fields

from tidelake.catalog.database.database import Reader
from tidelake.errors import Invalid
from tidelake.model.change import Revival, SchemaChange, TableChange, ViewChange
from tidelake.model.names import TableName, fold
from tidelake.model.namespace import Namespace
from tidelake.model.table import SchemaInfo, TableInfo, ViewInfo
from tidelake.session.draft import TableDraft
from tidelake.session.reads import Reads
from tidelake.session.view import View


@dataclass
class Drafts:
    """Tables, views and schemas that are changed, made or dropped, by id; new schemas by name."""

    tables: dict[int, TableDraft] = field(default_factory=dict)
    dropped: dict[int, TableInfo] = field(default_factory=dict)
    views: dict[int, ViewChange] = field(default_factory=dict)
    new_schemas: dict[str, SchemaInfo] = field(default_factory=dict)
    dropped_schemas: dict[int, SchemaInfo] = field(default_factory=dict)
    revivals: list[Revival] = field(default_factory=list)

    def saved(self) -> Drafts:
        """A copy, to which it can go back."""
        found = Drafts(*(copy(getattr(self, each.name)) for each in fields(self)))
        found.tables = {table_id: draft.saved() for table_id, draft in self.tables.items()}
        return found

    def restore(self, saved: Drafts) -> None:
        """Whoever holds a draft that is there then goes on holding it."""
        kept = {i: draft for i, draft in self.tables.items() if i in saved.tables}
        for each in fields(self):
            setattr(self, each.name, getattr(saved, each.name))
        for table_id, draft in kept.items():
            draft.restore(saved.tables[table_id])
            self.tables[table_id] = draft

    def drop_table(self, draft: TableDraft) -> None:
        del self.tables[draft.after.id]
        if draft.before is not None:
            self.dropped[draft.before.id] = draft.before

    def drop_schema(self, schema: SchemaInfo) -> None:
        if schema.id < 0:
            del self.new_schemas[schema.name]
        else:
            self.dropped_schemas[schema.id] = schema

    def drop_view(self, view: ViewInfo) -> None:
        if view.id < 0:
            del self.views[view.id]
        else:
            self.views[view.id] = ViewChange(view, None)

    def revive(self, table: TableInfo, dropped: int) -> None:
        """Have a table again that a snapshot has dropped. Reads do not see it before the commit,
        so there is nothing else in that."""
        others = (self.tables, self.dropped, self.views, self.new_schemas, self.dropped_schemas)
        _check_alone(any(others))
        self.revivals.append(Revival(table, dropped))

    def check_no_revival(self) -> None:
        _check_alone(bool(self.revivals))

    @property
    def are_of_tables(self) -> bool:
        return bool(self.tables or self.dropped)

    def table_changes(self) -> tuple[TableChange, ...]:
        found = [draft.change() for draft in self.tables.values()]
        found += [TableChange(table, None) for table in self.dropped.values()]
        return tuple(each for each in found if each.changes_anything)

    def schema_changes(self) -> tuple[SchemaChange, ...]:
        gone = [SchemaChange(schema, None) for schema in self.dropped_schemas.values()]
        return (*(SchemaChange(None, s) for s in self.new_schemas.values()), *gone)

    def names(self) -> Iterator[str]:
        """Of all that is changed."""
        for draft in self.tables.values():
            if draft.change().changes_anything:
                yield str(draft.after.name)
        yield from (str(table.name) for table in self.dropped.values())
        for change in self.views.values():
            if (view := change.after or change.before) is not None:
                yield str(view.name)
        yield from (schema.name for schema in self.new_schemas.values())
        yield from (schema.name for schema in self.dropped_schemas.values())

    def touched_names(self) -> set[str]:
        """Of all that writes have gone to, whether they changed anything or not."""
        tables = [draft.before or draft.after for draft in self.tables.values()]
        revived = [each.table for each in self.revivals]
        return {*self.names(), *(str(table.name) for table in (*tables, *revived))}


def _check_alone(others: bool) -> None:
    if others:
        raise Invalid(
            "a dropped table comes back in a commit of its own",
            hint="undrop it before this transaction",
        )


class DraftedView(View):
    """With the drafts laid over what is committed. What is looked up there counts as read."""

    def __init__(self, data_path: str, namespace: Namespace, drafts: Drafts, reads: Reads) -> None:
        super().__init__(data_path, namespace)
        self._drafts = drafts
        self._reads = reads

    def find(self, reader: Reader, at: int, kind: str, name: TableName) -> int | None:
        name = self.namespace.table(name)
        if (own := self._own(kind, name)) is not None:
            return own
        found = super().find(reader, at, kind, name)
        self._reads.name(kind, name, found)
        if found is None or found in self._drafts.tables or found in self._drafts.dropped:
            return None
        return None if found in self._drafts.views else found

    def _own(self, kind: str, name: TableName) -> int | None:
        if kind == "table":
            for draft_id, draft in self._drafts.tables.items():
                if _same(draft.after.name, name):
                    return draft_id
        if kind == "view":
            for view_id, change in self._drafts.views.items():
                if change.after is not None and _same(change.after.name, name):
                    return view_id
        return None

    def table_info(self, reader: Reader, at: int, name: TableName) -> TableInfo:
        table_id = self.find(reader, at, "table", name)
        if table_id in self._drafts.tables:
            return self._drafts.tables[table_id].after
        found = super().table_info(reader, at, name)
        self._reads.table(found)
        return found

    def view_info(self, reader: Reader, at: int, view_id: int) -> ViewInfo:
        change = self._drafts.views.get(view_id)
        if change is not None and change.after is not None:
            return change.after
        found = super().view_info(reader, at, view_id)
        self._reads.view(found)
        return found

    def schemas(self, reader: Reader, at: int) -> list[SchemaInfo]:
        known = super().schemas(reader, at)
        kept = [schema for schema in known if schema.id not in self._drafts.dropped_schemas]
        return [*kept, *self._drafts.new_schemas.values()]

    def names(self, reader: Reader, at: int, kind: str) -> list[tuple[int, TableName]]:
        known = super().names(reader, at, kind)
        if kind == "table":
            tables, gone = self._drafts.tables, self._drafts.dropped
            drafts = {draft_id: draft.after.name for draft_id, draft in tables.items()}
            rest = [(i, n) for i, n in known if i not in drafts and i not in gone]
            return [*rest, *drafts.items()]
        if kind == "view":
            views = [(i, c.after.name) for i, c in self._drafts.views.items() if c.after]
            return [(i, n) for i, n in known if i not in self._drafts.views] + views
        return known

    def row_count(self, reader: Reader, at: int, name: TableName) -> int | None:
        if self.find(reader, at, "table", name) in self._drafts.tables:
            return None
        return super().row_count(reader, at, name)


def _same(one: TableName, other: TableName) -> bool:
    return (fold(one.schema), fold(one.name)) == (fold(other.schema), fold(other.name))
