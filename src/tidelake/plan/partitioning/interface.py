"""What every partition transform can tell of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from tidelake.errors import Invalid
from tidelake.model.comparable import Comparable
from tidelake.model.schema import Column
from tidelake.model.statistics import ColumnStats

if TYPE_CHECKING:
    import duckdb

Values: TypeAlias = tuple[str | None, ...]
"""One text per key of the partitioning; None where the transform gave NULL."""

Reader: TypeAlias = Callable[[Values], ColumnStats | None]


@dataclass(frozen=True)
class Transform(ABC):
    """Values of one column become texts, and rows with the same text a partition."""

    word: ClassVar[str]
    """Its name, in lower case."""
    usage: ClassVar[str]
    """How a user writes it."""
    parameters: ClassVar[str] = ""
    """What the catalog says after its name."""
    macros: ClassVar[str] = ""
    """DuckDB SQL that a connection must have been given before `sql` is used on it."""
    exclusive: ClassVar[bool] = False
    """DuckDB looks for a value in files of its partition alone: no file may be outside of all."""
    zoned: ClassVar[bool] = False
    """The text for a timestamptz depends on the time zone of the session that wrote it."""

    @property
    def text(self) -> str:
        """What the catalog calls it."""
        return self.word

    def shown(self, column: str) -> str:
        """What users call it: `partition_by` takes the same."""
        return f"{self.word}({column})"

    @classmethod
    def recorded(cls, text: str) -> Transform | None:
        """The transform that the catalog calls so, if it is one of this class."""
        return cls() if text == cls.word else None

    @classmethod
    def written(cls, parameter: str | None, text: str) -> Transform:
        """The transform that a user means by a text with the parameter before the column's name."""
        if parameter is not None:
            raise Invalid(f"cannot partition by {text!r}", hint=f"write {cls.usage}")
        return cls()

    @abstractmethod
    def check(self, column: Column, text: str) -> None:
        """Refuse a column that it is not for; `text` is what the user wrote."""

    @abstractmethod
    def sql(self, column: Column, reference: str) -> str:
        """The text for a value of the column's type, in DuckDB: a VARCHAR, or NULL."""

    def spark_sql(self, value: str, kind: str) -> str | None:
        """SQL that tells values of different partitions apart in Spark, where they are of that
        kind; None if Spark cannot tell. Requires: Spark can group by values of the kind."""
        return None

    def reader(self, column: Column, places: Mapping[Transform, int]) -> Reader | None:
        """What the values of a file say about the column; None if nothing. `places` are those of
        all transforms of the column among the values, this one with them."""
        return None

    def may_hold(
        self, column: Column, operands: Sequence[Comparable], type_then: str | None
    ) -> Callable[[str | None], bool] | None:
        """Whether a file with a value may hold a row equal to one of the operands; None if that is
        not known, or all that is known is what `reader` says."""
        return None

    @abstractmethod
    def value_between(
        self, connection: duckdb.DuckDBPyConnection, column: Column, low: str, high: str
    ) -> str | None:
        """The text that all values from one to another have; None if it is not one, or unknown."""

    def stays(self, old: str, new: str) -> bool:
        """Whether files stay right when the column goes from one type to another."""
        return True
