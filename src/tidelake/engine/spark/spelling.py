"""Parts of an expression in Spark's words, and the types that literals take beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from tidelake.model.comparable import comparable
from tidelake.model.literal import Value
from tidelake.model.schema import Column
from tidelake.plan.spark_literal import NotEqual, read

BOOLEAN = Column(0, "", "boolean")
_EXACT_DOUBLES = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float32")
_LITERAL_WHOLE = ("int32", "int64")


@dataclass(frozen=True, slots=True)
class SparkExpression:
    """An expression in Spark's words, with its type. A literal has a value and may have no type of
    its own yet: it takes that of what it is compared with."""

    text: str
    kind: Column | None
    value: tuple[Value] | None = None


def is_number_of(value: Value, kind: Column) -> bool:
    if isinstance(value, Decimal):
        return kind.type == "float64"
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and kind.type in (*_LITERAL_WHOLE, "float64")


def shared_type(parts: Sequence[SparkExpression]) -> Column:
    """The one type of all parts; literals take that of the others."""
    kinds = {said.kind.type: said.kind for said in parts if said.kind is not None}
    literals = [said for said in parts if said.value is not None and said.value[0] is not None]
    for said in [] if kinds else literals:
        own = own_type(said)
        kinds[own.type] = own
    if len(kinds) == 2 and "float64" in kinds and kinds.keys() <= {"float64", *_EXACT_DOUBLES}:
        return kinds["float64"]
    if kinds.keys() == {"int32", "int64"}:
        return kinds["int64"]
    if len(kinds) != 1:
        raise NotEqual("values of several types")
    (found,) = kinds.values()
    if found.type == "int32" and any(_is_long(said) for said in literals):
        raise NotEqual("a literal of another type")
    if found.is_nested or found.type in ("variant", "geometry", "json"):
        raise NotEqual(found.duckdb_type)
    return found


def _is_long(said: SparkExpression) -> bool:
    value = said.value[0] if said.value is not None else None
    return isinstance(value, int) and not -(2**31) <= value < 2**31


def own_type(said: SparkExpression) -> Column:
    """What a literal is where nothing else says."""
    value = said.value[0] if said.value is not None else None
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return Column(0, "", "int64" if _is_long(said) else "int32")
    for kind, name in ((float, "float64"), (str, "varchar")):
        if isinstance(value, kind):
            return Column(0, "", name)
    raise NotEqual("a literal")


def literal_of(wanted: Column, value: Value) -> Value:
    """A text literal cast to a type, such as DATE '2024-01-01'."""
    if isinstance(value, bool) and wanted.type == "boolean":
        return value
    if not isinstance(value, str):
        raise NotEqual("a cast of a literal")
    if wanted.type == "boolean" and value in ("t", "f"):
        return value == "t"
    if wanted.type == "float64" and (known := comparable(wanted, value)):
        return float(known.value)
    if wanted.type not in ("date", "timestamp", "timestamptz"):
        raise NotEqual("a cast of a literal")
    return read(wanted, value)
