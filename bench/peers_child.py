"""The work of `bench.peers`: `python -m bench.peers_child FOLDER ROWS`, in a Python that has the
Spark of the peers. Prints one JSON object; times are in seconds."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pyspark
from pyspark.sql import DataFrame, SparkSession

import tidelake
from bench.timing import medians, seconds
from tests.servers.spark import settings

PACKAGES = (
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
)
_ROUNDS = 3
_FEW = 20_000
_SMALL_FILES = 64
_COLUMNS = (
    "id",
    "cast(id % 100000 AS INT) AS g",
    "cast(hash(id) AS BIGINT) AS h",
    "concat('sym', id % 5000) AS s",
    "cast(id AS DOUBLE) / 8 AS v",
    "timestamp_ntz '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS ts",
)
_DDL = "id BIGINT, g INT, h BIGINT, s STRING, v DOUBLE, ts TIMESTAMP_NTZ"


class Peer(Protocol):
    """A kind of tables, by what is done with them. Rows have the columns of `_DDL`."""

    def create(self, name: str) -> None: ...
    def append(self, name: str, rows: DataFrame) -> None: ...
    def merge(self, name: str, rows: DataFrame) -> None: ...
    def update(self, name: str, where: str) -> None: ...
    def delete(self, name: str, where: str) -> None: ...
    def compact(self, name: str) -> None: ...
    def read(self, name: str) -> DataFrame: ...


class _Tidelake:
    def __init__(self, lake: tidelake.Lake) -> None:
        self._lake = lake

    def create(self, name: str) -> None:
        types = _DDL.replace("STRING", "VARCHAR").replace("TIMESTAMP_NTZ", "TIMESTAMP")
        self._lake.create_table(name, types)

    def append(self, name: str, rows: DataFrame) -> None:
        self._lake.table(name).append(rows)

    def merge(self, name: str, rows: DataFrame) -> None:
        self._lake.table(name).merge(rows, on="id")

    def update(self, name: str, where: str) -> None:
        self._lake.table(name).update({"v": "v + 1"}, where=where)

    def delete(self, name: str, where: str) -> None:
        self._lake.table(name).delete(where)

    def compact(self, name: str) -> None:
        self._lake.table(name).compact()

    def read(self, name: str) -> DataFrame:
        return self._lake.table(name).to_spark()


class _InSql:
    """Delta and Iceberg, which differ in how tables are made and compacted."""

    def __init__(self, spark: SparkSession, create: str, compact: str, prefix: str) -> None:
        self._spark = spark
        self._create, self._compact, self._prefix = create, compact, prefix

    def create(self, name: str) -> None:
        self._spark.sql(f"CREATE TABLE {self._prefix}{name} ({_DDL}) {self._create}")

    def append(self, name: str, rows: DataFrame) -> None:
        rows.writeTo(f"{self._prefix}{name}").append()

    def merge(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView("incoming")
        self._spark.sql(
            f"MERGE INTO {self._prefix}{name} t USING incoming i ON t.id = i.id"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def update(self, name: str, where: str) -> None:
        self._spark.sql(f"UPDATE {self._prefix}{name} SET v = v + 1 WHERE {where}")

    def delete(self, name: str, where: str) -> None:
        self._spark.sql(f"DELETE FROM {self._prefix}{name} WHERE {where}")

    def compact(self, name: str) -> None:
        self._spark.sql(self._compact.format(f"{self._prefix}{name}"))

    def read(self, name: str) -> DataFrame:
        return self._spark.table(f"{self._prefix}{name}")


def _session(place: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("tidelake-bench")
    extensions = (
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    given = {
        **settings(Path(os.environ["TIDELAKE_BENCH_FOLDER"]), small=False),
        "spark.driver.memory": "2g",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(place / "delta"),
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(place / "iceberg"),
    }
    for name, value in given.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def _peers(spark: SparkSession, lake: tidelake.Lake) -> dict[str, Peer]:
    delta = "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    modes = ", ".join(f"'write.{m}.mode' = 'merge-on-read'" for m in ("delete", "update", "merge"))
    iceberg = f"USING iceberg TBLPROPERTIES ('format-version' = '3', {modes})"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
    return {
        "Tidelake": _Tidelake(lake),
        "Delta": _InSql(spark, delta, "OPTIMIZE {}", "spark_catalog.default."),
        "Iceberg": _InSql(
            spark, iceberg, "CALL ice.system.rewrite_data_files(table => '{}')", "ice.db."
        ),
    }


class _Work:
    """All that is measured, with tables of one name."""

    def __init__(self, spark: SparkSession, peers: dict[str, Peer], place: Path) -> None:
        self._spark, self._peers, self._place = spark, peers, place
        self._name, self._count, self._rounds = "", 0, 0
        self.times: dict[str, dict[str, float]] = {}

    def run(self, name: str, rows: int, rounds: int) -> None:
        self._name, self._count, self._rounds = name, rows, rounds
        self._appends()
        self._measure("scan", lambda peer, _: _aggregate(peer.read(self._name)))
        self._merges()
        self._measure("scan after merges", lambda peer, _: _aggregate(peer.read(self._name)))
        self._measure(
            "update 1 %", lambda peer, turn: peer.update(self._name, f"id % 100 = {turn + 10}")
        )
        self._measure(
            "delete 1 %", lambda peer, turn: peer.delete(self._name, f"id % 100 = {turn + 20}")
        )
        found = {name: _aggregate(peer.read(self._name)) for name, peer in self._peers.items()}
        assert len({str(each) for each in found.values()}) == 1, found
        self._compactions()

    def _measure(self, what: str, do: Callable[[Peer, int], Any]) -> None:
        turns = {name: iter(range(1000)) for name in self._peers}

        def call(name: str, peer: Peer) -> Callable[[], Any]:
            return lambda: do(peer, next(turns[name]))

        calls = {name: call(name, peer) for name, peer in self._peers.items()}
        self.times[what] = medians(calls, self._rounds)

    def _frame(self, tasks: int = 8) -> DataFrame:
        return self._spark.range(0, self._count, 1, tasks).selectExpr(*_COLUMNS)

    def _appends(self) -> None:
        names = [self._name, *(f"{self._name}_{turn}" for turn in range(1, self._rounds + 1))]
        for peer in self._peers.values():
            for name in names:
                peer.create(name)
        self._measure("append", lambda peer, turn: peer.append(names[turn], self._frame()))
        few = self._spark.range(-1000, 0, 1, 1).selectExpr(*_COLUMNS)
        self._measure("append of 1,000 rows", lambda peer, _: peer.append(names[-1], few))

    def _merges(self) -> None:
        """One row in a hundred, keys all over the table, a tenth of them new."""
        sources = []
        for turn in range(self._rounds):
            rows = self._spark.range(0, self._count // 100, 1, 2).selectExpr(
                f"id * 100 + (id * 7919 + {turn}) % 100"
                f" + IF(id % 10 = 0, {self._count * (turn + 1)}, 0) AS id"
            )
            path = str(self._place / f"{self._name}_source{turn}")
            rows.selectExpr(*_COLUMNS).selectExpr(
                "id", "g", "h", "s", "-v AS v", "ts"
            ).write.parquet(path)
            sources.append(self._spark.read.parquet(path))
        self._measure("merge of 1 %", lambda peer, turn: peer.merge(self._name, sources[turn]))

    def _compactions(self) -> None:
        small = f"{self._name}_small"
        found = {}
        for name, peer in self._peers.items():
            peer.create(small)
            peer.append(small, self._frame(_SMALL_FILES))
            found[name] = seconds(lambda peer=peer: peer.compact(small))  # type: ignore[misc]
        self.times[f"compact {_SMALL_FILES} files"] = found


def _aggregate(frame: DataFrame) -> Any:
    return frame.selectExpr(
        "count(*)", "sum(id)", "sum(g)", "sum(h)", "max(s)", "sum(v)", "max(ts)"
    ).collect()


def main(place: Path, rows: int) -> None:
    spark = _session(place)
    url = f"sqlite:///{place}/lake.db"
    with tidelake.connect(url, engine="spark", spark=spark) as lake:
        peers = _peers(spark, lake)
        work = _Work(spark, peers, place)
        work.run("few", min(rows, _FEW), 1)
        work.run("t", rows, _ROUNDS)
    spark.stop()
    packages = [package.split(":", 1)[1] for package in PACKAGES]
    told = {"rounds": _ROUNDS, "spark": pyspark.__version__, "packages": packages}
    print(json.dumps({**told, "times": work.times}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
