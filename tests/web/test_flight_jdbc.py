"""Arrow's JDBC driver reads and writes a lake that is served."""

from collections.abc import Iterator

import pytest

from tests.servers.jdbc import JdbcDriver, rows
from tests.web.serving import running
from tidelake.testing.place import Place
from tidelake.web.access import TokenFile, new_token
from tidelake.web.serve import Service

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Iterator[JdbcDriver]:
    driver = JdbcDriver(tmp_path_factory.mktemp("jdbc"))
    yield driver
    driver.stop()


@pytest.fixture
def service(tmp_path) -> Iterator[Service]:
    with running(Place.at("sqlite", tmp_path)) as service:
        lake = service.lakes.whole
        lake.create_table("prices", "id BIGINT NOT NULL, symbol VARCHAR, price DOUBLE")
        lake.table("prices").append(
            [{"id": n, "symbol": f"S{n % 3}", "price": n / 2} for n in range(100)]
        )
        yield service


def url(service: Service, more: str = "") -> str:
    place = f"jdbc:arrow-flight-sql://127.0.0.1:{service.flight.port}/"
    return f"{place}?useEncryption=false{more}"


def test_statements(driver, service):
    connection = driver.connect(url(service))
    statement = connection.createStatement()
    found = rows(statement.executeQuery("SELECT symbol, count(*) AS n FROM prices GROUP BY 1"))
    assert sorted(found) == [["S0", "34"], ["S1", "33"], ["S2", "33"]]
    assert len(rows(statement.executeQuery("SELECT * FROM prices"))) == 100
    assert statement.executeUpdate("INSERT INTO prices VALUES (100, 'S9', 1.5)") == 1
    assert service.lakes.whole.table("prices").scan(where="symbol = 'S9'").count() == 1
    with pytest.raises(Exception, match=r"there is no table main\.nothing"):
        statement.executeQuery("SELECT * FROM nothing")
    connection.close()


def test_prepared_statements(driver, service):
    connection = driver.connect(url(service))
    query = connection.prepareStatement("SELECT id FROM prices WHERE id < ? AND symbol = ?")
    query.setLong(1, 10)
    query.setString(2, "S1")
    assert rows(query.executeQuery()) == [["1"], ["4"], ["7"]]
    query.setLong(1, 2)
    assert rows(query.executeQuery()) == [["1"]]
    insert = connection.prepareStatement("INSERT INTO prices VALUES (?, ?, ?)")
    insert.setLong(1, 500)
    insert.setString(2, "NEW")
    insert.setDouble(3, 2.5)
    assert insert.executeUpdate() == 1
    found = service.lakes.whole.table("prices").scan(where="id = 500").to_arrow().to_pylist()
    assert found == [{"id": 500, "symbol": "NEW", "price": 2.5}]
    query.close()
    insert.close()
    connection.close()


def test_what_is_there(driver, service):
    connection = driver.connect(url(service))
    about = connection.getMetaData()
    assert about.getDatabaseProductName() == "Tidelake"
    assert rows(about.getCatalogs()) == [["lake"]]
    assert [row[0] for row in rows(about.getSchemas())] == ["main"]
    tables = rows(about.getTables(None, "main", "pri%", None))
    assert [row[:4] for row in tables] == [["lake", "main", "prices", "TABLE"]]
    columns = rows(about.getColumns(None, "main", "prices", "%"))
    assert [row[3] for row in columns] == ["id", "symbol", "price"]
    connection.close()


def test_tokens(driver, tmp_path):
    tokens = TokenFile(tmp_path / "tokens.toml")
    text, record = new_token("ann", "read")
    tokens.add(record)
    with running(Place.at("sqlite", tmp_path), tokens_file=str(tokens.path)) as service:
        for said in (f"&token={text}", f"&user=ann&password={text}"):
            connection = driver.connect(url(service, said))
            assert rows(connection.createStatement().executeQuery("SELECT 1 AS x")) == [["1"]]
            connection.close()
        with pytest.raises(Exception, match="token"):
            driver.connect(url(service, "&token=ann.x")).createStatement().executeQuery("SELECT 1")
