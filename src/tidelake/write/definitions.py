"""Schemas, tables and views that a transaction creates, alters and drops."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tidelake.catalog.read import options
from tidelake.catalog.read import tables as read
from tidelake.coverage.values.series import Series
from tidelake.engine.declare.changes import evolve_columns
from tidelake.engine.declare.columns import columns_of
from tidelake.errors import Invalid, NotFound
from tidelake.model.change import ViewChange, WriteResult
from tidelake.model.column_rules import check_characters
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import Schema
from tidelake.model.settings import MIRROR_TAG, Settings, settings_from_names, with_required
from tidelake.model.table import (
    PartitionKey,
    PartitionSpec,
    SchemaInfo,
    SortKey,
    TableInfo,
    ViewInfo,
)
from tidelake.plan.partitioning.parse import parse_partitioning, parse_sorting, sorted_column
from tidelake.plan.partitioning.transforms import transform_of
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
DONE = WriteResult(None)
Check = Callable[[DraftSession, str], None]


def create_schema(tx: DraftSession, name: str) -> WriteResult:
    if not name or not isinstance(name, str):
        raise Invalid(f"{name!r} is no name for a schema", hint='create_schema("analytics")')
    tx.namespace.check_own(TableName(name, ""))
    name = tx.namespace.schema(name)
    check_characters(name, f"the name {name!r} of a schema")
    with tx.reading() as reader:
        known = tx.view.schemas(reader, tx.base)
    if any(fold(schema.name) == fold(name) for schema in known):
        raise Invalid(f"there is a schema {name} already", hint="use it, or choose another name")
    own = str(uuid.uuid4())
    path = f"{tx.data_path}{tx.namespace.folder}{_folder(tx.namespace.inner(name), own)}"
    tx.drafts.new_schemas[name] = SchemaInfo(tx.new_id(), name, path, own)
    return DONE


def _folder(name: str, own: str) -> str:
    """Plain names make folders of the same name; from odd ones no path may be guessed, and long
    ones are too much for file systems."""
    return f"{name}/" if _PLAIN.fullmatch(name) else f"{own}/"


def drop_schema(tx: DraftSession, name: str, *, cascade: bool, thaw: bool = False) -> WriteResult:
    """With `cascade` also all that is in it; frozen data sets only with `thaw`."""
    schema = schema_named(tx, name)
    if fold(tx.namespace.inner(schema.name)) == "main":
        raise Invalid("the schema main cannot be dropped", hint="drop its tables instead")
    with tx.reading() as reader:
        inside = {
            kind: [n for _, n in tx.view.names(reader, tx.base, kind) if n.schema == schema.name]
            for kind in ("table", "view", "macro")
        }
    if inside["macro"]:
        raise Invalid(f"schema {name} holds macros", hint="drop them with DuckDB first")
    if (inside["table"] or inside["view"]) and not cascade:
        listed = ", ".join(str(n) for n in [*inside["table"], *inside["view"]])
        raise Invalid(f"schema {name} is not empty: {listed}", hint="pass cascade=True to drop all")
    for table in inside["table"]:
        tx.drop_table(table, thaw=thaw)
    for view in inside["view"]:
        drop_view(tx, view)
    tx.drafts.drop_schema(schema)
    return DONE


def schema_named(tx: DraftSession, name: str) -> SchemaInfo:
    name = tx.namespace.schema(str(name))
    with tx.reading() as reader:
        known = tx.view.schemas(reader, tx.base)
    same = [schema for schema in known if fold(schema.name) == fold(name)]
    if not same:
        listed = ", ".join(schema.name for schema in known)
        raise NotFound(f"there is no schema {name}", hint=f"there are: {listed}; create_schema()")
    return same[0]


def free_name(tx: DraftSession, name: TableName) -> SchemaInfo:
    check_characters(name.name, f"the name {name.name!r}")
    tx.namespace.check_own(name)
    schema = schema_named(tx, name.schema)
    with tx.reading() as reader:
        for kind in ("table", "view"):
            if tx.view.find(reader, tx.base, kind, name) is not None:
                raise Invalid(f"there is a {kind} {name} already", hint="choose another name")
    return schema


def create_table(
    tx: DraftSession,
    name: TableName,
    schema: Any,
    *,
    partition_by: str | Sequence[str],
    sort_by: str | Sequence[str],
    comment: str | None,
    settings: Mapping[str, Any],
) -> WriteResult:
    columns = Schema(columns_of(schema))
    declares = settings_from_names(columns, **settings)
    if declares.knowledge_time is not None:
        declares = replace(declares, recorded_since=datetime.now(UTC).isoformat())
    keys = parse_partitioning(partition_by, columns)
    tags = _with_comment(declares.tags(), comment)
    draft = create(tx, name, with_required(columns, declares), keys, tags)
    draft.after = replace(draft.after, sorting=parse_sorting(sort_by, columns))
    return DONE


def create(
    tx: DraftSession,
    name: TableName,
    schema: Schema,
    keys: tuple[PartitionKey, ...],
    tags: Mapping[str, str],
) -> TableDraft:
    """A new table of these columns. Requires: nobody else gives them ids."""
    home = free_name(tx, name)
    own = str(uuid.uuid4())
    folder = _folder(name.name, own)
    with tx.reading() as reader:
        defaults = options.of_scopes(reader, MIRROR_TAG)
        if read.has_folder(reader, home.id, folder):
            folder = f"{own}/"
    if kind := defaults.get(home.id, defaults.get(None)):
        tags = {**tags, MIRROR_TAG: kind}
    return tx.create(
        TableInfo(
            id=tx.new_id(),
            uuid=own,
            name=TableName(home.name, name.name),
            path=f"{home.path}{folder}",
            schema=schema,
            begin_snapshot=tx.base,
            tags=tags,
            partitioning=PartitionSpec(tx.new_id(), keys) if keys else None,
        )
    )


def target_name(name: TableName, new: str) -> TableName:
    """A new name, in the same schema or (`schema.name`) in another."""
    given = TableName.parse(new)
    return given if "." in new else TableName(name.schema, given.name)


def rename(tx: DraftSession, name: TableName, new: TableName) -> WriteResult:
    draft = tx.draft(name)
    if draft.after.name != new:
        home = free_name(tx, new)
        draft.after = replace(draft.after, name=TableName(home.name, new.name))
    return replace(DONE, operation="rename table")


def drop(tx: DraftSession, name: TableName) -> WriteResult:
    with tx.reading() as reader:
        is_view = tx.view.find(reader, tx.base, "view", name) is not None
    if is_view:
        drop_view(tx, name)
    else:
        tx.drop_table(name)
    return DONE


def create_view(
    tx: DraftSession,
    name: TableName,
    sql: str,
    *,
    columns: Sequence[str],
    replaces: bool,
    check: Check,
) -> WriteResult:
    """A view in DuckDB's SQL; what it selects from must be there, which `check` looks for."""
    for said in (name.name, sql, *columns):
        check_characters(said, f"the view {name}")
    with tx.reading() as reader:
        existing = tx.view.find(reader, tx.base, "view", name)
        before = None if existing is None else tx.view.view_info(reader, tx.base, existing)
    if before is not None and not replaces:
        raise Invalid(f"there is a view {name} already", hint="pass replace=True")
    check(tx, sql)
    if before is None:
        free_name(tx, name)
    else:
        drop_view(tx, name)
        _check_without_itself(tx, name, sql, check)
    home = schema_named(tx, name.schema)
    view = ViewInfo(
        id=tx.new_id(),
        name=TableName(home.name, name.name),
        dialect="duckdb",
        sql=sql,
        column_aliases=tuple(columns),
        uuid=str(uuid.uuid4()),
    )
    tx.drafts.views[view.id] = ViewChange(None, view)
    return DONE


def _check_without_itself(tx: DraftSession, name: TableName, sql: str, check: Check) -> None:
    """A view that takes the place of another one cannot stand on that, which has just gone."""
    try:
        check(tx, sql)
    except NotFound:
        raise Invalid(
            f"the view {name} would select from itself",
            hint="give it another name, or select from what the view of before selects from",
        ) from None


def drop_view(tx: DraftSession, name: TableName) -> None:
    with tx.reading() as reader:
        view_id = tx.view.find(reader, tx.base, "view", name)
        if view_id is None:
            raise NotFound(f"there is no view {name}", hint="lake.views() lists them")
        view = tx.view.view_info(reader, tx.base, view_id)
    tx.drafts.drop_view(view)


def set_partitioning(tx: DraftSession, name: TableName, by: str | Sequence[str]) -> WriteResult:
    """How files are divided from now on; those already there stay as they are."""
    draft = tx.draft(name)
    keys = parse_partitioning(by, draft.after.schema)
    before = draft.after.partitioning
    if keys == (before.keys if before else ()):
        return DONE
    if any(transform_of(key.transform).exclusive for key in keys) and _has_rows(tx, draft):
        raise Invalid(
            f"{name} has rows already, and DuckDB would not find them by their buckets",
            hint="create a new table partitioned so, and copy the rows into it",
        )
    spec = PartitionSpec(tx.new_id(), keys) if keys else None
    draft.after = replace(draft.after, partitioning=spec)
    draft.files = {i: file._replace(partition_values=None) for i, file in draft.files.items()}
    return DONE


def _has_rows(tx: DraftSession, draft: TableDraft) -> bool:
    plan = tx.plan(draft.after.name, None, ReadRequest([draft.columns[0].name]))
    return bool(plan.files) or any(inlined.rows for inlined in plan.inlined)


def set_sorting(tx: DraftSession, name: TableName, by: str | Sequence[str]) -> WriteResult:
    draft = tx.draft(name)
    draft.after = replace(draft.after, sorting=parse_sorting(by, draft.after.schema))
    return DONE


def evolve(tx: DraftSession, name: TableName, changes: Mapping[str, Any]) -> WriteResult:
    """Change the columns; rows already there are read as the new columns say."""
    draft = tx.draft(name)
    before = draft.after.schema
    after = Schema(evolve_columns(before.columns, draft.facts.history.last_id + 1, **changes))
    if after == before:
        return DONE
    _check_dropped(draft, after)
    _check_widened(draft, after)
    _check_series(draft, after)
    _check_facts(draft, after)
    _check_required(tx, draft, after)
    staging.flush(tx, draft)
    table = replace(draft.after, schema=after, sorting=_renamed_sorting(draft.after, after))
    draft.after = table
    draft.facts = draft.facts.evolved(table)
    committed = _ids(draft.before.schema) if draft.before else set()
    if draft.files and _ids(before) - _ids(after) - committed:
        staging.renew(tx, draft)
    return DONE


def _ids(schema: Schema) -> set[int]:
    return {column.id for top in schema for column in top.walk()}


def _check_dropped(draft: TableDraft, after: Schema) -> None:
    kept = {column.id for column in after}
    spec = draft.after.partitioning
    sorted_by = [sorted_column(key, draft.columns) for key in draft.after.sorting]
    uses = {
        "the partitioning": {key.column_id for key in spec.keys} if spec else set(),
        "the sort order": {column.id for column in sorted_by if column is not None},
        "the table's event time": Settings.of(draft.after.tags).facts,
        "the table's knowledge time": {Settings.of(draft.after.tags).knowledge_time},
        "the table's series": set(Settings.of(draft.after.tags).entity),
    }
    declare = "t.set_event_time(…) declares other columns, or none"
    how = dict.fromkeys(("the table's event time", "the table's knowledge time"), declare)
    for column in draft.after.schema:
        for what, ids in uses.items():
            if column.id in ids and column.id not in kept:
                raise Invalid(
                    f"column {column.name!r} cannot be dropped: {what} needs it",
                    hint=how.get(what, "change that first"),
                )


def _check_widened(draft: TableDraft, after: Schema) -> None:
    spec = draft.after.partitioning
    keys = [(key.column_id, transform_of(key.transform)) for key in (spec.keys if spec else ())]
    new = {column.id: column.type for column in after}
    for column in draft.after.schema:
        kind = new.get(column.id, column.type)
        if any(i == column.id and not key.stays(column.type, kind) for i, key in keys):
            raise Invalid(
                f"column {column.name!r} cannot become {kind}: it would change buckets",
                hint="create a new table and copy the rows into it",
            )


def _check_series(draft: TableDraft, after: Schema) -> None:
    """Entities and clocks stay of types that they can have."""
    before = Series.maybe(draft.after)
    if before is None or Series.maybe(replace(draft.after, schema=after)) is not None:
        return
    new = {column.id: column.type for column in after}
    column = next(c for c in before.columns if new[c.id] != c.type)
    raise Invalid(
        f"column {column.name!r} cannot become {new[column.id]}: coverage is kept by it",
        hint="t.set_coverage(None) makes it an ordinary column first",
    )


def _check_facts(draft: TableDraft, after: Schema) -> None:
    """Keys and event times stay without nulls; the clock of a series may have had some."""
    required = Settings.of(draft.after.tags).required
    before = {column.id for column in draft.after.schema if not column.nullable}
    for column in after:
        if column.id in required & before and column.nullable:
            raise Invalid(
                f"column {column.name!r} cannot be nullable: it is part of the table's key or"
                " event time",
                hint="t.set_event_time(None) makes it an ordinary column first",
            )


def _check_required(tx: DraftSession, draft: TableDraft, after: Schema) -> None:
    """A column that no longer allows nulls must not hold any."""
    before = {column.id: column for column in draft.after.schema}
    for column in after:
        old = before.get(column.id)
        if old is None or not old.nullable or column.nullable:
            continue
        null = f"{quote(old.name)} IS NULL"
        plan = tx.plan(draft.after.name, None, ReadRequest([old.name], null))
        draft.depends_on_inserts = True
        if tx.engine.read(plan).count():
            raise Invalid(
                f"column {old.name!r} holds nulls, so they cannot be forbidden",
                hint=f"fill them in first: update({{{old.name!r}: …}}, where='{old.name} IS NULL')",
            )


def _renamed_sorting(table: TableInfo, after: Schema) -> tuple[SortKey, ...]:
    names = {column.id: column.name for column in after}
    found = []
    for key in table.sorting:
        column = sorted_column(key, table.schema)
        if column is not None and names.get(column.id, column.name) != column.name:
            (renamed,) = parse_sorting([quote(names[column.id])], after)
            key = replace(key, expression=renamed.expression)
        found.append(key)
    return tuple(found)


def set_comment(tx: DraftSession, name: TableName, comment: str | None) -> WriteResult:
    draft = tx.draft(name)
    draft.after = replace(draft.after, tags=_with_comment(draft.after.tags, comment))
    return DONE


def _with_comment(tags: Mapping[str, str], comment: str | None) -> dict[str, str]:
    others = {key: value for key, value in tags.items() if key != "comment"}
    if comment is None:
        return others
    if not isinstance(comment, str):
        raise Invalid(f"a comment is text, not {comment!r}", hint='comment="what it is for"')
    check_characters(comment, f"the comment {comment!r}")
    return {**others, "comment": comment}
