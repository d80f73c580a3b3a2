"""Something that is done in a process forked from this one, which must answer in time."""

import os
import pickle
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

SECONDS = 60


def in_child(job: Callable[[], Any]) -> Any:
    """What the job returns in a forked process; what it raises is raised here."""
    return started(job)()


def started(job: Callable[[], Any]) -> Callable[[], Any]:
    """The process has begun; what this gives waits for its answer."""
    receiver, sender = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        receiver.close()
        _answer(job, sender)
    sender.close()
    return lambda: _received(pid, receiver)


def _answer(job: Callable[[], Any], sender: Connection) -> None:
    try:
        try:
            sender.send((True, job()))
        except Exception as error:
            sender.send((False, _sendable(error)))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(repr(error))
    return error


def _received(pid: int, receiver: Connection) -> Any:
    try:
        if not receiver.poll(SECONDS):
            os.kill(pid, 9)
            raise TimeoutError(f"the child hangs for {SECONDS} s")
        done, answer = receiver.recv()
    finally:
        os.waitpid(pid, 0)
        receiver.close()
    if not done:
        raise answer
    return answer
