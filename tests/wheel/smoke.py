"""A program for an environment that has the wheel and nothing else: does it do its work?

It knows no test tools. `tests/dist.py` runs it, in an empty folder, with one DuckDB after another.
"""

import datetime
import faulthandler
import importlib.metadata
import importlib.util
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator

warnings.simplefilter("error")

import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402

import tidelake  # noqa: E402
from tidelake.duck import open_duckdb  # noqa: E402
from tidelake.engine.local.object_stores import allow_remote  # noqa: E402
from tidelake.errors import Denied, Unsupported  # noqa: E402

FIRST = datetime.datetime(2024, 3, 15, 9, 30)
MINUTE = datetime.timedelta(minutes=1)
ABSENT = ("sqlalchemy", "pyspark", "pandas", "polars", "starlette", "fsspec", "exchange_calendars")


def lake_in(catalog: str, folder: str) -> None:
    """All kinds of writes and reads, each answer known by hand."""
    with tidelake.connect(catalog, data_path=folder) as lake:
        prices = lake.create_table(
            "prices",
            "symbol VARCHAR, ts TIMESTAMP, price DOUBLE, tags VARCHAR[]",
            key="symbol",
            event_time="ts",
            entity="symbol",
            bucket="1m",
        )
        prices.append([row("ACME", minute, float(minute)) for minute in range(1000)])  # in files
        prices.append([row("BOLT", 0, 7.0), row("BOLT", 2, 8.0)])  # in the catalog
        lake.tag("before")
        prices.delete("symbol = 'ACME' AND price % 2 = 1 AND NOT price > 100")
        prices.merge([row("BOLT", 2, 9.5)], on=["symbol", "ts"])
        both_clocks(lake)
        sql(lake)
        assert lake.verify(deep=True).ok, str(lake.verify(deep=True))
        lake.compact()
    with tidelake.connect(catalog, read_only=True) as lake:
        both_clocks(lake)
        assert lake.verify(deep=True).ok
    sandbox(catalog)


def row(symbol: str, minute: int, price: float) -> dict[str, object]:
    return {"symbol": symbol, "ts": FIRST + minute * MINUTE, "price": price, "tags": ["a", None]}


def both_clocks(lake: tidelake.Lake) -> None:
    prices = lake.table("prices")
    assert prices.count() == 1002 - 50
    assert prices.known_at("before").count() == 1002
    state = prices.as_of(FIRST + 5 * MINUTE)
    assert price_of(state) == {"ACME": 4.0, "BOLT": 9.5}
    assert price_of(state.known_at("before")) == {"ACME": 5.0, "BOLT": 8.0}
    found = prices.coverage("BOLT", FIRST, FIRST + 4 * MINUTE)
    assert (found.covered, found.ratio) == (2, 0.5)
    trades = [{"symbol": "BOLT", "ts": FIRST + 3 * MINUTE, "size": 100}]
    joined = tidelake.asof_join(trades, prices, left_time="ts").to_arrow().to_pylist()
    assert [each["price"] for each in joined] == [9.5]
    ((batch, *_), *_) = [list(prices.scan(where="price >= 999").to_batches())]
    assert batch.num_rows == 1


def price_of(table: tidelake.Table) -> dict[str, float]:
    return {each["symbol"]: each["price"] for each in table.to_arrow().to_pylist()}


def sql(lake: tidelake.Lake) -> None:
    query = """WITH s AS (SELECT * FROM prices FOR VALID_TIME AS OF TIMESTAMP '2024-03-15 09:35:00')
    SELECT count(*) AS n, sum(CASE WHEN price > 9 THEN 1 ELSE 0 END) AS dear,
      list_filter([1, 2, 3], lambda x: x > 1) AS l FROM s
    UNION ALL SELECT count(*), 0, NULL FROM prices FOR SYSTEM_TIME AS OF 'before'
    WHERE NOT symbol = 'BOLT' AND price NOT IN (1, 2.5) AND price < 1e1"""
    found = lake.sql(query).to_arrow().to_pylist()
    assert found[0] == {"n": 2, "dear": 1, "l": [2, 3]}, found
    assert found[1]["n"] == 9, found
    lake.sql("UPDATE prices SET tags = ['b'] WHERE symbol = 'BOLT' AND price = 7")
    assert (
        lake.sql("SELECT count(*) AS n FROM prices WHERE tags = ['b']").to_arrow()["n"][0].as_py()
    )


def broken_streams(catalog: str) -> None:
    """A source that breaks half-way ends the write, however often: a DuckDB that waits for ever
    for its own threads does so one time in a hundred."""
    whole = pa.table({"id": range(200_000), "v": ["2"] * 200_000})

    def broken() -> Iterator[pa.RecordBatch]:
        yield whole.to_batches()[0]
        raise RuntimeError("the source broke")

    faulthandler.dump_traceback_later(300, exit=True)
    with tidelake.connect(catalog) as lake:
        t = lake.create_table("broken", "id BIGINT, v VARCHAR")
        for _ in range(300):
            rows = pa.RecordBatchReader.from_batches(whole.schema, broken())
            refused(RuntimeError, "the source broke", lambda rows=rows: t.append(rows))
        assert t.count() == 0
        t.drop()
    faulthandler.cancel_dump_traceback_later()


def sandbox(catalog: str) -> None:
    """A stranger reads tables, and nothing else."""
    with tidelake.connect(catalog, sandbox=True) as lake:
        found = lake.sql("SELECT max(price) AS p FROM prices WHERE symbol = $who", {"who": "ACME"})
        assert found.to_arrow()["p"].to_pylist() == [999.0]
        for query in ("FROM read_text('/etc/hostname')", "SELECT getenv('HOME')"):
            refused(Denied, "", lambda query=query: lake.sql(query).to_arrow())


def refused(kind: type[Exception], text: str, ask: Callable[[], object]) -> None:
    said = ""
    try:
        ask()
    except kind as error:
        said = str(error)
    assert said, f"nobody refused what needs {text}"
    assert text in said, said


def extras() -> None:
    """What is not here says by which extra it comes."""
    for package in ABSENT:
        assert importlib.util.find_spec(package) is None, package
    with tidelake.connect("sqlite:///lake.db") as lake:
        t = lake.table("prices")
        asked: dict[str, Callable[[], object]] = {
            "pandas": t.to_pandas,
            "polars": t.to_polars,
            "spark": t.to_spark,
            "calendars": lambda: tidelake.Calendar.exchange("XNYS").between(FIRST, FIRST + MINUTE),
            "s3": lambda: allow_remote(open_duckdb(), ["s3"], {}),
            "gcs": lambda: allow_remote(open_duckdb(), ["gs"], {}),
            "azure": lambda: allow_remote(open_duckdb(), ["az"], {}),
            "postgres": lambda: tidelake.connect("postgresql://127.0.0.1/x"),
            "mysql": lambda: tidelake.connect("mysql://127.0.0.1/x"),
        }
        for extra, ask in asked.items():
            refused(Unsupported, f"tidelake[{extra}]", ask)
    for name in ("ui", "serve"):
        done = command(name, "--help")
        assert done.returncode == 0, done.stderr
    assert "tidelake[ui]" in command("--catalog", "sqlite:///lake.db", "ui").stderr


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "tidelake", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def shell() -> None:
    version = importlib.metadata.version("tidelake")
    assert version in command("--version").stdout
    counted = command("--catalog", "sqlite:///lake.db", "count", "prices")
    assert (counted.stdout.strip(), counted.stderr) == ("952", ""), counted


if __name__ == "__main__":
    lake_in("sqlite:///lake.db", "rows/")
    lake_in("duckdb:///lake.duckdb", "other_rows/")
    broken_streams("sqlite:///lake.db")
    shell()
    if sys.argv[1:] == ["--alone"]:
        extras()
    print(f"DuckDB {duckdb.__version__}, Python {sys.version.split()[0]}: it works")
