"""The service over HTTP: its guards, its metrics, its beginning and its end."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest
from adbc_driver_flightsql import dbapi
from starlette.testclient import TestClient

import tidelake
from tests.web.serving import rows_of, running
from tidelake.testing.place import Place
from tidelake.web.limits import Limits
from tidelake.web.request_checks import Bounds
from tidelake.web.serve import Service


@pytest.fixture
def place(tmp_path) -> Place:
    return Place.at("sqlite", tmp_path)


@pytest.fixture
def http(place):
    with running(place) as service:
        yield TestClient(service.asgi(), base_url="http://127.0.0.1:8080")


def test_a_browser_is_told_what_it_may_do(http):
    for path in ("/", "/health", "/metrics", "/nothing"):
        headers = http.get(path).headers
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-request-id"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "a b", "x:y:z"])
def test_a_name_that_leads_here_by_a_trick_is_refused(http, host):
    assert http.get("/health", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"origin": "http://evil.example"}, "from another site"),
        ({"origin": "null"}, "from another site"),
        ({"origin": "http://127.0.0.1:9999"}, "from another site"),
        ({"sec-fetch-site": "cross-site"}, "from another site"),
        ({"origin": "http://127.0.0.1:8080", "sec-fetch-site": "same-origin"}, "no token"),
        ({}, "no token"),
    ],
)
def test_another_site_cannot_change_anything(http, headers, words):
    answer = http.post("/sql/run", headers=headers)
    assert answer.status_code == 403
    assert words in answer.text


def test_too_much_is_refused(http):
    assert http.post("/", content=b"x" * (9 * 1024**2)).status_code == 413
    assert http.post("/", headers={"content-length": "-1"}).status_code == 413


async def _reads_all(scope, receive, send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.mark.slow
def test_a_body_without_an_end_is_cut_off():
    def endless():
        for _ in range(10_000):
            yield b"x" * 65536

    http = TestClient(Bounds(_reads_all, Limits(request_bytes=100_000)))
    assert http.post("/", content=endless()).status_code == 413
    assert http.post("/", content=iter([b"x" * 1000])).status_code == 200
    assert TestClient(Bounds(_reads_all, Limits(requests=0))).get("/").status_code == 503


async def _never(scope, receive, send) -> None:
    import asyncio

    await asyncio.sleep(60)


def test_what_takes_too_long_is_given_up():
    assert TestClient(Bounds(_never, Limits(request_s=0.05))).get("/").status_code == 504


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd"])
def test_paths_lead_nowhere(http, path):
    found = http.get(path)
    assert found.status_code in (200, 307, 404)
    assert "root:" not in found.text


def test_metrics_tell_what_the_lake_does(place):
    with running(place) as service:
        lake = service.lakes.whole
        lake.create_table("m", "a BIGINT").append([{"a": 1}, {"a": 2}])
        lake.mirror("m")
        lake.create_table(
            "s",
            "k VARCHAR, ts TIMESTAMP",
            entity=["k"],
            event_time="ts",
            bucket="1m",
        ).append([{"k": "x", "ts": f"2024-01-01 00:0{n}:00"} for n in (0, 1, 3)])
        with lake.consumer("follower"):
            pass
        rows_of(service, "SELECT * FROM m")
        rows_of(service, "INSERT INTO m VALUES (3)")
        tx = lake.transaction()
        tx.table("m").delete("a = 1")
        lake.table("m").delete("a = 1")
        with pytest.raises(tidelake.errors.Conflict):
            tx.commit()
        text = TestClient(service.asgi(), base_url="http://localhost").get("/metrics").text
    told = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(told["tidelake_commits_total"]) >= 5
    assert float(told["tidelake_rows_written_total"]) >= 7
    assert told["tidelake_commit_conflicts_total"] == "1.0"
    assert told['tidelake_mirror_behind{kind="delta",table="main.m"}'] == "0.0"
    assert told['tidelake_coverage_ratio{table="main.s"}'] == "0.75"
    assert float(told['tidelake_consumer_lag{consumer="follower"}']) > 0
    assert float(told['tidelake_flight_calls_total{method="do_get",outcome="ok"}']) >= 2
    assert float(told["tidelake_flight_sent_bytes_total"]) >= 16
    assert 'tidelake_cache_hits_total{cache="plans"}' in told


@pytest.mark.slow
def test_a_query_is_a_span_where_opentelemetry_is_installed(place):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    with running(place) as service:
        rows_of(service, "SELECT 'secret' AS x", headers={"x_request_id": "r-7"})
    spans = {each.name: dict(each.attributes) for each in kept.get_finished_spans()}
    assert spans["tidelake.plan"]["tidelake.request"] == "r-7"
    assert "tidelake.read" in spans
    assert "secret" not in str(spans)


@contextmanager
def answering(service: Service) -> Iterator[int]:
    """The port at which a service answers HTTP, in a thread of its own."""
    thread = Thread(target=service.http.run)
    thread.start()
    try:
        while not service.http.started:
            time.sleep(0.02)
        yield service.http.servers[0].sockets[0].getsockname()[1]
    finally:
        service.http.should_exit = True
        thread.join()


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        pytest.param(b"", marks=pytest.mark.slow),
        pytest.param(b"\r\n" * 10, marks=pytest.mark.slow),
    ],
)
def test_whoever_does_not_say_what_they_want_is_hung_up_on(place, begun):
    with running(place, Limits(header_s=1.0)) as service, answering(service) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            slow.sendall(begun)
            assert b"200 OK" not in slow.recv(65536)
        with socket.create_connection(("127.0.0.1", port), timeout=30) as quick:
            for _ in range(2):
                quick.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                said = b""
                while b"snapshot" not in said:
                    said += quick.recv(65536)
                assert b"200 OK" in said
            quick.sendall(b"GET /hea")
            while quick.recv(65536):
                pass


def test_headers_that_are_too_long_or_broken_are_refused(place):
    with running(place) as service, answering(service) as port:
        for sent in (b"x" * 200_000, b"Host: a\r\nHost: b\r\n\r\n", b"A: \x00\r\n\r\n"):
            raw = socket.create_connection(("127.0.0.1", port), timeout=30)
            with raw, suppress(ConnectionError):
                raw.sendall(b"GET / HTTP/1.1\r\n" + sent)
                said = raw.recv(65536)
                assert b" 4" in said.split(b"\r\n")[0]


def test_tls(place, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    making = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*making, *files], check=True, capture_output=True)
    said = {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}
    with running(place, **said) as service, answering(service) as port:
        url = f"grpc+tls://localhost:{service.flight.port}"
        trust = (tmp_path / "cert.pem").read_text()
        options = {"adbc.flight.sql.client_option.tls_root_certs": trust}
        with (
            dbapi.connect(url, db_kwargs=options, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT 1 AS x")
            assert cursor.fetchall() == [(1,)]
        context = ssl.create_default_context(cadata=trust)
        with urlopen(f"https://localhost:{port}/health", context=context) as answer:
            assert json.load(answer)["status"] == "ok"


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return found


def start(place: Place, *options: str, folder: Path | None = None) -> subprocess.Popen[str]:
    """`tidelake serve` in a process of its own; it has said where it is."""
    command = [sys.executable, "-m", "tidelake", "--catalog", place.url, "--json", "serve"]
    return subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder or place.folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def said_by(server: subprocess.Popen[str]) -> dict[str, str]:
    lines = []
    while line := server.stdout.readline():
        lines.append(line)
        if line.rstrip() == "}":
            break
    return json.loads("".join(lines))


def test_a_server_begins_and_ends(place):
    with tidelake.connect(place.url, str(place.data)) as lake:
        lake.create_table("t", "a BIGINT").append([{"a": 1}])
    port, flight = free_ports(2)
    server = start(place, "--port", str(port), "--flight-port", str(flight), "--role", "read")
    try:
        assert said_by(server)["flight"] == f"grpc://127.0.0.1:{flight}"
        with (
            dbapi.connect(f"grpc://127.0.0.1:{flight}", autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT a FROM t")
            assert cursor.fetchall() == [(1,)]
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.wait()


def test_a_server_that_would_be_open_to_all_does_not_begin(place):
    with tidelake.connect(place.url, str(place.data)):
        pass
    server = start(place, "--host", "0.0.0.0", "--port", "1", "--flight-port", "1")
    assert server.wait(60) == 1
