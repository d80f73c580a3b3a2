"""What is known of floats in Arrow data before it is written."""

import struct
from typing import Any

import pyarrow as pa
import pytest

from tidelake.engine.incoming.arrow_floats import may_have_nans, may_have_negative_zeros

NAN = float("nan")
(BELOW,) = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000000))
"""The NaN that a processor makes of 0 / 0: it has a sign."""
PLACES: dict[str, tuple[pa.DataType, Any]] = {
    "float": (pa.float32(), lambda value: value),
    "double": (pa.float64(), lambda value: value),
    "struct": (pa.struct({"x": pa.float64()}), lambda value: {"x": value}),
    "list": (pa.list_(pa.float32()), lambda value: [1.0, value]),
    "large list": (pa.large_list(pa.float64()), lambda value: [value, 2.0]),
    "array": (pa.list_(pa.float64(), 2), lambda value: [value, 2.0]),
    "map": (pa.map_(pa.string(), pa.float64()), lambda value: [("a", value)]),
    "deep": (pa.list_(pa.struct({"x": pa.list_(pa.float64())})), lambda value: [{"x": [value]}]),
}


def table(kind: pa.DataType, values: list[Any]) -> pa.Table:
    """Several chunks, of which the values are in the last."""
    column = pa.chunked_array(
        [pa.array([], kind), pa.array([None] * 9, kind), pa.array(values, kind)]
    )
    return pa.table({"other": list(range(len(column))), "x": column})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("nan", [NAN, BELOW], ids=["plain", "below zero"])
def test_one_nan_is_seen(place: str, nan: float) -> None:
    kind, at = PLACES[place]
    ordinary = [at(value) for value in (1.5, -7.0, float("inf"), 0.0)]
    assert not may_have_nans(table(kind, ordinary))
    for index in range(5):
        assert may_have_nans(table(kind, [*ordinary[:index], at(nan), *ordinary[index:]]))


@pytest.mark.parametrize("place", PLACES)
def test_one_negative_zero_is_seen(place: str) -> None:
    kind, at = PLACES[place]
    ordinary = [at(value) for value in (1.5, -7.0, float("-inf"), 0.0, -5e-324)]
    if kind not in (pa.float32(), PLACES["list"][0]):
        assert not may_have_negative_zeros(table(kind, ordinary))
    for index in range(5):
        assert may_have_negative_zeros(
            table(kind, [*ordinary[:index], at(-0.0), *ordinary[index:]])
        )


def test_what_is_not_looked_into_may_have_them() -> None:
    for data in (
        pa.table({"x": pa.array([1.0, 2.0]).dictionary_encode()}),
        pa.table({"x": pa.array([1.0, 2.0], pa.float16())}),
    ):
        assert may_have_nans(data)
        assert may_have_negative_zeros(data)


def test_a_sum_of_both_infinities_is_no_proof() -> None:
    assert may_have_nans(pa.table({"x": [float("inf"), float("-inf")]}))


def test_data_without_floats_has_neither() -> None:
    for data in (
        pa.table({"x": [1, 2], "s": ["a", None]}),
        pa.table({"x": pa.array([], "float64")}),
    ):
        assert not may_have_nans(data)
        assert not may_have_negative_zeros(data)
