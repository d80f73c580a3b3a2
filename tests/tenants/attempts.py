"""Attempts of a tenant to get at what is not its own, made of all that names, statements, clocks,
paths and options can be combined to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tidelake


@dataclass(frozen=True)
class Target:
    """What there is to be had. `words` are in it that nobody may hear who has not said them."""

    files: tuple[str, ...]
    own_folder: str
    data_path: str
    catalog: str
    snapshots: tuple[int, ...]
    words: tuple[str, ...] = ("zqtable", "zqcolumn", "zqvalue", "zqmessage", "zqtag", "bolt")


@dataclass(frozen=True)
class Attempt:
    """`said` is all that the tenant has put in."""

    said: str
    do: Callable[[tidelake.Lake], Any] = field(repr=False)


_PLAIN = (
    ("bolt", "zqtable"),
    ("bolt", "zqview"),
    ("bolt", "zqgone"),
    ("bolt__inner", "zqdeep"),
    ("main", "zqowner"),
    ("", "zqowner"),
    ("", "zqtable"),
    ("inner", "zqdeep"),
    ("lake", "zqtable"),
    ("acme__bolt", "zqtable"),
    ("tenants", "bolt"),
    ("information_schema", "tables"),
    ("pg_catalog", "pg_class"),
    ("main", "sqlite_master"),
    ("main", "ducklake_table"),
    ("main", "tidelake_tenant"),
    ("__ducklake_metadata_lake", "ducklake_table"),
    ("system", "duckdb_tables"),
    ("temp", "zqtable"),
    ("memory", "zqtable"),
)
_SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda part: part,
    lambda part: f'"{part}"',
    lambda part: f'"{part.upper()}"',
    str.upper,
    lambda part: f'"{part}\u200b"',
    lambda part: '"' + part.replace("o", "\u043e").replace("a", "\u0430") + '"',
    lambda part: f'"{part} "',
    lambda part: f'"../{part}"',
    lambda part: f'"{part}""; SELECT 1 --"',
    lambda part: f'"acme""."{part}"',
)


def names() -> Iterator[str]:
    for (schema, name), spell in product(_PLAIN, _SPELLINGS):
        yield f"{spell(schema)}.{spell(name)}" if schema else spell(name)
    yield from (
        "lake.bolt.zqtable",
        '"lake"."bolt"."zqtable"',
        "bolt..zqtable",
        "bolt.main.zqtable",
    )


def _is_new_there(name: str) -> bool:
    """Whether a table of this name would not be the tenant's own affair."""
    return name.count(".") == 1 and not name.lower().lstrip('"').startswith("main")


STATEMENTS = (
    "SELECT * FROM {n}",
    "FROM {n}",
    "TABLE {n}",
    "SELECT count(*) FROM {n}",
    "SELECT (SELECT min(x) FROM {n} AS s(x)) AS m",
    "SELECT * FROM t WHERE id IN (SELECT id FROM {n})",
    "SELECT * FROM t WHERE EXISTS (FROM {n})",
    "SELECT * FROM t JOIN {n} AS o ON true",
    "SELECT * FROM t, LATERAL (SELECT * FROM {n})",
    "SELECT * FROM t POSITIONAL JOIN {n}",
    "SELECT * FROM t ASOF JOIN {n} o ON t.id >= o.id",
    "WITH w AS (FROM {n}) FROM w",
    "WITH w AS MATERIALIZED (FROM {n}) FROM w",
    "WITH RECURSIVE w AS (SELECT * FROM {n} UNION ALL FROM w) FROM w",
    "SELECT * FROM t UNION ALL BY NAME SELECT * FROM {n}",
    "SELECT * FROM t EXCEPT SELECT * FROM {n}",
    "SELECT * FROM (VALUES (1)) v(a) WHERE a = ANY (SELECT id FROM {n})",
    "SELECT columns('.*') FROM {n}",
    "PIVOT {n} ON id",
    "UNPIVOT {n} ON id",
    "DESCRIBE {n}",
    "SUMMARIZE {n}",
    "SHOW TABLES FROM {n}",
    "SELECT * FROM query_table('{n}')",
    "SELECT * FROM query('FROM {n}')",
    "PRAGMA table_info('{n}')",
    "PRAGMA storage_info('{n}')",
    "INSERT INTO {n} VALUES (1)",
    "INSERT INTO {n} SELECT * FROM t",
    "INSERT INTO t SELECT id, 'x' FROM {n}",
    "UPDATE {n} SET id = 1",
    "UPDATE t SET s = (SELECT min(zqcolumn) FROM {n})",
    "UPDATE t SET s = 'x' FROM {n}",
    "DELETE FROM {n}",
    "DELETE FROM t USING {n} AS o WHERE t.id = o.id",
    "TRUNCATE {n}",
    "MERGE INTO {n} USING t ON true WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING {n} AS o ON t.id = o.id WHEN MATCHED THEN DELETE",
    "DROP TABLE {n}",
    "DROP TABLE IF EXISTS {n} CASCADE",
    "DROP VIEW {n}",
    "ALTER TABLE {n} RENAME TO mine",
    "ALTER TABLE {n} ADD COLUMN a BIGINT",
    "ALTER TABLE {n} SET PARTITIONED BY (id)",
    "COMMENT ON TABLE {n} IS 'x'",
    "COMMENT ON COLUMN {n}.id IS 'x'",
    "CREATE VIEW w AS SELECT * FROM {n}",
    "CREATE OR REPLACE VIEW w AS SELECT * FROM {n}",
    "CREATE TABLE w AS SELECT * FROM {n}",
    "CREATE TABLE w AS FROM {n} LIMIT 0",
    "CREATE TEMP TABLE w AS FROM {n}",
    "CREATE MACRO m() AS TABLE FROM {n}",
    "CREATE INDEX i ON {n} (id)",
    "COPY {n} TO 'x.csv'",
    "COPY {n} FROM 'x.csv'",
    "EXPLAIN SELECT * FROM {n}",
    "EXPLAIN ANALYZE FROM {n}",
    "SELECT * FROM t; SELECT * FROM {n}",
    "USE {n}",
    "ATTACH '{n}' AS x",
    "CALL ducklake_snapshots('{n}')",
    "SELECT * FROM ducklake_table_info('{n}')",
    "SELECT nextval('{n}')",
    "SELECT * FROM history('{n}', key => 1)",
    "SELECT * FROM changes('{n}')",
    "SELECT * FROM changes('{n}', since => 0, until => 9)",
    "SELECT * FROM changes_of_belief('{n}', 1)",
    "SELECT * FROM diff('{n}', 1, 9)",
    "SELECT * FROM coverage('{n}')",
    "SELECT * FROM gaps('{n}')",
    "SELECT * FROM missing('{n}')",
    "SELECT * FROM last_complete_window('{n}', 2)",
    "SELECT * FROM snapshots('{n}')",
    "SELECT * FROM snapshots(known_at => '{n}')",
    "SELECT * FROM table_files('{n}')",
    "CREATE VIEW w AS SELECT * FROM changes('{n}')",
    "CALL compact('{n}')",
    "CALL rollback('{n}', 1)",
    "CALL rollup('{n}', '2024-01-01')",
    "CALL set_comment('{n}', 'x')",
    "CALL undrop('{n}')",
    "CALL tag('{n}')",
    "CALL untag('{n}')",
    "CALL verify(tables => ['{n}'])",
    "CALL set_option('target_file_size', '1', table => '{n}')",
    "ANALYZE {n}",
    "CHECKPOINT {n}",
    "EXECUTE {n}",
)

_READS = ("SELECT * FROM {n} {at}", "SELECT count(*) FROM {n} {at} AS x", "FROM t, {n} {at}")


def clocks(target: Target) -> list[str]:
    moments = [str(each) for each in target.snapshots[-8:]]
    moments += ["'zqtag'", "'2099-01-01'", "'1999-01-01'", "-1", "NULL"]
    forms = (
        "FOR SYSTEM_TIME AS OF {m}",
        "VERSION AS OF {m}",
        "TIMESTAMP AS OF {m}",
        "AT (VERSION => {m})",
        "AT (TIMESTAMP => {m})",
        "FOR VALID_TIME AS OF {m}",
    )
    return [form.format(m=moment) for form, moment in product(forms, moments)]


Verb = Callable[[tidelake.Lake, str], Any]
VERBS: tuple[tuple[str, Verb], ...] = (
    ("table", lambda lake, n: lake.table(n)),
    ("count", lambda lake, n: lake.table(n).count()),
    ("read", lambda lake, n: lake.table(n).scan().to_arrow()),
    ("explain", lambda lake, n: lake.table(n).scan().explain()),
    ("files", lambda lake, n: lake.table(n).files()),
    ("changes", lambda lake, n: lake.table(n).changes().to_arrow()),
    ("view", lambda lake, n: lake.view(n)),
    ("drop", lambda lake, n: lake.drop(n)),
    ("undrop", lambda lake, n: lake.undrop(n)),
    ("undrop as", lambda lake, n: lake.undrop(n, as_="mine")),
    ("undrop at", lambda lake, n: lake.undrop(n, known_at=5)),
    ("rename", lambda lake, n: lake.rename(n, "mine")),
    ("mirror", lambda lake, n: lake.mirror(n)),
    ("mirrored", lambda lake, n: lake.mirrored(n)),
    ("ingest", lambda lake, n: tidelake.ingest(lake, n, "nothing.csv")),
    ("known_at", lambda lake, n: lake.known_at(n)),
    ("old table", lambda lake, n: lake.known_at(lake.log()[-1].snapshot_id).table(n)),
    ("drop_schema", lambda lake, n: lake.drop_schema(n, cascade=True)),
    ("expected", lambda lake, n: lake.table("t").append([{"id": 1}], expected=n)),
    ("view over", lambda lake, n: lake.create_view("w", f"SELECT * FROM {n}")),
    ("where", lambda lake, n: lake.table("t").delete(f"id IN (SELECT id FROM {n})")),
    ("set", lambda lake, n: lake.table("t").update({"s": f"(SELECT min(id) FROM {n})"}, "true")),
    ("scan", lambda lake, n: lake.table("t").scan(where=f"EXISTS (FROM {n})").to_arrow()),
    ("merge", lambda lake, n: lake.table(n).merge([{"id": 1}], on="id")),
    ("append", lambda lake, n: lake.table(n).append([{"id": 1}])),
    ("compact", lambda lake, n: lake.table(n).compact()),
    ("tag", lambda lake, n: lake.tag(n)),
    ("tenant", lambda lake, n: lake.tenant(n)),
    ("login", lambda lake, n: lake.tenant_login(n)),
    ("drop_tenant", lambda lake, n: lake.drop_tenant(n)),
    ("option", lambda lake, n: lake.set_option("target_file_size", "1", table=n)),
    ("verify", lambda lake, n: lake.verify(tables=[n])),
)
_THERE: tuple[tuple[str, Verb], ...] = (
    ("create", lambda lake, n: lake.create_table(n, "id BIGINT")),
    ("create view", lambda lake, n: lake.create_view(n, "SELECT 1 AS a")),
    ("rename to", lambda lake, n: lake.rename("t", n)),
    ("sql create", lambda lake, n: lake.sql(f"CREATE TABLE {n} (id BIGINT)")),
    ("sql view", lambda lake, n: lake.sql(f"CREATE VIEW {n} AS SELECT 1 AS a")),
)


def _in_transaction(verb: Verb) -> Verb:
    def do(lake: tidelake.Lake, name: str) -> Any:
        tx = lake.transaction()
        try:
            return verb(tx, name)  # type: ignore[arg-type]
        finally:
            tx.rollback()

    return do


def _with_name(label: str, verb: Verb, name: str) -> Attempt:
    return Attempt(f"{label} {name}", lambda lake: verb(lake, name))


def _of_sql(text: str, **more: Any) -> Attempt:
    def do(lake: tidelake.Lake) -> Any:
        found = lake.sql(text, **more)
        return found.to_arrow() if hasattr(found, "to_arrow") else found

    return Attempt(f"{text} {more or ''}", do)


def paths(target: Target) -> list[str]:
    """Ways to say where a file of another's is."""
    found: list[str] = []
    inside = target.own_folder
    for path in target.files:
        below = path.removeprefix(target.data_path)
        found += [
            path,
            below,
            f"file://{path}",
            f"FILE://{path}",
            f"file:{path}",
            f"{inside}../../{below}",
            f"{inside}./../../{below}",
            f"{inside}%2e%2e/%2e%2e/{below}",
            f"{inside}..%2f..%2f{below}",
            f"{inside}..\\..\\{below}",
            f"{inside}link/{Path(path).name}",
            f"{inside}link/../{Path(path).name}",
            quote(path),
            path.replace("/", "//"),
            f"{Path(path).parent}/*",
            f"{Path(path).parent}/**/*.parquet",
            f"{path[:-3]}???",
            f"{path}\0.csv",
            f"\u200b{path}",
            f"s3://bucket{path}",
            f"hf://datasets{path}",
            f"http://127.0.0.1:1{path}",
        ]
    found += [
        target.catalog,
        f"{target.catalog}*",
        "/etc/passwd",
        "/proc/self/environ",
        "~/.ssh/id_rsa",
        "/dev/stdin",
        target.data_path,
        f"{target.data_path}tenants/*/main/*/*.parquet",
        f"{target.data_path}_tidelake/*",
        "x" * 5000,
        "..",
        "",
    ]
    return found


_BY_PATH: tuple[tuple[str, Verb], ...] = (
    ("append", lambda lake, p: lake.table("t").append(p)),
    ("add_files", lambda lake, p: lake.table("t").add_files(p)),
    ("add_files taken", lambda lake, p: lake.table("t").add_files([p], take_over=True)),
    ("ingest", lambda lake, p: tidelake.ingest(lake, "t", p)),
    ("import_delta", lambda lake, p: tidelake.import_delta(lake, p, "mine")),
    ("merge", lambda lake, p: lake.table("t").merge(p, on="id")),
)
_PATH_STATEMENTS = (
    "SELECT * FROM '{p}'",
    'SELECT * FROM "{p}"',
    "SELECT * FROM read_parquet('{p}')",
    "SELECT * FROM read_parquet(['{p}'], union_by_name = true)",
    "SELECT * FROM parquet_scan('{p}')",
    "SELECT * FROM read_csv('{p}')",
    "SELECT * FROM read_json_auto('{p}')",
    "SELECT * FROM read_text('{p}')",
    "SELECT * FROM read_blob('{p}')",
    "SELECT * FROM glob('{p}')",
    "SELECT * FROM parquet_metadata('{p}')",
    "SELECT * FROM parquet_schema('{p}')",
    "SELECT * FROM sqlite_scan('{p}', 'ducklake_table')",
    "SELECT * FROM delta_scan('{p}')",
    "INSERT INTO t SELECT 1, content FROM read_text('{p}')",
    "CREATE VIEW w AS SELECT * FROM read_text('{p}')",
    "CREATE TABLE w AS SELECT * FROM '{p}'",
    "COPY t TO '{p}'",
    "COPY (FROM t) TO '{p}'",
    "COPY t FROM '{p}'",
    "ATTACH '{p}' AS other",
    "ATTACH 'ducklake:{p}' AS other",
    "EXPORT DATABASE '{p}'",
    "IMPORT DATABASE '{p}'",
    "LOAD '{p}'",
    "INSTALL '{p}'",
    "SET home_directory = '{p}'",
    "SET temp_directory = '{p}'",
    "UPDATE t SET s = (SELECT content FROM read_text('{p}'))",
    "DELETE FROM t WHERE s IN (SELECT content FROM read_text('{p}'))",
)

_FUNCTIONS = [
    "duckdb_tables()",
    "duckdb_columns()",
    "duckdb_views()",
    "duckdb_schemas()",
    "duckdb_databases()",
    "duckdb_settings()",
    "duckdb_secrets()",
    "duckdb_functions()",
    "duckdb_extensions()",
    "duckdb_temporary_files()",
    "duckdb_memory()",
    "duckdb_logs()",
    "duckdb_indexes()",
    "duckdb_constraints()",
    "duckdb_sequences()",
    "duckdb_prepared_statements()",
    "duckdb_variables()",
    "duckdb_external_file_cache()",
    "pragma_version()",
    "pragma_table_info('t')",
    "pragma_storage_info('t')",
    "pragma_database_size()",
    "pragma_show('t')",
    "pragma_collations()",
    "pragma_metadata_info()",
    "pragma_platform()",
    "pragma_user_agent()",
    "sniff_csv('/etc/passwd')",
    "which_secret('s3://x','s3')",
    "query('FROM_t')",
    "query_table('t')",
    "getenv('HOME')",
    "current_setting('temp_directory')",
    "getvariable('x')",
    "current_database()",
    "current_schemas(true)",
    "current_query()",
    "pg_typeof(getenv('HOME'))",
    "txid_current()",
    "write_log('x')",
    "set_config('a','b')",
    "in_search_path('a','b')",
    "sqlite_scan('x','y')",
    "sqlite_attach('x')",
    "sqlite_query('x','y')",
    "postgres_scan('x','y','z')",
    "postgres_query('x','y')",
    "mysql_query('x','y')",
    "mysql_scan('x','y','z')",
    "iceberg_scan('x')",
    "delta_scan('x')",
    "st_read('x')",
    "read_xlsx('x')",
    "load_aws_credentials()",
    "ducklake_snapshots('lake')",
    "ducklake_table_info('lake')",
    "ducklake_list_files('lake','t')",
    "ducklake_expire_snapshots('lake')",
    "ducklake_cleanup_old_files('lake')",
    "ducklake_merge_adjacent_files('lake')",
    "ducklake_options('lake')",
    "ducklake_current_snapshot('lake')",
    "ducklake_set_option('lake','a','b')",
    "ducklake_add_data_files('lake','t','x')",
    "checkpoint()",
    "force_checkpoint()",
    "enable_logging()",
    "disable_logging()",
    "truncate_duckdb_logs()",
    "enable_profile()",
    "summary()",
    "test_all_types()",
    "seq_scan('t')",
    "index_scan('t')",
    "arrow_scan(1,2,3)",
    "pandas_scan(1)",
    "python_map_function()",
    "unnest_pg()",
    "json_execute_serialized_sql('x')",
    "from_substrait('x')",
    "get_substrait('x')",
    "http_get('http://127.0.0.1')",
    "shellfs('x')",
    "nextval('x')",
    "currval('x')",
]
_AROUND = (
    "SELECT * FROM {f}",
    "SELECT {f}",
    "SELECT * FROM t WHERE {f} IS NOT NULL",
    "SELECT * FROM t ORDER BY {f}",
    "SELECT max({f}) OVER () FROM t",
    "WITH w AS (SELECT * FROM {f}) FROM w",
    "CREATE VIEW w AS SELECT * FROM {f}",
    "INSERT INTO t SELECT 1, {f}::VARCHAR",
    "UPDATE t SET s = {f}",
    "DELETE FROM t WHERE {f} IS NULL",
    "CREATE TABLE w (a VARCHAR DEFAULT {f})",
    "CALL {f}",
    "SELECT * FROM t TABLESAMPLE reservoir({f})",
)
_SETTINGS = """
SET|enable_external_access = true
SET|allow_unsigned_extensions = true
SET|lock_configuration = false
SET|allowed_directories = ['/']
SET|threads = 99
SET|memory_limit = '1TB'
SET|search_path = 'bolt'
SET|schema = 'bolt'
SET VARIABLE|x = 1
RESET|enable_external_access
PRAGMA|database_list
PRAGMA|show_tables
PRAGMA|enable_profiling
PRAGMA|memory_limit='1TB'
CREATE SECRET|s (TYPE s3)
CREATE PERSISTENT SECRET|s (TYPE s3)
DROP SECRET|s
INSTALL|httpfs
LOAD|httpfs
FORCE INSTALL|spatial
DETACH|lake
USE|bolt
SHOW|TABLES
SHOW|ALL TABLES
SHOW|DATABASES
SHOW|TABLES FROM bolt
SELECT|* FROM snapshots()
SELECT|* FROM tables()
CALL|expire(keep_last => 1)
CALL|cleanup()
CALL|sync_mirrors()
CALL|reindex()
CALL|verify()
DROP SCHEMA|bolt CASCADE
DROP SCHEMA|bolt__inner CASCADE
BEGIN|
COMMIT|
ROLLBACK|
VACUUM|
CHECKPOINT|
PREPARE|p AS SELECT 1
CREATE FUNCTION|f() AS 1
CREATE TYPE|x AS ENUM ('a')
CREATE SEQUENCE|q
""".strip().splitlines()


def attempts(target: Target) -> Iterator[Attempt]:
    """All of them, some 18,000."""
    every = list(names())
    for name, (label, verb) in product(every, VERBS):
        yield _with_name(label, verb, name)
    for name, (label, verb) in product(every[::4], VERBS[:16]):
        yield _with_name(f"tx {label}", _in_transaction(verb), name)
    for name, (label, verb) in product(filter(_is_new_there, every), _THERE):
        yield _with_name(label, verb, name)
    for name, statement in product(every[::3], STATEMENTS):
        yield _of_sql(statement.format(n=name))
    few = [f'"{schema}"."{name}"' if schema else name for schema, name in _PLAIN[:7]]
    for name, statement, at in product(few, _READS, clocks(target)):
        yield _of_sql(statement.format(n=name, at=at))
    for name, known_at in product(few, [*target.snapshots, "zqtag", "2099-01-01"]):
        yield _of_sql(f"SELECT * FROM {name}", known_at=known_at)
    for path, (label, verb) in product(paths(target), _BY_PATH):
        yield _with_name(label, verb, path)
    for path, statement in product(paths(target), _PATH_STATEMENTS):
        yield _of_sql(statement.format(p=path.replace("'", "''")))
    for function, around in product(_FUNCTIONS, _AROUND):
        yield _of_sql(around.format(f=function.replace("FROM_t", "FROM t")))
    for line in _SETTINGS:
        verb_, _, rest = line.partition("|")
        for form in (f"{verb_} {rest}", f"{verb_.lower()} {rest}", f"/**/{verb_} {rest};"):
            yield _of_sql(form)
