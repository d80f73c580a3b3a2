"""The types that columns can have, as drivers of JDBC and ODBC ask for them (GetXdbcTypeInfo)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_TYPES = (
    # name, number of XDBC, size, in quotes, of numbers: unsigned
    ("BOOLEAN", -7, 1, "", None),
    ("TINYINT", -6, 3, "", False),
    ("BIGINT", -5, 19, "", False),
    ("UBIGINT", -5, 20, "", True),
    ("BLOB", -3, None, "'", None),
    ("DECIMAL", 3, 38, "", False),
    ("INTEGER", 4, 10, "", False),
    ("UINTEGER", 4, 10, "", True),
    ("SMALLINT", 5, 5, "", False),
    ("FLOAT", 7, 24, "", False),
    ("DOUBLE", 8, 53, "", False),
    ("VARCHAR", 12, None, "'", None),
    ("DATE", 91, 10, "'", None),
    ("TIME", 92, 15, "'", None),
    ("TIMESTAMP", 93, 26, "'", None),
    ("TIMESTAMP WITH TIME ZONE", 93, 32, "'", None),
)
_NULLABLE, _SEARCHABLE, _DATETIME = 1, 3, 9
_NOT_NULL = {
    "type_name": pa.string(),
    "data_type": pa.int32(),
    "nullable": pa.int32(),
    "case_sensitive": pa.bool_(),
    "searchable": pa.int32(),
    "fixed_prec_scale": pa.bool_(),
    "sql_data_type": pa.int32(),
}
_FIELDS = {
    "type_name": pa.string(),
    "data_type": pa.int32(),
    "column_size": pa.int32(),
    "literal_prefix": pa.string(),
    "literal_suffix": pa.string(),
    "create_params": pa.list_(pa.field("item", pa.string(), nullable=False)),
    "nullable": pa.int32(),
    "case_sensitive": pa.bool_(),
    "searchable": pa.int32(),
    "unsigned_attribute": pa.bool_(),
    "fixed_prec_scale": pa.bool_(),
    "auto_increment": pa.bool_(),
    "local_type_name": pa.string(),
    "minimum_scale": pa.int32(),
    "maximum_scale": pa.int32(),
    "sql_data_type": pa.int32(),
    "datetime_subcode": pa.int32(),
    "num_prec_radix": pa.int32(),
    "interval_precision": pa.int32(),
}
XDBC_TYPES = pa.schema(
    [pa.field(name, kind, nullable=name not in _NOT_NULL) for name, kind in _FIELDS.items()]
)


def xdbc_types(command: Any) -> pa.Table:
    wanted = command.data_type if command.HasField("data_type") else None
    rows = [_row(*each) for each in _TYPES if wanted in (None, each[1])]
    return pa.Table.from_pylist(rows, schema=XDBC_TYPES)


def _row(
    name: str, number: int, size: int | None, quotes: str, unsigned: bool | None
) -> dict[str, Any]:
    is_time = 91 <= number <= 93
    return {
        "type_name": name,
        "data_type": number,
        "column_size": size,
        "literal_prefix": quotes or None,
        "literal_suffix": quotes or None,
        "create_params": ["precision", "scale"] if name == "DECIMAL" else None,
        "nullable": _NULLABLE,
        "case_sensitive": name == "VARCHAR",
        "searchable": _SEARCHABLE,
        "unsigned_attribute": unsigned,
        "fixed_prec_scale": False,
        "auto_increment": None if unsigned is None else False,
        "local_type_name": name,
        "minimum_scale": 0 if name == "DECIMAL" else None,
        "maximum_scale": 38 if name == "DECIMAL" else None,
        "sql_data_type": _DATETIME if is_time else number,
        "datetime_subcode": number - 90 if is_time else None,
        "num_prec_radix": None if unsigned is None else (2 if name in ("FLOAT", "DOUBLE") else 10),
        "interval_precision": None,
    }
