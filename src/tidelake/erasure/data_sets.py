"""Frozen data sets and erasure: no set keeps rows unnoticed, and one that loses rows says so."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import tables as read
from tidelake.errors import Invalid, TidelakeError
from tidelake.model.names import TableName, fold
from tidelake.model.predicate import Predicate
from tidelake.session import data_set_records as data_sets
from tidelake.session.data_set_records import DataSetRecord
from tidelake.session.planning import ReadRequest
from tidelake.session.session import Session
from tidelake.verify.content import rows_hash

Condition = str | Predicate


def check_data_sets(
    session: Session, table_id: int, where: Condition, looked_at: Sequence[str]
) -> frozenset[int]:
    """Invalid if sets that were made of a table may keep rows of it, and its caller does not say
    to have looked at them. What a column of a set means only its maker knows, so nobody guesses.
    Gives the sets that there are, by the ids of their tables."""
    with session.reading() as reader:
        found = _derived(reader, table_id)
    known = {fold(name) for name in looked_at}
    doubtful = [each for each in found if fold(_called(each[1])) not in known]
    if doubtful:
        listed = ", ".join(_told(session, record, name, where) for record, name in doubtful)
        names = [_called(name) for _, name in doubtful]
        raise Invalid(
            f"frozen data sets were made of this table, and keep their rows: {listed}",
            hint="erase from each as from any table, with a condition of its own, or drop it and"
            f" let it expire; then erase here and say so: data_sets={names!r}",
        )
    return frozenset(record.table_id for record, _ in found)


def check_no_more(reader: Reader, table_id: int, known: frozenset[int]) -> None:
    """Invalid if a set has been made of the table since `check_data_sets`."""
    names = [
        _called(name) for each, name in _derived(reader, table_id) if each.table_id not in known
    ]
    if names:
        raise Invalid(
            f"somebody has frozen rows of this table meanwhile: {', '.join(map(repr, names))}",
            hint="erase from it too, then erase here and name it with data_sets=[…]",
        )


def derived_names(session: Session, table_id: int) -> list[str]:
    """The sets that were made of a table, or may have been."""
    with session.reading() as reader:
        return [_called(name) for _, name in _derived(reader, table_id)]


def _derived(reader: Reader, table_id: int) -> list[tuple[DataSetRecord, str]]:
    """Those of which the table is a source, or the source of one; dropped ones too, which earlier
    snapshots still have. Each with the last name of its table."""
    records = [each for each in data_sets.every(reader) if each.table_id != table_id]
    names = read.every_name(reader) if records else {}
    reached = {table_id}
    while True:
        found = [each for each in records if _is_of(each, reached)]
        if {each.table_id for each in found} <= reached:
            return [(each, names.get(each.table_id, "")) for each in found]
        reached |= {each.table_id for each in found}


def _is_of(record: DataSetRecord, tables: Collection[int]) -> bool:
    return record.sources is None or not record.sources.isdisjoint(tables)


def _called(name: str) -> str:
    """A set of the lake's own by its name, a tenant's by that of its table."""
    parsed = TableName.parse(name)
    return parsed.name if parsed.schema == data_sets.SCHEMA else name


def _told(session: Session, record: DataSetRecord, name: str, where: Condition) -> str:
    """How many rows of a set meet the condition, if it has such columns."""
    called = _called(name)
    with session.reading() as reader:
        there = dict(session.view.names(reader, session.at(reader), "table"))
    if record.table_id not in there:
        return f"{called!r}, which was dropped and has not expired"
    try:
        plan = session.plan(there[record.table_id], None, ReadRequest(None, where))
        count = session.engine.read(plan).count()
    except TidelakeError:
        return f"{called!r}, of which the condition cannot be asked"
    return f"{called!r}, of which {count:,} rows meet the condition"


def announce_rebase(session: Session, table_id: int, name: TableName, where: Condition) -> None:
    """Write down what a set will hold without the rows that are to be erased; the commit of the
    erasure makes it so."""
    with session.reading() as reader:
        if data_sets.of_table(reader, table_id) is None:
            return
    text = where.sql() if isinstance(where, Predicate) else where
    rest = ReadRequest(None, f"NOT coalesce(({text}), false)")
    held = rows_hash(session, session.plan(name, None, rest))
    with session.database.writing() as writer:
        data_sets.announce(writer, table_id, held.rows, held.fingerprint)
