"""An example for each public member of the face. `tests/docs/test_api.py` runs them all, each on
a lake of its own, which `lake` makes: `t` is its table `prices`, `s` a scan, and `q` a query."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import tidelake

NEW = [{"symbol": "BOLT", "ts": datetime(2024, 3, 1, 11), "price": 7.5, "gone": False}]


def names(folder: Path) -> dict[str, Any]:
    """What the examples may name."""
    lake = tidelake.connect(f"sqlite:///{folder}/lake.db", data_path=f"{folder}/data")
    t = lake.create_table(
        "prices",
        "symbol VARCHAR, ts TIMESTAMP, price DOUBLE, gone BOOLEAN",
        key="symbol",
        event_time="ts",
        tombstone="gone",
        entity="symbol",
        bucket="1h",
    )
    hours = [datetime(2024, 3, 1, hour) for hour in (9, 10, 12)]
    t.append([{"symbol": "ACME", "ts": ts, "price": 10.5, "gone": False} for ts in hours])
    lake.tag("first-rows")
    lake.create_tenant("acme")
    lake.create_table("notes", "id INT, text VARCHAR").append([{"id": 1, "text": "a"}])
    lake.create_view("dear", "SELECT * FROM prices WHERE price > 10")
    return {
        "tidelake": tidelake,
        "Path": Path,
        "datetime": datetime,
        "lake": lake,
        "t": t,
        "new": NEW,
        "s": t.scan(where="price > 5"),
        "q": lake.sql("SELECT * FROM prices"),
        "folder": str(folder),
    }


FUNCTIONS = {
    "asof_join": """
        left = [{"symbol": "ACME", "at": datetime(2024, 3, 1, 11)}]
        tidelake.asof_join(left, t, left_time="at").to_pandas()""",
    "col": 't.scan(where=(tidelake.col("price") > 5) & tidelake.col("symbol").isin(["ACME"]))',
    "connect": 'tidelake.connect(f"sqlite:///{folder}/other.db", data_path=f"{folder}/other")',
    "diff_delta": """
        lake.mirror("notes")
        other = tidelake.connect(f"sqlite:///{folder}/other.db")
        tidelake.import_delta(other, f"{folder}/data/main/notes", table="notes")
        print(tidelake.diff_delta(other, "notes"))""",
    "import_delta": """
        lake.mirror("notes")
        other = tidelake.connect(f"sqlite:///{folder}/other.db")
        tidelake.import_delta(other, f"{folder}/data/main/notes", table="notes")""",
    "ingest": """
        Path(f"{folder}/new.csv").write_text("id,text\\n7,seven\\n")
        tidelake.ingest(lake, "notes", f"{folder}/new.csv")""",
    "is_compatible": """
        print(tidelake.is_compatible("a INT", "a BIGINT, b VARCHAR NOT NULL"))""",
    "lit": 'lake["notes"].update({"text": tidelake.lit("id")})  # the text, not the column',
    "restore": """
        lake.backup(f"{folder}/backup", files=True)
        tidelake.restore(f"{folder}/backup", f"sqlite:///{folder}/again.db", f"{folder}/again")""",
    "Feature": """
        left = [{"symbol": "ACME", "at": datetime(2024, 3, 1, 11)}]
        near = tidelake.Feature(t, tolerance="2h")
        tidelake.asof_join(left, [near], left_time="at").to_pandas()""",
    "Interval": "[gap.length for gap in t.gaps()]",
    "Quota": 'lake.set_quota("acme", tidelake.Quota(bytes=10**9))',
    "Sandbox": """
        tidelake.connect(lake.url, sandbox=tidelake.Sandbox(seconds=5, rows=1000))""",
    "Snapshot": "lake.snapshots()[-1].snapshot_id",
    "Query": 'lake.sql("SELECT symbol, max(price) AS most FROM prices GROUP BY 1").to_pandas()',
    "Transaction": """
        with lake.transaction(message="both or none") as tx:
            tx["prices"].append(new)
            tx["notes"].delete("id = 1")
        tx.result.snapshot_id""",
}
CALENDAR = {
    "always": "t.set_calendar(tidelake.Calendar.always())",
    "exchange": 't.coverage(calendar=tidelake.Calendar.exchange("XNYS"))',
    "is_always": "tidelake.Calendar.weekdays().is_always  # False",
    "of": "t.coverage(calendar=tidelake.Calendar.of(t.coverage()))",
    "sessions": """
        trading = tidelake.Calendar.sessions("09:30", "16:00", tz="America/New_York")
        t.set_calendar(trading)""",
    "weekdays": "t.set_calendar(tidelake.Calendar.weekdays())",
}
COVERAGE = {
    "all": "t.coverage().all.ratio",
    "any": "t.coverage().any.ratio",
    "bucket": "t.coverage().bucket",
    "covered": "t.coverage().covered  # how many buckets",
    "diff": 'print(t.coverage().diff("first-rows"))',
    "each": "{entity: each.ratio for entity, each in t.coverage().each.items()}",
    "end": "t.coverage().end",
    "entities": "t.coverage().entities  # [('ACME',)]",
    "expected": "t.coverage().expected",
    "first": "t.coverage().first",
    "gaps": "t.coverage().gaps.to_pandas()",
    "gaps_of": 't.coverage().gaps_of("2h")',
    "heading": "t.coverage().heading",
    "is_complete": "assert not t.coverage().is_complete",
    "last": "t.coverage().last",
    "last_complete_window": "t.coverage().last_complete_window(2)",
    "longest_gap": "t.coverage().longest_gap",
    "missing": """
        for batch in t.coverage().missing(batch=10):
            entity, what = batch[0]""",
    "picture": "print(t.coverage().picture())",
    "ratio": "t.coverage().ratio",
    "runs": "t.coverage().runs",
    "start": "t.coverage().start",
    "to_arrow": "t.coverage().to_arrow()",
    "to_pandas": "t.coverage().to_pandas()",
    "to_polars": "t.coverage().to_polars()",
    "to_svg": 'Path(f"{folder}/coverage.svg").write_text(t.coverage().to_svg())',
}
LAKE = {
    "across_tenants": """
        lake.tenant("acme").append("events", [{"id": 1}], create=True)
        lake.across_tenants("events").to_dicts()  # [{"tenant": "acme", "id": 1}]""",
    "append": 'lake.append("trades", [{"id": 1}], create=True)',
    "audit": 'lake.audit(since="now - 1 day").to_pandas()',
    "backup": 'lake.backup(f"{folder}/backup")',
    "cleanup": 'lake.cleanup(older_than="7 days", dry_run=True)',
    "close": "lake.close()",
    "compact": 'lake.compact(message="nightly")',
    "consumer": """
        with lake.consumer("etl") as consumer:
            batch = consumer.poll()""",
    "consumer_group": """
        with lake.consumer_group("etl", tables=["prices"]) as member:
            batch = member.poll()""",
    "consumers": "lake.consumers()",
    "create_schema": 'lake.create_schema("analytics")',
    "create_table": 'lake.create_table("trades", "id BIGINT, price DOUBLE", key="id")',
    "create_tenant": 'lake.create_tenant("bolt", tidelake.Quota(bytes=10**9))',
    "create_view": 'lake.create_view("cheap", "SELECT * FROM prices WHERE price < 10")',
    "data_path": "lake.data_path",
    "delta_versions": "lake.delta_versions()",
    "diff": 'print(lake.diff("first-rows"))',
    "drop": 'lake.drop("dear")',
    "drop_frozen": """
        lake.freeze("training", "SELECT * FROM prices")
        lake.drop_frozen("training")""",
    "drop_schema": """
        lake.create_schema("old")
        lake.drop_schema("old", cascade=True)""",
    "drop_tenant": 'lake.drop_tenant("acme", dry_run=True)',
    "encrypted": "lake.encrypted",
    "engine": 'lake.engine  # "local"',
    "erase": 'lake.erase("notes", "id = 1", reason="request 4711")',
    "erasures": "lake.erasures()",
    "exists": 'lake.exists("prices")  # the same as "prices" in lake',
    "expire": 'lake.expire(older_than="30 days", dry_run=True)',
    "finish_erasures": "lake.finish_erasures()",
    "freeze": 'lake.freeze("training", "SELECT * FROM prices", as_of="2024-03-01T12:00:00")',
    "frozen": "lake.frozen()",
    "health": "print(lake.health())",
    "known_at": """
        lake.known_at("first-rows")["prices"].to_dicts()
        lake.known_at("now")  # pinned from here on""",
    "log": "print(lake.log(10))",
    "macros": "lake.macros()",
    "mirror": 'lake.mirror("prices")',
    "mirrored": """
        lake.mirror("prices")
        lake.mirrored("prices").status""",
    "mirrors": "lake.mirrors()",
    "move": """
        import shutil

        shutil.copytree(lake.data_path, f"{folder}/moved")
        lake.move(f"{folder}/moved")""",
    "names": "lake.names()",
    "options": 'lake.options()["data_inlining_row_limit"]',
    "recover": """
        lake.mirror("prices")
        empty = tidelake.connect(f"sqlite:///{folder}/new.db", data_path=f"{folder}/new")
        empty.recover(f"{lake.data_path}main/prices", dry_run=True)""",
    "reindex": "lake.reindex()",
    "rename": 'lake.rename("notes", "remarks")',
    "schemas": 'lake.schemas()  # ["main"]',
    "set_option": 'lake.set_option("target_file_size", 256 * 1024**2, table="prices")',
    "set_quota": 'lake.set_quota("acme", tidelake.Quota(bytes=10**9))',
    "set_retention": 'lake.set_retention("acme", "30d")',
    "share": 'lake.share("notes", ["acme"])',
    "shares": "lake.shares()",
    "snapshots": "lake.snapshots()[-1].snapshot_id",
    "sql": """
        lake.sql("SELECT max(price) AS top FROM prices WHERE symbol = $s", {"s": "ACME"}).to_dicts()
        lake.sql("DELETE FROM notes WHERE id = 1", author="ann")""",
    "sync_mirrors": "lake.sync_mirrors()",
    "table": 'lake.table("prices")  # the same as lake["prices"]',
    "tables": 'lake.tables()  # ["main.prices", "main.notes"]',
    "tag": 'lake.tag("month-end", message="books closed")',
    "tags": "lake.tags()",
    "tenant": 'lake.tenant("acme", role="read").tables()',
    "tenant_login": """
        # a catalog on PostgreSQL: lake.tenant_login("acme", role="read").url
        assert callable(lake.tenant_login)""",
    "tenants": "lake.tenants()",
    "transaction": """
        with lake.transaction(author="ann", message="both or none") as tx:
            tx["prices"].append(new)
            tx["notes"].delete("id = 1")""",
    "undrop": """
        lake.drop("notes")
        lake.undrop("notes")""",
    "unshare": """
        lake.share("notes")
        lake.unshare("notes")""",
    "untag": 'lake.untag("first-rows")',
    "url": "lake.url",
    "verify": "assert lake.verify(deep=True).ok",
    "view": 'lake.view("dear").sql',
    "views": 'lake.views()  # ["main.dear"]',
}
ROWS = {
    "column_types": "s.column_types()",
    "count": "s.count()  # the same as len(s)",
    "head": "s.head()",
    "limit": "s.limit(10).to_dicts()",
    "order_by": 's.order_by("price DESC", "ts").limit(3).to_pandas()',
    "to_arrow": "s.to_arrow().num_rows",
    "to_batches": "sum(batch.num_rows for batch in s.to_batches())",
    "to_dataset": """
        import datafusion

        context = datafusion.SessionContext()
        context.register_dataset("prices", s.to_dataset())""",
    "to_dicts": "s.to_dicts()",
    "to_duckdb": """
        import duckdb

        s.to_duckdb(connection=duckdb.connect()).filter("price > 10").fetchall()""",
    "to_pandas": "s.to_pandas()",
    "to_polars": "s.to_polars(lazy=True).collect()",
    "to_spark": """
        # with a session: s.to_spark(spark)
        assert callable(s.to_spark)""",
}
SCAN = {
    "completeness": "s.completeness",
    "explain": "print(s.explain())",
    "files": "[file.path for file in s.files()]",
    "plan": "s.plan().snapshot_id",
}
TABLE = {
    "add_files": """
        import pyarrow.parquet as pq

        pq.write_table(lake["notes"].to_arrow(), f"{folder}/notes.parquet")
        lake["notes"].add_files(f"{folder}/notes.parquet")""",
    "append": 't.append(new, author="ann", once="job-7")',
    "as_of": 't.as_of("2024-03-01T10:30:00").to_dicts()',
    "between": 't.between("2024-03-01T09:00:00", "2024-03-01T11:00:00").to_pandas()',
    "calendars": "t.calendars",
    "changes": 't.changes(since="first-rows").to_pandas()',
    "changes_of_belief": 't.as_of("2024-03-01T10:30:00").changes_of_belief(since=2).to_dicts()',
    "clone": 't.clone("prices_copy")',
    "comment": "t.comment",
    "compact": "t.compact(dry_run=True)",
    "complete_through": 't.complete_through("ACME")',
    "complete_through_each": "t.complete_through_each()",
    "completeness": "t.completeness",
    "coverage": "print(t.coverage())",
    "coverage_settings": "t.coverage_settings.bucket  # '1h'",
    "delete": "t.delete(\"symbol = 'BOLT'\")",
    "diff": 'print(t.diff("first-rows"))',
    "drop": "t.drop()",
    "drop_rollups": "t.drop_rollups()",
    "end": 't.end("ACME", at="2024-03-02")',
    "event_time": "t.event_time  # 'ts'",
    "evolve": 't.evolve(add={"venue": "VARCHAR"})',
    "explain": "print(t.explain())",
    "files": "t.files()",
    "first_covered": 't.first_covered("ACME")',
    "gaps": "t.gaps()",
    "history": 't.history("ACME").to_pandas()',
    "info": "t.info.schema.names",
    "key": "t.key  # ('symbol',)",
    "known_at": 't.known_at("first-rows").count()',
    "last_complete_window": "t.last_complete_window(2)",
    "last_covered": 't.last_covered("ACME")',
    "log": "print(t.log())",
    "merge": "t.merge(new)  # by the table's key",
    "merge_builder": """
        t.merge_builder(new).when_matched_update().when_not_matched_insert().execute()""",
    "missing": "t.missing()",
    "name": "t.name  # 'main.prices'",
    "overwrite": "t.overwrite(new, where=\"symbol = 'BOLT'\")",
    "partitioning": "t.partitioning",
    "plane": "t.plane()",
    "put": 't.put({"symbol": "ACME", "ts": datetime(2024, 3, 1, 11), "price": 10.0})',
    "recompute_coverage": "t.recompute_coverage()",
    "rollback": 't.rollback("first-rows")',
    "rollup": 't.rollup("2024-03-01T12:00:00")',
    "rollups": "t.rollups()",
    "scan": 't.scan(columns=["symbol", "price"], where="price > 5").to_dicts()',
    "schema": "print(t.schema)",
    "schema_log": "t.schema_log()",
    "set_calendar": 't.set_calendar("weekdays")',
    "set_comment": 't.set_comment("closing prices")',
    "set_coverage": 't.set_coverage("1d", entity="symbol", event_time="ts")',
    "set_event_time": 'lake["notes"].set_event_time(None, key="id")',
    "set_partitioning": 't.set_partitioning(["year(ts)", "month(ts)"])',
    "set_sorting": 't.set_sorting(["symbol", "ts"])',
    "snapshots": "t.snapshots()",
    "sorting": "t.sorting",
    "tags": "t.tags",
    "to_pyarrow_dataset": """
        t.compact()
        t.to_pyarrow_dataset().count_rows()""",
    "update": 't.update({"price": "price * 2"}, where="symbol = \'ACME\'")',
    "versions": 't.versions("first-rows").to_pandas()',
    "wait_complete": 't.wait_complete(until="2024-03-01T11:00:00", timeout=1)',
    "writer": """
        with t.writer(seconds=1) as writer:
            writer.put({"symbol": "ACME", "ts": datetime(2024, 3, 1, 11), "price": 10.0})""",
}
