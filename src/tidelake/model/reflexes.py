"""What callers try by reflex, because another library calls it so, and what it is called here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tidelake import errors


def _by_name(told: Mapping[str, str]) -> dict[str, str]:
    return {name: instead for instead, names in told.items() for name in names.split()}


OF_ROWS = _by_name(
    {
        ".to_dicts()": "to_list to_pylist to_records fetchall fetchmany rows records iter_rows",
        ".head(1).to_dicts()": "fetchone first one scalar item",
        ".to_pandas()": "df fetchdf fetch_df to_df toPandas",
        ".to_pandas().to_numpy()": "to_numpy fetchnumpy",
        ".to_polars()": "pl fetch_polars",
        ".to_polars(lazy=True)": "lazy",
        ".to_arrow()": "arrow to_table to_pyarrow to_pyarrow_table to_arrow_table toArrow collect"
        " fetch_arrow_table fetch_all read load execute compute",
        ".to_batches()": "to_reader fetch_record_batch to_arrow_batch_reader iter_batches",
        ".to_spark()": "toDF toSpark",
        ".head(5)": "show preview take iloc",
        '.order_by("ts DESC").head(5)': "tail last",
        '.order_by("ts DESC")': "sort sort_by sort_values orderBy",
        ".count()": "num_rows row_count nrows n_rows height shape size",
        ".column_types()": "columns column_names dtypes schema description",
        ".to_polars().write_parquet(path), or the command tidelake export": "to_parquet"
        " write_parquet",
        ".to_polars().write_csv(path), or the command tidelake export": "to_csv write_csv",
        ".to_polars().write_ndjson(path), or the command tidelake export": "to_json write_json"
        " write_ndjson",
        ".to_pandas().to_dict()": "to_dict",
        ".to_dicts(), or .to_batches() for a stream": "iterrows itertuples iter fetch",
        ".count() == 0": "empty isEmpty is_empty",
        "lake.create_view(name, sql)": "createOrReplaceTempView create_view createTempView",
        "lake.create_table(name, rows, rows=True)": "create saveAsTable insertInto to_table"
        " create_table",
        'lake.sql("SELECT … FROM …")': "filter where query select project loc groupby group_by"
        " groupBy join agg aggregate max min sum mean avg median unique distinct nunique n_unique"
        " drop_duplicates value_counts describe pivot sample with_columns withColumn assign dropna"
        " drop_nulls fillna apply map having union unnest explode summarize crosstab corr",
    }
)
OF_TABLES = OF_ROWS | _by_name(
    {
        '.scan(columns=["a"], where="b > 3")': "filter where query select project loc",
        ".schema.names": "columns column_names keys",
        '.evolve(rename={"old": "new"})': "rename_columns rename_column alter_column",
        '.evolve(add={"a": "INTEGER"})': "add_column add_columns",
        '.evolve(drop=["a"])': "drop_column drop_columns delete_column",
        '.evolve(widen={"a": "BIGINT"})': "cast alter update_schema",
        "lake.rename(name, new)": "rename",
        ".append(rows)": "insert insert_into write add extend insert_rows"
        " write_deltalake append_rows insertInto save",
        '.merge(rows, on="id")': "upsert",
        ".compact(), then lake.expire(…) and lake.cleanup(…)": "optimize vacuum z_order"
        " rewrite_data_files",
        ".snapshots()[-1].snapshot_id": "version snapshot_id current_snapshot latest_snapshot",
        ".rollback(to=3)": "restore rollback_to_snapshot revert reset undo",
        ".overwrite(rows, where=…)": "insert_overwrite replace replace_where replaceWhere",
        ".clone(name)": "copy deepcopy duplicate",
        ".merge_builder(rows)": "alias whenMatchedUpdate when_matched_update update_from",
        ".log()": "commits versions_list get_history describe_history",
        ".known_at(3)": "load_as_version at as_version at_version time_travel",
        ".info": "metadata detail inspect id uuid properties",
        'lake.tag("name")': "tag branch refs create_tag",
        ".files()": "partitions file_uris data_files inspect_files",
        ".partitioning": "partition_by partition_columns spec",
        ".sorting": "sort_order sorted_by",
        '.delete("true")': "truncate clear",
        '.delete("id = 3")': "delete_where remove",
        "lake.data_path": "path location uri table_uri",
        '.set_event_time(None, key=["id"])': "set_key set_primary_key primary_key",
        ".changes(since=3)": "load_cdf table_changes cdf read_changes",
        "lake.exists(name)": "exists",
    }
)
OF_LAKES = _by_name(
    {
        ".tables()": "list_tables show_tables table_names",
        ".table(name)": "load_table get_table open_table load read read_table scan",
        ".append(name, rows, create=True)": "write insert add write_table save"
        " write_deltalake write_pandas",
        ".table(name).merge(rows)": "merge upsert",
        ".table(name).overwrite(rows)": "overwrite replace",
        ".table(name).delete(where)": "delete",
        ".table(name).clone(new)": "clone copy",
        ".drop(name)": "drop_table delete_table drop_view remove pop",
        ".create_table(name, schema)": "create new_table",
        '.sql("CREATE OR REPLACE TABLE …")': "create_or_replace_table replace_table"
        " create_or_replace",
        ".table(name).to_polars().write_parquet(path), or the command tidelake export": "to_parquet"
        " to_csv write_parquet write_csv export",
        ".append(name, path, create=True)": "read_parquet read_csv read_json from_parquet"
        " from_arrow from_pandas from_polars from_csv insert_into",
        ".table(name).to_pandas()": "to_pandas read_pandas",
        ".table(name).to_duckdb()": "to_duckdb duckdb connection con cursor conn duck",
        ".table(name).schema": "schema describe columns describe_table",
        ".table(name).count()": "count row_count",
        ".table(name).rollback(to=3)": "rollback rollback_to restore_table",
        ".table(name).coverage()": "coverage",
        ".table(name).gaps()": "gaps",
        ".table(name).changes(since=3)": "changes",
        '.table(name).rollup(every="1d")': "rollup",
        ".table(name).put(fact)": "put",
        ".table(name).update(values)": "update",
        ".table(name).evolve(add=…)": "evolve alter_table add_column",
        ".table(name).merge_builder(rows)": "merge_into merge_builder",
        ".data_path": "path location warehouse root",
        ".tables(), or .table(name)": "keys items values catalog show info",
        '.table("schema.name")': "use set_schema current_schema",
        ".rename(name, new)": "rename_table",
        ".exists(name)": "table_exists has_table",
        ".sql(query)": "execute query run",
        ".create_schema(name)": "create_namespace create_database",
        ".schemas()": "list_schemas list_namespaces list_databases namespaces databases",
        ".compact(), then .expire(…) and .cleanup(…)": "vacuum optimize",
        ".known_at(moment), or .table(name).as_of(moment)": "as_of at",
        "with .transaction() as tx": "begin begin_transaction start_transaction commit",
        ".log()": "history versions",
        ".snapshots()[-1]": "version current_snapshot latest_snapshot last_snapshot head",
        ".known_at(3)": "get_snapshot checkout load_version",
        ".tag(name)": "snapshot branch create_tag create_branch",
        ".tags()": "list_tags refs",
        ".untag(name)": "delete_tag drop_tag",
        ".options()": "config settings get_option",
        "tidelake.ingest(lake, table, paths)": "ingest load_files",
        "tidelake.import_delta(lake, path, table=name)": "import_delta",
        "tidelake.asof_join(left, right)": "asof_join join",
        "tidelake.restore(path, url)": "restore",
    }
)
OF_SNAPSHOTS = _by_name(
    {
        ".snapshot_id": "id version number snapshot",
        ".time": "timestamp date created_at committed_at commit_time snapshot_time timestamp_ms",
        ".message": "commit_message summary description",
        ".author": "user committer user_name",
        "lake.known_at(snapshot.snapshot_id)": "lake tables restore rollback checkout",
    }
)
OF_LOGS = _by_name(
    {
        'lake.sql("FROM snapshots()").to_pandas()': "to_pandas df to_frame to_polars pl to_arrow"
        " to_dicts to_list",
        "lake.log(limit=5)": "head tail show limit",
    }
)
OF_COVERAGES = _by_name(
    {
        ".to_svg()": "plot draw show hist figure",
        ".ratio": "percent percentage pct completeness coverage fraction",
        ".gaps": "holes missing_buckets",
        ".is_complete": "complete full ok",
        ".to_pandas()": "df to_frame to_dict",
        ".each": "entities_ratio by_entity per_entity groupby",
    }
)
OF_RESULTS = _by_name(
    {
        'table.merge_builder(rows, on="id") has clauses; then execute()': "when_matched_update"
        " when_matched_update_all when_not_matched_insert when_not_matched_insert_all execute"
        " when_matched_delete when_not_matched_by_source_delete whenMatchedUpdateAll"
        " whenNotMatchedInsertAll whenMatchedUpdate whenNotMatchedInsert",
        ".rows, .inserted, .updated and .deleted": "rowcount row_count num_rows num_inserted_rows"
        " rows_affected rows_inserted metrics count",
        ".snapshot_id": "version snapshot id",
    }
)
OF_MERGES = _by_name(
    {
        ".when_matched_update(), which sets all columns": "when_matched_update_all"
        " whenMatchedUpdateAll whenMatchedUpdate",
        ".when_not_matched_insert(), which fills all columns": "when_not_matched_insert_all"
        " whenNotMatchedInsertAll whenNotMatchedInsert",
        ".when_matched_delete()": "whenMatchedDelete",
        ".when_not_matched_by_source_delete()": "whenNotMatchedBySourceDelete",
        ".execute()": "run commit result",
    }
)
OF_SCHEMAS = _by_name(
    {
        ".columns": "fields",
        ".names": "column_names",
        ".column(name)": "field get find_field",
        "table.to_arrow().schema": "to_arrow as_arrow arrow to_pyarrow",
    }
)
_ERRORS = [
    name for name, it in vars(errors).items() if isinstance(it, type) and issubclass(it, Exception)
]
OF_MODULE = _by_name(
    {
        "tidelake.connect(url)": "open load init create Catalog Connection Database DeltaTable lake"
        " load_catalog attach",
        "tidelake.connect(url).table(name)": "read read_table scan load_table read_lake",
        "tidelake.connect(url).append(name, rows, create=True)": "write_table write_lake",
        "tidelake.connect(url).sql(query)": "sql query execute",
        "tidelake.asof_join(left, right)": "merge_asof join_asof asof",
        "tidelake.import_delta(lake, path)": "from_delta read_delta convert_to_delta",
        **{f"tidelake.errors.{name}": name for name in _ERRORS},
        "tidelake.errors.TidelakeError": "TidelakeError Error LakeError TidelakeException",
    }
)
OF_COLUMNS = _by_name(
    {
        ".is_null()": "isnull isna is_none isNull",
        ".is_not_null()": "notnull notna is_not_none isNotNull",
        '.starts_with("a")': "startswith startsWith",
        ".is_in([1, 2])": "in_ isIn one_of",
        '.like("%a%")': "contains rlike regexp match",
        '.order_by("ts DESC"), of a table or a scan': "desc asc",
        "conditions in SQL: where=\"lower(name) = 'a'\"": "str dt cast alias lower upper abs round"
        " year month day date length strip",
    }
)
ARGUMENTS = {
    "limit": "take them of what comes: .limit(10)",
    "n": "take them of what comes: .limit(10)",
    "order_by": 'order what comes: .order_by("ts DESC")',
    **dict.fromkeys(["desc", "descending", "ascending", "reverse"], 'order_by("ts DESC")'),
    **dict.fromkeys(["filter", "filters", "row_filter", "predicate"], "where="),
    **dict.fromkeys(["select", "selected_fields", "column"], "columns="),
    **dict.fromkeys(["version", "snapshot_id", "snapshot", "at", "timestamp"], "known_at="),
    **dict.fromkeys(["primary_key", "keys", "pk"], "create_table() takes key=, merge() on="),
    **dict.fromkeys(["partition", "partitioned_by", "partitioning", "partitions"], "partition_by="),
    **dict.fromkeys(["sort", "sorted_by", "order", "cluster_by"], "sort_by="),
    **dict.fromkeys(["mode", "replace"], "append() adds rows, overwrite() replaces them"),
    **dict.fromkeys(["when_matched", "when_not_matched"], "merge_builder(…) has clauses"),
    **dict.fromkeys(["commit_message", "comment", "msg"], "message="),
    **dict.fromkeys(["user", "committer"], "author="),
    **dict.fromkeys(["schema_mode", "merge_schema", "mergeSchema"], "evolve(add=…) first"),
    **dict.fromkeys(["exist_ok", "exists_ok", "if_not_exist"], "if_not_exists=True"),
    **dict.fromkeys(["or_replace", "replace_if_exists"], 'lake.sql("CREATE OR REPLACE TABLE …")'),
    **dict.fromkeys(["missing_ok", "if_exist", "ignore_if_not_exists"], "if_exists=True"),
    **dict.fromkeys(["params", "args", "values", "bind"], "parameters="),
}
"""Arguments of other libraries, by what takes their place."""
_MERGES = {
    **dict.fromkeys(
        ["predicate", "condition"],
        'merge(rows, on="id") goes by columns of both sides; for other conditions'
        ' lake.sql("MERGE INTO …")',
    ),
    **dict.fromkeys(["data", "rows", "df", "right", "updates"], "the rows come first: merge(rows)"),
    **dict.fromkeys(
        ["source_alias", "target_alias"],
        "expressions of merge_builder(…) say source.a and target.a",
    ),
    **dict.fromkeys(["left_on", "right_on", "join_cols", "by"], "on="),
}
ARGUMENTS_OF: Mapping[str, Mapping[str, str]] = {
    "merge": _MERGES,
    "merge_builder": _MERGES,
    "expire": dict.fromkeys(
        ["days", "hours", "retention_hours", "retain_last"],
        'expire(older_than="7 days") or expire(keep_last=10)',
    ),
    "cleanup": dict.fromkeys(
        ["days", "hours", "retention_hours", "retain_last"], 'cleanup(older_than="2 days")'
    ),
    "connect": dict.fromkeys(
        ["path", "uri", "database", "catalog", "warehouse"],
        'connect("sqlite:///lake.db", data_path="lake_data"): the catalog, and where files are',
    ),
    "transaction": {"name": "author=, message= or once="},
    "asof_join": dict.fromkeys(
        ["by", "left_by", "right_by", "left_on", "right_on", "strategy"],
        "on= names the keys, left_time= and right_time= the times",
    ),
}
"""Arguments that other libraries have for what some of our functions do."""
TABLES_FIRST = {
    "Lake.compact": 'lake.table("t").compact() compacts one table',
    "Lake.verify": 'lake.verify(tables=["t"])',
    "Lake.snapshots": 'lake.table("t").snapshots()',
    "Lake.log": 'lake.table("t").log()',
    "Lake.diff": 'lake.table("t").diff(1, 2)',
}
"""Of a lake, for those who name a table first."""
OF_READS = {
    "columns": 'scan(columns=["a", "b"]) first',
    "where": 'scan(where="a > 5") first',
}
"""Those of ours that only `scan` has."""


class Guessable:
    """Whose attributes may be missed by a name of another library: then the error says what to
    call. Type checkers are not told, or they would take any name."""

    __slots__ = ()
    _reflexes: ClassVar[tuple[str, Mapping[str, str]]] = ("", {})
    _otherwise: ClassVar[str] = ""
    """What a name may be that nobody knows."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            kind = type(self)
            it, known = kind._reflexes
            told = _spelled(it, known.get(name))
            if told is None and kind._otherwise and not name.startswith("_"):
                told = kind._otherwise.format(it=it, name=name)
            raise no_such_name(f"a {kind.__name__}", name, told, self)


def not_subscriptable(rows: object, wanted: object) -> TypeError:
    """For those who think of a frame, or of a cursor."""
    kind = type(rows).__name__
    if isinstance(wanted, str | list | tuple):
        named = [wanted] if isinstance(wanted, str) else list(wanted)
        hint = f"scan(columns={named!r}), or to_pandas()[{wanted!r}]"
    elif isinstance(wanted, slice):
        hint = "head(10) has the first rows; order_by(…) gives them an order"
    else:
        hint = "for row in …to_dicts(); to_batches() is a stream"
    return TypeError(f"a {kind} has no columns or rows to take by [ ] (hint: {hint})")


def not_a_dict(lake: object, instead: str) -> TypeError:
    """For those who think of a dict of tables."""
    return TypeError(f"a {type(lake).__name__} is no dict of tables (hint: {instead})")


def no_such_name(whose: str, name: str, instead: str | None, of: object) -> AttributeError:
    """An error for a name that is not there. Python adds a name that looks like it."""
    hint = f" (hint: {instead})" if instead else ""
    return AttributeError(f"{whose} has no {name!r}{hint}", name=name, obj=of)


def _spelled(it: str, instead: str | None) -> str | None:
    """Methods of the thing itself are called on it."""
    if instead is None:
        return None
    parts = f" {instead}".replace(" .", f" {it}.")
    return parts[1:]
