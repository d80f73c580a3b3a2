"""The same bad input, on the local engine and on executors: the same error, in the same words."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Corrupt, Invalid, TidelakeError
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark

DDL = (
    "id BIGINT NOT NULL, i INTEGER, d DATE, ts TIMESTAMP_S, dec DECIMAL(5,2), u UUID, j JSON,"
    " s STRUCT(a SMALLINT, b INTEGER[]), f FLOAT"
)
BAD = {
    "i": "IF(id = 7, 3000000000L, id)",
    "dec": "CAST(IF(id = 7, 1234567.891, 1) AS DECIMAL(12, 3))",
    "d": "IF(id = 7, 'nodate', '2024-01-01')",
    "u": "IF(id = 7, 'zz', NULL)",
    "j": "IF(id = 7, '{', '1')",
    "ts": "IF(id = 7, TIMESTAMP_NTZ '2024-01-01 00:00:00.5', NULL)",
    "f": "IF(id = 7, 1e300D, 1D)",
    "s": "named_struct('a', IF(id = 7, 70000, 1), 'b', array(1))",
}
WRITES: dict[str, Callable[[tidelake.Table, Any], object]] = {
    "append": lambda table, data: table.append(data),
    "overwrite": lambda table, data: table.overwrite(data),
    "merge": lambda table, data: table.merge(data, on=["id"]),
}


def told(error: type[TidelakeError], do: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(error) as caught:
        do()
    assert type(caught.value) is error
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("column", "write"),
    [
        ("i", "append"),
        *(pytest.param("i", name, marks=pytest.mark.slow) for name in ("overwrite", "merge")),
        *(pytest.param(name, "append", marks=pytest.mark.slow) for name in BAD if name != "i"),
    ],
)
def test_values_that_do_not_fit(spark: Any, place: Place, column: str, write: str) -> None:
    with place.open() as here, place.open(engine="spark", spark=spark) as there:
        here.create_table("t", DDL).append([{"id": n} for n in range(9)])
        rows = spark.range(10).selectExpr("id", f"{BAD[column]} AS {column}")
        local = told(Invalid, partial(WRITES[write], here.table("t"), rows.toArrow()))
        assert told(Invalid, partial(WRITES[write], there.table("t"), rows)) == local
        assert local[0].startswith(f"main.t: column '{column}'")
        assert here.table("t").count() == 9


@pytest.mark.slow
@pytest.mark.parametrize(
    "session", ["spark", pytest.param("spark_connect", marks=pytest.mark.slow)]
)
def test_a_null_is_told_with_its_row(
    request: pytest.FixtureRequest, place: Place, session: str
) -> None:
    spark = request.getfixturevalue(session)
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT NOT NULL, n INTEGER, k VARCHAR, d DATE")
        rows = spark.range(100).selectExpr("CAST(id AS INT) AS n", "NULL AS k", "nullif(id, 7) id")
        message, _ = told(Invalid, partial(table.append, rows))
    assert message == "main.t: column 'id' may not be null, in the row with n = 7, k = NULL"


@pytest.mark.slow
def test_what_a_dataframe_cannot_compute(spark: Any, place: Place) -> None:
    from pyspark.sql.functions import udf

    def half(value: int) -> int:
        return {0: 0}[value]

    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT")
        message, _ = told(
            Invalid, lambda: table.append(spark.range(3).selectExpr("1 div id AS id"))
        )
        assert message.startswith("cannot append to main.t: Spark cannot compute a value: Division")
        rows = spark.range(3).select(udf(half, "bigint")("id").alias("id"))
        message, hint = told(Invalid, partial(table.append, rows))
        assert message.endswith("a Python function of the DataFrame failed: KeyError: 1")
        assert hint


def test_a_job_that_is_cancelled(spark: Any, place: Place) -> None:
    from threading import Thread

    from pyspark.sql.functions import udf

    def late(value: int) -> int:
        time.sleep(60)
        return value

    found: list[BaseException] = []

    def append(table: tidelake.Table, rows: Any) -> None:
        try:
            table.append(rows)
        except BaseException as error:
            found.append(error)

    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT")
        slow = spark.range(0, 4, 1, 2).select(udf(late, "bigint")("id").alias("id"))
        before = set(spark.sparkContext.statusTracker().getActiveJobsIds())
        thread = Thread(target=append, args=(table, slow))
        thread.start()
        while not set(spark.sparkContext.statusTracker().getActiveJobsIds()) - before:
            assert thread.is_alive()
            time.sleep(0.01)
        spark.sparkContext.cancelAllJobs()
        thread.join()
        assert table.count() == 0
    (error,) = found
    assert isinstance(error, TidelakeError)
    assert error.message.startswith("cannot append to main.t: its job was cancelled: ")
    assert "\n" not in error.message


READS: dict[str, Callable[[tidelake.Table], object]] = {
    "natively": lambda table: table.scan().to_arrow(),
    "by DuckDB": lambda table: table.scan(where="hash(v) <> 1").to_arrow(),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("session", "harm"),
    [
        ("spark", "missing"),
        ("spark", "cut off"),
        pytest.param("spark_connect", "missing", marks=pytest.mark.slow),
        pytest.param("spark_connect", "cut off", marks=pytest.mark.slow),
    ],
)
def test_files_that_cannot_be_read(
    request: pytest.FixtureRequest, place: Place, session: str, harm: str
) -> None:
    spark = request.getfixturevalue(session)
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, v VARCHAR")
        texts = [f"text {n} %" for n in range(50_000)]
        table.append(pa.table({"id": list(range(50_000)), "v": texts}))
    (file,) = place.folder.rglob("ducklake-*.parquet")
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:1000])
    with place.open() as here, place.open(engine="spark", spark=spark) as there:
        for name, read in READS.items():
            local = told(Corrupt, partial(read, here.table("t")))
            found = told(Corrupt, partial(read, there.table("t")))
            for message in (local[0], found[0]):
                assert message.startswith("cannot ")
                assert message.count("main.t:") == 1, name
                assert str(file) in message
                assert "\n" not in message
                assert "hint" not in message
            assert found[1] == local[1]
            if name == "by DuckDB":
                assert found == local
