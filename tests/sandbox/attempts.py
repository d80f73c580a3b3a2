"""Attempts to reach out of a sandbox, made up from parts: what is called, and where it stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

_TABLE_FUNCTIONS = (
    "read_text({path})",
    "read_blob({path})",
    "read_csv({path})",
    "read_csv_auto({path})",
    "read_json({path})",
    "read_json_auto({path})",
    "read_json_objects({path})",
    "read_ndjson({path})",
    "read_ndjson_objects({path})",
    "read_parquet({path})",
    "read_duckdb({path})",
    "parquet_scan({path})",
    "parquet_metadata({path})",
    "parquet_schema({path})",
    "parquet_file_metadata({path})",
    "parquet_kv_metadata({path})",
    "parquet_bloom_probe({path}, 'a', 1)",
    "sniff_csv({path})",
    "glob({path})",
    "query('SELECT 1')",
    "query('FROM read_text(' || {path} || ')')",
    "query_table({path})",
    "json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "arrow_scan(0::POINTER, 0::POINTER, 0::POINTER)",
    "pandas_scan(0::POINTER)",
    "seq_scan('t')",
    "which_secret({path}, 's3')",
    "duckdb_secrets()",
    "duckdb_settings()",
    "duckdb_databases()",
    "duckdb_tables()",
    "duckdb_columns()",
    "duckdb_views()",
    "duckdb_variables()",
    "duckdb_functions()",
    "duckdb_extensions()",
    "duckdb_temporary_files()",
    "duckdb_memory()",
    "duckdb_logs()",
    "duckdb_external_file_cache()",
    "pragma_database_size()",
    "pragma_storage_info('t')",
    "pragma_table_info('t')",
    "pragma_version()",
    "pragma_user_agent()",
    "histogram(t, id)",
    "histogram_values(t, id)",
    "checkpoint()",
    "force_checkpoint()",
    "enable_logging()",
    "summary(TABLE t)",
    "test_all_types()",
    "python_map_function()",
)
_FILES = (
    "'{mark}'",
    "['{mark}']",
    "'/etc/passwd'",
    "'file://{mark}'",
    "'s3://b/k'",
    "'http://x/y'",
)
_SCALARS = (
    "current_setting('temp_directory')",
    "current_setting('memory_limit')",
    "getvariable('x')",
    "current_query()",
    "current_database()",
    "current_schemas(true)",
    "current_connection_id()",
    "txid_current()",
    "in_search_path('main', 'main')",
    "nextval('s')",
    "currval('s')",
    "write_log('x')",
    "sleep_ms(1)",
    "pg_sleep(1)",
    "setseed(0.5)",
    "stats(id)",
    "json_serialize_plan('SELECT 1')",
    "get_block_size('memory')",
    "has_table_privilege('t', 'select')",
    "pg_get_viewdef(1)",
    "getenv('HOME')",
    "variant_bytes_to_variant('\\x00'::BLOB)",
    "finalize('\\x00'::BLOB)",
    "which_secret('a', 'b')",
)
_AROUND_TABLES = (
    "SELECT * FROM {x}",
    "FROM {x}",
    "SELECT * FROM t, {x}",
    "SELECT * FROM t JOIN {x} ON true",
    "SELECT * FROM t, LATERAL (SELECT * FROM {x})",
    "SELECT (SELECT count(*) FROM {x})",
    "SELECT * FROM t WHERE EXISTS (FROM {x})",
    "SELECT * FROM t WHERE id IN (SELECT 1 FROM {x})",
    "WITH a AS (SELECT * FROM {x}) SELECT * FROM a",
    "WITH a AS MATERIALIZED (FROM {x}) FROM a",
    "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM {x}) FROM a",
    "SELECT 1 UNION ALL SELECT 1 FROM {x}",
    "SELECT * FROM (FROM {x}) AS a",
    "SELECT list_transform([1], y -> (SELECT count(*) FROM {x})) FROM t",
    "SELECT CASE WHEN true THEN (SELECT 1 FROM {x} LIMIT 1) END",
    "SELECT id FROM t ORDER BY (SELECT 1 FROM {x} LIMIT 1)",
    "SELECT id FROM t LIMIT (SELECT count(*) FROM {x})",
    "DESCRIBE SELECT * FROM {x}",
    "SUMMARIZE SELECT * FROM {x}",
    "UNPIVOT {x} ON *",
    "SELECT * FROM {x} TABLESAMPLE 10%",
    "/* harmless */ SELECT /* */ * FROM -- nothing\n {x}",
    "CREATE VIEW w AS SELECT * FROM {x}",
    "CREATE TABLE w AS SELECT * FROM {x}",
    "INSERT INTO t SELECT 1, 'a' FROM {x}",
    "MERGE INTO t USING (SELECT 1 AS id, 'a' AS s FROM {x}) AS n ON t.id = n.id"
    " WHEN MATCHED THEN DELETE",
    "DELETE FROM t WHERE id IN (SELECT 1 FROM {x})",
    "UPDATE t SET s = (SELECT 'a' FROM {x} LIMIT 1)",
)
_AROUND_SCALARS = (
    "SELECT {x} FROM t",
    "SELECT id FROM t WHERE {x} IS NOT NULL",
    "SELECT id FROM t ORDER BY {x}",
    "SELECT count(*) FROM t GROUP BY {x}",
    "SELECT count(*) FROM t GROUP BY ALL HAVING max({x}) IS NULL",
    "SELECT row_number() OVER (PARTITION BY {x}) FROM t",
    "SELECT id FROM t QUALIFY row_number() OVER (ORDER BY {x}) = 1",
    "SELECT max({x}) FILTER ({x} IS NULL) FROM t",
    "SELECT [{x} FOR y IN [1]] FROM t",
    "SELECT list_transform([1], y -> {x}) FROM t",
    "SELECT {{'a': {x}}}, [{x}], row({x}) FROM t",
    "SELECT CASE WHEN false THEN {x} END FROM t",
    "SELECT try({x}), ({x})::VARCHAR FROM t",
    "VALUES ({x})",
    "SELECT * FROM t AS a JOIN t AS b ON {x} IS NULL",
    "SELECT * FROM range(1) AS r(y), LATERAL (SELECT {x}, id FROM t)",
    "WITH a AS (SELECT {x} AS y, id FROM t) FROM a",
    "SELECT main.{x} FROM t",
    "SELECT system.main.{x} FROM t",
    "CREATE VIEW w AS SELECT {x} AS y FROM t",
    "CREATE TABLE w AS SELECT {x} AS y FROM t",
    "INSERT INTO t SELECT 1, ({x})::VARCHAR FROM t",
    "UPDATE t SET s = ({x})::VARCHAR",
    "DELETE FROM t WHERE {x} IS NOT NULL",
    "ALTER TABLE t ALTER s SET DEFAULT {x}",
)
_STATEMENTS = (
    "COPY t TO '{mark}.out'",
    "COPY (SELECT 1) TO '{mark}.out' (FORMAT parquet)",
    "COPY t FROM '{mark}'",
    "ATTACH '{mark}.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH memory",
    "USE memory",
    "SET memory_limit = '100GB'",
    "SET GLOBAL enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA database_list",
    "PRAGMA show_tables",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{mark}'",
    "CALL pragma_version()",
    "EXPORT DATABASE '{mark}.d'",
    "IMPORT DATABASE '{mark}.d'",
    "CREATE SECRET s (TYPE s3)",
    "CREATE MACRO m() AS TABLE FROM read_text('{mark}')",
    "CREATE FUNCTION f() AS 1",
    "CREATE TEMP TABLE x AS FROM read_text('{mark}')",
    "CREATE SEQUENCE s",
    "CREATE TYPE e AS ENUM (SELECT content FROM read_text('{mark}'))",
    "PREPARE p AS SELECT * FROM read_text('{mark}')",
    "EXECUTE p",
    "EXPLAIN ANALYZE SELECT * FROM read_text('{mark}')",
    "SHOW DATABASES",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "SELECT * FROM '{mark}'",
    'SELECT * FROM "{mark}"',
    "FROM '{folder}/*'",
    'TABLE "{mark}"',
    "DESCRIBE '{mark}'",
    "SUMMARIZE '{mark}'",
    "INSERT INTO t FROM '{mark}'",
    "CREATE VIEW w AS FROM '{mark}'",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM system.information_schema.tables",
    "SELECT * FROM temp.main.t2",
    'WITH "{mark}" AS (SELECT 1) SELECT * FROM (FROM main."{mark}")',
    "SELECT 1; COPY t TO '{mark}.out'",
    "SELECT 1;; SELECT * FROM read_text('{mark}')",
)


@dataclass(frozen=True)
class Bait:
    """A file with a secret in it, which nobody in a sandbox may see, and the folder around it."""

    path: str
    folder: str
    secret: str

    def say(self, text: str) -> str:
        return text.replace("{mark}", self.path).replace("{folder}", self.folder)


def _spellings(called: str) -> Iterator[str]:
    name, bracket, rest = called.partition("(")
    yield called
    yield f"{name.upper()}{bracket}{rest}"
    yield f'"{name}"{bracket}{rest}'
    yield f"{name} /* */ {bracket}{rest}"
    yield f"main.{called}"


def attempts(bait: Bait) -> Iterator[str]:
    """All of them, each a statement."""
    for text in _STATEMENTS:
        yield bait.say(text)
    for around, called in product(_AROUND_TABLES, _TABLE_FUNCTIONS):
        for path in _FILES if "{path}" in called else ("",):
            whole = bait.say(called.replace("{path}", path))
            yield around.format(x=whole) if "{x}" in around else around
    for around, called in product(_AROUND_TABLES[:3], _TABLE_FUNCTIONS):
        for spelled in _spellings(bait.say(called.replace("{path}", "'{mark}'"))):
            yield around.format(x=spelled)
    for around, called in product(_AROUND_SCALARS, _SCALARS):
        for spelled in [called] if "main." in around else _spellings(called):
            yield around.format(x=spelled)


def conditions() -> Iterator[str]:
    """What stands where a condition is asked for."""
    for called in _SCALARS:
        for spelled in _spellings(called):
            yield f"{spelled} IS NOT NULL"
    for called in _TABLE_FUNCTIONS:
        yield f"EXISTS (FROM {called.replace('{path}', repr('/etc/passwd'))})"
        yield f"id = (SELECT count(*) FROM {called.replace('{path}', repr('/etc/passwd'))})"
