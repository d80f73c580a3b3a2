"""Data of this process, given to a lake that is opened on Spark: its executors write the files,
whatever form it comes in."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import tidelake
from tidelake.engine.local import job as local_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = pa.table({"id": range(500), "name": [f"n{n}" for n in range(500)]})
NOON = datetime(2024, 3, 12, 12)


@pytest.fixture
def no_file_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer of files fails in this process. Executors have processes of their own."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file is written in this process")

    monkeypatch.setattr(local_job, "write_files", refuse)


@pytest.fixture
def lake(tmp_path: Path, spark: "SparkSession") -> Iterator[tidelake.Lake]:
    with opened(tmp_path, spark) as found:
        yield found


def opened(folder: Path, spark: Any = None, engine: str = "spark") -> tidelake.Lake:
    return tidelake.connect(
        f"sqlite:///{folder}/lake.db", f"{folder}/data", engine=engine, spark=spark
    )


def as_parquet(folder: Path) -> str:
    pyarrow.parquet.write_table(ROWS, folder / "rows.parquet")
    return str(folder / "rows.parquet")


def as_csv(folder: Path) -> str:
    pyarrow.csv.write_csv(ROWS, folder / "rows.csv")
    return str(folder / "rows.csv")


FORMS: dict[str, Callable[[Path], Any]] = {
    "an Arrow table": lambda _: ROWS,
    "a reader": lambda _: ROWS.to_reader(max_chunksize=100),
    "pandas": lambda _: ROWS.to_pandas(),
    "Polars": lambda _: polars.from_arrow(ROWS),
    "dicts": lambda _: ROWS.to_pylist(),
    "a generator": lambda _: (row for row in ROWS.to_pylist()),
    "Parquet": as_parquet,
    "CSV": as_csv,
}


@pytest.mark.slow
@pytest.mark.usefixtures("no_file_here")
def test_every_form_is_written_by_executors(lake: tidelake.Lake, tmp_path: Path) -> None:
    for form, made in FORMS.items():
        table = lake.create_table(f'"{form}"', ROWS.schema)
        done = table.append(made(tmp_path))
        assert (form, done.inserted, done.files) == (form, 500, 1)
    with opened(tmp_path, engine="local") as other:
        for form in FORMS:
            found = other.table(f'"{form}"').to_arrow().sort_by("id")
            assert found.to_pylist() == ROWS.to_pylist(), form
        assert not other.verify(deep=True).problems


@pytest.mark.slow
@pytest.mark.usefixtures("no_file_here")
def test_other_writes_too(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", ROWS.schema)
    table.append(ROWS)
    assert table.overwrite(ROWS.slice(0, 300)).files == 1
    assert table.overwrite(ROWS.slice(100, 50), where="id >= 100").inserted == 50
    merged = table.merge(pandas.DataFrame({"id": [1, 9999], "name": ["x", "y"]}), on="id")
    assert (merged.inserted, merged.updated) == (1, 1)
    assert table.scan(where="id in (1, 9999)").to_arrow()["name"].to_pylist() == ["x", "y"]
    assert table.count() == 151


@pytest.mark.slow
@pytest.mark.usefixtures("no_file_here")
def test_through_spark_connect(tmp_path: Path, spark_connect: "SparkSession") -> None:
    with opened(tmp_path, spark_connect) as lake:
        table = lake.create_table("t", ROWS.schema, partition_by="bucket(2, id)")
        assert table.append(ROWS).inserted == 500
        assert table.count() == 500


def test_the_last_of_several_facts_wins(lake: tidelake.Lake) -> None:
    facts = [{"k": f"k{n % 50}", "ts": NOON, "v": n} for n in range(1000)]
    table = lake.create_table("t", "k VARCHAR, ts TIMESTAMP, v INT", key="k", event_time="ts")
    table.append(facts)
    assert sorted(table.as_of(NOON).to_arrow()["v"].to_pylist()) == list(range(950, 1000))


def test_what_spark_has_no_type_for_is_written_here(lake: tidelake.Lake) -> None:
    rows = pa.table({"at": pa.array(range(100), pa.timestamp("ns"))})
    table = lake.create_table("t", rows.schema)
    assert table.append(rows).inserted == 100
    assert table.count() == 100


def test_few_rows_are_kept_in_the_catalog_as_ever(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", ROWS.schema)
    assert table.append(ROWS.slice(0, 3)).files == 0
    assert table.to_arrow().sort_by("id").to_pylist() == ROWS.slice(0, 3).to_pylist()
