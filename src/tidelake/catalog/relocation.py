"""Another data path for a lake, in all rows that name the old one."""

from __future__ import annotations

from collections.abc import Iterator

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import paths
from tidelake.catalog.read.tables import lake_info
from tidelake.errors import Conflict
from tidelake.event_time.rollups import records as rollups

_ABSOLUTE = {
    "ducklake_schema": "path",
    "ducklake_table": "path",
    "ducklake_data_file": "path",
    "ducklake_delete_file": "path",
    "ducklake_files_scheduled_for_deletion": "path",
    "tidelake_rollup_file": "path",
    "tidelake_registered_file": "path",
    "tidelake_mirror": "root",
    "tidelake_import": "root",
    "tidelake_import_file": "source",
}
"""Where complete paths can stand that lie in the data path. Relative ones follow by themselves."""


def files_at(reader: Reader, old: str, new: str) -> Iterator[str]:
    """Complete paths that files of the lake's data path will have. What lies elsewhere stays."""
    for kind in paths.KINDS:
        rows = list(paths.every(reader, kind))
        for path in paths.complete(reader, rows, old).values():
            if path.startswith(old):
                yield new + path[len(old) :]
    for path, ended in rollups.known_files(reader, old).items():
        if ended is None and path.startswith(old):
            yield new + path[len(old) :]


def relocate(writer: Writer, stored: str, old: str, new: str) -> None:
    """`stored` is the data path as the catalog has spelled it so far."""
    if lake_info(writer).data_path != stored:
        raise Conflict("somebody else has moved the lake meanwhile", hint="look where it is now")
    joined = "CONCAT(:new, {})" if writer.dialect.name == "mysql" else "CAST(:new AS VARCHAR) || {}"
    for table, column in _ABSOLUTE.items():
        if writer.has_table(table):
            rest = joined.format(f"substr({column}, {len(old) + 1})")
            inside = f"substr({column}, 1, {len(old)}) = :old"
            update = f"UPDATE {table} SET {column} = {rest} WHERE {inside}"
            writer.execute(update, new=new, old=old)
    writer.execute(
        'UPDATE ducklake_metadata SET "value" = :new WHERE "key" = :key AND "scope" IS NULL',
        new=new,
        key="data_path",
    )
