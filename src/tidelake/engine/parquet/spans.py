"""Intervals that a data file cannot hold. Parquet's have no sign and count milliseconds: DuckDB's
writer refuses a sign, and cuts what is less than a millisecond without a word."""

from __future__ import annotations

import re

from tidelake.engine.local.errors import refusal
from tidelake.engine.local.reshape import Source, cast, rebuild
from tidelake.model.file import InlinedRows
from tidelake.model.names import text_literal
from tidelake.model.schema import Column

_HINT = "round it, keep its sign apart, or keep the number of its microseconds in a BIGINT"
_UNFIT = {"interval": re.compile(r"-|\.\d{3}\d*[1-9]"), "timestamp_s": re.compile("inf")}
"""In DuckDB's text of a value: what no file holds."""


def written_sql(column: Column, source: Source, reference: str) -> str:
    """The column's values as they go into a file; an error if one would be another there."""
    if not any(below.type == "interval" for below in column.walk()):
        return rebuild(column, source, reference)
    return rebuild(column, source, reference, _leaf)


def fit_into_files(rows: InlinedRows) -> bool:
    """Whether files can hold what the catalog keeps; if not, it may be said of rows that do."""
    for place, column in enumerate(rows.columns, 2):
        kinds = {below.type for below in column.walk()} & _UNFIT.keys()
        texts = {str(row[place]) for row in rows.rows} if kinds else set()
        if any(_UNFIT[kind].search(text) for kind in kinds for text in texts):
            return False
    return True


def _leaf(column: Column, reference: str) -> str:
    if column.type != "interval":
        return cast(column, reference)
    text = f"CAST({reference} AS VARCHAR)"
    why = "is an interval that files cannot hold: they have no sign, and count milliseconds"
    told = refusal(f"column {column.name!r}: \0 {why}", _HINT)
    before, after = map(text_literal, told.split("\0"))
    bad = f"contains({text}, '-') OR datepart('microsecond', {reference}) % 1000 <> 0"
    return f"CASE WHEN {bad} THEN error(concat({before}, {text}, {after})) ELSE {reference} END"
