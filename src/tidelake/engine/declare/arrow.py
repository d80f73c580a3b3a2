"""Arrow's types in DuckLake's words: exactly, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidelake.engine.incoming.pandas_frame import schema_of
from tidelake.errors import Unsupported
from tidelake.model.schema import Column
from tidelake.model.types import FROM_ARROW

if TYPE_CHECKING:
    import pyarrow as pa

READ_ALIKE = {
    **dict.fromkeys(("large_string", "string_view"), "varchar"),
    **dict.fromkeys(("large_binary", "binary_view"), "blob"),
    **dict.fromkeys(("time32[s]", "time32[ms]"), "time"),
    **dict.fromkeys(("duration[s]", "duration[ms]", "duration[us]"), "interval"),
}
"""What else Arrow has for types, and DuckDB reads as them."""
EXTENSIONS = {name: kind for name, kind in FROM_ARROW.items() if "." in name} | {
    "arrow.bool8": "boolean"
}
_WORDS = FROM_ARROW | READ_ALIKE
_WORDS |= {"halffloat": "float32", "date64[ms]": "date", "duration[ns]": "interval"}
_WORDS |= {"time64[ns]": "time"}  # a table cannot have TIME_NS
_MAX_DIGITS = 38


def arrow_schema(frame: Any) -> pa.Schema:
    """The Arrow schema of an Arrow, Polars or pandas object, without reading its rows."""
    import pyarrow as pa

    if isinstance(frame, pa.Schema):
        return frame
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas":
        return schema_of(frame)
    if library == "polars":
        schema = frame.collect_schema()
        return pa.schema([arrow_field(name, kind) for name, kind in schema.items()])
    if isinstance(getattr(frame, "schema", None), pa.Schema):
        return frame.schema
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame).schema
    return pa.schema(frame)


def with_text_for_nulls(schema: pa.Schema) -> pa.Schema:
    """The schema with text where nothing but nulls is."""
    import pyarrow as pa

    return pa.schema([field.with_type(_without_nulls(field.type)) for field in schema])


def _without_nulls(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    known = pa.types
    if known.is_null(kind):
        return pa.string()
    if known.is_struct(kind):
        return pa.struct([part.with_type(_without_nulls(part.type)) for part in kind])
    if known.is_map(kind):
        return pa.map_(_without_nulls(kind.key_type), _without_nulls(kind.item_type))
    if known.is_list(kind) or known.is_large_list(kind):
        return pa.list_(_without_nulls(kind.value_type))
    return kind


def arrow_field(name: str, kind: Any) -> pa.Field:
    """A field of a pyarrow or Polars type."""
    import pyarrow as pa

    if isinstance(kind, pa.Field):
        return kind.with_name(name)
    if isinstance(kind, pa.DataType):
        return pa.field(name, kind)
    import polars as pl

    if _holds_objects(kind):
        raise _refused(name, kind, "convert it to a type that other programs know")
    try:
        return pl.DataFrame(schema={name: kind}).to_arrow().schema.field(0)
    except pa.ArrowException as error:
        hint = "cast it to Decimal(38, 0)" if "128" in str(kind) else "cast it to another type"
        raise _refused(name, kind, hint) from error


def _holds_objects(kind: Any) -> bool:
    inner = [getattr(kind, "inner", None), *(f.dtype for f in getattr(kind, "fields", ()))]
    return kind == _polars_object() or any(_holds_objects(k) for k in inner if k is not None)


def _polars_object() -> Any:
    import polars as pl

    return pl.Object


def arrow_columns(schema: pa.Schema) -> list[Column]:
    return [arrow_column(field) for field in schema]


def arrow_column(field: pa.Field) -> Column:
    """A column, not numbered yet, with the field's nullability and its metadata `comment`."""
    comment = (field.metadata or {}).get(b"comment")
    return replace(
        _column(field, field.name),
        nullable=field.nullable,
        comment=None if comment is None else comment.decode(),
    )


def _column(field: pa.Field, path: str) -> Column:
    import pyarrow as pa

    kind, known = field.type, pa.types
    if extension := extension_of(field):
        if extension not in EXTENSIONS:
            raise _refused(path, extension, "cast it to the type it is stored as")
        return Column(0, field.name, EXTENSIONS[extension])
    if known.is_dictionary(kind) or known.is_run_end_encoded(kind):
        return _column(pa.field(field.name, kind.value_type), path)
    if known.is_map(kind):
        parts = [pa.field("key", kind.key_type), pa.field("value", kind.item_type)]
        return _nested(field, "map", parts, path)
    if known.is_struct(kind):
        return _nested(field, "struct", list(kind.fields), path)
    if hasattr(kind, "value_field"):
        return _nested(field, "list", [kind.value_field.with_name("element")], path)
    return Column(0, field.name, _scalar(kind, path))


def _nested(field: pa.Field, kind: str, parts: list[pa.Field], path: str) -> Column:
    children = tuple(_column(part, f"{path}.{part.name}") for part in parts)
    return Column(0, field.name, kind, children=children)


def extension_of(field: pa.Field) -> str:
    """The name of the field's extension type, known to pyarrow or not; empty if it has none."""
    name: str = getattr(field.type, "extension_name", "")
    return name or (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()


def _scalar(kind: pa.DataType, path: str) -> str:
    import pyarrow as pa

    if name := _WORDS.get(str(kind)):
        return name
    if pa.types.is_timestamp(kind):
        return "timestamptz"
    if pa.types.is_fixed_size_binary(kind):
        return "blob"
    if pa.types.is_decimal(kind):
        if kind.precision <= _MAX_DIGITS and 0 <= kind.scale <= kind.precision:
            return f"decimal({kind.precision},{kind.scale})"
        raise _refused(path, kind, f"a decimal has at most {_MAX_DIGITS} digits, none negative")
    if pa.types.is_null(kind):
        raise _refused(path, kind, "a column of nothing but nulls has no type: give it one")
    raise _refused(path, kind, "cast it to another type, or split it into several columns")


def _refused(path: str, kind: object, hint: str) -> Unsupported:
    return Unsupported(f"column {path!r}: a table cannot have the type {kind}", hint=hint)
