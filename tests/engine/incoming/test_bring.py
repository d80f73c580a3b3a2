"""What users hand over, by name, once, and whole."""

from collections import UserDict

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.engine.incoming.taking import (
    MOMENT,
    TABLE,
    THREE,
    opened,
    parsed,
    refusal,
    taken,
    values,
)
from tidelake.engine.incoming.bring import bring
from tidelake.errors import Invalid, Unsupported
from tidelake.model.schema import Column


@pytest.fixture
def connection():
    with opened() as connection:
        yield connection


def test_columns_go_by_name_and_case_does_not_matter(connection):
    data = pa.table({"AT": pa.array([MOMENT]), "name": ["x"], "ID": [1]})
    expected = [("1", "x", str(MOMENT).rstrip("0"))]
    assert taken(connection, data, THREE) == expected
    assert taken(connection, data.to_pylist(), THREE) == expected


def test_missing_columns_get_their_defaults(connection):
    expected = [("1", "it's", "2024-01-01 00:00:00")]
    assert taken(connection, pa.table({"id": [1]}), THREE) == expected
    assert taken(connection, {"id": 1}, THREE) == expected
    assert taken(connection, [{"id": 1}] * 500, THREE) == expected * 500


def test_present_says_what_the_data_had(connection):
    for data in (pa.table({"ID": [1]}), {"ID": 1}, iter([{"ID": 1}] * 20_000)):
        incoming = bring(connection, "given", data, THREE, table=TABLE, defaults=False)
        assert incoming.present == {"id"}
        assert connection.execute(incoming.sql).fetchone() == (1, None, None)


def test_without_defaults_even_required_columns_may_be_missing(connection):
    for data in (pa.table({"name": ["x"]}), {"name": "x"}):
        assert taken(connection, data, THREE, defaults=False) == [(None, "x", None)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.table({"id": [1], "zz": [1], "yy": [1]}), "there is no 'zz', 'yy'"),
        ({"id": 1, "zz": 1}, "row 1: there is no 'zz'"),
        ([{"id": 1}, {"id": 1, "zz": 1}], "row 2"),
        (pa.table({"name": ["x"]}), "'id' is missing"),
        ({"name": "x"}, "row 1 has no 'id'"),
        ([{"id": 1}, {}], "row 2 has no 'id'"),
        (pa.Table.from_arrays([pa.array([1])] * 2, ["id", "ID"]), "'id' and 'ID'"),
        (pa.Table.from_arrays([pa.array([1])] * 2, ["id", "id"]), "'id' and 'id'"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "'id' and 'id'"),
        ({"id": 1, "ID": 2}, "'id' twice"),
        (pa.table({"id": pa.array([1, None])}), "'id' may not be null"),
        (pa.table({"id": pa.array([1, None])}).to_reader(), "'id' may not be null"),
        ([{"id": 1}, {"id": None}], "row 2: column 'id' may not be null"),
        (pa.table({}).to_reader(), "no columns"),
        (pd.DataFrame(index=range(2)), "no columns"),
        ([{"id": 1}, 5], "row 2 is a int"),
        (object(), "object"),
        (5, "int"),
        (None, "NoneType"),
        (b"x", "bytes"),
        ([1, 2], "int"),
        ([None], "NoneType"),
        ([{"id": 1}, None], "row 2 is a NoneType"),
        (pd.Series([1]), "Series"),
        (pa.array([1]), "cannot be read"),
        ([pa.record_batch({"id": [1]}), pa.record_batch({"x": [1]})], "do not go together"),
    ],
)
def test_what_cannot_be_taken_is_refused(connection, data, message):
    error = refusal(connection, data, THREE)
    assert isinstance(error, Invalid)
    assert error.message.startswith("main.t")
    assert message in error.message
    assert error.hint


def test_an_unknown_column_names_the_way_to_add_it(connection):
    assert "evolve(add=" in str(refusal(connection, pa.table({"id": [1], "x": [1]}), THREE))


def test_an_unknown_field_of_a_struct_is_refused(connection):
    column = parsed("struct(x int64)")
    for data in (pa.table({"a": [{"x": 1, "y": 2}]}), {"a": {"x": 1, "y": 2}}):
        assert "'y'" in str(refusal(connection, data, column))
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "X"])
    assert "'x' and 'X'" in str(refusal(connection, pa.table({"a": twice}), column))


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"id": [1, 2]}),
        pa.record_batch({"id": [1, 2]}),
        [pa.record_batch({"id": [1]}), pa.record_batch({"id": [2]})],
        pd.DataFrame({"id": [1, 2]}),
        pl.DataFrame({"id": [1, 2]}),
        pl.LazyFrame({"id": [1, 2]}),
        [{"id": 1}, {"id": 2}],
        ({"id": 1}, {"id": 2}),
        [UserDict(id=1), UserDict(id=2)],
        iter([{"id": 1}, {"id": 2}]),
    ],
)
def test_whole_data_may_be_read_again(connection, data):
    incoming = bring(connection, "given", data, THREE[:1], table=TABLE)
    assert incoming.rereadable
    for _ in range(2):
        assert connection.execute(incoming.sql).fetchall() == [(1,), (2,)]


@pytest.mark.parametrize("data", [[], (), iter(()), pa.table({"id": pa.array([], pa.int64())})])
def test_no_rows_are_no_problem(connection, data):
    assert taken(connection, data, THREE) == []


def test_a_stream_is_read_once_and_only_by_the_select(connection):
    asked = []

    def batches():
        for n in range(3):
            asked.append(n)
            yield pa.record_batch({"id": [n], "name": [str(n)]})

    schema = pa.schema({"id": pa.int64(), "name": pa.string()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    incoming = bring(connection, "given", reader, THREE[:2], table=TABLE)
    connection.sql(incoming.sql)
    assert (asked, incoming.rereadable) == ([], False)
    assert connection.execute(incoming.sql).fetchall() == [(n, str(n)) for n in range(3)]
    assert asked == [0, 1, 2]


def test_a_generator_of_batches_is_not_gathered(connection):
    asked = []

    def batches():
        for n in range(100):
            asked.append(n)
            yield pa.record_batch({"id": [n]})

    incoming = bring(connection, "given", batches(), THREE[:1], table=TABLE)
    assert len(asked) == 1
    assert connection.execute(f"SELECT sum(id) FROM ({incoming.sql})").fetchone() == (4950,)
    assert asked == list(range(100))


def test_a_stream_that_fails_says_why(connection):
    def batches():
        yield pa.record_batch({"id": [1]})
        raise RuntimeError("the line went dead")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64()}), batches())
    error = refusal(connection, reader, THREE[:1])
    assert "the line went dead" in error.message
    assert "Traceback" not in error.message


def test_relations_of_duckdb(connection):
    other = duckdb.connect()
    given = other.sql("SELECT 1::HUGEINT AS id, 'x'::ENUM('x') AS name")
    assert taken(connection, given, THREE[:2]) == [("1", "x")]
    error = refusal(connection, other.sql("SELECT 1::VARIANT AS id"), THREE[:1])
    assert "variant" in error.message.lower()


class OnlyAStream:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_anything_that_streams_arrow(connection):
    assert taken(connection, OnlyAStream(pa.table({"id": [1]})), THREE[:1]) == [("1",)]


def test_a_spark_frame_is_recognised_without_spark(connection):
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    error = refusal(connection, frame, THREE)
    assert isinstance(error, Unsupported)
    assert "engine='spark'" in str(error.hint)


ODD = ['say "hi"', "it's", "naïve ☃", "select", "a.b", " ", "1", "c0", "r", "x" * 300, "a\nb"]


def test_odd_names(connection):
    columns = [Column(n, name, "int32") for n, name in enumerate(ODD)]
    wanted = [tuple(str(n) for n in range(len(ODD)))]
    row = {name: n for n, name in enumerate(ODD)}
    for data in (row, [row] * 1, pa.Table.from_pylist([row]), pd.DataFrame([row])):
        assert taken(connection, data, columns) == wanted
    deep = Column(1, "a", "struct", children=tuple(columns))
    text = values(connection, {"a": row}, deep)
    assert values(connection, pa.table({"a": [row]}), deep) == text


@pytest.mark.slow
def test_a_thousand_columns(connection):
    columns = [Column(n, f"column {n}", "int32") for n in range(1000)]
    row = {column.name: n for n, column in enumerate(columns)}
    wanted = tuple(str(n) for n in range(1000))
    assert taken(connection, row, columns) == [wanted]
    assert taken(connection, [row, row], columns) == [wanted, wanted]
    assert taken(connection, pa.Table.from_pylist([row]), columns) == [wanted]
