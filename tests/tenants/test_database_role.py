"""Logins of tenants: whatever SQL they send, they reach their own rows and nothing else."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

import tidelake
from tidelake import Quota
from tidelake.errors import Conflict, Denied, NotFound, TidelakeError, Unsupported
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer
    from tidelake.tenants.values import TenantLogin

_FOREIGN = ("bolt", "secret")


@dataclass(frozen=True)
class Company:
    """A lake of two tenants, and the login of one. All that is the other's has a word in it that
    the first must never see."""

    place: Place
    lake: tidelake.Lake
    login: "TenantLogin"

    owner: psycopg.Connection
    tenant: psycopg.Connection

    def rows(self, query: str) -> list[Any]:
        """As the lake's owner."""
        return self.owner.execute(query).fetchall()  # type: ignore[call-overload]

    def tables(self) -> list[str]:
        found = self.rows(
            "SELECT tablename FROM pg_tables WHERE tablename ~ '^(ducklake|tidelake)_' ORDER BY 1"
        )
        return [row[0] for row in found]

    def columns(self, table: str) -> list[str]:
        found = self.rows(
            "SELECT attname FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped"
            f" AND attrelid = '\"{table}\"'::regclass"
        )
        return [row[0] for row in found]

    def dump(self) -> dict[str, list[str]]:
        """All that there is, and who may do what with it."""
        found = {
            name: sorted(row[0] for row in self.rows(f'SELECT t::text FROM "{name}" t'))
            for name in self.tables()
        }
        rights = (
            "SELECT concat_ws(' ', relname, relacl, relowner, relrowsecurity, relhastriggers)"
            " FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
            "SELECT p::text FROM pg_policies p ORDER BY 1",
            "SELECT p.oid::regprocedure::text || md5(prosrc) FROM pg_proc p"
            " WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
        )
        return found | {query: [row[0] for row in self.rows(query)] for query in rights}

    def try_sql(self, statement: Any, *, commit: bool = True) -> list[Any]:
        """As the tenant. What it says must be silent about others."""
        with self.tenant.transaction(force_rollback=not commit):
            found = self.tenant.execute(statement)
            return found.fetchall() if found.description else [(found.rowcount,)]


def _fill(tenant: tidelake.Lake, word: str) -> None:
    """Something of everything."""
    table = tenant.create_table(
        f"{word}_facts",
        f"k BIGINT, tm TIMESTAMP, {word}_value VARCHAR COMMENT '{word}'",
        key="k",
        event_time="tm",
        partition_by="day(tm)",
        sort_by="k",
        comment=word,
    )
    rows = [{"k": n, "tm": datetime(2024, 1, n % 3 + 1), f"{word}_value": word} for n in range(300)]
    table.append(pa.Table.from_pylist(rows), message=word)
    table.append(rows[:2], once=f"{word}/1")
    table.delete("k = 5")
    table.delete("k < 290 AND k > 20")
    table.rollup("2024-06-01")
    series = tenant.create_table(
        f"{word}_series", "e VARCHAR, tm TIMESTAMP", entity="e", event_time="tm", bucket="1h"
    )
    series.append([{"e": word, "tm": "2024-01-01"}])
    tenant.create_schema(word)
    tenant.create_table(f"{word}.gone", "id BIGINT").append([{"id": 1}])
    tenant.drop(f"{word}.gone")
    tenant.create_view(f"{word}_view", f"SELECT '{word}' AS x")
    tenant.mirror(f"{word}_facts")
    table.append(rows[2:4])


@pytest.fixture(scope="module")
def company(
    postgres_server: "PostgresServer", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Company]:
    place = Place.at("postgresql", tmp_path_factory.mktemp("company"), postgres_server)
    with place.open() as lake:
        lake.create_table("secret_main", "id BIGINT").append([{"id": 1}], message="secret")
        lake.create_tenant("acme")
        lake.create_tenant("bolt", Quota(bytes=10**9))
        for tenant, word in (("bolt", "secret"), ("acme", "mine")):
            inside = lake.tenant(tenant, role="maintain")
            _fill(inside, word)
            inside.close()
        lake.tag("secret tag")
        lake.set_option("data_inlining_row_limit", 7, table="bolt.secret_series")
        lake.tenant_login("bolt")
        login = lake.tenant_login("acme", role="maintain")
        with (
            psycopg.connect(place.url, autocommit=True) as owner,
            psycopg.connect(login.url, autocommit=True) as tenant,
        ):
            yield Company(place, lake, login, owner, tenant)


def test_it_works_as_a_lake_does(company: Company, tmp_path: Path) -> None:
    with tidelake.connect(company.login.url) as acme:
        assert acme.tables() == ["main.mine_facts", "main.mine_series"]
        assert acme.schemas() == ["main", "mine"]
        table = acme.create_table("t", "id BIGINT, s VARCHAR")
        table.append([{"id": 1, "s": "small"}])
        table.append(pa.table({"id": range(10, 1000), "s": ["x"] * 990}))
        table.merge(pa.table({"id": [1, 2], "s": ["m", "m"]}), on="id")
        table.update({"s": "'u'"}, where="id = 10")
        table.delete("id = 11")
        with acme.transaction() as tx:
            tx.table("t").append([{"id": 3, "s": "tx"}])
            tx.create_table("u", "a BIGINT").append([{"a": 1}])
        acme.sql("ALTER TABLE t ADD COLUMN z BIGINT")
        table.append([{"id": 4, "s": "z", "z": 9}])
        acme.rename("u", "w")
        acme.drop("w")
        acme.undrop("w")
        assert acme.table("w").count() == 1
        before = acme.log()[-1].snapshot_id
        table.compact()
        table.rollback(before)
        assert table.count() == 993
        assert acme.known_at(before).table("t").count() == 993
        assert acme.sql("SELECT max(z) AS z FROM t").to_arrow()["z"].to_pylist() == [9]
        series = acme.table("mine_series")
        series.append([{"e": "mine", "tm": "2024-01-01T05:00:00"}])
        assert len(series.coverage().gaps) == 1
        assert acme.table("mine_facts").scan(as_of="2024-06-01").count() == 30
        assert {name for entry in acme.log() for name in entry.tables} >= {"acme.t", "acme.w"}
        done = table.append([{"id": 5, "s": "o", "z": 1}], once="job")
        assert (
            table.append([{"id": 5, "s": "o", "z": 1}], once="job").snapshot_id == done.snapshot_id
        )
    assert company.lake.table("acme.t").count() == 994
    assert company.lake.verify().ok
    with company.place.duck() as duck:
        assert duck.execute("SELECT count(*) FROM lake.acme.t").fetchone() == (994,)


@pytest.mark.slow
def test_what_duckdb_and_the_owner_write_is_seen(company: Company) -> None:
    with tidelake.connect(company.login.url) as acme:
        acme.create_table("both", "id BIGINT")
        with company.place.duck() as duck:
            duck.execute("INSERT INTO lake.acme.both VALUES (1)")
            duck.execute("ALTER TABLE lake.acme.both ADD COLUMN more BIGINT")
            duck.execute("INSERT INTO lake.acme.both VALUES (2, 3)")
        company.lake.table("acme.both").append([{"id": 4, "more": 5}])
        assert acme.table("both").count() == 3
        acme.table("both").delete("id = 2")
        assert sorted(acme.table("both").scan().to_arrow()["id"].to_pylist()) == [1, 4]


@pytest.mark.slow
def test_others_do_not_disturb(company: Company) -> None:
    """Commits that it cannot see are no conflicts."""
    with tidelake.connect(company.login.url) as acme:
        table = acme.create_table("busy", "id BIGINT, n BIGINT")
        table.append([{"id": 1, "n": 1}])
        with acme.transaction(isolation="serializable") as tx:
            assert tx.table("busy").count() == 1
            company.lake.table("bolt.secret_series").append([{"e": "x", "tm": "2024-02-02"}])
            tx.table("busy").merge(pa.table({"id": [1], "n": [2]}), on="id")
        tx = acme.transaction(isolation="serializable")
        assert tx.table("busy").count() == 1
        company.lake.table("acme.busy").append([{"id": 2, "n": 1}])
        tx.table("busy").append([{"id": 3, "n": 1}])
        with pytest.raises(Conflict):
            tx.commit()


def test_the_role_recognises_its_tenant(company: Company) -> None:
    with tidelake.connect(company.login.url) as acme:
        assert repr(acme) == "<Lake tenant acme>"
        with pytest.raises(Denied, match="read_text"):
            acme.sql("SELECT * FROM read_text('/etc/passwd')")
        for refused in (acme.tenants, acme.tags, acme.expire, lambda: acme.tenant("bolt")):
            with pytest.raises(Denied, match="whole lake"):
                refused()
        for name in ("bolt.secret_facts", "secret_main", "main.secret_main"):
            with pytest.raises(NotFound):
                acme.table(name)


@pytest.mark.slow
def test_the_password_is_told_once(company: Company) -> None:
    login = company.lake.tenant_login("acme", role="read")
    assert login.password not in repr(login)
    assert login.password not in str(company.dump())
    assert "acme" not in login.role
    with tidelake.connect(login.url) as acme:
        assert login.password not in repr(acme) + acme.url
        assert acme.table("mine_facts").count() > 0
        with pytest.raises(Denied, match="opened to read"):
            acme.table("mine_facts").append([])
    again = company.lake.tenant_login("acme", role="read")
    assert (again.role, again.password) != (login.role, login.password)
    with pytest.raises(Denied, match="credentials"):
        tidelake.connect(login.url)
    with psycopg.connect(again.url) as raw, pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.execute("DELETE FROM ducklake_data_file")


def test_raw_reads_show_its_own_rows(company: Company) -> None:
    own = {row[0] for row in company.try_sql("SELECT unnest(tidelake_own_tables())")}
    assert own
    for name in (*company.tables(), "tidelake_own_changes"):
        try:
            rows = company.try_sql(f'SELECT t::text FROM "{name}" t')
            if "table_id" in company.columns(name):
                found = company.try_sql(f'SELECT DISTINCT table_id FROM "{name}"')
                assert {row[0] for row in found} <= own, name
        except psycopg.errors.InsufficientPrivilege:
            continue
        assert not [row for row in rows if any(word in row[0] for word in _FOREIGN)], name


def test_functions_tell_nothing_of_others(company: Company) -> None:
    """Whose an id is could be asked of what checks rows."""
    foreign = [
        row[0]
        for row in company.rows(
            "SELECT DISTINCT table_id FROM ducklake_table JOIN ducklake_schema USING (schema_id)"
            " WHERE schema_name !~ '^acme'"
        )
    ]
    assert foreign
    for table in foreign:
        for function in ("tidelake_own_file", "tidelake_own_part"):
            found = company.try_sql(
                f"SELECT bool_or({function}(id, {table})) FROM generate_series(0, 60) id"
            )
            assert found == [(False,)]
    assert company.try_sql(f"SELECT tidelake_own_tables() && ARRAY{foreign}::bigint[]") == [
        (False,)
    ]
    told = company.try_sql("SELECT string_agg(changes_made, ',') FROM tidelake_own_changes")
    assert "secret" not in told[0][0]


def _foreign_rows(company: Company, name: str) -> list[str]:
    """Rows that the tenant does not see, as values."""
    try:
        own = {row[0] for row in company.try_sql(f'SELECT t::text FROM "{name}" t')}
    except psycopg.errors.InsufficientPrivilege:
        own = set()
    return [row[0] for row in company.rows(f'SELECT t::text FROM "{name}" t') if row[0] not in own]


def test_rows_of_others_can_be_neither_written_nor_changed(company: Company) -> None:
    """Every row of every table that is not its own, put there once more; and every change of a
    whole table."""
    before, tried = company.dump(), 0
    for name in company.tables():
        table = sql.Identifier(name)
        for row in _foreign_rows(company, name):
            insert = sql.SQL("INSERT INTO {t} SELECT ({row}::{t}).*").format(
                t=table, row=sql.Literal(row)
            )
            with pytest.raises(psycopg.Error):
                company.try_sql(insert)
            tried += 1
        foreign = set(_foreign_rows(company, name))
        for change in (
            sql.SQL("DELETE FROM {t}").format(t=table),
            *(
                sql.SQL("UPDATE {t} SET {c} = {c}").format(t=table, c=sql.Identifier(column))
                for column in company.columns(name)
            ),
        ):
            tried += 1
            try:
                ((count,),) = company.try_sql(change, commit=False)
            except psycopg.Error:
                continue
            assert count <= len(before[name]) - len(foreign), change
    assert company.dump() == before
    assert tried > 400


def _references(company: Company) -> Iterator[tuple[str, str, object]]:
    """Columns that name something, and what is another's: table, column, value."""
    theirs = {
        "table_id": "SELECT max(table_id) FROM ducklake_table t JOIN ducklake_schema s"
        " USING (schema_id) WHERE s.schema_name = 'bolt'",
        "schema_id": "SELECT schema_id FROM ducklake_schema WHERE schema_name = 'bolt'",
        "data_file_id": "SELECT max(data_file_id) FROM ducklake_data_file f JOIN ducklake_table t"
        " USING (table_id) WHERE t.table_name LIKE 'secret%'",
        "delete_file_id": "SELECT max(next_file_id) + 100 FROM ducklake_snapshot",
        "object_id": "SELECT view_id FROM ducklake_view WHERE view_name = 'secret_view'",
        "view_id": "SELECT view_id FROM ducklake_view WHERE view_name = 'secret_view'",
        "partition_id": "SELECT partition_id FROM ducklake_partition_info p JOIN ducklake_table t"
        " USING (table_id) WHERE t.table_name LIKE 'secret%'",
        "sort_id": "SELECT sort_id FROM ducklake_sort_info p JOIN ducklake_table t"
        " USING (table_id) WHERE t.table_name LIKE 'secret%'",
        "rollup_id": "SELECT max(table_id) << 20 FROM ducklake_table"
        " WHERE table_name LIKE 'secret%'",
        "token": "SELECT 'tenant bolt: x'",
        "schema_name": "SELECT 'bolt'",
        "root": "SELECT '/etc'",
        "path": "SELECT '../../bolt/main/x.parquet'",
    }
    values = {column: company.rows(query)[0][0] for column, query in theirs.items()}
    assert None not in values.values(), values
    for name in company.tables():
        for column in sorted(values.keys() & set(company.columns(name))):
            if not (column == "path" and name == "tidelake_ingest_file"):
                yield name, column, values[column]


def test_no_row_refers_to_what_is_anothers(company: Company) -> None:
    before, tried = company.dump(), 0
    for name, column, value in _references(company):
        change = sql.SQL("UPDATE {t} SET {c} = {v}").format(
            t=sql.Identifier(name), c=sql.Identifier(column), v=sql.Literal(value)
        )
        tried += 1
        try:
            ((count,),) = company.try_sql(change)
        except psycopg.Error:
            continue
        assert count == 0, f"{name}.{column} was set to {value}"
    assert company.dump() == before
    assert tried > 50


_HOSTILE = """
TRUNCATE {t}
ALTER TABLE {t} ADD COLUMN x BIGINT
ALTER TABLE {t} DISABLE ROW LEVEL SECURITY
ALTER TABLE {t} NO FORCE ROW LEVEL SECURITY
ALTER TABLE {t} OWNER TO CURRENT_USER
DROP TABLE {t}
CREATE POLICY mine ON {t} USING (true)
DROP POLICY tidelake_tenant_select ON {t}
CREATE INDEX mine ON {t} ((1))
CREATE RULE mine AS ON INSERT TO {t} DO ALSO SELECT 1
CREATE TRIGGER mine AFTER INSERT ON {t} EXECUTE FUNCTION tidelake_commit_landed()
GRANT ALL ON {t} TO PUBLIC
COPY {t} TO PROGRAM 'cat > /tmp/x'
COPY {t} TO '/tmp/x'
COPY {t} FROM '/etc/passwd'
CREATE VIEW mine AS SELECT * FROM {t}
VACUUM FULL {t}
"""
_OF_THE_SERVER = """
SET ROLE postgres
SET SESSION AUTHORIZATION postgres
SELECT pg_read_file('/etc/passwd')
SELECT pg_ls_dir('.')
SELECT lo_import('/etc/passwd')
SELECT pg_reload_conf()
SELECT rolpassword FROM pg_authid
SELECT * FROM pg_shadow
SELECT * FROM pg_statistic
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'
ALTER SYSTEM SET fsync = off
CREATE TABLE mine (a BIGINT)
CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE FUNCTION tidelake_guest() RETURNS boolean LANGUAGE sql AS 'SELECT false'
CREATE OR REPLACE FUNCTION tidelake_tenant_name() RETURNS text LANGUAGE sql AS $$SELECT 'bolt'$$
DROP FUNCTION tidelake_guest()
CREATE EXTENSION file_fdw
CREATE SCHEMA mine
CREATE DATABASE mine
CREATE ROLE mine
ALTER ROLE postgres PASSWORD 'x'
ALTER ROLE CURRENT_USER BYPASSRLS
ALTER ROLE CURRENT_USER SUPERUSER
ALTER ROLE CURRENT_USER CONNECTION LIMIT -1
REASSIGN OWNED BY postgres TO CURRENT_USER
CREATE PUBLICATION mine FOR ALL TABLES
DO $$BEGIN EXECUTE 'DELETE FROM tidelake_tenant'; END$$
INSERT INTO tidelake_tenant VALUES ('x', '{{}}', now())
UPDATE tidelake_tenant SET quota = '{{}}'
DELETE FROM tidelake_tenant_role
"""
_INLINED = (
    "DROP TABLE ducklake_table",
    'CREATE TABLE "ducklake_inlined_data_1_1" (row_id BIGINT)',
    'CREATE TABLE "tidelake_x" ("a" BIGINT)',
    'CREATE TABLE "ducklake_inlined_data_{own}_99" (row_id BIGINT); SELECT 1',
    'CREATE TABLE "ducklake_inlined_data_{own}_99" ("a" BIGINT DEFAULT pg_sleep(1))',
    'CREATE TABLE "ducklake_inlined_data_{own}_99" ("a" BIGINT CHECK (true))',
    'CREATE TABLE "ducklake_inlined_data_{own}_99" ("a" BIGINT, PRIMARY KEY (a))',
    'CREATE TABLE "ducklake_inlined_data_{own}_99" ("a" BIGINT) INHERITS (ducklake_table)',
    'CREATE TABLE "ducklake_inlined_data_{own}_99" ("a") AS SELECT 1',
)
"""Tables for small writes that none is."""
_SNAPSHOTS = (
    "snapshot_id + 2, snapshot_time, schema_version, next_catalog_id, next_file_id",
    "snapshot_id + 1, snapshot_time + interval '1 day', schema_version, next_catalog_id,"
    " next_file_id",
    "snapshot_id + 1, snapshot_time - interval '1 day', schema_version, next_catalog_id,"
    " next_file_id",
    "snapshot_id + 1, snapshot_time, schema_version + 9, next_catalog_id, next_file_id",
    "snapshot_id + 1, snapshot_time, schema_version, next_catalog_id - 1, next_file_id",
    "snapshot_id + 1, snapshot_time, schema_version, next_catalog_id + 100000000, next_file_id",
    "snapshot_id + 1, snapshot_time, schema_version, next_catalog_id, next_file_id - 1",
    "snapshot_id + 1, snapshot_time, schema_version, next_catalog_id, 9223372036854775807",
    "snapshot_id + 1, snapshot_time, schema_version, next_catalog_id, next_file_id",
)
"""The last is as it should be, and says nothing of what it did."""


def _refuse(company: Company, statement: str) -> None:
    found: Any = None
    with suppress(psycopg.Error):
        found = company.tenant.execute(statement)  # type: ignore[call-overload]
    if found is None:
        return
    only_warns = statement.startswith(("GRANT", "VACUUM"))
    assert found.rowcount == 0 or only_warns, statement


def test_hostile_statements(company: Company) -> None:
    before = company.dump()
    own = company.try_sql("SELECT max(table_id) FROM ducklake_table")[0][0]
    for name in company.tables():
        for line in _HOSTILE.strip().splitlines():
            _refuse(company, line.format(t=f'"{name}"'))
    for line in _OF_THE_SERVER.strip().splitlines():
        _refuse(company, line.format(own=own))
    for each in _INLINED:
        literal = sql.Literal(each.format(own=own)).as_string()
        _refuse(company, f"SELECT tidelake_make_inlined({literal})")
    for each in _SNAPSHOTS:
        _refuse(
            company,
            f"INSERT INTO ducklake_snapshot SELECT {each} FROM ducklake_snapshot"
            " ORDER BY snapshot_id DESC LIMIT 1",
        )
    assert company.dump() == before


def test_a_commit_of_raw_sql_says_only_what_is_its_own(company: Company) -> None:
    theirs = company.rows(
        "SELECT max(table_id) FROM ducklake_table WHERE table_name = 'secret_series'"
    )[0][0]
    before = company.dump()
    for words in (
        f"deleted_from_table:{theirs}",
        'created_table:"bolt"."x"',
        'created_schema:"acmebolt"',
        "anything",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), company.tenant.transaction():
            _commit(company, words)
    assert company.dump() == before


def _commit(company: Company, words: str) -> None:
    company.tenant.execute(
        "INSERT INTO ducklake_snapshot SELECT snapshot_id + 1, snapshot_time, schema_version,"
        " next_catalog_id, next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
    )
    company.tenant.execute(
        "INSERT INTO ducklake_snapshot_changes SELECT max(snapshot_id), %s FROM ducklake_snapshot",
        [words],
    )


@pytest.mark.slow
def test_roles_that_are_nobodys_are_not_held(company: Company) -> None:
    """An analyst of the house, say, who may read all tables."""
    company.owner.execute("CREATE ROLE analyst LOGIN")
    company.owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO analyst")
    with psycopg.connect(company.place.url.replace("postgres@", "analyst@")) as analyst:
        for name in company.tables():
            found = analyst.execute(f'SELECT count(*) FROM "{name}"')  # type: ignore[arg-type]
            assert found.fetchall() == company.rows(f'SELECT count(*) FROM "{name}"')
    company.owner.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM analyst")
    company.owner.execute("DROP ROLE analyst")


def test_a_role_whose_record_is_gone_sees_nothing(company: Company) -> None:
    role = company.login.role
    (kept,) = company.rows(f"SELECT * FROM tidelake_tenant_role WHERE role_name = '{role}'")
    company.owner.execute("DELETE FROM tidelake_tenant_role WHERE role_name = %s", [role])
    try:
        assert company.try_sql("SELECT * FROM ducklake_table") == []
        assert company.try_sql("SELECT * FROM ducklake_data_file") == []
        with pytest.raises(Denied, match="no tenant any more"):
            tidelake.connect(company.login.url)
    finally:
        company.owner.execute("INSERT INTO tidelake_tenant_role VALUES (%s, %s, %s)", kept)


@pytest.mark.slow
def test_it_travels(company: Company) -> None:
    with tidelake.connect(company.login.url) as acme:
        copy = pickle.loads(pickle.dumps(acme))
        assert copy.tables() == acme.tables()
        copy.close()


@pytest.mark.slow
def test_a_table_without_a_rule_is_closed(company: Company) -> None:
    company.lake.tenant_login("bolt")
    with psycopg.connect(company.place.url, autocommit=True) as owner:
        owner.execute("CREATE TABLE tidelake_of_tomorrow (a TEXT)")
        owner.execute("INSERT INTO tidelake_of_tomorrow VALUES ('secret')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            company.try_sql("SELECT * FROM tidelake_of_tomorrow")
        company.lake.tenant_login("bolt")  # raises the walls anew
        assert company.try_sql("SELECT * FROM tidelake_of_tomorrow") == []
        owner.execute("DROP TABLE tidelake_of_tomorrow")


def test_the_quota_holds_for_raw_sql(company: Company) -> None:
    own = company.try_sql("SELECT max(table_id) FROM ducklake_table")[0][0]
    company.lake.set_quota("acme", Quota(files=1))
    before = company.dump()
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="quota"),
        company.tenant.transaction(),
    ):
        _commit(company, f"altered_table:{own}")
    assert company.dump() == before
    company.lake.set_quota("acme", Quota())


def test_a_dropped_tenant_is_out(postgres_server: "PostgresServer", tmp_path: Path) -> None:
    place = Place.at("postgresql", tmp_path, postgres_server)
    with place.open() as lake:
        login = lake.create_tenant("acme", database_role=True)
        other = lake.create_tenant("bolt", database_role=True)
        with psycopg.connect(login.url) as session:
            session.execute("SELECT lo_create(0)")
            session.commit()
            lake.drop_tenant("acme")
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")
        with pytest.raises(Denied):
            tidelake.connect(login.url)
        with psycopg.connect(place.url) as owner:
            left = owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [login.role])
            assert left.fetchall() == []
        with tidelake.connect(other.url) as bolt:
            assert bolt.tables() == []


@pytest.fixture
def modest(postgres_server: "PostgresServer", tmp_path: Path) -> tuple[Place, str]:
    """A lake whose owner is no superuser, but may make roles, in a schema of its own; and that
    owner's name."""
    place = Place.at("postgresql", tmp_path, postgres_server)
    database = place.url.rpartition("/")[2]
    name = f"keeper_{database}"
    with psycopg.connect(place.url, autocommit=True) as root:
        root.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(sql.Identifier(name)))
        grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}")
        root.execute(grant.format(sql.Identifier(database), sql.Identifier(name)))
    url = place.url.replace("postgres@", f"{name}@") + "?schema=the lake"
    return Place(place.kind, url, place.folder), name


@pytest.mark.slow
def test_an_owner_who_may_make_roles(modest: tuple[Place, str]) -> None:
    with modest[0].open() as lake:
        login = lake.create_tenant("acme", database_role=True)
        lake.create_tenant("bolt").create_table("secret", "id BIGINT").append([{"id": 1}])
        with tidelake.connect(login.url) as acme:
            acme.create_table("t", "id BIGINT").append([{"id": 1}])
            assert acme.tables() == ["main.t"]
            assert acme.table("t").count() == 1
        assert lake.tables() == ["acme.t", "bolt.secret"]
        lake.drop_tenant("acme")


@pytest.mark.slow
def test_an_owner_who_may_not(modest: tuple[Place, str], company: Company) -> None:
    place, name = modest
    company.owner.execute(sql.SQL("ALTER ROLE {} NOCREATEROLE").format(sql.Identifier(name)))
    with place.open() as lake:
        with pytest.raises(Denied, match="permission denied to create role"):
            lake.create_tenant("acme", database_role=True)
        assert lake.tenants() == []


@pytest.mark.parametrize(
    ("kind", "why"),
    [("sqlite", "no users"), ("duckdb", "no users"), ("mariadb", "for whole tables")],
)
def test_other_databases_refuse(new_place: Callable[[str], Place], kind: str, why: str) -> None:
    with new_place(kind).open() as lake:
        with pytest.raises(Unsupported, match=why):
            lake.create_tenant("acme", database_role=True)
        assert lake.tenants() == []
        lake.create_tenant("acme").close()
        with pytest.raises(Unsupported):
            lake.tenant_login("acme")


@pytest.mark.slow
def test_who_stands_in_everybodys_way_is_ended(
    postgres_server: "PostgresServer", tmp_path: Path
) -> None:
    place = Place.at("postgresql", tmp_path, postgres_server).tuned(lock_wait_s=0.5, patience_s=10)
    with place.open() as lake, psycopg.connect(place.url, autocommit=True) as owner:
        login = lake.create_tenant("acme", database_role=True)
        body = owner.execute("SELECT pg_get_functiondef('tidelake_end_holders'::regproc)")
        shorter = body.fetchall()[0][0].replace("60 s", "0 s")
        with psycopg.connect(login.url) as holder:
            holder.execute("SET idle_in_transaction_session_timeout = 0")
            holder.execute("SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))")
            place_now = place.tuned(patience_s=0)
            with place_now.open() as hurried, pytest.raises(TidelakeError, match="locked"):
                hurried.create_table("t", "id BIGINT")
            owner.execute(shorter)
            lake.create_table("t", "id BIGINT")
            with pytest.raises(psycopg.OperationalError):
                holder.execute("SELECT 1")
