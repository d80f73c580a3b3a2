"""Each method of a lake and of a table has a command, or a reason why not."""

import click
import pytest

from tidelake.cli import main
from tidelake.lake.lake import Lake
from tidelake.lake.table import Table

PYTHON = "gives objects to a program"
SQL = "sql"

OF_LAKE = {
    **dict.fromkeys(["across_tenants", "close", "delta_versions", "exists", "names"], PYTHON),
    **dict.fromkeys(["transaction", "tenant", "consumer", "consumer_group"], PYTHON),
    **dict.fromkeys(["data_path", "encrypted", "engine", "url", "macros", "snapshots"], PYTHON),
    "tenant_login": "gives a password: it is for a program",
    **dict.fromkeys(["share", "shares", "unshare"], "share"),
    **dict.fromkeys(["create_schema", "drop_schema", "schemas", "create_table", "sql"], SQL),
    **dict.fromkeys(["append", "audit", "backup", "cleanup", "compact", "consumers", "diff"], None),
    **dict.fromkeys(["drop", "erase", "expire", "freeze", "health", "log", "move"], None),
    **dict.fromkeys(["recover", "rename", "tables", "tag", "tenants", "undrop"], None),
    **dict.fromkeys(["verify", "view"], None),
    **dict.fromkeys(["mirror", "mirrored", "mirrors", "sync_mirrors"], "mirror"),
    **dict.fromkeys(["create_tenant", "drop_tenant", "set_quota", "set_retention"], "tenants"),
    **dict.fromkeys(["drop_frozen", "frozen"], "freeze"),
    **dict.fromkeys(["erasures", "finish_erasures"], "erase"),
    "create_view": "view",
    "known_at": "scan",
    "reindex": "init",
    **dict.fromkeys(["options", "set_option"], "option"),
    "table": "show",
    "tags": "tag",
    "untag": "tag",
    "views": "tables",
}
OF_TABLE = {
    **dict.fromkeys(["info", "name", "plane", "schema_log", "merge_builder", "writer"], PYTHON),
    **dict.fromkeys(["complete_through", "complete_through_each", "missing"], PYTHON),
    **dict.fromkeys(["first_covered", "last_covered", "last_complete_window"], PYTHON),
    **dict.fromkeys(["to_batches", "to_dicts", "to_duckdb", "to_spark"], PYTHON),
    **dict.fromkeys(["to_dataset", "to_pyarrow_dataset", "column_types"], PYTHON),
    **dict.fromkeys(["head", "limit", "order_by"], "scan --limit, and sql"),
    "add_files": "takes files of others over: not by a slip in a shell",
    "overwrite": "delete and append say which rows go",
    **dict.fromkeys(["to_arrow", "to_pandas", "to_polars"], "export"),
    **dict.fromkeys(["append", "changes", "clone", "compact", "count", "coverage"], None),
    **dict.fromkeys(["delete", "diff", "drop", "end", "gaps", "history", "log", "merge"], None),
    **dict.fromkeys(["put", "rollback", "rollup", "scan", "schema"], None),
    **dict.fromkeys(["update", "between", "versions", "recompute_coverage"], SQL),
    **dict.fromkeys(["as_of", "known_at", "explain", "completeness"], "scan"),
    **dict.fromkeys(["calendars", "set_calendar"], "calendar"),
    **dict.fromkeys(["comment", "files", "partitioning", "sorting", "tags"], "show"),
    **dict.fromkeys(["coverage_settings", "event_time", "key"], "show"),
    **dict.fromkeys(["set_comment", "set_coverage", "set_event_time"], "declare"),
    **dict.fromkeys(["set_partitioning", "set_sorting"], "declare"),
    **dict.fromkeys(["drop_rollups", "rollups"], "rollup"),
    "changes_of_belief": "diff",
    "evolve": "schema",
    "snapshots": "log",
    "wait_complete": "wait",
}
"""None: the command has its name. One word names a command, several are a reason."""


@pytest.mark.parametrize(("face", "told"), [(Lake, OF_LAKE), (Table, OF_TABLE)])
def test_each_method_has_a_command_or_a_reason(face, told):
    public = {name for name in dir(face) if not name.startswith("_")}
    assert public == set(told)
    for name, said in told.items():
        command = said or name
        assert " " in command or command in main.commands, name


TERMS = {"--author", "--message", "--once", "--expected"}


@pytest.mark.parametrize(
    "name",
    [
        "append",
        "clone",
        "declare",
        "delete",
        "drop",
        "end",
        "merge",
        "put",
        "rename",
        "rollback",
        "sql",
        "undrop",
        "view",
    ],
)
def test_a_write_takes_its_terms(name):
    found = {word for each in main.commands[name].params for word in each.opts}
    assert found >= TERMS
    assert isinstance(main.commands[name], click.Command)
