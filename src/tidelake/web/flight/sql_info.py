"""What this server says of itself to drivers (GetSqlInfo): numbers of the protocol, and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tidelake import __version__

_UNION = pa.dense_union(
    [
        pa.field("string_value", pa.string()),
        pa.field("bool_value", pa.bool_()),
        pa.field("bigint_value", pa.int64()),
        pa.field("int32_bitmask", pa.int32()),
        pa.field("string_list", pa.list_(pa.field("item", pa.string()))),
        pa.field(
            "int32_to_int32_list_map",
            pa.map_(pa.int32(), pa.list_(pa.field("item", pa.int32()))),
        ),
    ]
)
SQL_INFO = pa.schema(
    [pa.field("info_name", pa.uint32(), nullable=False), pa.field("value", _UNION, nullable=False)]
)
_STRING, _BOOL, _BIGINT, _BITMASK, _STRINGS = range(5)
_TRANSACTIONS = 1
_CASE_INSENSITIVE = 1
_NULLS_LAST = 3


_FACTS: dict[int, Any] = {
    0: "Tidelake",
    1: __version__,
    2: pa.__version__,
    4: True,  # SQL
    5: False,  # Substrait
    8: (_BITMASK, _TRANSACTIONS),
    9: True,  # cancelling
    10: True,  # ingestion
    11: True,  # in transactions
    500: False,
    501: True,
    502: True,
    503: (_BIGINT, _CASE_INSENSITIVE),
    504: '"',
    505: (_BIGINT, _CASE_INSENSITIVE),
    506: True,
    507: (_BIGINT, _NULLS_LAST),
    508: ["ASOF", "LATERAL", "PIVOT", "QUALIFY", "UNPIVOT"],
    509: ["ABS", "CEIL", "EXP", "FLOOR", "LN", "LOG10", "MOD", "POWER", "ROUND", "SQRT"],
    510: ["CONCAT", "LEFT", "LENGTH", "LOWER", "REPLACE", "RIGHT", "SUBSTRING", "UPPER"],
    511: ["COALESCE", "NULLIF"],
    512: ["CURRENT_DATE", "DATE_PART", "DATE_TRUNC", "NOW"],
    513: "\\",
    514: "",
    515: True,
    516: True,
    518: True,
    519: False,
    520: True,
    521: True,
    522: (_BITMASK, 3),
    523: True,
    524: True,
    525: (_BITMASK, 3),
    526: (_BITMASK, 1),
    527: False,
    528: (_BITMASK, 2),
    529: "schema",
    530: "",
    531: "catalog",
    532: True,
    541: (_BIGINT, 0),  # the longest literal, and so on: no limit is known
}
"""By number: a text, a truth, texts, or a number with the kind that drivers expect it in."""


def sql_info(
    asked: Sequence[int], *, read_only: bool, statement_s: float, transaction_s: float
) -> pa.Table:
    """What is known of what was asked, or of everything. Of what is not there drivers know what
    to think."""
    facts = {
        **_FACTS,
        3: read_only,
        100: (_BITMASK, int(statement_s * 1000)),
        101: (_BITMASK, int(transaction_s * 1000)),
    }
    numbers = sorted(set(facts) if not asked else set(facts) & set(asked))
    kinds, values = [], []
    for number in numbers:
        kind, value = _typed(facts[number])
        kinds.append(kind)
        values.append(value)
    children, offsets = _children(kinds, values)
    union = pa.UnionArray.from_dense(
        pa.array(kinds, pa.int8()),
        pa.array(offsets, pa.int32()),
        children,
        [field.name for field in _UNION],
    )
    return pa.Table.from_arrays(
        [pa.array(numbers, pa.uint32()), union.cast(_UNION)], schema=SQL_INFO
    )


def _typed(value: Any) -> tuple[int, Any]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, bool):
        return _BOOL, value
    return (_STRINGS if isinstance(value, list) else _STRING), value


def _children(kinds: list[int], values: list[Any]) -> tuple[list[pa.Array], list[int]]:
    """The union's arrays, and where in its own each value is."""
    apart: list[list[Any]] = [[] for _ in range(_UNION.num_fields)]
    offsets = []
    for kind, value in zip(kinds, values, strict=True):
        offsets.append(len(apart[kind]))
        apart[kind].append(value)
    arrays = [pa.array(each, _UNION.field(n).type) for n, each in enumerate(apart)]
    return arrays, offsets
