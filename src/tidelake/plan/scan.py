"""What to read: the files of one snapshot that can matter, and how their columns map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelake.model.file import DataFile, InlinedRows, MappedField
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Column


@dataclass(frozen=True, slots=True)
class PruneStep:
    """One reason for skipping files, and how many it skipped."""

    reason: str
    files: int


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """A complete, picklable description of one read of one table.

    `columns` are those to read from files, as the snapshot declares them; `output` names
    what the caller gets, in order, and may also hold `rowid` and `snapshot_id`.
    `where` is the row filter as DuckDB SQL over the column names and those two;
    `predicate` is the same filter for engines that speak another SQL.
    `mappings` tell, by mapping id, how files without field ids are to be read.
    `reshaped` are ids of nested columns whose fields were renamed, dropped or given
    defaults over time, so that names inside old files cannot be trusted.
    `promoted` are ids of columns, at any depth, whose type was widened over time;
    `former_types` tells the other types each of them has had, before or since.
    `renamed` are ids of columns, at any depth, that have had another name, or whose name
    another column beside them has had (case aside), so that a file may mean either by it;
    None when nobody looked. `former_names` are all names that a column has had, unless
    another has had one of them too, for files whose field ids cannot be seen.
    `original` are columns that the table has had since it was made: every file has them.
    """

    table: TableName
    snapshot_id: int
    columns: tuple[Column, ...]
    output: tuple[str, ...]
    files: tuple[DataFile, ...] = ()
    inlined: tuple[InlinedRows, ...] = ()
    where: str | None = None
    predicate: Predicate | None = None
    mappings: Mapping[int, tuple[MappedField, ...]] = field(default_factory=dict)
    reshaped: frozenset[int] = frozenset()
    promoted: frozenset[int] = frozenset()
    former_types: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    renamed: frozenset[int] | None = None
    former_names: Mapping[int, frozenset[str]] = field(default_factory=dict)
    original: tuple[Column, ...] = ()
    total_files: int = 0
    pruned: tuple[PruneStep, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.files and not any(inlined.rows for inlined in self.inlined)
