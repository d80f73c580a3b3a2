"""Arrow data in parts: the same rows, whatever the types."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.engine.incoming.even_parts import even_parts
from tidelake.plan.target import GROUP_ROWS


def rows(count: int) -> pa.Table:
    """Nulls everywhere, and nothing repeats in step with bytes or with parts."""
    numbers = range(count)

    def column(kind: pa.DataType, value: Callable[[int], Any]) -> pa.Array:
        return pa.array([None if n % 7 == 3 else value(n) for n in numbers], kind)

    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "flag": column(pa.bool_(), lambda n: n % 11 < 5),
            "small": column(pa.int16(), lambda n: n % 30_011),
            "text": column(pa.string(), lambda n: f"text {n % 997}"),
            "word": column(pa.string(), lambda n: f"w{n % 13}").dictionary_encode(),
            "day": column(pa.date32(), lambda n: date(2024, 1, 1 + n % 31)),
            "moment": column(pa.timestamp("us"), lambda n: datetime(2024, 1, 1, microsecond=n)),
            "price": column(pa.decimal128(18, 4), lambda n: Decimal(n) / 10_000),
            "parts": column(pa.list_(pa.int32()), lambda n: [n, None][: n % 3]),
            "pair": column(
                pa.struct({"a": pa.bool_(), "b": pa.string()}),
                lambda n: {"a": n % 2 == 0, "b": None if n % 5 else f"b{n}"},
            ),
            "named": column(pa.map_(pa.string(), pa.int64()), lambda n: [(f"k{n % 3}", n)]),
        }
    )


TYPES = (
    "id BIGINT, flag BOOLEAN, small SMALLINT, text VARCHAR, word VARCHAR, day DATE,"
    " moment TIMESTAMP, price DECIMAL(18, 4), parts INTEGER[], pair STRUCT(a BOOLEAN, b VARCHAR),"
    " named MAP(VARCHAR, BIGINT)"
)


def test_all_rows_arrive_in_their_order(tmp_path: Path) -> None:
    given = rows(2 * GROUP_ROWS + 1_003)
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        table = lake.create_table("t", TYPES)
        table.append(given.slice(3))
        (file,) = table.files()
    found = pq.read_table(file.path)
    for name in given.column_names:
        expected, kept = given[name].slice(3).combine_chunks(), found[name].combine_chunks()
        if pa.types.is_dictionary(expected.type):
            expected = expected.dictionary_decode()
        assert kept.cast(expected.type).equals(expected), name
    assert pq.read_metadata(file.path).num_row_groups == 3


@pytest.mark.parametrize("pieces", [1, 2, 3])
@pytest.mark.parametrize("count", [6 * GROUP_ROWS, 6 * GROUP_ROWS + 1, 1_000_000])
def test_parts_are_as_many_as_row_groups_and_about_as_large(count: int, pieces: int) -> None:
    whole = pa.table({"id": range(count)})
    cut = [(count * n // pieces, count * (n + 1) // pieces) for n in range(pieces)]
    given = pa.concat_tables(whole.slice(begin, end - begin) for begin, end in cut)
    assert given["id"].num_chunks == pieces
    found = list(even_parts(given))
    sizes = [len(part) for part in found]
    assert pa.Table.from_batches(found).equals(given)
    assert len(sizes) == -(-count // GROUP_ROWS)
    assert max(sizes) - min(sizes) <= 16
    assert max(sizes) <= GROUP_ROWS + 8


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([0], [0]),
        ([GROUP_ROWS], [GROUP_ROWS]),
        ([5, GROUP_ROWS, 7], [5, GROUP_ROWS, 7]),
        ([5, GROUP_ROWS + 2], [5, GROUP_ROWS, 2]),
    ],
)
def test_what_is_small_or_in_pieces_stays_so(pieces: list[int], expected: list[int]) -> None:
    given = pa.concat_tables(pa.table({"id": pa.array(range(n), "int64")}) for n in pieces)
    found = even_parts(given).read_all()
    assert found.equals(given)
    assert [len(part) for part in even_parts(given)] == [n for n in expected if n]


def test_a_part_of_two_pieces_keeps_what_each_had(tmp_path: Path) -> None:
    """Each piece has a dictionary of its own."""
    half = 2 * GROUP_ROWS + 1_001
    words = [pa.array([f"{letter}{n % 7}" for n in range(half)]) for letter in "ab"]
    given = pa.table(
        {
            "word": pa.chunked_array([each.dictionary_encode() for each in words]),
            "pair": pa.chunked_array(
                [pa.StructArray.from_arrays([each.dictionary_encode()], ["x"]) for each in words]
            ),
        }
    )
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        table = lake.create_table("t", "word VARCHAR, pair STRUCT(x VARCHAR)")
        table.append(given)
        (file,) = table.files()
    found = pq.read_table(file.path)
    expected = pa.concat_arrays(words)
    assert found["word"].combine_chunks().equals(expected)
    assert found["pair"].combine_chunks().field("x").equals(expected)
    assert pq.read_metadata(file.path).num_row_groups == 5
