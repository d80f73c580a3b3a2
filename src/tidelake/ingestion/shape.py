"""The table that files are taken into: made if it is not there, and given their new columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidelake.engine.declare.columns import columns_of
from tidelake.engine.incoming.columns_of_data import described_columns
from tidelake.engine.local.workbench import Workbench
from tidelake.errors import Invalid
from tidelake.ingestion.heads import Head
from tidelake.ingestion.values import IngestWish, SourceFile
from tidelake.model import settings
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.session.drafting import DraftSession
from tidelake.write import definitions

_OF_ITS_OWN = ("partition_by", "sort_by", "comment")
_LOOKED_AT = 16
"""Files in which types are looked for."""

Offer = tuple[SourceFile, Head]


def known_settings(wish: IngestWish) -> Mapping[str, Any]:
    """The settings of a new table; Invalid if one is none."""
    return settings.known_settings(
        {name: value for name, value in wish.creation.items() if name not in _OF_ITS_OWN}
    )


def is_there(tx: DraftSession, wish: IngestWish) -> bool:
    with tx.reading() as reader:
        return tx.view.find(reader, tx.base, "table", wish.table) is not None


def make(tx: DraftSession, work: Workbench, wish: IngestWish, offers: Sequence[Offer]) -> None:
    """The table from what the files have."""
    with tx.reading() as reader:
        schemas = {fold(each.name) for each in tx.view.schemas(reader, tx.base)}
    if fold(wish.table.schema) not in schemas:
        definitions.create_schema(tx, wish.table.schema)
    columns = _hinted(_inferred(work, wish, offers), wish)
    definitions.create_table(
        tx,
        wish.table,
        columns,
        partition_by=wish.creation.get("partition_by", ()),
        sort_by=wish.creation.get("sort_by", ()),
        comment=wish.creation.get("comment"),
        settings=known_settings(wish),
    )


def widen(tx: DraftSession, work: Workbench, wish: IngestWish, offers: Sequence[Offer]) -> None:
    """Columns that files have and the table has not: added, passed over or refused."""
    table = tx.draft(wish.table).after
    known = {fold(column.name): column for column in table.schema}
    for column in columns_of(wish.types) if wish.types else ():
        there = known.get(fold(column.name))
        if there is not None and there.duckdb_type != column.duckdb_type:
            raise Invalid(
                f"column {there.name!r} of {wish.table} is {there.duckdb_type}, and types says"
                f" {column.duckdb_type}",
                hint="leave it out of types, or widen the column with evolve",
            )
    if wish.new_columns == "ignore":
        return
    if wish.new_columns == "refuse":
        _refuse_new(wish, offers, known)
        return
    new = [each for each in offers if _new(each[1].names, known) or each[1].kind == "json"]
    added = [c for c in _inferred(work, wish, new) if fold(c.name) not in known] if new else []
    if added:
        types = {column.name: column.duckdb_type for column in _hinted(added, wish, some=True)}
        definitions.evolve(tx, wish.table, {"add": types})


def _new(names: Iterable[str], known: Iterable[str]) -> list[str]:
    there = set(known)
    return [name for name in names if fold(name) not in there]


def _refuse_new(wish: IngestWish, offers: Iterable[Offer], known: Iterable[str]) -> None:
    there = set(known)
    for file, head in offers:
        if new := _new(head.names, there):
            raise Invalid(
                f"{file.path} has a column {new[0]!r}, and {wish.table} has not",
                hint='new_columns="add" adds it, "ignore" passes over it',
            )


def _inferred(work: Workbench, wish: IngestWish, offers: Sequence[Offer]) -> list[Column]:
    """The columns of all these files. Types are those that DuckDB finds in some of them."""
    found: dict[str, Column] = {}
    kinds: dict[tuple[str, str], list[Offer]] = {}
    for each in offers:
        kinds.setdefault((each[1].kind, each[1].delimiter), []).append(each)
    for (kind, delimiter), some in kinds.items():
        sample = _sample(some)
        paths = [file.path for file, _ in sample]
        work.reach(paths)
        names = sample[0][1].names if kind == "csv" and not wish.csv.has_header else ()
        for column in described_columns(work.connection, kind, paths, delimiter, wish.csv, names):
            found.setdefault(fold(column.name), column)
    return list(found.values())


def _sample(offers: Sequence[Offer]) -> list[Offer]:
    """One of every shape, then the first and the largest of the others."""
    first = {head: (file, head) for file, head in reversed(offers)}
    rest = sorted(offers, key=lambda each: -each[0].bytes)
    chosen = dict.fromkeys([*first.values(), offers[0], *rest[:_LOOKED_AT]])
    return list(chosen)[: max(_LOOKED_AT, len(first))]


def _hinted(columns: Sequence[Column], wish: IngestWish, *, some: bool = False) -> list[Column]:
    hints = {fold(column.name): column for column in columns_of(wish.types)} if wish.types else {}
    missing = hints.keys() - {fold(column.name) for column in columns}
    if missing and not some:
        raise Invalid(
            f"types names {sorted(missing)[0]!r}, which the files do not have",
            hint=f"they have: {', '.join(column.name for column in columns)}",
        )
    return [hints.get(fold(column.name), column) for column in columns]
