from tests.servers.ducklake import round_trip
from tidelake.testing.duck import EXTENSIONS, duck_connection


def test_extensions_come_from_wheels_and_nothing_is_downloaded(new_duck):
    connection = new_duck()
    settings = connection.sql(
        "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%known_extensions'"
    ).fetchall()
    assert {value for _, value in settings} == {"false"}
    modes = connection.sql(
        "SELECT DISTINCT install_mode FROM duckdb_extensions() WHERE loaded"
    ).fetchall()
    assert {mode for (mode,) in modes} == {"STATICALLY_LINKED", "NOT_INSTALLED"}


def test_the_extensions_are_signed_by_duckdb():
    with duck_connection(extensions=EXTENSIONS, signed=True) as connection:
        loaded = connection.sql("SELECT extension_name FROM duckdb_extensions() WHERE loaded")
        assert set(EXTENSIONS) <= {name for (name,) in loaded.fetchall()}


def test_time_zone_is_utc(new_duck):
    assert new_duck().sql("SELECT current_setting('TimeZone')").fetchone() == ("UTC",)


def test_connections_share_nothing(new_duck):
    new_duck().execute("CREATE TABLE t (i INTEGER)")
    assert new_duck().sql("SHOW TABLES").fetchall() == []


def test_ducklake_on_sqlite(new_duck, tmp_path):
    round_trip(new_duck, f"sqlite:{tmp_path / 'lake.db'}", f"{tmp_path}/data/")


def test_ducklake_on_a_duckdb_file(new_duck, tmp_path):
    round_trip(new_duck, f"{tmp_path / 'lake.duckdb'}", f"{tmp_path}/data/")
