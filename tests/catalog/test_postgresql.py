"""Statements that wait for others, and go with them, do what they would have done alone."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.errors import Conflict, Invalid, Unavailable

TEXTS = ["", "it's", 'a "b"', "c\\d", "100 %s %(x)s", ":name $1 ::int", "x;\n-- y", "é 漢 🌊", None]
NUMBERS = [0, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63), None]
MOMENTS = [datetime(2024, 2, 29, 23, 59, 59, 999999, UTC), datetime(1, 1, 1, tzinfo=UTC), None]
COLUMNS = ("place", "t", "n", "b", "f", "d", "z", 'odd "%s" :name')


@pytest.fixture(scope="module")
def database(postgres_server):
    found = Database(parse_url(postgres_server.new_database()))
    yield found
    found.close()


@pytest.fixture
def table(database):
    name = f"t_{uuid4().hex}"
    with database.writing() as writer:
        writer.execute(
            f'CREATE TABLE "{name}" (place BIGINT PRIMARY KEY, t VARCHAR, n BIGINT, b BYTEA,'
            ' f BOOLEAN, d DOUBLE PRECISION, z TIMESTAMPTZ, "odd ""%s"" :name" VARCHAR)'
        )
    return name


def row(place: int) -> tuple[object, ...]:
    return (
        place,
        TEXTS[place % len(TEXTS)],
        NUMBERS[place % len(NUMBERS)],
        [b"", bytes(range(256)), None][place % 3],
        [True, False, None][place % 3],
        [0.1, -1e300, None][place % 3],
        MOMENTS[place % 3],
        TEXTS[-place % len(TEXTS)],
    )


def rows(database, table):
    with database.reading() as reader:
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in COLUMNS)
        return reader.rows(f'SELECT {listed} FROM "{table}" ORDER BY place')


def test_values_are_the_same_one_by_one_and_many_at_once(database, table):
    """The first time as they are, later as values of a prepared statement, and in long lists."""
    for place in range(30):
        with database.writing() as writer:
            writer.insert_values(table, COLUMNS, [row(place)])
    with database.writing() as writer:
        writer.insert_values(table, COLUMNS, [row(place) for place in range(30, 5_000)])
    assert rows(database, table) == [row(place) for place in range(5_000)]


def test_parameters_mean_the_same_every_time(database, table):
    for place in range(3 * len(TEXTS)):
        with database.writing() as writer:
            writer.insert_values(table, COLUMNS, [row(place)])
            writer.execute(
                f'UPDATE "{table}" SET t = :text, n = :n WHERE place = :place'
                " AND :n IS NOT DISTINCT FROM n AND t IS NOT DISTINCT FROM :text",
                text=row(place)[1],
                n=row(place)[2],
                place=place,
            )
            found = writer.rows_of(
                [
                    (f'SELECT place FROM "{table}" WHERE t = :t AND place = :n', {"t": t, "n": n})
                    for n, t in ((place, row(place)[1]), (place + 1, ""))
                ]
            )
        assert found == [[] if row(place)[1] is None else [(place,)], []]
    assert rows(database, table) == [row(place) for place in range(3 * len(TEXTS))]


def twice(database, table, *, asks):
    """A transaction that puts one row in two times, and may ask something then."""
    with database.writing() as writer:
        for _ in range(2):
            writer.insert_values(table, ("place",), [(1,)])
        if asks:
            writer.row("SELECT 1")


def test_what_fails_later_leaves_nothing(database, table):
    for asks in (False, True) * 3:  # as it is, prepared, and prepared before
        with pytest.raises(Unavailable) as caught:
            twice(database, table, asks=asks)
        assert caught.value.passing
        assert rows(database, table) == []


def break_off(database, table, *, asks):
    with database.writing() as writer:
        writer.insert_values(table, ("place", "t"), [(1, "x")])
        if asks:
            assert writer.rows(f'SELECT t FROM "{table}"') == [("x",)]
        raise Conflict("no", hint="none")


def test_who_breaks_off_leaves_nothing_and_may_go_on(database, table):
    """Before anything was sent, and after; statements that were to be prepared then still are."""
    for asks in (False, True, False, True):
        with pytest.raises(Conflict):
            break_off(database, table, asks=asks)
        with database.writing() as writer:
            assert writer.rows(f'SELECT t FROM "{table}"') == []
            writer.insert_values(table, ("place", "t"), [(2, "y")])
            writer.execute(f'DELETE FROM "{table}" WHERE place = :n', n=2)
    assert rows(database, table) == []


def test_a_text_that_no_database_takes_is_refused(database, table):
    with pytest.raises(Invalid), database.writing() as writer:
        writer.insert_values(table, ("place", "t"), [(1, "a\0b")])
    assert rows(database, table) == []


def test_more_statements_than_a_connection_prepares(database, table):
    for _ in range(3):
        with database.writing() as writer:
            for number in range(400):
                writer.execute(f'UPDATE "{table}" SET n = :n WHERE place = {number}', n=number)
    with database.writing() as writer:
        writer.insert_values(table, COLUMNS, [row(1)])
    assert rows(database, table) == [row(1)]
