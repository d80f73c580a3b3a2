"""Long texts: DuckDB cuts them in its statistics, which are bounds then and no values."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidelake

ENDS = ["y", "é", "\U0010ffff", "z\x7f"]
LENGTHS = [256, 257, 2_000]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", data_path=f"{tmp_path}/d/") as lake:
        yield lake


def test_rows_of_the_catalog_that_become_files(lake: tidelake.Lake) -> None:
    """The catalog's own rows have exact bounds; those of the file that they move to are cut."""
    columns = {f"s{number}_{n}": end * n for number, end in enumerate(ENDS) for n in LENGTHS}
    t = lake.create_table("t", dict.fromkeys(columns, "VARCHAR"))
    t.append([columns])
    t.compact()
    report = lake.verify(deep=True)
    assert report.ok, str(report)


def test_files_are_found_by_cut_bounds(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "s VARCHAR, n INTEGER")
    texts = [beginning + end * 300 for beginning in ("", "a") for end in ENDS]
    for number, text in enumerate(texts):
        near = [text, text + "a", text[:-1], text[:256], text[:255]]
        t.append(pa.table({"s": near * 4, "n": pa.array([number] * 20, pa.int32())}))
    everything = [row["s"] for row in t.to_arrow().to_pylist()]
    column = tidelake.col("s")
    for text in texts:
        for probe in (text, text[:-1], text[:256], text[:256] + "\U0010ffff"):
            for condition, wanted in (
                (column == probe, sum(s == probe for s in everything)),
                (column > probe, sum(s > probe for s in everything)),
                (column < probe, sum(s < probe for s in everything)),
            ):
                assert t.scan(where=condition).count() == wanted
    assert lake.verify().ok


def test_a_bound_that_rules_out_long_texts_is_still_found(
    lake: tidelake.Lake, tmp_path: Path
) -> None:
    t = lake.create_table("t", "s VARCHAR")
    t.append([{"s": "y" * 300}])
    t.compact()
    for column, wrong in (("max_value", "y" * 200), ("min_value", "z")):
        with sqlite3.connect(tmp_path / "lake.db") as catalog:
            stats = "ducklake_table_column_stats"
            (right,) = catalog.execute(f"SELECT {column} FROM {stats}").fetchone()
            catalog.execute(f"UPDATE {stats} SET {column} = ?", [wrong])
        assert [p.check for p in lake.verify().problems] == ["table-statistics"]
        with sqlite3.connect(tmp_path / "lake.db") as catalog:
            catalog.execute(f"UPDATE {stats} SET {column} = ?", [right])
    assert lake.verify().ok
