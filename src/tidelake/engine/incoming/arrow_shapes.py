"""What Arrow data has, as DuckDB will read it; and the few types that DuckDB would read with loss,
or not at all, brought into others first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidelake.engine.declare.arrow import EXTENSIONS, READ_ALIKE
from tidelake.engine.incoming.conform import DURATION, ENCODED_VARIANT, DataShape
from tidelake.engine.local.errors import refusal
from tidelake.errors import Invalid
from tidelake.model.names import quote
from tidelake.model.types import FROM_ARROW

if TYPE_CHECKING:
    import pyarrow as pa

_WORDS = {"null": "null"} | FROM_ARROW | READ_ALIKE


_COMPARED_ALIKE = frozenset(
    {"bool", "string", "large_string", "binary", "large_binary", "date32[day]", "time64[us]"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | {f"timestamp[{unit}]" for unit in ("s", "ms", "us")}
)


def scan(name: str, schema: pa.Schema, labels: Sequence[str]) -> str:
    """What to select registered data from, with these labels for its columns.

    DuckDB hands conditions on a column to Arrow, which compares NaN otherwise, loses nanoseconds
    and knows nothing of some types. An expression instead of the column keeps them here.
    """
    chosen = [_kept(field.type, label) for label, field in zip(labels, schema, strict=True)]
    return f"(SELECT {', '.join(chosen)} FROM {quote(name)} AS r({', '.join(labels)}))"


def _kept(kind: pa.DataType, label: str) -> str:
    if str(kind) in _COMPARED_ALIKE:
        return label
    if "fixed_size_list" in str(kind):  # DuckDB's CASE knows no arrays
        return f"TRY({label}) AS {label}"
    return f"CASE WHEN {label} IS NULL THEN NULL ELSE {label} END AS {label}"


def arrow_shape(field: pa.Field, place: str) -> DataShape:
    """The shape of a field whose type is `readable`."""
    import pyarrow as pa

    kind, name = field.type, field.name
    if extension := _extension(field):
        if extension in EXTENSIONS:
            return DataShape(name, EXTENSIONS[extension])
        raise _refused(place, name, extension, "cast it to the type it is stored as")
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return arrow_shape(pa.field(name, kind.value_type), place)
    if pa.types.is_struct(kind):
        if any((part.metadata or {}).get(b"variant") == b"true" for part in kind):
            return DataShape(name, ENCODED_VARIANT)
        return DataShape(name, "struct", tuple(arrow_shape(part, place) for part in kind))
    if pa.types.is_map(kind):
        parts = (pa.field("key", kind.key_type), pa.field("value", kind.item_type))
        return DataShape(name, "map", tuple(arrow_shape(part, place) for part in parts))
    if isinstance(getattr(kind, "value_field", None), pa.Field):
        word = "array" if pa.types.is_fixed_size_list(kind) else "list"
        return DataShape(name, word, (arrow_shape(kind.value_field, place),))
    return DataShape(name, _scalar(kind, place, name))


def _scalar(kind: pa.DataType, place: str, name: str) -> str:
    import pyarrow as pa

    if pa.types.is_duration(kind):
        return DURATION
    if word := _WORDS.get(str(kind)):
        return word
    if pa.types.is_timestamp(kind):
        return "timestamptz"
    if pa.types.is_fixed_size_binary(kind):
        return "blob"
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        return f"decimal({kind.precision},{kind.scale})"
    raise _refused(place, name, str(kind), "convert it to another type")


def _extension(field: pa.Field) -> str:
    name = getattr(field.type, "extension_name", None)
    return str(name or (field.metadata or {}).get(b"ARROW:extension:name", b"").decode())


def _refused(place: str, name: str, kind: str, hint: str) -> Invalid:
    return Invalid(f"{place}: {name!r} of the data has the type {kind}", hint=hint)


def readable(schema: pa.Schema) -> pa.Schema:
    """The schema with types that DuckDB reads whole: it would cut nanoseconds off zoned
    timestamps and durations and hours off dates, and knows no half floats and no decimals of
    256 bits."""
    import pyarrow as pa

    fields = [field.with_type(_readable(field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


def _readable(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    known = pa.types
    if known.is_timestamp(kind) and kind.unit == "ns" and kind.tz:
        return pa.timestamp("ns")
    if known.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if known.is_date64(kind):
        return pa.date32()
    if known.is_float16(kind):
        return pa.float32()
    if known.is_decimal256(kind) and 0 <= kind.scale <= 38:
        return pa.decimal128(38, kind.scale)
    if known.is_dictionary(kind):
        value = _readable(kind.value_type)
        return kind if value == kind.value_type else value
    return _readable_inside(kind) if known.is_nested(kind) else kind


def _readable_inside(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    known = pa.types
    if known.is_map(kind):
        parts = _readable(kind.key_type), _readable(kind.item_type)
        return kind if parts == (kind.key_type, kind.item_type) else pa.map_(*parts)
    fields = [kind.field(at) for at in range(kind.num_fields)]
    better = [field.with_type(_readable(field.type)) for field in fields]
    if better == fields:
        return kind
    if known.is_struct(kind):
        return pa.struct(better)
    if known.is_fixed_size_list(kind):
        return pa.list_(better[0], kind.list_size)
    if known.is_list(kind):
        return pa.list_(better[0])
    return pa.large_list(better[0]) if known.is_large_list(kind) else kind


def cast_batches(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, place: str
) -> Iterator[pa.RecordBatch]:
    """The batches in the readable schema; what does not fit is refused through DuckDB."""
    import pyarrow as pa

    for batch in batches:
        arrays = []
        for array, field in zip(batch.columns, schema, strict=True):
            try:
                arrays.append(array if array.type == field.type else array.cast(field.type))
            except pa.ArrowInvalid as error:
                message = f"{place}: {field.name!r} of the data: {error}"
                raise ValueError(refusal(message, "round it first")) from error
        yield pa.record_batch(arrays, schema=schema)
