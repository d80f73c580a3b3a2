"""The public way to take files into a table as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from tidelake.errors import Invalid
from tidelake.ingestion import run
from tidelake.ingestion.values import IngestResult, IngestWish
from tidelake.lake.data_path import absolute
from tidelake.lake.lake import Lake
from tidelake.model.forms import ColumnType
from tidelake.model.misfit import with_misfits_named
from tidelake.model.names import TableName
from tidelake.model.settings import TableDeclaration
from tidelake.model.source_files import CsvFormat, CsvTerms
from tidelake.model.terms import Terms


@with_misfits_named
def ingest(
    lake: Lake,
    table: str,
    paths: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,  # noqa: A002
    types: Mapping[str, ColumnType] | None = None,
    new_columns: str = "refuse",
    bad_records: str = "quarantine",
    quarantine: str | None = None,
    changed: str = "refuse",
    csv: CsvFormat | CsvTerms | None = None,
    batch_files: int = 1000,
    batch_bytes: int = 256 << 20,
    author: str | None = None,
    message: str | None = None,
    **creation: Unpack[TableDeclaration],
) -> IngestResult:
    """Take files into a table, each once: CSV, JSON lines and Parquet, also as .gz and .zst. The
    commit that brings their rows records which files were taken. So you may call it again, and
    from several programs at once.

    `paths` are files, folders and patterns. A table that is not there is made from what the files
    have, with `types` for columns whose types are not to be guessed, and with what `create_table`
    takes: `key`, `event_time`, `entity`, `bucket`, `partition_by` and so on.

    Columns that the table lacks are refused, unless `new_columns` is "add" or "ignore". Records
    that do not fit go to the table `quarantine` (`…_quarantine`) with file, line and reason, or
    with `bad_records="refuse"` nothing of the batch is taken. A file that has changed since it was
    taken is refused, unless `changed` is "again" or "ignore". `csv` says how CSV files are written:
    `delimiter`, `header`, `encoding`, `null`. A commit takes as many files, and bytes, as
    `batch_files` and `batch_bytes` say.
    """
    name = lake.session.namespace.parse(table)
    beside = TableName(name.schema, f"{name.name}_quarantine")
    wish = IngestWish(
        name,
        beside if quarantine is None else lake.session.namespace.parse(quarantine),
        format,
        types or {},
        new_columns,
        bad_records,
        changed,
        batch_files,
        batch_bytes,
        csv if isinstance(csv, CsvFormat) else _csv_format(csv or {}),
        creation,
    )
    patterns = [paths] if isinstance(paths, str | Path) else list(paths)
    if (walls := lake.session.local.confinement) is not None:
        walls.check(absolute(str(each)) for each in patterns)
    terms = Terms.of({"author": author, "message": message})
    return run.ingest(lake.session, wish, [str(each) for each in patterns], terms)


def _csv_format(given: CsvTerms) -> CsvFormat:
    unknown = [str(name) for name in given if name not in CsvTerms.__annotations__]
    if unknown:
        raise Invalid(
            f"csv= takes no {unknown[0]!r}", hint=f"it takes {', '.join(CsvTerms.__annotations__)}"
        )
    return CsvFormat(**given)
