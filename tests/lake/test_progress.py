import os
import pty
import subprocess
import sys

_WORK = (
    "from tidelake.session.progress import progress\n"
    "with progress('sweeping', files=3, bytes=3000) as tell:\n"
    "    for _ in range(3):\n"
    "        tell(1, 1000, phase='the floor')\n"
)


def test_silent_where_nobody_watches():
    done = subprocess.run([sys.executable, "-c", _WORK], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_shown_on_a_terminal():
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [sys.executable, "-c", _WORK], stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        assert child.stdout is not None
        assert child.stdout.read() == b""
    assert child.returncode == 0
    assert b"sweeping the floor" in shown
    assert b"3/3" in shown
    assert b"3.0 kB of 3.0 kB" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
