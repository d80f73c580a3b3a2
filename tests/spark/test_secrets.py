"""Executors, plans and tables of Spark's catalog learn no password."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.caller import (
    PASSWORD,
    Sink,
    Stream,
    read,
    secrets_of,
    sent,
    source,
    spark_type,
    write,
)
from tidelake.testing.place import Place

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


@pytest.fixture
def guarded(
    new_place: Callable[[str], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    """A lake whose address has a password in it, and a vault that goes with the test."""
    monkeypatch.setenv("TIDELAKE_TEMP_DIRECTORY", str(tmp_path / "vault"))
    place = new_place("postgresql")
    place = replace(place, url=place.url.replace("postgres@", f"postgres:{PASSWORD}@"))
    assert PASSWORD in place.url
    with place.open() as lake:
        lake.create_table("t", {"id": "BIGINT"})
    return place


@pytest.mark.slow
def test_reads_writes_and_streams(guarded: Place, tmp_path: Path) -> None:
    """The caller looks into all that is sent."""
    options = {"catalog": guarded.url, "path": "t"}
    write(ROWS, **options)
    write(ROWS, mergeOn="id", **options)
    sink = Sink(spark_type(ROWS), query_id="q", **options)
    sink.commit(0, sink.write(ROWS))
    assert len(read(**options)) == 4
    assert len(read(changes_since="earliest", **options)) == 8
    assert sum(len(batch) for batch in Stream(**options).batches()) == 4


def test_a_table_of_sparks_own_catalog(guarded: Place) -> None:
    """Spark remembers the schema; the driver what it stands for."""
    schema = source(
        **{"catalog": guarded.url, "option.catalog": guarded.url, "table": "t"}
    ).schema()
    assert PASSWORD not in schema.json()
    write(ROWS, catalog=guarded.url, path="t")
    made = source()
    reader = made.reader(schema)
    there = sent((reader, made), secrets=secrets_of({"catalog": guarded.url}))[0]
    assert sum(len(batch) for piece in reader.partitions() for batch in there.read(piece)) == 2


def test_errors_do_not_tell(guarded: Place) -> None:
    with pytest.raises(Exception, match="no table") as caught:
        read(catalog=guarded.url, path="nope")
    assert PASSWORD not in f"{caught.value}{caught.value.__cause__}"
