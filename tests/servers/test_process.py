import os
import signal
import subprocess
import sys
import textwrap

import psutil
import pytest

from tests.servers.process import ServerProcess, StartFailed


def test_a_server_that_ends_at_once_shows_its_log(tmp_path):
    process = ServerProcess(["sh", "-c", "echo no tide; exit 3"], log=tmp_path / "log")
    with pytest.raises(StartFailed, match="no tide"):
        process.wait_until(lambda: False, seconds=10)


def test_stop_takes_the_whole_family(tmp_path):
    process = ServerProcess(["sh", "-c", "sleep 300 & sleep 300"], log=tmp_path / "log")
    process.wait_until(lambda: len(psutil.Process(process.pid).children()) == 2)
    family = psutil.Process(process.pid).children()
    process.stop()
    process.stop()
    _, alive = psutil.wait_procs(family, timeout=120)
    assert alive == []


def test_a_server_dies_with_a_killed_test_run(tmp_path):
    code = f"""
        import time
        from pathlib import Path
        from tests.servers.process import ServerProcess
        print(ServerProcess(["sleep", "300"], log=Path({str(tmp_path / "log")!r})).pid, flush=True)
        time.sleep(300)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=with_this_path()) as run:
        server = psutil.Process(int(run.stdout.readline()))
        run.send_signal(signal.SIGKILL)
    assert psutil.wait_procs([server], timeout=120)[1] == []


def with_this_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
