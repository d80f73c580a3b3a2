"""What the rest of the house asks of an engine: three protocols, and nothing else.

An `Engine` runs plans and queries. A `Job` holds the statements of one write, or of a read that
needs several; its relations have names, and its SQL is DuckDB's. A `Reading` is rows that somebody
wants, in whatever form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

    from tidelake.engine.incoming.bring import IncomingData
    from tidelake.engine.incoming.conform import DataShape
    from tidelake.engine.incoming.inline_text import Rows
    from tidelake.engine.local.workbench import Workbench
    from tidelake.engine.row_source import RowSource, Tables
    from tidelake.model.change import NewDeleteFile, NewFile
    from tidelake.model.file import DataFile
    from tidelake.model.literal import Value
    from tidelake.model.names import TableName
    from tidelake.model.schema import Column
    from tidelake.plan.as_of import AsOfPlan
    from tidelake.plan.scan import ScanPlan
    from tidelake.plan.target import Target

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Reading(Protocol):
    """A query that has been prepared and not yet run; each `to_*` runs it once. Unsupported for a
    form that the engine cannot give."""

    def to_arrow(self) -> pa.Table: ...

    def to_batches(self, rows: int = ...) -> pa.RecordBatchReader: ...

    def to_pandas(self) -> pandas.DataFrame: ...

    def to_polars(self) -> polars.DataFrame: ...

    def to_duckdb(self) -> duckdb.DuckDBPyRelation: ...

    def to_spark(self) -> Any: ...

    def count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Among:
    """Another relation of `count` rows, and the columns by which rows of the two are compared;
    both have them under these names and in the same types."""

    relation: str
    columns: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class PlanRelation:
    """What stands behind FROM: a name, or a query in brackets, which is prepared along with the
    one around it. `is_narrow` if it has only rows that some other relation has an equal of."""

    sql: str
    is_narrow: bool = False


class Job(AbstractContextManager["Job"], Protocol):
    """Statements that belong together. Close it, or use it in a `with`."""

    @property
    def in_process(self) -> bool:
        """Whether rows are computed by DuckDB here. Elsewhere to ask is dear, what is asked twice
        is computed twice and may come out otherwise, and there are no ASOF joins."""

    def close(self) -> None: ...

    # Relations.

    def scan(self, name: str, plan: ScanPlan | AsOfPlan | RowSource) -> None:
        """A relation of the plan's rows."""

    def relation(
        self, name: str, plan: ScanPlan | AsOfPlan, among: Among | None = None
    ) -> PlanRelation:
        """The same, as what stands behind FROM; `name` is one that it may take for it. With
        `among`, it may lack rows that no row of another relation is equal to."""

    def deletions(self, name: str, files: Sequence[DataFile]) -> None:
        """A relation of every position ever deleted from these files, and since which snapshot:
        `_tidelake_file`, `_tidelake_position`, `deleted_at`. The files must know their whole
        life (`catalog.files.whole_life`)."""

    def define(self, name: str, sql: str) -> None:
        """A relation of the query's rows, computed when they are asked for."""

    def number(self, name: str, sql: str) -> None:
        """A relation of the query's rows with `_tidelake_row`, which grows as they come."""

    def gather(self, name: str, sql: str, by: str) -> None:
        """A relation of the query's rows, those with one value of a column in one place: whoever
        groups by it need not move them again."""

    def pick(self, name: str, sql: str, choose: Callable[[Workbench, str], str]) -> None:
        """A relation of what `choose` makes of the query: some of its rows, by a query of DuckDB's
        that it may prepare tables for. It runs where the rows are, and sees no others."""

    def beside(
        self,
        name: str,
        plan: str,
        others: Sequence[str],
        columns: Sequence[Column],
        find: Callable[[Workbench], str],
    ) -> bool:
        """A relation of what `find` asks of the rows of a plan, each with all rows of other plans
        beside it: the relations of all these have been scanned. It gives a query of DuckDB's for
        these columns, one row for each of the plan, whichever of its rows it sees. False, and
        nothing is done, if whoever reads some of the plan had better not read all of the others."""

    def hold(self, name: str, sql: str) -> None:
        """A relation of the query's rows as they are now."""

    def keep(self, name: str, sql: str) -> int:
        """A relation of the query's rows as they are now; how many they are."""

    # What callers give.

    def bring(
        self,
        name: str,
        data: Any,
        columns: Sequence[Column],
        table: TableName,
        *,
        defaults: bool = True,
    ) -> IncomingData:
        """What a caller gave, as a query of the table's columns."""

    def columns(self, data: Any) -> tuple[Column, ...]:
        """The columns that the data has of its own; none if they cannot be told."""

    def take(
        self, name: str, data: Any, table: TableName
    ) -> tuple[tuple[Column, ...], IncomingData] | None:
        """What a caller gave, as a query of the columns that it has of its own, and these; None if
        they cannot be told."""

    def shapes(self, sql: str) -> tuple[DataShape, ...]:
        """What a query computes, which reads no relation."""

    # Answers.

    def reading(self, sql: str) -> Reading:
        """The query's rows, for the caller."""

    def rows(self, sql: str) -> list[Any]:
        """The rows of a query that gives few."""

    def catalog_rows(
        self, sql: str, columns: Sequence[Column], *, numbered: bool = False
    ) -> Rows | None:
        """The rows of a query that gives few, as the catalog keeps them; None if it cannot keep
        them exactly."""

    def over(self, sql: str, do: Callable[[Workbench, str], Answer]) -> list[Answer]:
        """What `do` finds out about the rows of a query, where they are: as many answers as there
        are places with rows."""

    def meet(
        self, names: Sequence[str], do: Callable[[Workbench], Answer], *, most: int | None = None
    ) -> Answer | None:
        """What `do` makes of relations that have few rows: they are brought to one place, where it
        finds them under their names. None if it was not asked, as there are no rows, or if there
        is not the memory for them. Of a relation that has more rows than `most` it need not find
        all, but more than that."""

    def pieces(self, plan: ScanPlan) -> list[ScanPlan] | None:
        """What tasks can read of a plan by themselves, for `run`: each has all rows of some files,
        or those of the catalog. None if rows are computed here, or tasks cannot read them."""

    def run(
        self,
        tasks: Sequence[Task],
        do: Callable[[Workbench, Task], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Iterator[Answer]:
        """What came of each piece of work, in their order; each has a workbench of its own. Should
        one fail, `undo` is called with what came of others, as far as that is known."""

    # Files.

    def write(
        self,
        sql: str,
        target: Target,
        *,
        carries_row_ids: bool = False,
        count: int | None = None,
    ) -> tuple[NewFile, ...]:
        """Files with the rows of a query over the table's columns. `count`: so many are expected,
        which decides who writes them, and nothing else."""

    def delete(
        self,
        pointers: str,
        target: Target,
        files: Iterable[DataFile],
        stamp: int,
        count: int | None = None,
    ) -> list[NewDeleteFile]:
        """Delete files for rows of these files that a query points at; `count` as for `write`."""


class Engine(Protocol):
    """Runs plans."""

    @property
    def name(self) -> str: ...

    @property
    def session(self) -> Any:
        """The Spark session that its rows are bound to; None if they are in this process."""

    @property
    def bytes_at_once(self) -> int:
        """How much upkeep should write before it commits."""

    def holds(self, columns: Iterable[Column]) -> bool:
        """Whether it has types for all of these. What it has none for it can only pass on."""

    def read(self, plan: ScanPlan | AsOfPlan) -> Reading:
        """The plan as a query that runs when its rows are asked for."""

    def query(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Value] | None = None,
    ) -> Reading:
        """A SELECT in DuckDB's SQL over plans and rows, each standing under the name it is given
        here, and with these values for the parameters in it."""

    def described(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Value] | None = None,
    ) -> list[tuple[str, Any]]:
        """The columns that such a SELECT gives: names and types, as create_table takes them."""

    def incoming(
        self,
        sql: str,
        tables: Tables,
        columns: Sequence[Column],
        *,
        few: bool = False,
    ) -> Any:
        """The rows of such a SELECT as `Job.bring` takes them: for these columns, by position,
        cast as DuckDB's INSERT casts. `few`: it is known that they are."""

    def job(self, doing: str) -> Job:
        """The statements of one write; `doing` says which, should it fail."""
