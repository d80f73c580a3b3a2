"""The tables of mirrors: a row for each table and format, also in lakes that knew of one format."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tidelake.catalog import create
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database, Writer
from tidelake.catalog.layout import create_table
from tidelake.delta.mirror import counts, records, tables
from tidelake.delta.values.mirror import Mirror, MirroredFile, RatifiedVersion
from tidelake.delta.values.reports import PublishCounts
from tidelake.errors import TidelakeError
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName
from tidelake.model.settings import MIRROR_TAG
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.testing.place import Place

SERVERS = {"postgresql": "postgres_server", "mysql": "mariadb_server"}
OF_0_1 = {
    "tidelake_mirror": (
        "table_id int!, delta_id text, root text, status text, reason text, snapshot_id int,"
        " version int, published int, checkpoint int, committed_at int, file_count int,"
        " protocol text, metadata text"
    ),
    "tidelake_mirror_count": "table_id int!, publishes int, publish_ms int, failures int",
    "tidelake_mirror_commit": (
        "table_id int!, version int!, snapshot_id int, committed_at int, digest text, content blob"
    ),
    "tidelake_mirror_file": (
        "table_id int!, data_file_id int!, removed_at int!, path text, size int, modified int,"
        " stats text, first_row int, copied text, vector text"
    ),
}
"""As 0.1 made them."""
MIRROR = Mirror(7, "an-id", "/somewhere/", snapshot_id=3, version=1, published=0, file_count=1)
COMMIT = RatifiedVersion(1, 3, 1000, "digest", b"\x00\xff")
SHOWN = MirroredFile(5, "a.parquet", 10, 1000, "{}", first_row=0)


@pytest.fixture(params=["sqlite", "duckdb", *SERVERS])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    kind = request.param
    if kind in SERVERS:
        url = str(request.getfixturevalue(SERVERS[kind]).new_database())
    else:
        url = f"{kind}:///{tmp_path}/catalog.db"
    database = Database(parse_url(url))
    create.create_lake(database, f"{tmp_path}/data/")
    yield database
    database.close()


@pytest.fixture
def old(database: Database) -> Database:
    """With a mirror that 0.1 has left: one version is not published yet."""
    with database.writing() as writer:
        for name in OF_0_1:
            writer.execute(create_table(name, writer.dialect.types, OF_0_1))
    with database.writing() as writer:
        writer.insert(
            "tidelake_mirror",
            [
                {
                    "table_id": 7,
                    "delta_id": "an-id",
                    "root": "/somewhere/",
                    "status": "active",
                    "snapshot_id": 3,
                    "version": 1,
                    "published": 0,
                    "checkpoint": -1,
                    "committed_at": 0,
                    "file_count": 1,
                }
            ],
        )
        insert_commit(writer, 1)
        writer.insert(
            "tidelake_mirror_file",
            [
                {
                    "table_id": 7,
                    "data_file_id": 5,
                    "removed_at": 0,
                    "path": "a.parquet",
                    "size": 10,
                    "modified": 1000,
                    "stats": "{}",
                    "first_row": 0,
                }
            ],
        )
        columns = ("table_id", "publishes", "publish_ms", "failures")
        writer.insert_values("tidelake_mirror_count", columns, [(7, 1, 250, 2)])
    return database


def insert_commit(writer: Writer, version: int) -> None:
    """As 0.1 does."""
    row = {"table_id": 7, "version": version, "snapshot_id": 3, "committed_at": 1000}
    writer.insert("tidelake_mirror_commit", [row | {"digest": "digest", "content": b"\x00\xff"}])


def assert_known(database: Database) -> None:
    with database.reading() as reader:
        assert records.every(reader) == [MIRROR]
        assert records.unpublished_versions(reader, MIRROR) == [COMMIT]
        assert records.files(reader, 7) == {5: SHOWN}
        assert records.shown_files(reader, 7).paths == ("a.parquet",)
        assert [each.file for each in records.holdings(reader)] == [SHOWN]
        assert records.known_versions(reader, 7) == {1: (3, 1000, "digest")}
        assert records.versions_at(reader, 3) == {7: 1}
        assert records.removed_files(reader, 7, 0) == []
        assert counts.of_table(reader, 7) == PublishCounts(1, 0.25, 2)


def columns_of(database: Database) -> set[tuple[str, str]]:
    with database.reading() as reader:
        found = {(row[0], row[1]) for row in reader.rows(reader.dialect.every_column)}
    return {each for each in found if each[0].startswith("tidelake_mirror")}


def test_tables_of_0_1_are_read_as_they_are(old: Database) -> None:
    before = columns_of(old)
    assert_known(old)
    assert columns_of(old) == before


def test_they_get_the_format_into_their_keys_once(old: Database) -> None:
    for _ in range(2):
        with old.writing() as writer:
            tables.bring_up(writer)
        assert_known(old)
    assert {name for name, column in columns_of(old) if column == "format"} == set(OF_0_1)
    with old.writing() as writer:
        writer.execute(
            "INSERT INTO tidelake_mirror (table_id, format, delta_id, root, status)"
            " VALUES (7, 'another', 'x', '/elsewhere/', 'active')"
        )
        writer.execute(
            "INSERT INTO tidelake_mirror_commit"
            " (table_id, format, version, snapshot_id, committed_at, digest)"
            " VALUES (7, 'another', 1, 3, 0, 'x'), (7, 'another', 2, 3, 0, 'x')"
        )
    assert_known(old)
    with pytest.raises(TidelakeError), old.writing() as writer:
        insert_commit(writer, 1)


def test_what_broke_off_is_finished(old: Database) -> None:
    """MySQL commits after each of the tables."""
    with old.writing() as writer:
        tables.own_tables.add_to_key(writer, tables.COMMITS, "format")
    assert_known(old)
    with old.writing() as writer:
        tables.bring_up(writer)
    assert_known(old)


def test_0_1_can_still_write(old: Database) -> None:
    with old.writing() as writer:
        tables.bring_up(writer)
    with old.writing() as writer:
        insert_commit(writer, 2)
    with old.reading() as reader:
        assert set(records.known_versions(reader, 7)) == {1, 2}


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "write",
    [
        lambda writer: records.put(writer, MIRROR),
        lambda writer: records.stop(writer, 7, "stopped", "enough"),
        lambda writer: records.mark(writer, 7, 1, -1),
        lambda writer: records.advance(writer, 7, 4),
        lambda writer: records.forget(writer, 1),
        lambda writer: records.ratify(writer, records.MirrorStep(MIRROR, MIRROR)),
        lambda writer: records.rebase(writer, records.MirrorStep(MIRROR, MIRROR), [SHOWN], 2),
        lambda writer: counts.add(writer, {7: PublishCounts(1, 0.1)}),
        lambda writer: records.remove(writer, 7),
    ],
)
def test_whatever_is_written_first(old: Database, write) -> None:
    with old.writing() as writer:
        write(writer)
    assert {name for name, column in columns_of(old) if column == "format"} == set(OF_0_1)


def test_two_formats_leave_each_other_alone(database: Database) -> None:
    with database.writing() as writer:
        records.put(writer, MIRROR)
        for name in OF_0_1:
            columns = [c for t, c in writer.rows(writer.dialect.every_column) if t == name]
            values = ", ".join(
                {"format": "'another'", "content": "NULL"}.get(c, "7") for c in columns
            )
            listed = ", ".join(columns)
            writer.execute(f"INSERT INTO {name} ({listed}) VALUES ({values})")
    everything = rows_of_another(database)
    with database.writing() as writer:
        records.stop(writer, 7, "stopped", "enough")
        records.mark(writer, 7, 9, 9)
        records.advance(writer, 7, 9)
        records.forget(writer, 100)
        records.rebase(writer, records.MirrorStep(MIRROR, MIRROR, (COMMIT,)), [SHOWN], 0)
        counts.add(writer, {7: PublishCounts(1, 0.1)})
        records.remove(writer, 7)
    with database.reading() as reader:
        assert records.every(reader) == []
        assert counts.of_table(reader, 7) == PublishCounts(1, 0.1)
    assert rows_of_another(database) == everything


def rows_of_another(database: Database) -> dict[str, list[tuple[object, ...]]]:
    with database.reading() as reader:
        return {
            name: list(map(tuple, reader.rows(f"SELECT * FROM {name} WHERE format = 'another'")))
            for name in OF_0_1
        }


def test_the_tag_of_a_table_says_all_its_formats(tmp_path: Path) -> None:
    """Who is mirrored in another format is not Delta's, and stays so."""
    with Place.at("sqlite", tmp_path).open() as lake:
        lake.create_table("t", {"i": "int"})
        write(lake.session, partial(tagged, text="another"))
        lake.table("t").append([{"i": 1}])
        assert lake.sync_mirrors() == []
        mirror = lake.mirror("t")
        assert lake.table("t").tags[MIRROR_TAG] == "another,delta"
        lake.table("t").append([{"i": 2}])
        assert mirror.status.published == 1
        mirror.stop()
        assert lake.table("t").tags[MIRROR_TAG] == "another"


def tagged(tx: DraftSession, text: str) -> WriteResult:
    draft = tx.draft(TableName("main", "t"))
    draft.after = replace(draft.after, tags={MIRROR_TAG: text})
    return WriteResult(None)
