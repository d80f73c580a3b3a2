"""Reading by field id, which Spark does only while a setting of the session is on.

Spark looks at the setting when a query runs, and without it finds columns by name. Most columns
have one name in all files, so nothing depends on it. A column that only its id finds is read under
a name that no file has, and would come out as NULL. So there is a witness: a column that every
file has, read by its id, with a default that is in nobody's data. A row that has the default was
not read by id, and stops the query.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import types as t

from tidelake.engine.spark.settings import FIELD_IDS
from tidelake.engine.spark.types import spark_type
from tidelake.model.schema import Column
from tidelake.plan.scan import ScanPlan
from tidelake.plan.spark_literal import backtick

# By type, values that only chance could bring: one in 2^52 at least.
_NUMBER = secrets.randbits(62) + 2**61
_MOMENT = datetime(1, 1, 1) + timedelta(microseconds=_NUMBER % 2**58)
_STRANGE = {
    "int64": str(-_NUMBER),
    "float64": repr(_NUMBER / 2**63),
    "varchar": f"no such text {_NUMBER}",
    "timestamp": _MOMENT.isoformat(" ", "microseconds"),
    "timestamptz": _MOMENT.isoformat(" ", "microseconds") + "Z",
}
_SWITCHED_OFF = (
    f"tidelake.errors.Invalid: {FIELD_IDS} has been switched off since this DataFrame was made,"
    " and columns were renamed or widened; switch it on and call to_spark() again"
)


@dataclass(frozen=True, slots=True)
class Witness:
    """A column that tells whether a row was read by field ids."""

    column: Column

    @property
    def field(self) -> t.StructField:
        """How it is read."""
        default = default_sql(self.column, _STRANGE[self.column.type])
        metadata = {"parquet.field.id": self.column.id, "EXISTS_DEFAULT": default}
        return t.StructField(own_name(self.column), spark_type(self.column), True, metadata)

    def guard(self, value: str) -> str:
        """The value, if the row was read by field ids."""
        name = backtick(own_name(self.column))
        strange = default_sql(self.column, _STRANGE[self.column.type])
        return f"IF({name} <=> {strange}, raise_error('{_SWITCHED_OFF}'), {value})"


def witness_of(plan: ScanPlan, by_id: Iterable[Column]) -> Witness | None:
    """One that is read by its id anyway, else one that is not asked for, else one that then is read
    by its id too; None if no column is fit for it."""
    ids = {column.id for column in by_id}
    asked = {column.id for column in plan.columns}
    fit = [
        column
        for column in plan.original
        if column.type in _STRANGE and column.initial_default is None
    ]
    fit.sort(key=lambda column: (column.id not in ids, column.id in asked))
    return Witness(fit[0]) if fit else None


def own_name(column: Column) -> str:
    """A name that no file has for the column."""
    return f"__tidelake_{column.id}"


def default_sql(column: Column, text: str) -> str:
    """The value that is meant by a text, as Spark's SQL."""
    return f"CAST(CAST(X'{text.encode().hex()}' AS STRING) AS {spark_type(column).simpleString()})"
