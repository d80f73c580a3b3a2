"""Taking data in, and looking at what arrived."""

import datetime as dt

import duckdb
import pytest

from tidelake.engine.incoming.bring import bring
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import TidelakeError
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column

TABLE = TableName("main", "t")
MOMENT = dt.datetime(2024, 3, 5, 14, 30, 1, 250_000)
THREE = [
    Column(1, "id", "int64", nullable=False),
    Column(2, "Name", "varchar", default="it's"),
    Column(3, "at", "timestamp", default="TIMESTAMP '2024-01-01'", default_is_expression=True),
]


def opened() -> duckdb.DuckDBPyConnection:
    """A DuckDB as the local engine has it."""
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def parsed(kind: str, name: str = "a", **more) -> Column:
    """A column of a type in short: `struct(x int64, y varchar)`, `list(date)`, `map(a, b)`."""
    inner = kind[kind.index("(") + 1 : -1] if "(" in kind else ""
    word = kind.partition("(")[0]
    if word == "struct":
        fields = tuple(parsed(f.split(" ", 1)[1], f.split(" ", 1)[0]) for f in split(inner))
        return Column(1, name, "struct", children=fields, **more)
    if word == "list":
        return Column(1, name, "list", children=(parsed(inner, "element"),), **more)
    if word == "map":
        key, value = split(inner)
        return Column(1, name, "map", children=(parsed(key, "key"), parsed(value, "value")), **more)
    return Column(1, name, kind, **more)


def split(text: str) -> list[str]:
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def taken(connection, data, columns, **options):
    """The rows as DuckDB's text, after checking names and types of the answer."""
    columns = [columns] if isinstance(columns, Column) else columns
    with translate_duckdb_errors("cannot append to main.t"):
        incoming = bring(connection, "given", data, columns, table=TABLE, **options)
        relation = connection.sql(incoming.sql)
        assert relation.columns == [column.name for column in columns]
        wanted = ", ".join(f"CAST(NULL AS {c.duckdb_type}) AS {quote(c.name)}" for c in columns)
        assert relation.types == connection.sql(f"SELECT {wanted}").types
        names = ", ".join(f"c{n}" for n in range(len(columns)))
        texts = ", ".join(f"CAST(c{n} AS VARCHAR)" for n in range(len(columns)))
        return connection.execute(f"SELECT {texts} FROM ({incoming.sql}) AS r({names})").fetchall()


def values(connection, data, column, **options):
    return [row[0] for row in taken(connection, data, column, **options)]


def refusal(connection, data, columns, **options) -> TidelakeError:
    with pytest.raises(TidelakeError) as caught:
        taken(connection, data, columns, **options)
    return caught.value


def text_of(connection, sql: str) -> str:
    return connection.execute(f"SELECT CAST({sql} AS VARCHAR)").fetchone()[0]
