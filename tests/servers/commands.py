"""The command `tidelake`, begun quickly: a process that has imported all of it forks for each call.

For pages with many commands, where starting Python takes longer than what they do. Each is still a
process of its own, with its own arguments, folder, environment, input and output.
"""

import json
import os
import pkgutil
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path

from tests.servers.process import ServerProcess, server_folder

_CALL = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(call).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(call)
    sys.exit(int(server.recv(8) or 70))
"""
_LEFT_OUT = {"spark", "testing", "__main__"}


class Commands:
    """`folder` has a `tidelake` in it that behaves as the real one."""

    def __init__(self) -> None:
        self.folder = server_folder("commands")
        address = self.folder / "socket"
        self._process = ServerProcess(
            [sys.executable, "-m", "tests.servers.commands", address],
            log=self.folder / "log",
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        self._process.wait_until(address.exists)
        call = self.folder / "tidelake"
        call.write_text(_CALL.format(python=sys.executable, address=str(address)))
        call.chmod(0o755)

    def stop(self) -> None:
        self._process.stop()


def _serve(address: Path) -> None:
    _import_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.new")
        server.listen()
        address.with_name("socket.new").rename(address)
        while True:
            caller, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _answer(caller)
            caller.close()


def _import_all() -> None:
    """All that commands import, but nothing that starts a thread or opens a file."""
    import tidelake

    found = pkgutil.walk_packages(tidelake.__path__, "tidelake.")
    ours = [each.name for each in found if not _LEFT_OUT & set(each.name.split("."))]
    for name in ("duckdb", "pandas", "pyarrow.parquet", *ours):
        import_module(name)


def _answer(caller: socket.socket) -> None:
    """Run a command as the caller would, in this process, which ends with it."""
    size, standard, _, _ = socket.recv_fds(caller, 4, 3)
    call = b""
    while len(call) < int.from_bytes(size, "big"):
        call += caller.recv(65536)
    arguments, folder, environment = json.loads(call)
    for number, given in enumerate(standard):
        os.dup2(given, number)
        os.close(given)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = _run(arguments)
    caller.sendall(str(code).encode())
    os._exit(code)


def _run(arguments: list[str]) -> int:
    from tidelake.cli import main

    sys.argv = ["tidelake", *arguments]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        for output in (sys.stdout, sys.stderr):
            output.flush()
    return 0


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
