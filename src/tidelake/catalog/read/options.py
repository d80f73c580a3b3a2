"""Options of the lake, of a schema or of a table, as DuckLake keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.catalog.database.database import Reader, Writer
from tidelake.errors import Corrupt, Invalid
from tidelake.model.age import check_span

DEFAULTS = {
    "data_inlining_row_limit": "10",
    "target_file_size": str(512 * 1024 * 1024),
    "parquet_compression": "snappy",
    "parquet_row_group_size": "122880",
    "require_commit_message": "false",
    "hive_file_pattern": "true",
    "rewrite_delete_threshold": "0.3",
    "delete_older_than": "2 days",
    "expire_older_than": "",
    "tidelake.mirror": "",
}
"""What can be set, and what holds where nothing was."""

_SIZES = {"target_file_size", "parquet_row_group_size"}
_NUMBERS = {"data_inlining_row_limit", *_SIZES}
_DIGITS = 18
"""What DuckDB and databases count with has room for so many."""
_SWITCHES = {"require_commit_message", "hive_file_pattern"}
_AGES = {"delete_older_than", "expire_older_than"}
_COMPRESSIONS = {"uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw"}


@dataclass(frozen=True, slots=True)
class Options:
    inline_rows: int
    file_bytes: int
    compression: str
    row_group_rows: int
    require_message: bool
    rewrite_threshold: float = 0.3
    hive_folders: bool = True


def in_force(
    reader: Reader, table_id: int | None = None, schema_id: int | None = None
) -> dict[str, str]:
    """What holds for a table, a schema or the lake, by name; only what can be set."""
    known = _known(reader, table_id, schema_id)
    return {name: known[name] for name in DEFAULTS}


def _known(reader: Reader, table_id: int | None, schema_id: int | None) -> dict[str, str]:
    rows = reader.rows('SELECT "key", "value", "scope", scope_id FROM ducklake_metadata')
    rank = {None: 0, "schema": 1, "table": 2}
    applies = {None: None, "schema": schema_id, "table": table_id}
    return DEFAULTS | {
        key: value
        for key, value, scope, scope_id in sorted(rows, key=lambda row: rank.get(row[2], 0))
        if scope is None or applies.get(scope) == scope_id
    }


def of_table(reader: Reader, table_id: int | None = None, schema_id: int | None = None) -> Options:
    """The options that hold for a table: its own, its schema's, or the lake's."""
    known = _known(reader, table_id, schema_id)
    try:
        return Options(
            int(known["data_inlining_row_limit"]),
            int(known["target_file_size"]),
            known["parquet_compression"].lower(),
            int(known["parquet_row_group_size"]),
            known["require_commit_message"].lower() == "true",
            float(known["rewrite_delete_threshold"]),
            known["hive_file_pattern"].lower() == "true",
        )
    except ValueError as error:
        raise Corrupt(
            f"an option of the lake is not a number: {error}", hint="set it again with set_option"
        ) from error


def of_lake(reader: Reader, key: str) -> str | None:
    """An option of the lake itself, or its default; None where there is neither."""
    row = reader.row(
        'SELECT "value" FROM ducklake_metadata WHERE "key" = :key AND "scope" IS NULL', key=key
    )
    return str(row[0] if row else DEFAULTS[key]) or None


def of_scopes(reader: Reader, key: str) -> dict[int | None, str]:
    """What an option is for the lake (None), and for schemas by their ids, where it was set."""
    rows = reader.rows(
        'SELECT scope_id, "value" FROM ducklake_metadata WHERE "key" = :key'
        ' AND ("scope" IS NULL OR "scope" = \'schema\')',
        key=key,
    )
    return {row[0]: row[1] for row in rows}


def set_option(
    writer: Writer, key: str, value: object, scope: str | None, scope_id: int | None
) -> None:
    """Set one for the lake, a schema or a table. As in DuckDB this makes no snapshot."""
    text = _checked(key, value)
    where = '"key" = :key AND "scope" IS NULL'
    named: dict[str, object] = {}
    if scope is not None:
        where = '"key" = :key AND "scope" = :scope AND scope_id = :id'
        named = {"scope": scope, "id": scope_id}
    writer.execute(f"DELETE FROM ducklake_metadata WHERE {where}", key=key, **named)
    writer.insert(
        "ducklake_metadata", [{"key": key, "value": text, "scope": scope, "scope_id": scope_id}]
    )


def _checked(key: str, value: object) -> str:
    if key not in DEFAULTS:
        raise Invalid(f"there is no option {key!r}", hint=f"there are: {', '.join(DEFAULTS)}")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if key in _NUMBERS and not (text.isdecimal() and text.isascii()):
        raise Invalid(f"{key}={value!r} is not a whole number", hint=f"for example {DEFAULTS[key]}")
    if key in _NUMBERS and len(text) > _DIGITS:
        raise Invalid(f"{key}={value!r} is too large", hint=f"for example {DEFAULTS[key]}")
    if key in _SIZES and not int(text):
        raise Invalid(f"{key} cannot be zero", hint=f"for example {DEFAULTS[key]}")
    if key in _AGES and text:
        check_span(text, name=key)
    if key == "rewrite_delete_threshold" and not _is_share(text):
        raise Invalid(f"{key}={value!r} is no share", hint="pass a number above 0, up to 1")
    if key == "parquet_compression" and text.lower() not in _COMPRESSIONS:
        raise Invalid(f"no compression {value!r}", hint=f"there are: {', '.join(_COMPRESSIONS)}")
    if key in _SWITCHES and text not in ("true", "false"):
        raise Invalid(f"{key}={value!r} is neither true nor false", hint="pass True or False")
    return text


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False
