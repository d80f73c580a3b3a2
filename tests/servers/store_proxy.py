"""Ways to a store's server that answer some requests otherwise than it would."""

import http.client
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from random import Random
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.servers.process import LOOPBACK

Request = BaseHTTPRequestHandler

_BUSY = (
    b'<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message>'
    b"</Error>"
)
_OF_ONE_HOP = {"connection", "transfer-encoding", "content-length"}


class StoreProxy(ABC):
    """In front of the server at `endpoint`, on loopback. Requests that are signed must keep the
    address that they were signed for (`keeps_host`)."""

    keeps_host = True

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def parse_request(self) -> bool:
                """Whatever is asked, the answer is the proxy's."""
                if super().parse_request():
                    length = int(self.headers.get("content-length") or 0)
                    proxy.answer(self, self.rfile.read(length))
                return False

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @abstractmethod
    def answer(self, request: Request, body: bytes) -> None: ...

    def forward(self, request: Request, body: bytes, *, cut: bool = False) -> None:
        """As it came; `cut`: half of the answer."""
        headers = dict(request.headers.items())
        if not self.keeps_host:
            headers = {name: value for name, value in headers.items() if name.lower() != "host"}
        status, found, data = self.ask(request.command, request.path, headers, body)
        if request.command == "HEAD":
            found = {**found, "content-length": found.get("Content-Length", "0")}
        reply(request, status, found, data, cut=cut)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        there = http.client.HTTPConnection(urlsplit(self.endpoint).netloc, timeout=60)
        named = {name.lower() for name in headers}
        there.putrequest(
            method, path, skip_host="host" in named, skip_accept_encoding="accept-encoding" in named
        )
        for name, value in headers.items():
            there.putheader(name, value)
        there.endheaders(body)
        found = there.getresponse()
        data = found.read()
        there.close()
        return found.status, dict(found.getheaders()), data


def reply(
    request: Request, status: int, headers: Mapping[str, str], data: bytes, *, cut: bool = False
) -> None:
    request.send_response_only(status)
    has_body = request.command != "HEAD"
    for name, value in headers.items():
        if name.lower() not in _OF_ONE_HOP or (not has_body and name == "content-length"):
            request.send_header(name, value)
    if has_body:
        request.send_header("content-length", str(len(data)))
    request.end_headers()
    if has_body:
        request.wfile.write(data[: len(data) // 2] if cut else data)
    if cut:
        request.close_connection = True


class WeakStore(StoreProxy):
    """A store that fails as stores do. `fault` is asked for each request, by its method: "busy"
    answers 503, "error" 500, "cut" breaks off in the middle of the answer, "" passes it on."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.fault: Callable[[str], str] = lambda _: ""
        self.faults: list[str] = []

    def answer(self, request: Request, body: bytes) -> None:
        fault = self.fault(request.command)
        if fault:
            self.faults.append(fault)
        if fault in ("busy", "error"):
            reply(request, 503 if fault == "busy" else 500, {}, _BUSY)
        else:
            self.forward(request, body, cut=fault == "cut")


def now_and_then(seed: int, share: float, *faults: str) -> Callable[[str], str]:
    """One of these faults for a share of the requests."""
    chance = Random(seed)
    lock = threading.Lock()

    def fault(_: str) -> str:
        with lock:
            return chance.choice(faults) if chance.random() < share else ""

    return fault


class GoogleUploads(StoreProxy):
    """Uploads by Google's XML API, which fake-gcs-server does not know, as those of its JSON API,
    which it does. All else it does itself."""

    keeps_host = False

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self._numbers = count(1)
        self._parts: dict[str, dict[int, bytes]] = {}

    def answer(self, request: Request, body: bytes) -> None:
        where = urlsplit(request.path)
        asked = parse_qs(where.query, keep_blank_values=True)
        if where.path.startswith(("/storage/", "/upload/", "/batch/")):
            self.forward(request, body)
        elif "uploads" in asked:
            upload = str(next(self._numbers))
            self._parts[upload] = {}
            reply(request, 200, {}, _begun(where.path, upload))
        elif request.command == "PUT" and "partNumber" in asked:
            part = int(asked["partNumber"][0])
            self._parts[asked["uploadId"][0]][part] = body
            reply(request, 200, {"ETag": f'"{part}"'}, b"")
        elif request.command == "POST" and "uploadId" in asked:
            parts = self._parts.pop(asked["uploadId"][0])
            self._put(request, where.path, b"".join(parts[n] for n in sorted(parts)))
        elif request.command == "DELETE" and "uploadId" in asked:
            self._parts.pop(asked["uploadId"][0], None)
            reply(request, 204, {}, b"")
        elif request.command == "PUT":
            self._put(request, where.path, body)
        else:
            self.forward(request, body)

    def _put(self, request: Request, path: str, body: bytes) -> None:
        bucket, _, key = unquote(path).lstrip("/").partition("/")
        wanted = request.headers.get("x-goog-if-generation-match")
        condition = "" if wanted is None else f"&ifGenerationMatch={wanted}"
        to = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(key, safe='')}"
        kind = {"Content-Type": "application/octet-stream", "Content-Length": str(len(body))}
        status, _, data = self.ask("POST", to + condition, kind, body)
        tag = {"ETag": '"done"', "x-goog-generation": "1"} if status == 200 else {}
        reply(request, status, tag, _FINISHED if status == 200 else data)


_FINISHED = (
    b'<?xml version="1.0"?><CompleteMultipartUploadResult><ETag>"done"</ETag>'
    b"</CompleteMultipartUploadResult>"
)


def _begun(path: str, upload: str) -> bytes:
    bucket, _, key = unquote(path).lstrip("/").partition("/")
    return (
        '<?xml version="1.0"?><InitiateMultipartUploadResult>'
        f"<Bucket>{bucket}</Bucket><Key>{quote(key)}</Key><UploadId>{upload}</UploadId>"
        "</InitiateMultipartUploadResult>"
    ).encode()
