"""What is done with some files, here or by a task of Spark's: their rows go into files of the
lake, and what does not fit is set apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tidelake.engine.incoming.from_files import exactly
from tidelake.engine.incoming.lenient import FILE, LINE, RAW, REASON, lenient_sql
from tidelake.engine.local.workbench import Workbench
from tidelake.engine.parquet.writer import write_files
from tidelake.errors import Invalid
from tidelake.ingestion import json_lines
from tidelake.ingestion.csv_lines import Fields, locate
from tidelake.ingestion.heads import Head
from tidelake.ingestion.values import BadRecord, SourceFile
from tidelake.model.change import NewFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import Column
from tidelake.model.source_files import CsvFormat
from tidelake.plan.target import Target

_PATH = "_tidelake_path"
_TRIED, _ERRORS, _SCANS = "tried", "rejected_lines", "rejected_scans"
_MOST_BAD = 100_000


@dataclass(frozen=True, slots=True)
class IngestTask:
    """Files of one kind, in their order, each with its head. `ignores`: columns and keys that the
    table has not are passed over."""

    files: tuple[tuple[SourceFile, Head], ...]
    columns: tuple[Column, ...]
    target: Target
    csv: CsvFormat
    ignores: bool

    @property
    def kind(self) -> str:
        return self.files[0][1].kind


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Files that were written, how many rows came from each file, and bad records."""

    files: tuple[NewFile, ...]
    rows: Mapping[str, int]
    bad: tuple[BadRecord, ...]


def run_task(work: Workbench, task: IngestTask) -> TaskResult:
    work.reach([task.target.path])
    work.reach_unknown([file.path for file, _ in task.files])
    if task.kind == "json":
        columns = [quote(column.name) for column in task.columns]
        rows, bad = json_lines.take(work, _TRIED, [file for file, _ in task.files], task)
        check_bad(bad)
        return TaskResult(_written(work, task, columns, sum(rows.values())), rows, bad)
    made = False
    for head, some in groupby(task.files, lambda each: each[1]):
        sql = _tried_sql(task, head, [file.path for file, _ in some])
        work.connection.execute(
            f"INSERT INTO {_TRIED} {sql}" if made else f"CREATE TEMP TABLE {_TRIED} AS {sql}"
        )
        made = True
    counts = work.connection.execute(
        f"SELECT {FILE}, count(*) FROM {_TRIED} WHERE {REASON} IS NULL GROUP BY {FILE}"
    ).fetchall()
    rows = {file: int(count) for file, count in counts}
    named = [f"t{at} AS {quote(column.name)}" for at, column in enumerate(task.columns)]
    bad = tuple(_bad(work, task))
    return TaskResult(_written(work, task, named, sum(rows.values())), rows, bad)


def _written(
    work: Workbench, task: IngestTask, columns: Sequence[str], count: int
) -> tuple[NewFile, ...]:
    if not count:
        return ()
    good = f" WHERE {REASON} IS NULL" if task.kind != "json" else ""
    sql = f"SELECT {', '.join(columns)} FROM {_TRIED}{good}"
    return tuple(write_files(work, sql, task.target, carries_row_ids=False))


def _tried_sql(task: IngestTask, head: Head, paths: Sequence[str]) -> str:
    listed = ", ".join(exactly(path) for path in paths)
    source = (
        f"read_parquet([{listed}], hive_partitioning = false, filename = '{_PATH}')"
        if task.kind == "parquet"
        else f"read_csv([{listed}], {_csv_options(task.csv, head)})"
    )
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    place = f"{task.target.table} from {paths[0]}{others}"
    return lenient_sql(source, head.shapes, task.columns, place, task.kind, ignores=task.ignores)


def _csv_options(form: CsvFormat, head: Head) -> str:
    """All is said, so that DuckDB has nothing to find out: that takes it long, file by file."""
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(head.shapes)))
    said = [
        f"header = {str(form.has_header).lower()}, skip = 0, auto_detect = false",
        f"delim = {text_literal(head.delimiter)}, quote = '\"', escape = '\"'",
        f"columns = {{{columns}}}, allow_quoted_nulls = false",
        "filename = true, hive_partitioning = false",
        f"store_rejects = true, rejects_table = '{_ERRORS}', rejects_scan = '{_SCANS}'",
        "rejects_limit = 0",
    ]
    if form.encoding is not None:
        said.append(f"encoding = {text_literal(form.known_encoding)}")
    if form.null is not None:
        said.append(f"nullstr = ['', {text_literal(form.null)}]")
    return ", ".join(said)


def _bad(work: Workbench, task: IngestTask) -> Iterator[BadRecord]:
    connection = work.connection
    rows = connection.execute(
        f"SELECT {FILE}, {LINE}, {RAW}, {REASON} FROM {_TRIED} WHERE {REASON} IS NOT NULL"
        f" LIMIT {_MOST_BAD + 1}"
    ).fetchall()
    if task.kind == "parquet":
        found = [BadRecord(file, line, raw[0], why) for file, line, raw, why in rows]
    else:
        found = list(_located(work, task, [(row[0], tuple(row[2]), row[3]) for row in rows]))
    check_bad(found)
    yield from found


def _located(
    work: Workbench, task: IngestTask, rows: Sequence[tuple[str, Fields, str]]
) -> Iterator[BadRecord]:
    rejected = _rejected(work)
    for file, head in task.files:
        wrong = [(fields, why) for path, fields, why in rows if path == file.path]
        lines = [record for record in rejected if record.file == file.path]
        if wrong or lines:
            yield from locate(work.store, file.path, head.delimiter, task.csv, wrong, lines)


def _rejected(work: Workbench) -> list[BadRecord]:
    """Lines that are no rows at all."""
    rows = work.connection.execute(
        f"SELECT s.file_path, e.line, min(e.csv_line), min(e.error_message) FROM {_ERRORS} e"
        f" JOIN {_SCANS} s USING (scan_id, file_id) GROUP BY ALL ORDER BY ALL"
        f" LIMIT {_MOST_BAD + 1}"
    ).fetchall()
    return [
        BadRecord(file, int(line), raw.rstrip("\r\n"), why.partition("\n")[0])
        for file, line, raw, why in rows
    ]


def check_bad(found: Sequence[BadRecord]) -> None:
    if len(found) > _MOST_BAD:
        most = Counter(record.file for record in found).most_common(1)[0]
        raise Invalid(
            f"more than {_MOST_BAD:,} bad records, {most[1]:,} of them in {most[0]}:"
            f" {found[0].reason}",
            hint="say how the files are written (types, delimiter, header, encoding)",
        )
