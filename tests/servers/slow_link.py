"""A way to a server over which every byte takes a while, as if it were far away.

A process of its own, so that what waits for it does not hold it up: `python -m
tests.servers.slow_link PORT MILLISECONDS` prints the port that it listens on.
"""

import asyncio
import subprocess
import sys
from contextlib import suppress

from tests.servers.process import LOOPBACK

_AT_ONCE = 256 * 1024


class SlowLink:
    """In front of the server on a port of loopback. Answers come `milliseconds` late; how much is
    under way at once is not limited."""

    def __init__(self, port: int, milliseconds: int) -> None:
        command = [sys.executable, "-m", __name__, str(port), str(milliseconds)]
        self._child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._child.stdout is not None
        self.port = int(self._child.stdout.readline())

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def close(self) -> None:
        self._child.kill()
        self._child.communicate()


async def _serve(port: int, late: float) -> None:
    async def through(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, there = await asyncio.open_connection(LOOPBACK, port)
        await asyncio.gather(_carry(near, there, 0), _carry(far, back, late))

    server = await asyncio.start_server(through, LOOPBACK, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter, late: float) -> None:
    """What is read leaves when its time has come, however much is read meanwhile."""
    clock = asyncio.get_running_loop().time
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        while some := await source.read(_AT_ONCE):
            queue.put_nowait((clock() + late, some))
        queue.put_nowait((clock() + late, b""))

    reading = asyncio.ensure_future(read())
    with suppress(ConnectionError):
        while (due := await queue.get())[1]:
            await asyncio.sleep(max(0.0, due[0] - clock()))
            target.write(due[1])
            await target.drain()
    with suppress(ConnectionError):
        await reading
    target.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]) / 1000))
