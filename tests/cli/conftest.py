"""A lake with some history, made by DuckDB, and a way to run commands on it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tidelake.cli import main

HISTORY = """
CREATE TABLE prices (
    symbol VARCHAR NOT NULL, ts TIMESTAMP, price DECIMAL(10, 2),
    depth STRUCT(bid INTEGER, ask INTEGER[])
);
ALTER TABLE prices SET PARTITIONED BY (day(ts), bucket(4, symbol));
ALTER TABLE prices SET SORTED BY (ts DESC);
INSERT INTO prices
    SELECT 'S' || i % 3, TIMESTAMP '2024-03-15 09:30:00' + INTERVAL (i) MINUTE, i + 0.25,
           {'bid': i, 'ask': [i, NULL]}
    FROM range(60) r(i);
COMMENT ON TABLE prices IS 'ticks [red] as they came';
COMMENT ON COLUMN prices.price IS 'in dollars';
BEGIN;
INSERT INTO prices VALUES ('S0', '2024-03-15 09:30:00', 99.5, NULL);
CALL lake.set_commit_message('ann', 'a late correction');
COMMIT;
DELETE FROM prices WHERE price < 2;
CREATE SCHEMA other;
CREATE TABLE other."odd.name" (i INTEGER);
CREATE TABLE gone (i INTEGER);
DROP TABLE gone;
CREATE VIEW cheap AS SELECT * FROM prices WHERE price < 10;
"""


@dataclass(frozen=True)
class Tidelake:
    """Runs the program in this process on one lake."""

    url: str

    def __call__(self, *words: str, ok: bool = True, **extra: Any) -> Result:
        result = CliRunner().invoke(main, [*words, "--catalog", self.url], **extra)
        assert (result.exit_code == 0) is ok, result.output
        return result

    def json(self, *words: str, **extra: Any) -> Any:
        return json.loads(self(*words, "--json", **extra).stdout)


@pytest.fixture(scope="module")
def lake_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tidelake.testing.duck import duck_connection

    folder: Path = tmp_path_factory.mktemp("lake")
    with duck_connection() as connection:
        connection.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake (DATA_PATH '{folder}/data/')"
        )
        connection.execute("USE lake")
        for statement in HISTORY.split(";\n"):
            connection.execute(statement)
    return f"sqlite:///{folder}/lake.db"


@pytest.fixture
def tidelake(lake_url: str) -> Tidelake:
    return Tidelake(lake_url)


@pytest.fixture
def empty(tmp_path: Path) -> Callable[..., Result]:
    """Runs the program on a lake that is not there yet."""
    return Tidelake(f"sqlite:///{tmp_path}/new.db")


@pytest.fixture
def lake(tmp_path: Path) -> Tidelake:
    """Snapshot 2 has a thousand rows, snapshot 3 updates two of them."""
    from tidelake import connect

    url = f"sqlite:///{tmp_path}/lake.db"
    with connect(url) as made:
        table = made.create_table("t", {"i": "int64"})
        table.append([{"i": number} for number in range(1000)])
        with made.transaction(author="ann", message="a correction") as tx:
            tx.table("t").update({"i": "-i"}, where="i BETWEEN 1 AND 2")
    return Tidelake(url)
