"""The folders of partitions, `key=value/` for each key: where DuckDB's ducklake extension puts
files. It compacts a partition only if all its files lie in the same one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from tidelake.model.schema import Column
from tidelake.model.table import PartitionSpec
from tidelake.plan.partitioning.interface import Transform, Values
from tidelake.plan.partitioning.transforms import Identity, Unknown, transform_of

_NULL = "__HIVE_DEFAULT_PARTITION__"
_LONGEST = 255
"""What file systems let a name have, in bytes."""


@dataclass(frozen=True, slots=True)
class Folders:
    """Those of one partitioning: what its keys are called in them, in order."""

    keys: tuple[str, ...]

    @staticmethod
    def of(
        spec: PartitionSpec | None, columns: Iterable[Column], *, wanted: bool
    ) -> Folders | None:
        """None if they are not wanted, or DuckDB has none. A key is called as its column, or as its
        transform if nothing before it is, in whatever case; else as both."""
        if spec is None or not wanted:
            return None
        names = {column.id: column.name for column in columns}
        keys: list[str] = []
        for key in spec.keys:
            transform, column = transform_of(key.transform), names.get(key.column_id)
            if column is None or isinstance(transform, Unknown):
                return None
            keys.append(_free(_word(transform, column), column, keys))
        return Folders(tuple(keys)) if len(set(keys)) == len(keys) else None

    def holding(self, values: Values) -> str:
        """Where a partition's files lie below the table's folder, with a slash at the end. Empty if
        file systems have no such names, or these are not the values of such keys."""
        if len(values) != len(self.keys):
            return ""
        parts = [
            f"{quote(key, safe='')}={_NULL if value is None else quote(value, safe='')}"
            for key, value in zip(self.keys, values, strict=True)
        ]
        fit = all(len(part) <= _LONGEST for part in parts)
        return "".join(f"{part}/" for part in parts) if fit else ""


def _word(transform: Transform, column: str) -> str:
    return column if isinstance(transform, Identity) else transform.word


def _free(word: str, column: str, taken: Iterable[str]) -> str:
    return f"{word}_{column}" if _folded(word) in map(_folded, taken) else word


def _folded(name: str) -> bytes:
    """As DuckDB compares names: case counts beyond ASCII."""
    return name.encode().lower()
