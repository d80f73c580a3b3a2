"""Pieces of work, each done by a task, and what came of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelake.engine.local.errors import refusal
from tidelake.engine.protocols import Answer, Task
from tidelake.engine.spark.tasks import FACTS, at_work, one_thread, told_by_task, unpickle_all
from tidelake.errors import TidelakeError, Unavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.engine.local.workbench import Workbench

_Run = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Piecework:
    """Who does it, and what it is called if it fails."""

    spark: SparkSession
    local: LocalEngine
    doing: str

    def answers(
        self,
        tasks: Sequence[Task],
        do: Callable[[Workbench, Task], Answer],
        undo: Callable[[Answer], object] | None,
    ) -> list[Answer]:
        """What came of each piece, in their order. To be undone, all answers must be known: so all
        tasks are waited for, whatever goes wrong in one of them."""
        ids = self.spark.range(0, len(tasks), 1, len(tasks))
        run = (_eager if undo is None else _patient)(self.local, self.doing, tasks, do)
        made = dict(unpickle_all(ids.mapInArrow(run, FACTS).collect()))
        failed = [each for each in made.values() if isinstance(each, Failure)]
        if failed and undo is not None:
            for each in made.values():
                if not isinstance(each, Failure):
                    undo(each)
            raise failed[0].error()
        return [made[place] for place in range(len(tasks))]


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong in a task, as its answer: so the answers of the others are known too."""

    kind: type[TidelakeError]
    message: str
    hint: str | None

    def error(self) -> TidelakeError:
        return self.kind(self.message, hint=self.hint)


def _eager(
    local: LocalEngine, doing: str, tasks: Sequence[Any], do: Callable[[Workbench, Any], object]
) -> _Run:
    """Does the pieces of work whose numbers come to a task; each is told by its number."""

    def answer(piece: bytes) -> object:
        with one_thread(local, doing) as work:
            return do(work, pickle.loads(piece))

    return _of_pieces(tasks, answer)


def _patient(
    local: LocalEngine, doing: str, tasks: Sequence[Any], do: Callable[[Workbench, Any], object]
) -> _Run:
    """The same, and a `Failure` is an answer like any other; unless a second attempt may help,
    which Spark then makes."""

    def answer(piece: bytes) -> object:
        try:
            with at_work(local, doing) as work:
                return do(work, pickle.loads(piece))
        except Unavailable as error:
            said = refusal(error.message, error.hint or "")
            raise Unavailable(said, hint=error.hint) from error
        except TidelakeError as error:
            return Failure(type(error), error.message, error.hint)

    return _of_pieces(tasks, answer)


def _of_pieces(tasks: Sequence[Any], answer: Callable[[bytes], object]) -> _Run:
    pieces = [pickle.dumps(task) for task in tasks]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield told_by_task([(number, answer(pieces[number]))])

    return run
