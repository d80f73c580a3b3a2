"""Files of a Delta table that stay while its columns change: whether the lake still finds in them
all that Delta does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelake.engine.local.reshape import Source, renumber
from tidelake.model.file import DataFile, MappedField
from tidelake.model.schema import Column

Shapes = Callable[[Sequence[str]], Mapping[str, tuple[Source, ...]]]


@dataclass(frozen=True, slots=True)
class LakeFiles:
    """Files that the lake holds, by where they are in Delta; `mappings` say how the columns of
    those are called that are read where they lie. Any other is a copy, and has the columns that
    the table had when it was written."""

    held: Mapping[str, Sequence[DataFile]]
    mappings: Mapping[int, tuple[MappedField, ...]]
    shapes: Shapes

    def outgrown(
        self, came: frozenset[int], wanted: Callable[[str, Sequence[Source]], Iterable[MappedField]]
    ) -> frozenset[str]:
        """Of the files those that have values of columns which the table gets, or gets back, and
        that the lake would not find; `wanted` is how Delta finds columns in a file."""
        if not came or not self.held:
            return frozenset()
        copies = {file.path for files in self.held.values() for file in files}
        fields = self.shapes(sorted(copies | self.held.keys()))
        found = set()
        for path, files in self.held.items():
            told = came & _ids(renumber(fields[path], tuple(wanted(path, fields[path]))))
            if any(told - self._found(file, fields) for file in files):
                found.add(path)
        return frozenset(found)

    def _found(self, file: DataFile, fields: Mapping[str, tuple[Source, ...]]) -> set[int]:
        if file.mapping_id is None:
            return _ids(fields[file.path])
        return _ids(renumber(fields[file.path], self.mappings[file.mapping_id]))


def new_column_ids(before: Iterable[Column], after: Iterable[Column]) -> frozenset[int]:
    """The ids of columns, at any depth, that a table gets or gets back."""
    return frozenset(_column_ids(after)) - frozenset(_column_ids(before))


def _column_ids(columns: Iterable[Column]) -> Iterator[int]:
    return (below.id for column in columns for below in column.walk())


def _ids(sources: Iterable[Source]) -> set[int]:
    found = set()
    for source in sources:
        found |= {source.id} if source.id is not None else set()
        found |= _ids(source.children)
    return found
