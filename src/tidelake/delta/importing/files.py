"""Files of a Delta table as they become part of a table of the lake: where they lie, or, if not
all readers would find their values there, written anew."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tidelake.delta.importing.adopt import (
    is_told_by_folders,
    mapping_of,
    parsed_stats,
    partition_values,
    row_count_of_stats,
)
from tidelake.delta.importing.facts import FactsReader
from tidelake.delta.importing.kept_files import LakeFiles, new_column_ids
from tidelake.delta.importing.walk import LogStep, TableShape
from tidelake.delta.log.checkpoint import row_counts
from tidelake.delta.log.names import locate
from tidelake.delta.log.partition_text import ducklake_text
from tidelake.delta.log.types import DeltaField
from tidelake.delta.log.vectors import decode_vector
from tidelake.delta.values.actions import Add
from tidelake.delta.values.reports import Copy
from tidelake.engine import Job
from tidelake.engine.local.reshape import Source
from tidelake.engine.parquet.footer_shape import shapes
from tidelake.errors import Corrupt, Unsupported
from tidelake.model.change import ColumnFacts, NewFile
from tidelake.model.file import DataFile, MappedField
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_FILE, ROW_POSITION, Column
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import mappings_of
from tidelake.store.files import is_within

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

_CHECKED = 1000
"""Up to so many files, what the log says of them is compared with what they are."""
_AT_ONCE = 250
"""Of so many files the statistics are read together, which stay in the caches of a processor."""


@dataclass
class ImportPlan:
    """What is known of a Delta table's files while it is imported: how large they are, those that
    the lake has `held` of it so far, by where they are in Delta, and all that it has `ever` had. A
    file is never named twice in a catalog: who expires the first name removes it under the second.
    `copied` are those that were written anew, without the rows of a deletion vector. `take_over`:
    the files are to be the lake's."""

    root: str
    sizes: Mapping[str, int]
    held: dict[str, list[DataFile]] = field(default_factory=dict)
    ever: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    copied: dict[str, str | None] = field(default_factory=dict)
    rewritten: int = 0
    take_over: bool = False

    def path(self, add: Add) -> str:
        return locate(add.path, self.root)

    def takes_over(self, path: str) -> bool:
        """A log may name files that are somebody else's: those are never handed over."""
        return self.take_over and is_within(path, self.root)


@dataclass
class ImportStep:
    """One step of an import inside a transaction. `copies` are the names of files that have been
    written, and what for."""

    tx: DraftSession
    draft: TableDraft
    job: Job
    ground: ImportPlan
    step: LogStep
    copies: dict[str, Copy] = field(default_factory=dict)
    came: int = 0
    went: int = 0

    @property
    def shape(self) -> TableShape:
        return self.step.shape

    def run(self) -> None:
        outgrown = self._outgrown()
        for path in sorted(self.step.removed):
            self._end(path)
        files = []
        for path, add in {**self.step.kept, **self.step.changed}.items():
            if path in outgrown:
                files += self._renewed(path, add)
            elif path in self.step.changed:
                files += self._change(path, add)
        files += self._added()
        self.draft.add_files(files)

    def _outgrown(self) -> frozenset[str]:
        """Files that stay and have columns that the lake does not find in them as they are."""
        stays = {*self.step.kept, *self.step.changed}
        held = {path: files for path, files in self.ground.held.items() if path in stays}
        before = self.draft.before.schema.columns if self.draft.before else ()
        with self.tx.reading() as reader:
            mappings = mappings_of(reader, (file for files in held.values() for file in files))
        kept = LakeFiles(held, mappings, self._shapes)
        return kept.outgrown(new_column_ids(before, self.draft.columns), self._found_in)

    def _found_in(self, path: str, fields: Sequence[Source]) -> tuple[MappedField, ...]:
        """How Delta finds the columns of the table in a file."""
        if self.shape.by_id:
            return _mapped_by_id(path, fields, self.shape)
        return mapping_of(self.shape.fields, self.shape.partitioned_by)

    def _shapes(self, paths: Sequence[str]) -> dict[str, tuple[Source, ...]]:
        return shapes(self._connection(paths), paths) if paths else {}

    def _connection(self, paths: Sequence[str]) -> Any:
        work = self.tx.local.workbench()
        work.reach_unknown(paths)
        return work.connection

    def _end(self, path: str) -> None:
        for file in self.ground.held.get(path, ()):
            staging.check(self.draft, file)
            self.draft.see(file)
            staging.end(self.draft, file.id)
            self.went += staging.live(file)

    def _change(self, path: str, add: Add) -> list[NewFile]:
        """A file of which other rows are deleted than before: more, or it begins anew."""
        held = self.ground.held.get(path, [])
        if len(held) != 1 or held[0].path != path:
            copied = self.ground.copied
            known = held and path in copied and copied[path] == add.key[1]
            return [] if known else self._renewed(path, add)
        (file,) = held
        gone, before = self._gone(add), self._gone_before(file)
        if before == gone:
            return []
        if not before <= gone:
            return self._renewed(path, add)
        staging.check(self.draft, file)
        self.draft.see(file)
        self.went += len(gone - before)
        pointers = _pointers(file.id, sorted(gone - before))
        self.tx.announce()
        for delete in self.job.delete(pointers, self.draft.target, [file], self.draft.stamp):
            self.tx.wrote([delete.path])
            self.draft.delete_files[file.id] = delete
        return []

    def _renewed(self, path: str, add: Add) -> list[NewFile]:
        self._end(path)
        return self._rewritten(path, add)

    def _gone(self, add: Add) -> set[int]:
        if add.vector is None:
            return set()
        return set(deleted_positions_of(add, self.ground, self.tx.local.store.read))

    def _gone_before(self, file: DataFile) -> set[int]:
        if not file.has_deletes:
            return set()
        name = f"gone_{uuid.uuid4().hex}"
        self.job.deletions(name, [file])
        return {row[0] for row in self.job.rows(f"SELECT {ROW_POSITION} FROM {name}")}

    def _added(self) -> Iterator[NewFile]:
        shape, ground = self.shape, self.ground
        plain = mapping_of(shape.fields, shape.partitioned_by)
        by_id = self._mappings() if shape.by_id else {}
        partition = shape.partition
        reader = FactsReader(shape.fields)
        coming = [each for each in self.step.added.items() if ground.counts[each[0]]]
        for some in _in_parts(coming):
            told = [partition_values(add.partition_values, partition) for _, add in some]
            found = self._facts(reader, some, told)
            for (path, add), values, columns in zip(some, told, found, strict=True):
                folders = add.partition_values
                if path in ground.ever or not is_told_by_folders(path, folders, partition):
                    yield from self._rewritten(path, add)
                    continue
                file = NewFile(
                    path=path,
                    rows=ground.counts[path],
                    bytes=ground.sizes[path],
                    footer_size=None,
                    columns=columns,
                    partition_values=values if partition else None,
                    mapping=by_id.get(path, plain),
                    was_there=True,
                    taken_over=ground.takes_over(path),
                )
                yield self._with_deletes(file, add)

    def _facts(
        self,
        reader: FactsReader,
        files: Sequence[tuple[str, Add]],
        told: Sequence[tuple[str | None, ...]],
    ) -> list[tuple[ColumnFacts, ...]]:
        """What is known of the columns of each file."""
        ids = [column.id for column in self.shape.partition.values()]
        partition = dict(zip(ids, zip(*told, strict=True), strict=True))
        rows = [self.ground.counts[path] for path, _ in files]
        return reader.facts([parsed_stats(add.stats) for _, add in files], rows, partition)

    def _mappings(self) -> dict[str, tuple[MappedField, ...]]:
        """How the columns of each new file are called, where they are found by their ids."""
        found = self._shapes(list(self.step.added))
        return {path: _mapped_by_id(path, fields, self.shape) for path, fields in found.items()}

    def _with_deletes(self, file: NewFile, add: Add) -> NewFile:
        if add.vector is None:
            self.came += file.rows
            return file
        gone = self._gone(add)
        self.came += file.rows - len(gone)
        if not gone:
            return file
        staged = self.draft.as_staged(-1, file)
        pointers = _pointers(-1, sorted(gone))
        self.tx.announce()
        (deletes,) = self.job.delete(pointers, self.draft.target, [staged], self.draft.stamp)
        self.tx.wrote([deletes.path])
        return file._replace(deletes=deletes)

    def _rewritten(self, path: str, add: Add) -> list[NewFile]:
        """The rows of a file, in files of the lake's own."""
        shape, draft = self.shape, self.draft
        inside = [each for each in shape.fields if each.column.name not in shape.partitioned_by]
        mapping = mapping_of(inside, ())
        if shape.by_id:
            (fields,) = self._shapes([path]).values()
            mapping = _mapped_by_id(path, fields, replace(shape, fields=tuple(inside)))
        file = NewFile(path, 0, self.ground.sizes[path], None, mapping=mapping)
        name = f"import_{uuid.uuid4().hex}"
        staged = draft.as_staged(-1, file)
        self.job.scan(name, staging.plan_of(self.tx, draft, files=(staged,), mapping=file))
        listed = ", ".join(
            f"{_value(column, add.partition_values.get(physical))} AS {quote(column.name)}"
            if (physical := _physical(shape, column)) in shape.partition
            else quote(column.name)
            for column in draft.columns
        )
        gone = self._gone(add)
        where = f" WHERE {ROW_POSITION} NOT IN ({_unnested(sorted(gone))})" if gone else ""
        made = staging.write_files(self.tx, draft, self.job, f"SELECT {listed} FROM {name}{where}")
        copy = Copy(path, add.key[1])
        self.copies |= {each.path.rpartition("/")[2]: copy for each in made}
        self.came += sum(each.rows for each in made)
        return made


def deleted_positions_of(add: Add, ground: ImportPlan, read: Callable[[str], bytes]) -> list[int]:
    """The positions that are deleted from a file."""
    if add.vector is None:
        return []
    path, found = ground.path(add), decode_vector(add.vector, ground.root, read)
    if found and found[-1] >= ground.counts[path]:
        raise Corrupt(
            f"a deletion vector of {path} names rows that it does not have",
            hint="restore the vector from a copy",
        )
    return found


def count_rows(engine: LocalEngine, steps: Iterable[LogStep]) -> dict[str, int]:
    """How many rows files have: what the log says, if it does. Few enough files are asked
    themselves, and then the log must be right."""
    adds = {
        path: add for step in steps for path, add in (*step.added.items(), *step.changed.items())
    }
    known = {path: row_count_of_stats(add.stats) for path, add in adds.items()}
    asked = sorted(known) if len(known) <= _CHECKED else [p for p, n in known.items() if n is None]
    found = row_counts(engine, asked) if asked else {}
    for path, rows in found.items():
        if known[path] not in (None, rows):
            raise Corrupt(
                f"{path} has {rows} rows, and the log says {known[path]}",
                hint="restore the file or the log from a copy",
            )
    return {path: found.get(path, rows or 0) for path, rows in known.items()}


def _in_parts(coming: Sequence[tuple[str, Add]]) -> Iterator[Sequence[tuple[str, Add]]]:
    for start in range(0, len(coming), _AT_ONCE):
        yield coming[start : start + _AT_ONCE]


def _pointers(file_id: int, positions: Sequence[int]) -> str:
    inside = _unnested(positions)
    return f"SELECT CAST({file_id} AS BIGINT) AS {ROW_FILE}, p AS {ROW_POSITION} FROM ({inside})"


def _unnested(positions: Sequence[int]) -> str:
    return f"SELECT unnest({list(positions)}::BIGINT[]) AS p"


def _physical(shape: TableShape, column: Column) -> str:
    return next(each.physical for each in shape.fields if each.column.id == column.id)


def _value(column: Column, text: str | None) -> str:
    value = ducklake_text(column, text)
    if value is None:
        return f"CAST(NULL AS {column.duckdb_type})"
    if column.type == "blob":
        return f"from_hex('{value.encode().hex()}')"
    return f"CAST({text_literal(value)} AS {column.duckdb_type})"


def _mapped_by_id(
    path: str, fields: Sequence[Source], shape: TableShape
) -> tuple[MappedField, ...]:
    if all(each.id is None for each in fields):
        raise Unsupported(
            f"{path} has no field ids, and the table's columns are found by them",
            hint="write the file again in Delta",
        )
    names = set(shape.partitioned_by)
    partition = [each for each in shape.fields if each.column.name in names]
    rest = [each for each in shape.fields if each.column.name not in names]
    return (*_by_id(fields, rest), *mapping_of(partition, shape.partitioned_by))


def _by_id(fields: Sequence[Source], wanted: Sequence[DeltaField]) -> tuple[MappedField, ...]:
    found = []
    for each in (given for given in wanted if not given.void):
        source = next((f for f in fields if f.id == each.delta_id and f.id is not None), None)
        if source is not None:
            found.append(MappedField(source.name, each.column.id, _below(source, each)))
    return tuple(found)


def _below(source: Source, each: DeltaField) -> tuple[MappedField, ...]:
    if each.column.type == "struct":
        return _by_id(source.children, each.children)
    names = ["list"] if each.column.type == "list" else [c.name for c in source.children]
    return tuple(
        MappedField(name, child.column.id, _below(below, child))
        for name, below, child in zip(names, source.children, each.children, strict=True)
    )
