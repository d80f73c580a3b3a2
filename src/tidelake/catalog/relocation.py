"""Another data path for a lake, in all rows that name the old one."""

from __future__ import annotations

from collections.abc import Iterator

from tidelake.catalog.annex import Annexes
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import paths, registrations
from tidelake.catalog.read.tables import lake_info
from tidelake.errors import Conflict

_ABSOLUTE = {
    "ducklake_schema": "path",
    "ducklake_table": "path",
    "ducklake_data_file": "path",
    "ducklake_delete_file": "path",
    "ducklake_files_scheduled_for_deletion": "path",
    registrations.TABLE: "path",
}
"""Where complete paths can stand that lie in the data path, but for annexes. Relative ones
follow by themselves."""


def files_at(reader: Reader, old: str, new: str, annexes: Annexes) -> Iterator[str]:
    """Complete paths that files of the lake's data path will have. What lies elsewhere stays."""
    for kind in paths.KINDS:
        rows = list(paths.every(reader, kind))
        for path in paths.complete(reader, rows, old).values():
            if path.startswith(old):
                yield new + path[len(old) :]
    for annex in annexes:
        for path in annex.files(reader, old):
            if path.startswith(old):
                yield new + path[len(old) :]


def relocate(writer: Writer, stored: str, old: str, new: str, annexes: Annexes) -> None:
    """`stored` is the data path as the catalog has spelled it so far."""
    if lake_info(writer).data_path != stored:
        raise Conflict("somebody else has moved the lake meanwhile", hint="look where it is now")
    named = [*_ABSOLUTE.items(), *(each for annex in annexes for each in annex.paths.items())]
    for table, column in named:
        if writer.has_table(table):
            rest = writer.dialect.prefixed.format(":new", f"substr({column}, {len(old) + 1})")
            inside = f"substr({column}, 1, {len(old)}) = :old"
            update = f"UPDATE {table} SET {column} = {rest} WHERE {inside}"
            writer.execute(update, new=new, old=old)
    writer.execute(
        'UPDATE ducklake_metadata SET "value" = :new WHERE "key" = :key AND "scope" IS NULL',
        new=new,
        key="data_path",
    )
