"""How a table's rows are laid out in files: `partition_by` and `sort_by`, read from text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidelake.errors import Invalid, NotFound
from tidelake.model.comparable import FLOATS, TIMESTAMPS, decimal_shape, is_decimal
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column, Schema
from tidelake.model.table import PartitionKey, SortKey
from tidelake.plan.partitioning.bucket_hash import SIGNED, UNSIGNED

_NAME = r'"(?:[^"]|"")+"|[^\s"(),]+'
_KEY = re.compile(rf"\s*(?:(?P<function>\w+)\s*\((?P<arguments>.*)\)|(?P<name>{_NAME}))\s*", re.S)
_ONE = re.compile(rf"\s*(?P<name>{_NAME})\s*")
_COUNTED = re.compile(rf"\s*(?P<count>[^,]*?)\s*,\s*(?P<name>{_NAME})\s*")
_SORT = re.compile(
    rf"\s*(?P<name>{_NAME})(?:\s+(?P<way>ASC|DESC)(?:ENDING)?)?"
    r"(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*",
    re.I,
)
_CALENDAR = ("year", "month", "day", "hour")
_INSTEAD = {
    **{f"{unit}s": f"{unit}(…)" for unit in _CALENDAR},
    "date": "year(…), month(…), day(…)",
    "identity": "the column's name alone",
}
_MAX_BUCKETS = 2**31 - 1
_WITHOUT_TEXT = frozenset({"struct", "list", "map", "blob", "variant", "geometry"})
_UNHASHED = frozenset({"struct", "list", "map", "variant", "geometry", "interval", "timetz"})
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*", re.I)
_KEYWORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization between
    bigint binary bit boolean both by case cast char character check coalesce collate collation
    column columns concurrently constraint create cross dec decimal default deferrable desc
    describe distinct do else end except exists extract false fetch float for foreign freeze
    from full generated glob group grouping grouping_id having ilike in initially inner inout
    int integer intersect interval into is isnull join lambda lateral leading left like limit
    map national natural nchar none not notnull null nullif numeric offset on only or order out
    outer overlaps overlay pivot pivot_longer pivot_wider placing position positional precision
    primary qualify real references returning right row select semi setof show similar smallint
    some struct substring summarize symmetric table tablesample then time timestamp to trailing
    treat trim true try_cast union unique unpack unpivot using values varchar variadic verbose
    when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces
    xmlparse xmlpi xmlroot xmlserialize xmltable
"""
_LONG_DECIMAL_DIGITS = 18
_SPELLINGS = "partition by column, year(column), month(…), day(…), hour(…) or bucket(8, column)"


def parse_partitioning(
    texts: str | Sequence[str], columns: Iterable[Column]
) -> tuple[PartitionKey, ...]:
    """The keys that texts such as `region`, `day(ts)` and `bucket(8, symbol)` describe.

    Only columns of the table itself, not fields inside them, and no key twice.
    """
    schema = Schema(tuple(columns))
    keys: list[PartitionKey] = []
    for text in [texts] if isinstance(texts, str) else texts:
        key = _partition_key(text, schema)
        if any(_is_same(key, other) for other in keys):
            raise Invalid(f"{text!r} partitions by the same thing twice", hint="name it once")
        keys.append(key)
    return tuple(keys)


def _is_same(key: PartitionKey, other: PartitionKey) -> bool:
    def kind(each: PartitionKey) -> str:
        return each.transform.partition("(")[0]

    return (key.column_id, kind(key)) == (other.column_id, kind(other))


def _partition_key(text: str, schema: Schema) -> PartitionKey:
    match = _KEY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Invalid(f"cannot partition by {text!r}", hint=_SPELLINGS)
    if match["name"]:
        column = _column(match["name"], schema, text)
        if column.type in _WITHOUT_TEXT:
            raise Invalid(
                f"cannot partition by {column.name!r}: {_article(column)} has no name for a folder",
                hint="partition by bucket(8, …) of it"
                if column.type == "blob"
                else "partition by another column",
            )
        return PartitionKey(column.id, "identity")
    function = match["function"].lower()
    if function in _CALENDAR:
        return _calendar_key(function, match["arguments"], text, schema)
    if function == "bucket":
        return _bucket_key(match["arguments"], text, schema)
    instead = _INSTEAD.get(function)
    raise Invalid(
        f"cannot partition by {text!r}: DuckLake has no {function}()",
        hint=f"write {instead}" if instead else _SPELLINGS,
    )


def _calendar_key(unit: str, arguments: str, text: str, schema: Schema) -> PartitionKey:
    match = _ONE.fullmatch(arguments)
    if match is None:
        raise Invalid(f"cannot partition by {text!r}", hint=f"write {unit}(column)")
    column = _column(match["name"], schema, text)
    if column.type in TIMESTAMPS or (column.type == "date" and unit != "hour"):
        return PartitionKey(column.id, unit)
    fit = "timestamps" if unit == "hour" else "dates and timestamps"
    raise Invalid(
        f"cannot partition by {text!r}: {column.name!r} is {_article(column)}",
        hint=f"{unit}() is for {fit}",
    )


def _bucket_key(arguments: str, text: str, schema: Schema) -> PartitionKey:
    match = _COUNTED.fullmatch(arguments)
    count = match["count"] if match else ""
    if match is None or not (count.isascii() and count.isdecimal()):
        raise Invalid(f"cannot partition by {text!r}", hint="write bucket(8, column)")
    if not 1 <= int(count) <= _MAX_BUCKETS:
        raise Invalid(
            f"cannot partition by {text!r}: {count} buckets",
            hint=f"choose a number from 1 to {_MAX_BUCKETS}",
        )
    column = _column(match["name"], schema, text)
    if column.type in _UNHASHED:
        raise Invalid(
            f"cannot partition by {text!r}: {column.name!r} is {_article(column)}",
            hint="bucket() is for numbers, texts, bytes, dates, times and UUIDs",
        )
    return PartitionKey(column.id, f"bucket({int(count)})")


def parse_sorting(texts: str | Sequence[str], columns: Iterable[Column]) -> tuple[SortKey, ...]:
    """The sort keys that texts such as `symbol` and `ts DESC NULLS FIRST` describe.

    As in DuckDB, rows go up and nulls last unless the text says otherwise.
    """
    schema = Schema(tuple(columns))
    keys: list[SortKey] = []
    for text in [texts] if isinstance(texts, str) else texts:
        match = _SORT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise Invalid(
                f"cannot sort by {text!r}", hint="write column, column DESC or column NULLS FIRST"
            )
        name = _expression(_column(match["name"], schema, text).name)
        if any(key.expression == name for key in keys):
            raise Invalid(f"{text!r} sorts by the same column twice", hint="name it once")
        way, nulls = (match["way"] or "ASC").upper(), (match["nulls"] or "LAST").upper()
        keys.append(SortKey(name, way, f"NULLS_{nulls}"))
    return tuple(keys)


def _expression(name: str) -> str:
    """A column as an expression: quoted unless every SQL parser takes it for a plain name."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _KEYWORDS.split() else quote(name)


def _column(name: str, schema: Schema, text: str) -> Column:
    if name.startswith('"'):
        name = name[1:-1].replace('""', '"')
    try:
        return schema.column(name)
    except NotFound as error:
        inside = fold(name.partition(".")[0])
        if any(fold(c.name) == inside and c.is_nested for c in schema):
            raise Invalid(
                f"{text!r}: {name!r} is inside a column, and files are laid out by whole columns",
                hint="copy the field into a column of its own",
            ) from error
        raise NotFound(f"{text!r}: no column {name!r}", hint=error.hint) from error


def _article(column: Column) -> str:
    return f"{'an' if column.type[0] in 'aeiou' else 'a'} {column.type}"


def sorted_column(key: SortKey, columns: Iterable[Column]) -> Column | None:
    """The column that a sort key names; None if it is a computed expression."""
    match = _ONE.fullmatch(key.expression)
    try:
        return _column(match["name"], Schema(tuple(columns)), key.expression) if match else None
    except (NotFound, Invalid):
        return None


def keeps_buckets(old: str, new: str) -> bool:
    """Whether a value hashes into the same bucket after its column has gone to a wider type."""
    if old == new or any({old, new} <= alike for alike in (SIGNED, UNSIGNED, FLOATS)):
        return True
    if is_decimal(old) and is_decimal(new):
        (width, scale), (wide, wide_scale) = decimal_shape(old), decimal_shape(new)
        is_long = [digits > _LONG_DECIMAL_DIGITS for digits in (width, wide)]
        return scale == wide_scale and is_long[0] == is_long[1]
    return False
