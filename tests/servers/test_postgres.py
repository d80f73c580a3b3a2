import psutil
import psycopg

from tests.servers.ducklake import round_trip
from tests.servers.process import listening_addresses, unprivileged_user


def test_each_database_is_new_and_empty(postgres_server):
    first, second = postgres_server.new_database(), postgres_server.new_database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'tide' AS word")
        assert connection.execute("SELECT word FROM t").fetchone() == ("tide",)
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('t')").fetchone() == (None,)


def test_listens_on_loopback_only(postgres_server):
    assert listening_addresses(postgres_server.pid) == {"127.0.0.1"}


def test_does_not_run_as_root(postgres_server):
    expected = unprivileged_user() or psutil.Process().username()
    assert psutil.Process(postgres_server.pid).username() == expected


def test_ducklake_on_postgres(postgres_server, new_duck, tmp_path):
    name = postgres_server.new_database().rsplit("/", 1)[1]
    round_trip(new_duck, f"postgres:{postgres_server.duckdb_dsn(name)}", f"{tmp_path}/data/")
