"""JSON lines that are plain: DuckDB reads them, many times faster than Python, and as Python would.

A line is plain if nobody could read it in another way: an object with known keys, each once, and
values that are written as JSON itself writes values of the column's type. Of a file with one line
that is not, or may not be, all lines are left to `json_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tidelake.engine.incoming.from_files import exactly
from tidelake.engine.local.workbench import Workbench
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import Column

_PLAIN = "plain_lines"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTEGERS = re.compile(r"u?int(8|16|32|64)")
_DECIMAL = re.compile(r"decimal\(\d+,\s*(\d+)\)")
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = f"{_DAY}[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{{1,6}})?"
_LARGEST = 1 << 53
_WHOLE = "IN ('BIGINT', 'UBIGINT')"


def take_plain(
    work: Workbench, name: str, paths: Sequence[str], columns: Sequence[Column]
) -> Mapping[str, int]:
    """Rows of the files that are plain go into a table that is there; how many each had."""
    if not all(map(_can_be_plain, columns)) or not paths:
        return {}
    connection = work.connection
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {_PLAIN} AS {_sql(paths, columns)}")
    counts = connection.execute(
        f"SELECT file, count(*) FROM {_PLAIN} GROUP BY file HAVING bool_and(plain)"
    ).fetchall()
    rows = {str(file): int(count) for file, count in counts}
    if rows:
        listed = ", ".join(text_literal(path) for path in rows)
        named = ", ".join(f"t{at} AS {quote(c.name)}" for at, c in enumerate(columns))
        connection.execute(
            f"INSERT INTO {name} SELECT {named} FROM {_PLAIN} WHERE file IN ({listed})"
        )
    connection.execute(f"DROP TABLE {_PLAIN}")
    return rows


def _can_be_plain(column: Column) -> bool:
    kind = column.type
    known = kind in ("varchar", "boolean", "float64", "date", "timestamp", "timestamptz")
    return bool(_NAME.fullmatch(column.name)) and bool(
        known or _INTEGERS.fullmatch(kind) or _DECIMAL.fullmatch(kind)
    )


def _sql(paths: Sequence[str], columns: Sequence[Column]) -> str:
    listed = ", ".join(exactly(path) for path in paths)
    lines = (
        f"read_csv([{listed}], header = false, auto_detect = false, delim = '', quote = '',"
        " escape = '', columns = {'line': 'VARCHAR'}, filename = true, hive_partitioning = false)"
    )
    names = ", ".join(text_literal(column.name) for column in columns)
    keys = ", ".join(f"'$.{column.name}'" for column in columns)
    inner = (
        "SELECT file, line, CASE WHEN json_valid(line) THEN line END AS j"
        f" FROM {lines} AS r(line, file) WHERE trim(line) <> ''"
    )
    parts = (
        "SELECT file, line, json_type(j) AS whole, json_keys(j) AS keys,"
        f" json_type(j, [{keys}]) AS kinds, json_extract_string(j, [{keys}]) AS texts"
        f" FROM ({inner})"
    )
    checks = [
        "whole = 'OBJECT'",
        f"list_has_all([{names}], keys)",
        "len(list_distinct(keys)) = len(keys)",
        r"NOT contains(line, '\u')",
        r"NOT regexp_matches(line, ',\s*[}\]]')",
    ]
    values = []
    for at, column in enumerate(columns):
        value, check = _value(column, f"kinds[{at + 1}]", f"texts[{at + 1}]")
        values.append(f"{value} AS t{at}")
        checks.append(f"({_or_null(column, f'kinds[{at + 1}]')} OR ({check}))")
    plain = f"coalesce({' AND '.join(checks)}, false) AS plain"
    return f"SELECT file, {', '.join(values)}, {plain} FROM ({parts})"


def _or_null(column: Column, kind: str) -> str:
    """Whether there is nothing, and may be. What is missing altogether may have a default."""
    if not column.nullable:
        return "false"
    return f"{kind} = 'NULL'" + (f" OR {kind} IS NULL" if column.default is None else "")


def _value(column: Column, kind: str, text: str) -> tuple[str, str]:
    """The value of a column, and when that is what it is."""
    wanted, type_ = column.duckdb_type, column.type
    cast = f"TRY_CAST({text} AS {wanted})"
    if type_ == "varchar":
        return text, f"{kind} = 'VARCHAR'"
    if type_ == "boolean":
        return cast, f"{kind} = 'BOOLEAN'"
    if _INTEGERS.fullmatch(type_):
        return cast, f"{kind} {_WHOLE} AND {cast} IS NOT NULL"
    if type_ == "float64":
        number = f"TRY_CAST({text} AS HUGEINT)"
        whole = f"{kind} {_WHOLE} AND {number} BETWEEN {-_LARGEST} AND {_LARGEST}"
        return cast, f"({kind} = 'DOUBLE' AND isfinite({cast})) OR ({whole})"
    if scale := _DECIMAL.fullmatch(type_):
        return _decimal(column.name, int(scale[1]), kind, text, wanted)
    said = f"regexp_full_match({text}, '{_DAY if type_ == 'date' else _MOMENT}')"
    if type_ == "timestamptz":
        moment = f"TRY_CAST(rtrim({text}, 'Z') AS TIMESTAMP)"
        said = f"regexp_full_match({text}, '{_MOMENT}Z?')"
        return f"CAST({moment} AS TIMESTAMPTZ)", f"{said} AND {moment} IS NOT NULL"
    return cast, f"{kind} = 'VARCHAR' AND {said} AND {cast} IS NOT NULL"


def _decimal(name: str, scale: int, kind: str, text: str, wanted: str) -> tuple[str, str]:
    """A fraction must be read as it is written: as a double it may have lost digits. It stands
    behind the only place in the line where its key does."""
    key = f'"{name}"'
    written = f"regexp_extract(line, '{key}\\s*:\\s*(-?[0-9]+\\.[0-9]+)\\s*[,}}]', 1)"
    alone = f"len(line) - len(replace(line, '{key}', '')) = {len(key)}"
    fits = f"regexp_full_match({written}, '-?[0-9]+(\\.[0-9]{{0,{scale}}}0*)?')"
    fraction = f"TRY_CAST({written} AS {wanted})"
    whole = f"TRY_CAST({text} AS {wanted})"
    value = f"CASE WHEN {kind} = 'DOUBLE' THEN {fraction} ELSE {whole} END"
    check = (
        f"({kind} {_WHOLE} AND {whole} IS NOT NULL) OR ({kind} = 'DOUBLE' AND {alone}"
        f" AND {fits} AND {fraction} IS NOT NULL)"
    )
    return value, check
