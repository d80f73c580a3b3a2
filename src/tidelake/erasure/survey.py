"""All that there is of a table, in whatever snapshot, and which of it a condition is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.inlined_data import KeptHistory
from tidelake.erasure.task import PurgeTask, RewritePlan
from tidelake.errors import Unsupported
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.model.schema import ROW_BEGAN, ROW_NUMBER, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.plan.where import Where, as_where
from tidelake.session.planning import plan_all, without_others
from tidelake.session.session import Session
from tidelake.upkeep import pieces
from tidelake.upkeep.pieces import TableState
from tidelake.verify.fingerprint_sql import FOREVER, Epoch
from tidelake.verify.slices import LifeOfTable


@dataclass(frozen=True, slots=True)
class Survey:
    """A table at one moment. Only `candidates` among its files may hold rows that meet the
    condition."""

    found: TableState
    where: Where
    candidates: frozenset[int]
    epochs: tuple[Epoch, ...]

    @property
    def files(self) -> list[DataFile]:
        return [self.found.files[id_] for id_ in sorted(self.candidates)]

    @property
    def life(self) -> LifeOfTable:
        """Of its files and rows, for reading them as every snapshot does."""
        found = self.found
        return LifeOfTable(
            id=found.info.id,
            name=str(found.info.name),
            files=tuple(found.files.values()),
            expected=(),
            inlined=tuple(each.rows for each in found.kept),
            current=(),
            ends=tuple(end for each in found.kept for end in each.ends),
            mappings=dict(found.mappings),
            history=found.facts.history,
            specs=dict(found.facts.specs),
            snapshots=found.snapshots,
        )

    def match(self, output: tuple[str, ...]) -> ScanPlan:
        """The rows that meet the condition, as far as the table's columns of now tell; from where
        is not said yet."""
        columns = tuple(c for c in self.found.info.schema if c.name in self.where.columns)
        plan = plan_all(self.found.base, self.found.facts, columns, output)
        return replace(plan, where=self.where.sql)

    def match_file(self, file: DataFile) -> ScanPlan:
        return replace(
            self.match((ROW_POSITION, ROW_BEGAN)),
            files=(file.as_written(),),
            mappings=self.found.mappings,
        )

    def task(self, file: DataFile, *, counted: bool) -> PurgeTask:
        """What is to be done for a file, or only `counted`."""
        match = self.match_file(file)
        if counted:
            return PurgeTask(file, match)
        carry = pieces.merge(self.found, (file,))
        rest = replace(carry.plan, output=(*carry.plan.output, ROW_POSITION))
        target = replace(carry.target, sorting=())
        life = replace(self.life, files=(), inlined=(), ends=())
        return PurgeTask(file, match, RewritePlan(rest, target, life, self.epochs))


def survey(session: Session, name: TableName, where: str | Predicate) -> Survey:
    with session.reading() as reader:
        found = pieces.look(session, name, every=True)
        condition = as_where(where, found.info.schema)
        assert condition is not None
        fitting = without_others(
            reader, found.facts, list(found.files.values()), condition.predicate
        )
        epochs = tuple(_epochs(reader, found))
    candidates = frozenset(file.id for file in fitting)
    result = Survey(found, condition, candidates, epochs)
    _check(result)
    return result


def _check(known: Survey) -> None:
    for file in known.files:
        if file.encryption_key or any(delete.encryption_key for delete in file.deletes):
            raise Unsupported(
                f"{known.found.info.name} has encrypted files, which only DuckDB can write",
                hint="copy the table into a lake that is not encrypted, and drop it here",
            )
        if known.found.versions.at(file.begin_snapshot) < 0:
            raise Unsupported(
                f"nobody knows any more which columns {file.path} was written with",
                hint="t.overwrite(t.to_arrow()), then expire the snapshots before",
            )


def _epochs(reader: Reader, found: TableState) -> Iterable[Epoch]:
    """The times in which the table had the same columns."""
    rows = reader.rows(
        "SELECT begin_snapshot, end_snapshot FROM ducklake_column WHERE table_id = :id",
        id=found.info.id,
    )
    edges = sorted({edge for row in rows for edge in row if edge is not None})
    made: list[Epoch] = []
    for since, until in zip(edges, [*edges[1:], FOREVER], strict=True):
        columns = read.columns(reader, since, found.info.id)
        if made and made[-1].columns == columns and made[-1].until == since:
            made[-1] = replace(made[-1], until=until)
        elif columns:
            made.append(Epoch(columns, since, until))
    return [each for each in made if any(each.since <= at < each.until for at in found.snapshots)]


def catalog_matches(session: Session, known: Survey) -> dict[str, tuple[tuple[int, int], ...]]:
    """Rows that the catalog keeps and that meet the condition, by the catalog's table: their ids,
    and the snapshots that they are from."""
    plan = known.match((ROW_NUMBER, ROW_BEGAN))
    rows = {kept.table_name: _matching(session, plan, kept) for kept in known.found.kept}
    return {name: found for name, found in rows.items() if found}


def _matching(session: Session, plan: ScanPlan, kept: KeptHistory) -> tuple[tuple[int, int], ...]:
    with session.local.job(f"cannot erase from {plan.table}") as job:
        job.scan("matching", replace(plan, inlined=(kept.rows,)))
        rows = job.rows(f"SELECT {ROW_NUMBER}, {ROW_BEGAN} FROM matching")
    return tuple((int(row[0]), int(row[1])) for row in rows)
