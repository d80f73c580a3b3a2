"""Intervals that a data file cannot hold. Parquet's have no sign and count milliseconds, with 32
bits: DuckDB's writer refuses a sign. Without a word it cuts what is less than a millisecond, and
what is too long begins again at zero; DuckDB 2 makes a day of 24 hours instead."""

from __future__ import annotations

import re

from tidelake.duck import makes_days_of_hours
from tidelake.engine.local.errors import refusal
from tidelake.engine.local.reshape import Source, cast, rebuild
from tidelake.model.file import InlinedRows
from tidelake.model.names import text_literal
from tidelake.model.schema import Column

_HINT = (
    "round it, keep its sign apart, make days of its hours, or keep the number of its microseconds"
    " in a BIGINT"
)
_HOURS = re.compile(r"(\d+):\d\d:\d\d")
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
        if "interval" in kinds and any(map(_has_too_many_hours, texts)):
            return False
    return True


def most_hours() -> int:
    """So many hours an interval in a file may have beside its days."""
    return 23 if makes_days_of_hours() else 1_192


def _has_too_many_hours(text: str) -> bool:
    return any(int(hours) > most_hours() for hours in _HOURS.findall(text))


def _leaf(column: Column, reference: str) -> str:
    if column.type != "interval":
        return cast(column, reference)
    text = f"CAST({reference} AS VARCHAR)"
    most = most_hours()
    why = (
        "is an interval that files cannot hold: they have no sign, count milliseconds, and hold at"
        f" most {most:,} hours beside the days"
    )
    told = refusal(f"column {column.name!r}: \0 {why}", _HINT)
    before, after = map(text_literal, told.split("\0"))
    parts = f"datepart('hour', {reference}) > {most} OR datepart('microsecond', {reference}) % 1000"
    bad = f"contains({text}, '-') OR {parts} <> 0"
    return f"CASE WHEN {bad} THEN error(concat({before}, {text}, {after})) ELSE {reference} END"
