"""Which field of a foreign Parquet file is which column, and whether it may be.

Fields are matched by name, as in SQL without regard to case. A field's type must be the
column's, or one whose every value the column's type can hold: strict, because what a file
holds cannot be mended once it is registered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from tidelake.engine.parquet.footer import INT96, NULLS, Footer, FooterField
from tidelake.errors import Invalid, Unsupported
from tidelake.model.file import MappedField
from tidelake.model.names import TableName, fold
from tidelake.model.schema import Column
from tidelake.model.types import INTEGERS, WIDE_INTEGERS, decimal_shape, is_decimal

_WIDER = {
    "float32": {"float64"},
    "timestamp_ms": {"timestamp", "timestamp_ns"},
    "timestamp": {"timestamp_ns"},
    INT96: {"timestamp", "timestamp_ns"},
    "time": {"time_ns"},
    "json": {"varchar"},
}
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Match:
    """How a file gives values to a table's columns.

    `leaves` pairs every leaf column with its field; `absent` are columns, at any depth, that
    the file has not; `folders` are the values that folders in the path spell, of columns
    that the file has not; `claims` likewise, of columns that the file has as well.
    """

    fields: Mapping[int, FooterField]
    leaves: tuple[tuple[Column, FooterField], ...]
    absent: tuple[tuple[Column, bool], ...]
    folders: tuple[tuple[Column, str | None], ...]
    claims: tuple[tuple[Column, str | None], ...]
    mapping: tuple[MappedField, ...] | None


def match_fields(
    footer: Footer, columns: Sequence[Column], table: TableName, *, hive: bool
) -> Match:
    """Pair the file's fields with the columns, or say what stands in the way."""
    pairing = _Pairing(footer.path, table)
    spelled = dict(_folders(footer.path)) if hive else {}
    named = {fold(column.name): column for column in columns if not column.is_nested}
    told = {
        named[fold(key)].id: (key, value) for key, value in spelled.items() if fold(key) in named
    }
    mapping = pairing.fields(columns, footer.fields, told)
    inside = pairing.found
    by_id = {column.id: column for column in columns}
    values = {at: pairing.folder_value(by_id[at], value) for at, (_, value) in told.items()}
    folders = [(by_id[at], value) for at, value in values.items() if at not in inside]
    mapping += [
        MappedField(told[column.id][0], column.id, is_partition=True) for column, _ in folders
    ]
    numbered = not folders and _is_numbered(columns, footer.fields)
    return Match(
        fields=inside,
        leaves=tuple(pairing.leaves),
        absent=tuple(pairing.absent),
        folders=tuple(folders),
        claims=tuple((by_id[at], value) for at, value in values.items() if at in inside),
        mapping=None if numbered else tuple(mapping),
    )


class _Pairing:
    """Walks columns and fields together; `found` are the top-level fields by column id."""

    def __init__(self, path: str, table: TableName) -> None:
        self._path = path
        self._table = table
        self.found: dict[int, FooterField] = {}
        self.leaves: list[tuple[Column, FooterField]] = []
        self.absent: list[tuple[Column, bool]] = []

    def fields(
        self, columns: Sequence[Column], fields: Sequence[FooterField], told: Mapping[int, object]
    ) -> list[MappedField]:
        pairs = self._pairs(columns, fields, "")
        self.found = {column.id: field for column, field in pairs}
        for column in columns:
            if column.id in self.found or column.id in told:
                continue
            if not column.nullable and column.initial_default is None:
                raise Invalid(
                    f"{self._path} has no column {column.name}, which {self._table} requires",
                    hint="write the file with it, or make it nullable with evolve(nullable=…)",
                )
            self.absent.append((column, True))
        return [self._mapped(column, field, column.name) for column, field in pairs]

    def folder_value(self, column: Column, text: str) -> str | None:
        """DuckDB reads some texts as nulls; others do not."""
        if text == _NULL_FOLDER:
            return None
        if text.upper() == "NULL" or (not text and column.type != "varchar"):
            raise Unsupported(
                f"{self._path}: the folder of {column.name} is {text!r}, which readers take for"
                " different things",
                hint=f"call a folder of nulls {_NULL_FOLDER}, or pass hive=False",
            )
        return unquote(text)

    def _pairs(
        self, columns: Sequence[Column], fields: Sequence[FooterField], prefix: str
    ) -> list[tuple[Column, FooterField]]:
        """In the order of the file."""
        named = {fold(column.name): column for column in columns}
        exact = {column.name: column for column in columns}
        pairs = [(exact.get(f.name) or named.get(fold(f.name)), f) for f in fields]
        known = [(column, field) for column, field in pairs if column is not None]
        if extra := [prefix + field.name for column, field in pairs if column is None]:
            raise Invalid(
                f"{self._path} has columns that {self._table} has not: {', '.join(extra)}",
                hint="add them with evolve(add=…), or write the file without them",
            )
        ids = [column.id for column, _ in known]
        if twice := [prefix + c.name for c, _ in known if ids.count(c.id) > 1]:
            raise Invalid(
                f"{self._path} has more than one column called {twice[0]}",
                hint="names that differ only in case are the same; write the file with one",
            )
        return known

    def _mapped(self, column: Column, field: FooterField, label: str) -> MappedField:
        if not _holds(column.type, field.type):
            raise self._refusal(column, field, label)
        if not column.children:
            self.leaves.append((column, field))
            return MappedField(field.name, column.id)
        if column.type == "struct":
            below = self._pairs(column.children, field.children, f"{label}.")
            present = {child.id for child, _ in below}
            self.absent += [(c, False) for c in column.children if c.id not in present]
        else:
            below = list(zip(column.children, field.children, strict=True))
        children = [self._mapped(c, f, f"{label}.{c.name}") for c, f in below]
        return MappedField(field.name, column.id, tuple(children))

    def _refusal(self, column: Column, field: FooterField, label: str) -> Invalid:
        message = (
            f"{self._path}: column {label} is {field.type}, and {self._table} has it as"
            f" {column.duckdb_type}"
        )
        if " " in field.type or column.type in ("variant", "geometry"):
            return Unsupported(message, hint="read the file and append() its rows")
        return Invalid(
            message,
            hint="a file's type must be the column's or fit into it without loss: append() its"
            " rows, or widen the column with evolve(widen=…)",
        )


def _holds(column_type: str, field_type: str) -> bool:
    """Whether the column's type has every value of the field's."""
    wanted = "timestamp" if column_type == "timestamp_us" else column_type
    if wanted == field_type and wanted != "variant":
        return True
    if field_type == NULLS:
        return wanted not in ("struct", "list", "map", "variant", "geometry")
    if field_type in INTEGERS and wanted in INTEGERS | WIDE_INTEGERS:
        return _holds_integers(wanted, field_type)
    if is_decimal(field_type) and is_decimal(wanted):
        (width, scale), (old_width, old_scale) = map(decimal_shape, (wanted, field_type))
        return scale >= old_scale and width - scale >= old_width - old_scale
    return wanted in _WIDER.get(field_type, ())


def _holds_integers(wanted: str, field_type: str) -> bool:
    bits, old_bits = (int(re.sub(r"\D", "", kind)) for kind in (wanted, field_type))
    if wanted.startswith("u") == field_type.startswith("u"):
        return bits >= old_bits
    return field_type.startswith("u") and bits > old_bits


def _folders(path: str) -> Iterator[tuple[str, str]]:
    for part in path.split("/")[:-1]:
        key, equals, value = part.partition("=")
        if equals:
            yield key, value


def _is_numbered(columns: Sequence[Column], fields: Sequence[FooterField]) -> bool:
    """Whether ids say the same as names, at every depth: then they outlive renaming."""
    known = {column.id: column for column in columns}
    return all(
        (column := known.get(field.id or 0)) is not None
        and column.name == field.name
        and _is_numbered_below(column, field)
        for field in fields
    )


def _is_numbered_below(column: Column, field: FooterField) -> bool:
    if column.type == "struct":
        return _is_numbered(column.children, field.children)
    if column.type == "list" and field.children[0].name != "list":
        return False
    return all(
        child.id == below.id and _is_numbered_below(child, below)
        for child, below in zip(column.children, field.children, strict=True)
    )
