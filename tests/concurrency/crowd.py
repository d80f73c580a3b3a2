"""Work that several real processes do at the same time, and processes that get killed."""

import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tidelake.lake.transaction", "duckdb", "psycopg", "sqlalchemy"])

Job = Callable[[], Any]


def together(*jobs: Job, seconds: float = 200) -> list[Any]:
    """What each job returns. They start at the same moment, each in a process of its own, and
    an error in any of them is an error here."""
    gate = _CONTEXT.Barrier(len(jobs))
    ends = [_CONTEXT.Pipe(duplex=False) for _ in jobs]
    processes = [
        _started(_answer, job, gate, sender) for job, (_, sender) in zip(jobs, ends, strict=True)
    ]
    try:
        answers = [_received(receiver, seconds) for receiver, _ in ends]
    finally:
        for process in processes:
            process.kill()
    failures = [answer for done, answer in answers if not done]
    assert not failures, "\n".join(failures)
    return [answer for _, answer in answers]


def start(job: Job) -> BaseProcess:
    """A process that does the job, unless it is killed before."""
    return _started(_plain, job)


def _started(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = _CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def _received(receiver: Connection, seconds: float) -> tuple[bool, Any]:
    if not receiver.poll(seconds):
        return False, f"no answer within {seconds} s"
    answer: tuple[bool, Any] = receiver.recv()
    return answer


def _plain(job: Job) -> None:
    job()


def _answer(job: Job, gate: Any, sender: Connection) -> None:
    gate.wait(60)
    try:
        sender.send((True, job()))
    except BaseException:
        sender.send((False, traceback.format_exc()))


def shares(count: int, parts: int) -> Sequence[range]:
    """The numbers below `count`, in equal shares."""
    return [range(start, count, parts) for start in range(parts)]
