import psutil
import sqlalchemy

from tests.servers.process import listening_addresses, unprivileged_user


def connect(url: str) -> sqlalchemy.Connection:
    return sqlalchemy.create_engine(url.replace("mysql:", "mysql+pymysql:")).connect()


def test_each_database_is_new_and_empty(mariadb_server):
    first, second = mariadb_server.new_database(), mariadb_server.new_database()
    with connect(first) as connection:
        connection.exec_driver_sql("CREATE TABLE t AS SELECT 'Gezeiten ≈ 🌊' AS word")
        assert connection.exec_driver_sql("SELECT word FROM t").scalar() == "Gezeiten ≈ 🌊"
    with connect(second) as connection:
        assert connection.exec_driver_sql("SHOW TABLES").all() == []


def test_listens_on_loopback_only(mariadb_server):
    assert listening_addresses(mariadb_server.pid) == {"127.0.0.1"}


def test_does_not_run_as_root(mariadb_server):
    expected = unprivileged_user() or psutil.Process().username()
    assert psutil.Process(mariadb_server.pid).username() == expected
