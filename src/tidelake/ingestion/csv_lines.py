"""Where in a CSV file bad rows stand, and what is written there."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO

from tidelake.engine.incoming.text_lines import open_text
from tidelake.ingestion.values import BadRecord
from tidelake.model.source_files import CsvFormat
from tidelake.store.files import Store

_LONGEST = 1 << 30

Fields = tuple[str | None, ...]


def locate(
    store: Store,
    path: str,
    delimiter: str,
    form: CsvFormat,
    wrong: Sequence[tuple[Fields, str]],
    rejected: Sequence[BadRecord] = (),
) -> list[BadRecord]:
    """Bad rows with the number of the line that each begins in, and its text. The file is gone
    through once more for that; a row that is not found has its fields alone. `rejected` are known
    by their texts: DuckDB counts a record of several lines as one."""
    wanted: dict[Fields, list[str]] = defaultdict(list)
    for fields, reason in wrong:
        wanted[_plain(fields, form)].append(reason)
    lines: dict[str | None, list[BadRecord]] = defaultdict(list)
    for record in rejected:
        lines[record.raw].append(record)
    found = []
    with open_text(store, path, form.known_encoding) as text:
        for line, raw, written in _records(text, delimiter):
            if lines.get(raw):
                found.append(replace(lines[raw].pop(), line=line))
            elif reasons := wanted.get(_plain(written, form)):
                found.append(BadRecord(path, line, raw, reasons.pop()))
    for fields, reasons in wanted.items():
        joined = delimiter.join(field or "" for field in fields)
        found += [BadRecord(path, None, joined, reason) for reason in reasons]
    return [*found, *(record for rest in lines.values() for record in rest)]


def _plain(fields: Sequence[str | None], form: CsvFormat) -> Fields:
    """Fields by which rows are the same, whoever has read them."""
    return tuple("" if field is None or field == form.null else field for field in fields)


def _records(text: IO[str], delimiter: str) -> Iterator[tuple[int, str, list[str]]]:
    lines: list[str] = []

    def remembered() -> Iterator[str]:
        for line in text:
            lines.append(line)
            yield line

    csv.field_size_limit(_LONGEST)
    reader = csv.reader(remembered(), delimiter=delimiter)
    begin = 1
    for fields in reader:
        yield begin, "".join(lines).rstrip("\r\n"), fields
        lines.clear()
        begin = reader.line_num + 1
