"""Arrow Flight SQL: what ADBC's driver reads and writes is what the lake has."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

import adbc_driver_manager
import pyarrow as pa
import pyarrow.flight as fl
import pytest

from tests.web.serving import adbc, address, info_of, rows_of, running
from tidelake.testing.place import Place
from tidelake.web.flight import messages
from tidelake.web.limits import Limits
from tidelake.web.serve import Service

PRICES = "id BIGINT NOT NULL, symbol VARCHAR, price DECIMAL(12, 2), ts TIMESTAMP"


def prices(start: int, stop: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(start, stop), pa.int64()),
            "symbol": [f"S{n % 7}" for n in range(start, stop)],
            "price": pa.array([Decimal(n) / 4 for n in range(start, stop)], pa.decimal128(12, 2)),
            "ts": pa.array([datetime(2024, 1, 1 + n % 20) for n in range(start, stop)]),
        }
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    place = Place.at("sqlite", tmp_path_factory.mktemp("flight"))
    with running(place, Limits(stream_bytes=1, streams=3)) as service:
        lake = service.lakes.whole
        lake.create_table("prices", PRICES, key=["id"], event_time="ts")
        for start in range(0, 5000, 1000):
            lake.table("prices").append(prices(start, start + 1000))
        lake.create_schema("other")
        lake.create_view("other.cheap", "SELECT symbol, price FROM prices WHERE price < 10")
        yield service


def test_a_query_gives_what_the_lake_gives(service):
    sql = "SELECT symbol, count(*) AS n, sum(price) AS p, max(ts) AS t FROM prices GROUP BY 1"
    ordered = f"{sql} ORDER BY symbol"
    assert rows_of(service, ordered) == service.lakes.whole.sql(ordered).to_arrow()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM prices",
        "SELECT symbol, id FROM prices WHERE id >= 1500 AND symbol IN ('S1', 'S2')",
        "FROM main.prices",
        "SELECT p.price FROM prices AS p WHERE p.ts BETWEEN '2024-01-03' AND '2024-01-05'",
    ],
)
def test_a_plain_read_comes_in_several_streams(service, sql):
    with fl.connect(address(service)) as client:
        info = info_of(client, sql)
        assert len(info.endpoints) in (2, 3)
        parts = [client.do_get(each.ticket).read_all() for each in info.endpoints]
    assert all(part.num_rows < 5000 for part in parts)
    found, lake = pa.concat_tables(parts), service.lakes.whole
    assert found.schema == info.schema
    key = [(name, "ascending") for name in found.column_names]
    assert found.sort_by(key) == lake.sql(sql).to_arrow().combine_chunks().sort_by(key)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM prices LIMIT 10",
        "SELECT DISTINCT symbol FROM prices",
        "SELECT count(*) FROM prices",
        "SELECT * FROM prices ORDER BY id",
        "SELECT * FROM prices USING SAMPLE 10",
        "SELECT id, row_number() OVER () FROM prices",
        "SELECT * FROM prices WHERE id IN (SELECT max(id) FROM prices)",
        "SELECT id FROM prices QUALIFY row_number() OVER (ORDER BY id) < 3",
        "SELECT * FROM prices, other.cheap",
        "SELECT sum(id) FROM prices HAVING true",
        "SELECT id FROM prices GROUP BY ALL",
        "SELECT * FROM prices FOR VALID_TIME AS OF '2024-01-05'",
        "WITH a AS (SELECT 1 AS x) SELECT * FROM prices",
        "SELECT * FROM prices UNION SELECT * FROM prices",
    ],
)
def test_whatever_looks_at_more_than_a_row_comes_in_one(service, sql):
    with fl.connect(address(service)) as client:
        info = info_of(client, sql)
        assert len(info.endpoints) == 1
        rows = client.do_get(info.endpoints[0].ticket).read_all()
    assert rows.schema == info.schema
    assert rows.num_rows == service.lakes.whole.sql(sql).count()


def test_both_clocks_by_header_and_in_sql(service):
    sql = "SELECT count(*) AS n FROM prices"
    assert rows_of(service, sql, headers={"x_tidelake_known_at": "2"})["n"].to_pylist() == [1000]
    at = {"x_tidelake_as_of": "2024-01-01"}
    assert rows_of(service, sql, headers=at)["n"].to_pylist() == [250]
    assert rows_of(service, f"{sql} AT (VERSION => 3)")["n"].to_pylist() == [2000]
    with pytest.raises(adbc_driver_manager.Error, match="no tag has that name"):
        rows_of(service, sql, headers={"x_tidelake_known_at": "no such tag"})


def test_parameters_by_number_and_name(service):
    with adbc(service) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM prices WHERE id < ? AND symbol = ?", (20, "S3"))
        assert cursor.fetchall() == [(3,), (10,), (17,)]
        cursor.execute("SELECT $x + 1 AS y", (41,))
        assert cursor.fetchall() == [(42,)]
        schema = cursor.adbc_prepare("SELECT id FROM prices WHERE price > ? AND ts = ?")
        assert schema == pa.schema({"1": pa.decimal128(12, 2), "2": pa.timestamp("us")})
        with pytest.raises(adbc_driver_manager.Error, match="1 values for 2 parameters"):
            cursor.execute("SELECT ? + ?", (1,))


def test_names_that_come_twice_and_odd_types(service):
    sql = "SELECT 1 AS a, 2 AS a, [1, 2] AS l, {'x': 1} AS s, '1h'::INTERVAL AS i, NULL AS n"
    found = rows_of(service, sql)
    assert found.column_names == ["a", "a", "l", "s", "i", "n"]
    assert found.schema == service.lakes.whole.sql(sql).to_arrow().schema


def test_what_is_there(service):
    with adbc(service) as connection:
        assert connection.adbc_get_table_types() == ["TABLE", "VIEW"]
        (lake,) = connection.adbc_get_objects(depth="columns").read_all().to_pylist()
        assert lake["catalog_name"] == "lake"
        schemas = {each["db_schema_name"]: each for each in lake["catalog_db_schemas"]}
        assert list(schemas) == ["main", "other"]
        (cheap,) = schemas["other"]["db_schema_tables"]
        assert (cheap["table_name"], cheap["table_type"]) == ("cheap", "VIEW")
        assert [each["column_name"] for each in cheap["table_columns"]] == ["symbol", "price"]
        found = connection.adbc_get_objects(depth="tables", table_name_filter="pr%").read_all()
        assert "prices" in str(found.to_pylist())
        assert "cheap" not in str(found.to_pylist())
        assert connection.adbc_get_table_schema("prices").field("id").nullable is False
        assert connection.adbc_get_info()["vendor_name"] == "Tidelake"


@pytest.mark.parametrize(
    ("command", "columns", "rows"),
    [
        (messages.new("CommandGetPrimaryKeys", table="prices"), 6, 1),
        (messages.new("CommandGetExportedKeys", table="prices"), 13, 0),
        (messages.new("CommandGetXdbcTypeInfo"), 19, 16),
        (messages.new("CommandGetXdbcTypeInfo", data_type=12), 19, 1),
        (messages.new("CommandGetSqlInfo", info=[0, 4]), 2, 2),
        (messages.new("CommandGetCatalogs"), 1, 1),
        (messages.new("CommandGetDbSchemas", db_schema_filter_pattern="o_her"), 2, 1),
        (messages.new("CommandGetTables", catalog="another"), 4, 0),
    ],
)
def test_listings_have_the_schemas_of_the_protocol(service, command, columns, rows):
    with fl.connect(address(service)) as client:
        descriptor = fl.FlightDescriptor.for_command(messages.pack(command))
        info = client.get_flight_info(descriptor)
        found = client.do_get(info.endpoints[0].ticket).read_all()
        assert client.get_schema(descriptor).schema == info.schema == found.schema
    assert (found.num_columns, found.num_rows) == (columns, rows)


def test_plain_flight_reads_and_appends_by_path(service):
    lake = service.lakes.whole
    lake.create_table("plain", "a BIGINT")
    descriptor = fl.FlightDescriptor.for_path("main", "plain")
    with fl.connect(address(service)) as client:
        writer, _ = client.do_put(descriptor, pa.schema({"a": pa.int64()}))
        writer.write_table(pa.table({"a": [1, 2]}))
        writer.close()
        info = client.get_flight_info(descriptor)
        found = client.do_get(info.endpoints[0].ticket).read_all()
    assert found["a"].to_pylist() == lake.table("plain").to_arrow()["a"].to_pylist() == [1, 2]


def test_rows_are_ingested_all_or_none(service):
    lake = service.lakes.whole
    first, more = pa.table({"a": [1, 2]}), pa.table({"a": [3]})
    with adbc(service) as connection, connection.cursor() as cursor:
        assert cursor.adbc_ingest("fresh", first, mode="create") == 2
        assert cursor.adbc_ingest("fresh", more, mode="append") == 1
        assert lake.table("fresh").to_arrow()["a"].to_pylist() == [1, 2, 3]
        with pytest.raises(adbc_driver_manager.Error, match="already"):
            cursor.adbc_ingest("fresh", first, mode="create")
        cursor.adbc_ingest("fresh", more, mode="replace")
        with pytest.raises(adbc_driver_manager.Error, match="no table main"):
            cursor.adbc_ingest("nothing", more, mode="append")
        with pytest.raises(adbc_driver_manager.Error, match="'b'"):
            cursor.adbc_ingest("fresh", pa.table({"b": [3]}), mode="append")
        assert lake.table("fresh").to_arrow()["a"].to_pylist() == [3]
        assert len(lake.table("fresh").known_at(lake.log()[-1].snapshot_id).to_arrow()) == 1


def test_writes_tell_how_many_rows_they_changed(service):
    lake = service.lakes.whole
    lake.create_table("written", "a BIGINT")
    with adbc(service) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO written VALUES (1), (2), (3)")
        assert cursor.fetchall() == [(3,)]
        cursor.executemany("INSERT INTO written VALUES (?)", [(4,), (5,)])
        assert cursor.rowcount == 2
        snapshots = len(lake.snapshots())
        with pytest.raises(adbc_driver_manager.Error):
            cursor.executemany("INSERT INTO written VALUES (?::INTEGER)", [("6",), ("x",)])
        assert len(lake.snapshots()) == snapshots
    assert lake.sql("SELECT sum(a) AS s FROM written").to_arrow()["s"].to_pylist() == [15]


def test_functions_and_calls_of_the_lake(service):
    lake = service.lakes.whole
    sql = "EXPLAIN SELECT * FROM prices WHERE id < 10"
    assert rows_of(service, sql) == lake.sql(sql).to_arrow()
    found = rows_of(service, "SELECT count(*) AS n FROM changes('prices', since => 1)")
    assert found["n"].to_pylist() == [5000]
    assert rows_of(service, "CALL tag('begun', 2)")["Count"].to_pylist() == [0]
    assert [tag.name for tag in lake.tags()] == ["begun"]
    with pytest.raises(adbc_driver_manager.Error, match="not enough to maintain"):
        rows_of(service, "CALL expire(keep_last => 1)")


def test_a_transaction_is_seen_by_itself_until_it_is_committed(service):
    lake = service.lakes.whole
    lake.create_table("drafts", "a BIGINT")
    count = "SELECT count(*) AS n FROM drafts"
    with adbc(service, autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO drafts VALUES (1), (2)")
        cursor.execute(count)
        assert cursor.fetchall() == [(2,)]
        assert lake.table("drafts").count() == 0
        connection.rollback()
        cursor.execute("INSERT INTO drafts VALUES (1)")
        cursor.execute("DELETE FROM drafts WHERE a = 7")
        connection.commit()
        assert lake.table("drafts").count() == 1
        assert lake.log()[-1].author == "anybody"


def test_rows_are_ingested_in_a_transaction(service):
    """ADBC's driver does not say which, and has them committed at once; others do."""
    lake = service.lakes.whole
    with fl.connect(address(service)) as client:
        (answer,) = client.do_action(("BeginTransaction", b""))
        _, begun = messages.unpack(answer.body.to_pybytes())
        command = messages.new(
            "CommandStatementIngest",
            table="landed",
            schema="other",
            transaction_id=begun.transaction_id,
        )
        command.table_definition_options.if_not_exist = messages.CREATE_IF_MISSING
        rows = pa.table({"a": [1, 2, 3]})
        descriptor = fl.FlightDescriptor.for_command(messages.pack(command))
        writer, answers = client.do_put(descriptor, rows.schema)
        writer.write_table(rows)
        writer.done_writing()
        assert messages.parse("DoPutUpdateResult", answers.read().to_pybytes()).record_count == 3
        writer.close()
        assert "other.landed" not in lake.tables()
        end = messages.new(
            "ActionEndTransactionRequest",
            transaction_id=begun.transaction_id,
            action=messages.COMMIT,
        )
        assert list(client.do_action(("EndTransaction", messages.pack(end)))) == []
    assert lake.table("other.landed").count() == 3


def test_a_conflict_is_told_and_loses_nothing(service):
    lake = service.lakes.whole
    lake.create_table("contested", "a BIGINT").append([{"a": 1}, {"a": 2}])
    with adbc(service, autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE contested SET a = 10 WHERE a = 1")
        lake.sql("DELETE FROM contested WHERE a = 1")
        with pytest.raises(adbc_driver_manager.Error, match="Conflict"):
            connection.commit()
    assert lake.table("contested").to_arrow()["a"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("SELECT * FROM nothing", "NOT_FOUND", "there is no table main.nothing"),
        ("SELEC 1", "INVALID_ARGUMENT", "syntax error"),
        ("SELECT * FROM read_text('/etc/passwd')", "UNAUTHORIZED", "read_text"),
        ("SELECT * FROM '/etc/passwd'", "NOT_FOUND", "no table"),
        ("ATTACH 'x.db'", "NOT_IMPLEMENTED", "ATTACH"),
        ("SELECT 1 / 'x'::INTEGER", "INVALID_ARGUMENT", "Could not convert"),
        ("SELECT length(repeat('x', 3000000000))", "UNAUTHORIZED", "memory"),
        ("INSERT INTO prices SELECT 'x'", "INVALID_ARGUMENT", ""),
        ("SELECT '" + "x" * 1100000 + "'", "INVALID_ARGUMENT", "1,048,576 letters"),
    ],
)
def test_errors_have_codes_and_our_words_and_no_traceback(service, sql, code, said):
    with pytest.raises(adbc_driver_manager.Error) as caught:
        rows_of(service, sql)
    assert caught.value.status_code.name == code
    assert said in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert "site-packages" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xff",
        b"SELECT 1",
        messages.pack(messages.new("TicketStatementQuery", statement_handle=b"x" * 20)),
    ],
)
def test_what_is_no_message_is_refused(service, data):
    with fl.connect(address(service)) as client:
        for ask in (
            lambda: client.do_get(fl.Ticket(data)).read_all(),
            lambda: client.get_flight_info(fl.FlightDescriptor.for_command(data)),
            lambda: list(client.do_action(("EndTransaction", data))),
            lambda: list(client.do_action(("CancelFlightInfo", data))),
        ):
            with pytest.raises(pa.ArrowException) as caught:
                ask()
            assert "Traceback" not in str(caught.value)
        assert info_of(client, "SELECT 1").total_records == -1


@pytest.mark.slow
def test_what_is_kept_in_memory_is_what_the_lake_has(service):
    """Read often enough to be kept, between all that can change what is to be read."""
    lake = service.lakes.whole
    table = lake.create_table("hot", "a BIGINT, b VARCHAR")
    key = [("a", "ascending")]

    def check(sql: str = "SELECT * FROM hot") -> None:
        expected = lake.sql(sql).to_arrow().combine_chunks().sort_by(key)
        with fl.connect(address(service)) as client:
            for _ in range(3):
                tickets = [each.ticket for each in info_of(client, sql).endpoints]
                found = pa.concat_tables(client.do_get(each).read_all() for each in tickets)
                assert found.combine_chunks().sort_by(key) == expected

    kept = service.metrics.registry.get_sample_value
    for start in (0, 100):
        table.append([{"a": n, "b": str(n)} for n in range(start, start + 100)])
        check()
    before = kept("tidelake_answers_total", {"kept": "true"})
    check()
    assert kept("tidelake_answers_total", {"kept": "true"}) > (before or 0)
    table.delete("a % 3 = 0")
    check()
    table.update({"b": "'new'"}, where="a = 1")
    check()
    table.evolve(add={"c": "INTEGER"})
    check()
    table.append([{"a": 1000, "c": 5}])
    check()
    table.compact()
    check()
    check(f"SELECT * FROM hot AT (VERSION => {lake.log()[-4].snapshot_id})")
    lake.drop("hot")
    with pytest.raises(adbc_driver_manager.Error, match="no table"):
        rows_of(service, "SELECT * FROM hot")


def test_the_past_stays_readable_while_a_stream_is_open(service):
    lake = service.lakes.whole
    lake.create_table("moving", "a BIGINT").append(pa.table({"a": list(range(200_000))}))
    with fl.connect(address(service)) as client:
        reader = client.do_get(info_of(client, "SELECT * FROM moving").endpoints[0].ticket)
        first = reader.read_chunk().data.num_rows
        lake.table("moving").delete("true")
        assert first + sum(chunk.data.num_rows for chunk in reader) == 200_000
