"""The tables that are ours alone: made when needed, and nothing is lost without them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cases import every
from tidelake.catalog import create, own_tables
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.catalog.read import registrations, tags
from tidelake.history import consumer_records as consumers
from tidelake.lake.wiring import FEATURES

KINDS = ["sqlite", "duckdb", "postgresql", "mysql"]
SERVERS = {"postgresql": "postgres_server", "mysql": "mariadb_server"}


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind = request.param
    if kind in SERVERS:
        url = str(request.getfixturevalue(SERVERS[kind]).new_database())
    else:
        url = f"{kind}:///{tmp_path}/catalog.db"
    database = Database(parse_url(url))
    create.create_lake(database, f"{tmp_path}/data/")
    yield database
    database.close()


def test_a_table_that_is_not_there_is_empty(database: Database) -> None:
    with database.reading() as reader:
        assert tags.every(reader) == []
        assert consumers.every(reader) == []


OWN = [
    tags.TABLE,
    registrations.TABLE,
    *(name for annex in FEATURES.annexes for name in annex.tables),
]


@pytest.mark.parametrize("name", every(3, OWN))
def test_made_once_when_needed(database: Database, name: str) -> None:
    for _ in range(2):
        with database.writing() as writer:
            own_tables.ensure(writer, name)
    with database.reading() as reader:
        assert reader.has_table(name)
        assert reader.rows(f"SELECT * FROM {name}") == []


def test_names_are_told_apart_by_case(database: Database) -> None:
    rows: list[dict[str, object]] = [
        {"consumer_name": name, "snapshot_id": number}
        for number, name in enumerate(["billing", "Billing", "bílling"])
    ]
    with database.writing() as writer:
        own_tables.ensure(writer, consumers.TABLE)
        writer.insert(consumers.TABLE, rows)
    with database.reading() as reader:
        found = {state.name: state.snapshot_id for state in consumers.every(reader)}
        one = reader.rows("SELECT 1 FROM tidelake_consumer WHERE consumer_name = :n", n="BILLING")
    assert found == {"billing": 0, "Billing": 1, "bílling": 2}
    assert one == []


@pytest.mark.parametrize("database", ["duckdb", "postgresql", "mysql"], indirect=True)
def test_a_table_made_after_the_moment_that_is_read_is_not_there(database: Database) -> None:
    """MariaDB tells of it all the same, and then refuses to read it. On SQLite a reader keeps
    writers waiting, so that none is made."""
    with database.reading() as reader:
        assert reader.row("SELECT snapshot_id FROM ducklake_snapshot")
        with ThreadPoolExecutor(1) as other:
            other.submit(_make_tags, database).result()
        assert tags.every(reader) == []
        assert reader.row("SELECT snapshot_id FROM ducklake_snapshot")
    with database.reading() as reader:
        assert reader.has_table(tags.TABLE)


def _make_tags(database: Database) -> None:
    with database.writing() as writer:
        own_tables.ensure(writer, tags.TABLE)
