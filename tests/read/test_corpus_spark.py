"""The corpus through Spark: the same rows, or a refusal that names what Spark cannot hold."""

from random import Random
from typing import Any

import pytest
from pyspark.sql.types import VariantVal

import tidelake
from tests.read.conftest import Lakes
from tests.read.corpus import CORPUS
from tests.read.scripts.script import Script
from tidelake.errors import Unsupported
from tidelake.testing import canonical
from tidelake.testing.agreement import project, row_differences
from tidelake.testing.oracle import VARIANT, SnapshotTruth, TableTruth, Truth, qualified_name

pytestmark = pytest.mark.spark

# DuckDB's names of the types that Spark may refuse.
_MAY_REFUSE = (
    "HUGEINT",
    "TIME WITH TIME ZONE",
    "INTERVAL",
    "TIMESTAMP_NS",
    "TIME_NS",
    "GEOMETRY",
)


def _cases() -> list[object]:
    """All scripts but those that hide what Spark has no type for inside a type that it has.
    By default every eighth: a case costs some Spark jobs."""
    scripts = [script for script in CORPUS.values() if "beyond_spark" not in script.tags]
    return [
        pytest.param(
            script,
            limit,
            id=f"{script.name}-{limit}",
            marks=[] if limit == script.limits()[0] and place % 16 == 0 else [pytest.mark.slow],
        )
        for place, script in enumerate(scripts)
        for limit in script.limits()
    ]


@pytest.mark.parametrize(("script", "limit"), _cases())
def test_spark_reads_as_duckdb_does(
    spark: object, lakes: Lakes, script: Script, limit: int
) -> None:
    made, truth = lakes.get(script, "sqlite", limit)
    found = []
    with tidelake.connect(made.url, read_only=True) as lake:
        for snapshot in _chosen(truth, Random(script.name)):
            for name, table in snapshot.tables.items():
                past = lake.known_at(snapshot.snapshot_id).table(qualified_name(name))
                where = f"snapshot {snapshot.snapshot_id} {qualified_name(name)}"
                found += [f"{where}: {d}" for d in _differences(spark, past, table, script)]
    assert not found, "\n".join(found)


def _chosen(truth: Truth, chance: Random) -> list[SnapshotTruth]:
    """The latest snapshot and an earlier one: each costs a Spark job per table."""
    earlier = [s for s in truth.snapshots[:-1] if s.tables]
    return [truth.latest, *chance.sample(earlier, min(1, len(earlier)))]


def _differences(
    spark: object, table: tidelake.Table, truth: TableTruth, script: Script
) -> list[str]:
    columns = list(truth.columns)
    while columns:
        wanted = project(truth, columns)
        scan = table.scan(columns)
        try:
            frame = scan.to_spark(spark)
            if wanted.columns_of_type(VARIANT):
                return _variant_differences(scan, frame)
            arrow = frame.toArrow()
        except Unsupported as error:
            if "encrypted" in script.tags and "encrypt" in str(error):
                return []
            refused = [n for word in _MAY_REFUSE for n in wanted.columns_of_type(word)]
            named = [name for name in refused if repr(name) in str(error)]
            if not named:
                return [f"refused without need, or without saying why: {error}"]
            columns = [name for name in columns if name not in named]
            continue
        return [
            *([] if arrow.column_names == columns else [f"columns {arrow.column_names}"]),
            *row_differences(wanted.rows, canonical.rows(arrow)),
        ]
    return []


def _variant_differences(scan: tidelake.Scan, frame: Any) -> list[str]:
    """Spark's variants as Python values, against those of the local engine (which the other
    test holds against DuckDB's): no other form is common to the three."""
    local = scan.to_pandas().astype(object).itertuples(index=False, name=None)
    far = [
        tuple(v.toPython() if isinstance(v, VariantVal) else v for v in row)
        for row in frame.collect()
    ]
    return row_differences(sorted(local, key=repr), sorted(far, key=repr))
