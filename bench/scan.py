"""Scanning: ten million rows in twenty files, with Tidelake and with the engine on its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians

FILES = 20
_ROWS_PER_FILE = 500_000
_ROUNDS = 7
_TARGET = 1.10
_ROW = (
    "range AS id, TIMESTAMP '2024-01-01' + INTERVAL (range) SECOND AS ts,"
    " 'SYM' || lpad((range * 7919 % 5000)::VARCHAR, 4, '0') AS symbol,"
    " (hash(range) % 1000000) / 1000.0::DOUBLE AS price, (hash(range + 1) % 900)::INTEGER AS size"
)
_AGGREGATES = ("sum(id)", "max(ts)", "max(symbol)", "sum(price)", "sum(size)")


def run(folder: Path) -> Part:
    catalog = lake(folder / "scan")
    part = Part("Scanning", ["read of 10 million rows", "Tidelake, s", "peer, s", "ratio"])
    for name, measure in {"local": _local, "Spark": _spark}.items():
        what, times = measure(catalog)
        ours = times.pop("tidelake", None)
        part.numbers[name] = {"tidelake": ours, **times}
        ratios = {peer: ours / theirs for peer, theirs in times.items() if ours}
        for peer, ratio in ratios.items():
            cells = [f"{ours:.2f}", f"{times[peer]:.2f}", f"{ratio:.3f}"]
            part.rows.append([f"{what}, against {peer}", *cells])
        part.verdicts.append(Verdict(what, next(iter(ratios.values()), None), _TARGET))
    part.notes = [
        f"{FILES} Parquet files, {FILES * _ROWS_PER_FILE:,} rows, five columns, made by DuckDB",
        f"medians of {_ROUNDS} warm runs that took turns",
        f"the aggregate on Spark reads every column: {', '.join(_AGGREGATES)}",
    ]
    return part


def lake(folder: Path) -> Path:
    """The catalog of the lake, made on first use."""
    from tidelake.testing.duck import duck_connection

    catalog, done = folder / "lake.db", folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with duck_connection(extensions=("ducklake", "sqlite_scanner")) as connection:
            connection.execute(
                f"ATTACH 'ducklake:sqlite:{catalog}' AS lake (DATA_PATH '{folder}/data')"
            )
            connection.execute(f"CREATE OR REPLACE TABLE lake.t AS SELECT {_ROW} FROM range(0)")
            for start in range(0, FILES * _ROWS_PER_FILE, _ROWS_PER_FILE):
                rows = f"range({start}, {start + _ROWS_PER_FILE})"
                connection.execute(f"INSERT INTO lake.t SELECT {_ROW} FROM {rows}")
        done.touch()
    return catalog


def _local(catalog: Path) -> tuple[str, dict[str, float]]:
    import tidelake
    from tidelake.testing.duck import duck_connection

    with (
        tidelake.connect(f"sqlite:///{catalog}") as lake,
        duck_connection(extensions=("ducklake", "sqlite_scanner")) as connection,
    ):
        connection.execute(f"ATTACH 'ducklake:sqlite:{catalog}' AS lake (READ_ONLY)")
        table = lake.table("t")
        calls: dict[str, Callable[[], Any]] = {
            "tidelake": table.to_arrow,
            "DuckDB's ducklake": lambda: connection.execute("FROM lake.t").to_arrow_table(),
        }
        assert len({call().num_rows for call in calls.values()}) == 1
        return "local to_arrow", medians(calls, _ROUNDS)


def _spark(catalog: Path) -> tuple[str, dict[str, float]]:
    import tidelake
    from tests.servers.spark import local_session

    what = "Spark scan + aggregate"
    with tidelake.connect(f"sqlite:///{catalog}") as lake:
        table = lake.table("t")
        paths = [file.path for file in table.files()]
        spark = local_session()
        schema = spark.read.parquet(*paths).schema
        calls: dict[str, Callable[[], Any]] = {
            "tidelake": lambda: _aggregate(table.to_spark(spark)),
            "spark.read.parquet": lambda: _aggregate(spark.read.parquet(*paths)),
            "the same told its schema": lambda: _aggregate(
                spark.read.schema(schema).parquet(*paths)
            ),
        }
        try:
            for _ in range(2):
                assert len({str(call()) for call in calls.values()}) == 1
            return what, medians(calls, _ROUNDS)
        except ModuleNotFoundError as error:
            return f"{what} ({error})", {}
        finally:
            spark.stop()


def _aggregate(frame: Any) -> Any:
    from pyspark.sql import functions

    return frame.agg(*(functions.expr(sql) for sql in _AGGREGATES)).collect()
