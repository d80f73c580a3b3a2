"""Records of JSON files: one object on a line, or one array of objects.

Values are converted as those of dicts are, with all digits of their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, Any, Protocol

from tidelake.engine.incoming.from_dicts import rows_sql
from tidelake.engine.incoming.python_values import Number, json_text
from tidelake.engine.incoming.text_lines import LONGEST, open_text
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.workbench import Workbench
from tidelake.errors import Invalid, TidelakeError
from tidelake.ingestion.json_plain import take_plain
from tidelake.ingestion.values import BadRecord, SourceFile
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.tuning import Tuning
from tidelake.plan.target import Target
from tidelake.store.files import Store

_CHUNK = 10_000
_LARGEST = Tuning().largest_document
_DECODER = json.JSONDecoder(parse_float=Number)


class Task(Protocol):
    """What is to be known of the table."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def target(self) -> Target: ...

    @property
    def ignores(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    raw: str
    values: dict[str, Any]


def take(
    work: Workbench, name: str, files: Sequence[SourceFile], task: Task
) -> tuple[Mapping[str, int], tuple[BadRecord, ...]]:
    """A table of the good records in the table's columns; how many are from each file; and the
    others."""
    taking = _Taking(work, name, task)
    taking.begin()
    plain = taking.take_plain([file.path for file in files])
    for file in files:
        if file.path not in plain:
            taking.take(file)
    return taking.rows, tuple(taking.bad)


@dataclass
class _Taking:
    work: Workbench
    name: str
    task: Task
    rows: dict[str, int] = field(default_factory=dict)
    bad: list[BadRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._known = {fold(column.name) for column in self.task.columns}
        self._documents = {fold(c.name) for c in self.task.columns if c.type == "json"}
        self._plain = {c.name for c in self.task.columns if c.type != "json"}

    def begin(self) -> None:
        sql = self._sql([], str(self.task.target.table))
        self.work.connection.execute(f"CREATE TEMP TABLE {self.name} AS {sql}")

    def take_plain(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Rows of files that are plain. Where rows must stay in the order of the files, all of
        them are, or none."""
        try:
            with translate_duckdb_errors("cannot read JSON"):
                found = take_plain(self.work, self.name, paths, self.task.columns)
        except TidelakeError:  # a line that is too long, or text that is not UTF-8
            found = {}
        if self.task.target.in_order and set(found) != set(paths):
            self.work.connection.execute(f"DELETE FROM {self.name}")
            found = {}
        self.rows.update(found)
        return found

    def take(self, file: SourceFile) -> None:
        records = self._records(file)
        while some := list(islice(records, _CHUNK)):
            self.rows[file.path] = self.rows.get(file.path, 0) + self._insert(file, some)

    def _insert(self, file: SourceFile, records: list[_Record]) -> int:
        """How many of them are good. If one is not, both halves are tried by themselves."""
        try:
            with translate_duckdb_errors(file.path):
                sql = self._sql([record.values for record in records], file.path)
                self.work.connection.execute(f"INSERT INTO {self.name} {sql}")
        except TidelakeError as error:
            if len(records) > 1:
                half = len(records) // 2
                return self._insert(file, records[:half]) + self._insert(file, records[half:])
            reason = error.message.removeprefix(f"{file.path}: ").removeprefix("row 1: ")
            self.bad.append(BadRecord(file.path, records[0].line, records[0].raw, reason))
            return 0
        return len(records)

    def _sql(self, rows: list[dict[str, Any]], place: str) -> str:
        return rows_sql(
            self.work.connection, "json_rows", rows, self.task.columns, place, defaults=True
        )[0]

    def _records(self, file: SourceFile) -> Iterator[_Record]:
        for line, raw in _texts(self.work.store, file.path):
            try:
                found = _DECODER.decode(raw)
                if not isinstance(found, dict):
                    raise TypeError("it is something else")
                if not (found.keys() <= self._plain):
                    self._check_known(file, line, found)
                    found = self._fitting(found)
            except (json.JSONDecodeError, TypeError, RecursionError) as error:
                self.bad.append(BadRecord(file.path, line, raw, f"no JSON object: {error}"))
            except _Misfit as error:
                self.bad.append(BadRecord(file.path, line, raw, str(error)))
            else:
                yield _Record(line, raw, found)

    def _check_known(self, file: SourceFile, line: int, values: Mapping[str, Any]) -> None:
        unknown = [name for name in values if fold(name) not in self._known]
        if unknown and not self.task.ignores:
            raise Invalid(
                f"{file.path}, line {line}: {self.task.target.table} has no column {unknown[0]!r}",
                hint='new_columns="add" adds it, "ignore" passes over it',
            )

    def _fitting(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of them, documents as text."""
        kept = {name: value for name, value in values.items() if fold(name) in self._known}
        for name in kept if self._documents else ():
            if kept[name] is not None and fold(name) in self._documents:
                try:
                    kept[name] = json_text(kept[name])
                except ValueError as error:
                    raise _Misfit(f"column {name!r}: {error}") from error
        return kept


class _Misfit(Exception):
    """A value that JSON cannot hold."""


def _texts(store: Store, path: str) -> Iterator[tuple[int, str]]:
    """Every record as it is written, with its line; of an array, with its number."""
    with open_text(store, path) as text:
        first = text.readline(LONGEST)
        if first.lstrip().startswith("["):
            yield from _items(path, first + _rest(text, path))
            return
        if first and first[-1] != "\n":
            first += next(text, "")
        for line, raw in enumerate(chain([first], text), 1):
            if len(raw) > LONGEST:
                raise Invalid(
                    f"{path} has a line of more than {LONGEST:,} characters",
                    hint="divide it into lines, each with a record",
                )
            if raw.strip():
                yield line, raw.rstrip("\r\n")


def _rest(text: IO[str], path: str) -> str:
    found = text.read(_LARGEST + 1)
    if len(found) > _LARGEST:
        raise Invalid(
            f"{path} is an array of more than {_LARGEST:,} characters",
            hint="write its items on lines of their own: those are read one by one",
        )
    return found


def _items(path: str, whole: str) -> Iterator[tuple[int, str]]:
    """The items of an array, each as it is written."""
    decoder = json.JSONDecoder()
    at, number = _after(whole, whole.index("[") + 1), 1
    try:
        while whole[at : at + 1] != "]":
            _, end = decoder.raw_decode(whole, at)
            yield number, whole[at:end]
            at, number = _after(whole, end), number + 1
            if whole[at : at + 1] == ",":
                at = _after(whole, at + 1)
            elif whole[at : at + 1] != "]":
                raise ValueError(f"expected a comma at character {at}")
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{path} is no JSON: {error}", hint="check that the file is whole") from error


def _after(text: str, at: int) -> int:
    """The next place that is no space."""
    while text[at : at + 1].isspace():
        at += 1
    return at
