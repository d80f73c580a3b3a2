"""DESCRIBE and SUMMARIZE of a query whose rows are elsewhere: DuckDB's answers all the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidelake.engine import Engine, Reading
from tidelake.engine.arrow_rows import ArrowRows
from tidelake.engine.row_source import RowSource, Tables
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.session import Session
from tidelake.syntax.tokens import tokens

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.engine.local.workbench import Workbench

_DESCRIBES = ("DESCRIBE", "DESC", "SHOW")
_QUERIES = ("SELECT", "FROM", "WITH", "VALUES", "(")
_ROWS, _GATHERED, _PLACE = "_tidelake_rows", "_tidelake_gathered", "_tidelake_place"
_ANSWER = {
    **dict.fromkeys(("column_name", "column_type", "min", "max"), "varchar"),
    "approx_unique": "int64",
    **dict.fromkeys(("avg", "std", "q25", "q50", "q75"), "varchar"),
    "count": "int64",
    "null_percentage": "varchar",
}
_TYPED = f"SELECT * REPLACE (CAST(null_percentage AS DECIMAL(9,2)) AS null_percentage) FROM {_ROWS}"


def shows(sql: str) -> bool:
    """Whether a query as a whole is a DESCRIBE or a SUMMARIZE."""
    words = tokens(sql)
    return bool(words) and words[0].word in (*_DESCRIBES, "SUMMARIZE")


def reading_of(
    session: Session, engine: Engine, sql: str, tables: Tables, values: Mapping[str, Any]
) -> Reading:
    """What such a query gives. A description needs no rows; a summary is made where they are, by
    one task."""
    first, *rest = tokens(sql)
    rows: list[Any] = []
    if first.word not in _DESCRIBES:
        begin = "" if rest and rest[0].word in _QUERIES else "FROM "
        query = engine.query(f"{begin}{sql[first.end + 1 :]}", tables, values)
        with engine.job("cannot summarize") as job:
            job.scan(_ROWS, _Rows(query))
            job.gather(_GATHERED, f"SELECT *, CAST(0 AS BIGINT) AS {_PLACE} FROM {_ROWS}", _PLACE)
            rows = next(filter(None, job.over(f"SELECT * FROM {_GATHERED}", _summary)), [])
    if rows:
        asked: Tables = {_ROWS: ArrowRows.of(_ANSWER, rows)}
        found = session.local.query(_TYPED, asked).to_arrow()
    else:
        empty = {name: without_rows(each) for name, each in tables.items()}
        found = session.local.query(sql, empty, values).to_arrow()
    return engine.query(f"FROM {_ROWS}", {_ROWS: ArrowRows(found)})


def _summary(work: Workbench, sql: str) -> list[Any]:
    """Of every column what DuckDB tells of it; nothing if there are no rows."""
    listed = ", ".join(
        f"CAST({name} AS VARCHAR)" if kind == "varchar" else name for name, kind in _ANSWER.items()
    )
    asked = f"SELECT {listed} FROM (SUMMARIZE SELECT * EXCLUDE ({_PLACE}) FROM ({sql}))"
    rows = work.connection.execute(asked).fetchall()
    return rows if rows and rows[0][-2] else []


def without_rows(
    rows: ScanPlan | AsOfPlan | RowSource,
) -> ScanPlan | AsOfPlan | RowSource:
    """The same read of nothing."""
    if isinstance(rows, ScanPlan):
        return replace(rows, files=(), inlined=())
    if isinstance(rows, AsOfPlan):
        parts = tuple(replace(part, files=(), inlined=()) for part in rows.parts)
        return replace(rows, parts=parts)
    return rows


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a query, to stand in another."""

    reading: Reading

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        return self.reading.to_batches(rows)

    def to_spark(self, spark: Any = None) -> Any:  # noqa: ARG002
        return self.reading.to_spark()
