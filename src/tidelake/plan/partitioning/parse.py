"""How a table's rows are laid out in files: `partition_by` and `sort_by`, read from text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidelake.errors import Invalid, NotFound
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column, Schema
from tidelake.model.table import PartitionKey, SortKey
from tidelake.plan.partitioning.interface import Transform
from tidelake.plan.partitioning.transforms import HINT, INSTEAD, KINDS, Identity
from tidelake.syntax.keywords import KEYWORDS

_NAME = r'"(?:[^"]|"")+"|[^\s"(),]+'
_KEY = re.compile(rf"\s*(?:(?P<function>\w+)\s*\((?P<arguments>.*)\)|(?P<name>{_NAME}))\s*", re.S)
_ONE = re.compile(rf"\s*(?P<name>{_NAME})\s*")
_ARGUMENTS = re.compile(rf"\s*(?:(?P<parameter>[^,]*?)\s*,\s*)??(?P<name>{_NAME})\s*")
_SORT = re.compile(
    rf"\s*(?P<name>{_NAME})(?:\s+(?P<way>ASC|DESC)(?:ENDING)?)?"
    r"(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*",
    re.I,
)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*", re.I)


def parse_partitioning(
    texts: str | Sequence[str], columns: Iterable[Column]
) -> tuple[PartitionKey, ...]:
    """The keys that texts such as `region`, `day(ts)` and `bucket(8, symbol)` describe.

    Only columns of the table itself, not fields inside them, and no key twice.
    """
    schema = Schema(tuple(columns))
    keys: dict[tuple[int, type[Transform]], PartitionKey] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        column, transform = _partition_key(text, schema)
        if (column.id, type(transform)) in keys:
            raise Invalid(f"{text!r} partitions by the same thing twice", hint="name it once")
        keys[column.id, type(transform)] = PartitionKey(column.id, transform.text)
    return tuple(keys.values())


def _partition_key(text: str, schema: Schema) -> tuple[Column, Transform]:
    match = _KEY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Invalid(f"cannot partition by {text!r}", hint=HINT)
    if match["name"]:
        name, transform = match["name"], Identity.written(None, text)
    else:
        name, transform = _called(match["function"].lower(), match["arguments"], text)
    column = _column(name, schema, text)
    transform.check(column, text)
    return column, transform


def _called(function: str, arguments: str, text: str) -> tuple[str, Transform]:
    kind = next((kind for kind in KINDS if kind.word == function), None)
    if kind is None or kind is Identity:
        instead = INSTEAD.get(function)
        raise Invalid(
            f"cannot partition by {text!r}: DuckLake has no {function}()",
            hint=f"write {instead}" if instead else HINT,
        )
    match = _ARGUMENTS.fullmatch(arguments)
    if match is None:
        raise Invalid(f"cannot partition by {text!r}", hint=f"write {kind.usage}")
    return match["name"], kind.written(match["parameter"], text)


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
    return name if _PLAIN.fullmatch(name) and name.lower() not in KEYWORDS else quote(name)


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


def sorted_column(key: SortKey, columns: Iterable[Column]) -> Column | None:
    """The column that a sort key names; None if it is a computed expression."""
    match = _ONE.fullmatch(key.expression)
    try:
        return _column(match["name"], Schema(tuple(columns)), key.expression) if match else None
    except (NotFound, Invalid):
        return None
