"""Existing Parquet files, made ready to become part of a table without being rewritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidelake.engine.parquet.footer import Footer, footers
from tidelake.engine.parquet.footer_statistics import column_facts, constant, evidence
from tidelake.engine.parquet.match_fields import Match, match_fields
from tidelake.engine.parquet.match_partition import found_values
from tidelake.errors import Invalid
from tidelake.model.change import ColumnFacts, NewFile
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionSpec
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    import duckdb

Facts = Mapping[int, ColumnFacts]


def found_files(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[str],
    columns: tuple[Column, ...],
    *,
    table: TableName,
    partition: PartitionSpec | None,
    hive: bool = True,
) -> list[NewFile]:
    """What the catalog must know of each file, from footers and paths alone.

    Files without rows are checked and then left out, as DuckDB does. `hive`: folders called
    `column=value` give values to columns that a file has not. Requires: the connection's time
    zone is UTC, and it may read the store.
    """
    _check_distinct(paths)
    if not paths:
        return []
    found = [
        (footer, match_fields(footer, columns, table, hive=hive))
        for footer in footers(connection, paths)
    ]
    facts = _facts(connection, found)
    _check_claims(connection, found, facts)
    for (footer, match), known in zip(found, facts, strict=True):
        _check_nulls(footer, match, columns, known)
    values = found_values(connection, partition, columns, facts, [f.path for f, _ in found])
    return [
        _new_file(footer, known)._replace(mapping=match.mapping, partition_values=value)
        for (footer, match), known, value in zip(found, facts, values, strict=True)
        if footer.rows
    ]


def _new_file(footer: Footer, known: Facts) -> NewFile:
    return NewFile(
        path=footer.path,
        rows=footer.rows,
        bytes=footer.bytes,
        footer_size=footer.size,
        columns=tuple(known[at] for at in sorted(known)),
        was_there=True,
    )


def _check_distinct(paths: Sequence[str]) -> None:
    names = [str(local_path(path).absolute()) if is_local(path) else path for path in paths]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Invalid(
            f"{twice[0]} is listed twice", hint="its rows would be counted twice; list it once"
        )


def _facts(
    connection: duckdb.DuckDBPyConnection, found: Sequence[tuple[Footer, Match]]
) -> list[Facts]:
    """Of every file, by column id; the bounds of all files are compared in one go."""
    seen = [evidence(footer, match) for footer, match in found]
    facts = iter(column_facts(connection, [each for file in seen for each in file]))
    return [{each.column.id: next(facts) for each in file} for file in seen]


def _check_claims(
    connection: duckdb.DuckDBPyConnection,
    found: Sequence[tuple[Footer, Match]],
    facts: Sequence[Facts],
) -> None:
    """A folder may name a column that is in the file as well, if it tells the truth."""
    claims = [
        (footer, column, value, known[column.id])
        for (footer, match), known in zip(found, facts, strict=True)
        for column, value in match.claims
    ]
    spelled = column_facts(
        connection, [constant(f, column, value) for f, column, value, _ in claims]
    )
    for (footer, column, value, known), told in zip(claims, spelled, strict=True):
        if _contradicts(known, told):
            raise Invalid(
                f"{footer.path}: its folder says {column.name}={value}, and the file has other"
                " values",
                hint="pass hive=False to go by the file alone, or move it to its right folder",
            )


def _contradicts(known: ColumnFacts, told: ColumnFacts) -> bool:
    if told.values == 0:
        return bool(known.values)
    if known.nulls:
        return True
    return any(bound is not None and bound != told.min for bound in (known.min, known.max))


def _check_nulls(footer: Footer, match: Match, columns: Sequence[Column], facts: Facts) -> None:
    """What a footer does not rule out may be there: a null in a required column stays for ever."""
    for column in columns:
        if column.nullable or not footer.rows:
            continue
        field = match.fields.get(column.id)
        if field is not None and field.never_null:
            continue
        counts = [facts[leaf.id].nulls for leaf in column.leaves()]
        if 0 in counts:
            continue
        sure = not column.is_nested and counts[0] is not None
        raise Invalid(
            f"{footer.path}: column {column.name} {'has' if sure else 'may have'} nulls, which"
            " the table does not allow",
            hint="make it nullable with evolve(nullable=…)"
            + ("" if sure else ", or append() the rows: the file's footer does not count nulls"),
        )
