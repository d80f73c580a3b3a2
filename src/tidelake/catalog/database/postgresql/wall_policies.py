"""Which rows of which table a tenant has, as policies of row-level security.

A table that no rule is for is closed: its rows are there for those who are no tenants. All that a
row names must be the tenant's own, too: tables, files and ids that others have, or will get, and
paths below its own folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_INLINED = re.compile(r"ducklake_inlined_(?:data_([0-9]+)_[0-9]+|delete_([0-9]+))")
_NOBODYS = "false"


class Rule(NamedTuple):
    """Which rows are seen, what a row that is written must be like, and which of INSERT, UPDATE
    and DELETE there are. `touched` are those that may be changed or deleted, if not all that are
    seen."""

    seen: str
    kept: str
    may: str = "INSERT, UPDATE, DELETE"
    touched: str | None = None
    selects: bool = True


def _own(column: str, among: str) -> str:
    return f"{column} = ANY ((SELECT tidelake_own_{among}())::bigint[])"


_TABLE = _own("table_id", "tables")
_SCHEMA = _own("schema_id", "schemas")
_PATH = "tidelake_own_path(path, path_is_relative)"
_LAKE_PATH = "tidelake_own_lake_path(path, path_is_relative)"
_TOKEN = "starts_with(token, 'tenant ' || (SELECT tidelake_tenant_name()) || ': ')"
_OPTION = f"(scope = 'table' AND {_own('scope_id', 'tables')})"

_SPECIAL: dict[str, Rule] = {
    "ducklake_metadata": Rule(
        f"scope IS NULL OR (scope = 'schema' AND {_own('scope_id', 'schemas')}) OR {_OPTION}",
        _OPTION,
        touched=_OPTION,
    ),
    "ducklake_snapshot": Rule(
        "true",
        "tidelake_next_snapshot(snapshot_id, snapshot_time, schema_version, next_catalog_id,"
        " next_file_id)",
        "INSERT",
    ),
    "ducklake_snapshot_changes": Rule(
        _NOBODYS,
        "tidelake_is_new_snapshot(snapshot_id) AND tidelake_own_words(changes_made)",
        "INSERT",
        selects=False,
    ),
    "ducklake_schema": Rule(
        _SCHEMA,
        f"tidelake_own_name(schema_name) AND {_own('schema_id', 'objects')} AND {_LAKE_PATH}",
    ),
    "ducklake_table": Rule(
        _SCHEMA,
        f"{_TABLE} AND ({_SCHEMA} OR {_own('schema_id', 'objects')}) AND {_PATH}",
    ),
    "ducklake_view": Rule(
        _SCHEMA,
        f"{_own('view_id', 'objects')} AND ({_SCHEMA} OR {_own('schema_id', 'objects')})",
    ),
    "ducklake_macro": Rule(_SCHEMA, _NOBODYS, ""),
    "ducklake_tag": Rule(_own("object_id", "objects"), _own("object_id", "objects")),
    "ducklake_name_mapping": Rule(_own("mapping_id", "mappings"), _own("mapping_id", "mappings")),
    "ducklake_files_scheduled_for_deletion": Rule(
        _LAKE_PATH, f"{_LAKE_PATH} AND tidelake_own_schedule(data_file_id)"
    ),
    "ducklake_inlined_data_tables": Rule(
        _TABLE,
        f"{_TABLE} AND table_name = 'ducklake_inlined_data_' || table_id || '_' || schema_version",
    ),
}
_KINDS: dict[str, Rule] = {
    "token": Rule(_TOKEN, _TOKEN),
    "tenant": Rule("tenant_name = (SELECT tidelake_tenant_name())", _NOBODYS, ""),
    "nobody": Rule(_NOBODYS, _NOBODYS, ""),
    "read": Rule(_TABLE, _NOBODYS, ""),
}
"""Of our own tables: rows by their token, by the tenant's name, of nobody, or only to be read.
Others have rows of the tenant's tables; of a kind that ends in `path`, their paths are from the
data path, or from the table's folder."""


def rule(table: str, columns: Collection[str], kind: str = "") -> Rule:
    """The rule for a table with these columns."""
    if table in _SPECIAL:
        return _SPECIAL[table]
    if kind in _KINDS:
        return _KINDS[kind]
    if inlined := _INLINED.fullmatch(table):
        own = f"(SELECT {inlined[1] or inlined[2]} = ANY (tidelake_own_tables()))"
        return Rule(own, own)
    if "table_id" not in columns or not table.startswith(("ducklake_", "tidelake_")):
        return Rule(_NOBODYS, _NOBODYS, "")
    return Rule(_TABLE, " AND ".join([_TABLE, *_checks(columns, kind)]))


def _checks(columns: Collection[str], kind: str) -> list[str]:
    found = [
        f"tidelake_own_file({each}, table_id)"
        for each in ("data_file_id", "delete_file_id", "mapping_id")
        if each in columns
    ]
    found += [
        f"tidelake_own_part({each}, table_id)"
        for each in ("partition_id", "sort_id")
        if each in columns
    ]
    if "rollup_id" in columns:
        found.append("rollup_id >> 20 = table_id")
    if "path_is_relative" in columns:
        found.append(_LAKE_PATH if kind == "lake path" else _PATH)
    elif "path" in columns and kind == "table path":
        found.append("(tidelake_own_path(path, true) OR tidelake_own_path(path, false))")
    if "root" in columns:
        found.append("tidelake_own_path(root, false)")
    return found


def statements(table: str, held: Rule, group: str, writers: str) -> list[str]:
    """Have a table held to its rule. All names are quoted but the table's."""
    name = f'"{table}"'
    everybody = "(SELECT NOT tidelake_guest())"
    touched = held.seen if held.touched is None else held.touched
    policies = {
        "SELECT": f"USING ({everybody} OR ({held.seen}))",
        "INSERT": f"WITH CHECK ({everybody} OR ({held.kept}))",
        "UPDATE": f"USING ({everybody} OR ({touched})) WITH CHECK ({everybody} OR ({held.kept}))",
        "DELETE": f"USING ({everybody} OR ({touched}))",
    }
    made = [f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"]
    for verb, condition in policies.items():
        policy = f"tidelake_tenant_{verb.lower()}"
        made.append(f"DROP POLICY IF EXISTS {policy} ON {name}")
        made.append(f"CREATE POLICY {policy} ON {name} FOR {verb} {condition}")
    made.append(f"REVOKE ALL ON {name} FROM {group}, {writers}")
    if held.selects:
        made.append(f"GRANT SELECT ON {name} TO {group}")
    if held.may:
        made.append(f"GRANT {held.may} ON {name} TO {writers}")
    return made
