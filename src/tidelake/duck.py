"""Every DuckDB that Tidelake opens is opened here, so that all of them keep to themselves."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from tidelake.scratch import Scratch


_OLDEST_STORAGE = "v1.0.0"
_AS_BEFORE = {
    "lambda_syntax": "'ENABLE_SINGLE_ARROW'",
    "regex_match_operator_semantics": "'FULL'",
    "error_on_division_by_zero": "false",
    "legacy_disable_null_type": "true",
}
"""Where DuckDB 2 would read the same words otherwise: views of lakes are older, and others read
them with DuckDB 1.5."""
_WITHOUT_HANGS = {"async_threads": "0"}
"""A COPY of DuckDB 2.0 whose rows fail half-way may wait for ever for its own threads of files, and
hears no interrupt. Without such threads it works as DuckDB 1.5 does."""


def interrupt_in(error: BaseException) -> BaseException | None:
    """What a signal's handler raised while DuckDB worked: DuckDB puts an error over it."""
    return error.__cause__ if str(error) == "Query interrupted" else None


def duckdb_version() -> str:
    import duckdb

    return duckdb.__version__


@cache
def has_new_trees() -> bool:
    """Whether this DuckDB serializes SQL as version 2 does: see `syntax/tree_forms.py`."""
    return _is_second()


def makes_days_of_hours() -> bool:
    """Whether this DuckDB writes 24 hours of an interval into a file as a day."""
    return _is_second()


def _is_second() -> bool:
    return int(duckdb_version().split(".")[0]) >= 2


def open_duckdb(
    database: str = ":memory:",
    *,
    scratch: Scratch | None = None,
    read_only: bool = False,
    unsigned: bool = False,
) -> duckdb.DuckDBPyConnection:
    """A DuckDB in UTC that downloads nothing, and spills into this folder or nowhere. The files
    that it makes can be opened by any version that Tidelake works with.

    If it takes extensions unsigned, loading one does not read all of its file first.
    """
    import duckdb

    connection = duckdb.connect(
        database,
        read_only=read_only,
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_unsigned_extensions": str(unsigned).lower(),
            "temp_directory": scratch.path if scratch else "",
            "storage_compatibility_version": _OLDEST_STORAGE,
        },
    )
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    if _is_second():
        for name, value in (_AS_BEFORE | _WITHOUT_HANGS).items():
            connection.execute(f"SET GLOBAL {name} = {value}")
    return connection


def settle(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The connection, with nothing left of the result of its last statement: DuckDB 2 registers
    nothing before, and makes no relation."""
    complete = getattr(connection, "complete", None)
    if complete is not None:
        complete()
    return connection


def arrow_source(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: object = None
) -> duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation:
    """What gives the rows of a query as Arrow. DuckDB 2 would copy those of a result first; but a
    relation gives other names to columns that are called alike."""
    if _is_second():
        return settle(connection).sql(sql, params=parameters)
    return connection.execute(sql, parameters)


def confine(connection: duckdb.DuckDBPyConnection, places: Iterable[str], memory: int) -> None:
    """From now on this DuckDB opens no files but below these places, takes no names for objects of
    the program around it, loads nothing, and nobody can change that."""
    listed = ", ".join("'" + place.replace("'", "''") + "'" for place in places)
    connection.execute(
        f"SET GLOBAL allowed_directories = [{listed}]; SET GLOBAL memory_limit = '{memory}B';"
        " SET GLOBAL python_enable_replacements = false;"
        " SET GLOBAL enable_external_access = false; SET GLOBAL lock_configuration = true"
    )
