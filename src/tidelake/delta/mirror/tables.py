"""The tables of mirrors. Each row is of a table and a format: mirrors of several formats can stand
beside each other.

Tidelake 0.1 knew of Delta alone, and its tables do not say so. Who reads takes their rows for
Delta's; who writes gives them the column first, once. An index on it tells that this is done.
"""

from __future__ import annotations

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.layout import definitions_of
from tidelake.catalog.own_tables import OwnTable

TABLE = "tidelake_mirror"
COUNTS = "tidelake_mirror_count"
COMMITS = "tidelake_mirror_commit"
FILES = "tidelake_mirror_file"
DELTA = "delta"
_FORMATS = "tidelake_mirror_of_format"
_KEY = f"table_id int!, format name!={DELTA}"
_LAYOUT = {
    TABLE: OwnTable(
        f"{_KEY}, delta_id text, root text, status text, reason text, snapshot_id int,"
        " version int, published int, checkpoint int, committed_at int, file_count int,"
        " protocol text, metadata text",
        needed="table_id format delta_id root status",
        index=(_FORMATS, "format"),
    ),
    COUNTS: OwnTable(
        f"{_KEY}, publishes int, publish_ms int, failures int",
        needed="table_id format publishes publish_ms failures",
    ),
    COMMITS: OwnTable(
        f"{_KEY}, version int!, snapshot_id int, committed_at int, digest text, content blob",
        needed="table_id format version snapshot_id committed_at digest",
    ),
    FILES: OwnTable(
        f"{_KEY}, data_file_id int!, removed_at int!, path text, size int, modified int,"
        " stats text, first_row int, copied text, vector text",
        needed="table_id format data_file_id removed_at path size modified",
        wall="table path",
    ),
}
own_tables.know(_LAYOUT)


def ensure(writer: Writer) -> None:
    """Make the tables, or give them the form that they have now. Call it before anything is
    written: MySQL commits what has been written until then."""
    bring_up(writer)
    for name in _LAYOUT:
        own_tables.ensure(writer, name)


def bring_up(writer: Writer) -> None:
    """Give tables that 0.1 has made the form that they have now; the last says that all have it."""
    if writer.has_index(_FORMATS):
        return
    columns = {(row[0], row[1]) for row in writer.rows(writer.dialect.every_column)}
    for name in (COUNTS, COMMITS, FILES, TABLE):
        if (name, "table_id") in columns and (name, "format") not in columns:
            own_tables.add_to_key(writer, name, "format")
    if (TABLE, "table_id") in columns:
        writer.execute(f"CREATE INDEX {_FORMATS} ON {TABLE} (format)")


def source(reader: Reader, name: str) -> str:
    """What to read rows from that have a format, whoever made the table. Requires: it is there."""
    if reader.has_index(_FORMATS):
        return name
    old = [each.column for each in definitions_of(_LAYOUT[name].columns)]
    old.remove("format")
    return f"(SELECT {', '.join(old)}, '{DELTA}' AS format FROM {name}) m"
