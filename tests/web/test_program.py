"""`tidelake ui`: on this machine alone, and clear about what it lacks."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request

import psutil
import pytest

from tests.cli.conftest import Tidelake
from tidelake.cli import main


def test_the_program_serves_the_lake_on_loopback(place, lake):
    lake.create_table("here", "x INTEGER")
    command = [sys.executable, "-m", "tidelake", "ui", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        [*command, "--catalog", place.url], stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            address = re.search(r"http://\S+", program.stdout.readline())
            assert address is not None
            with urllib.request.urlopen(address[0]) as answer:
                assert "main.here" in answer.read().decode()
            listening = psutil.Process(program.pid).net_connections(kind="inet")
            homes = {each.laddr.ip for each in listening if each.status == "LISTEN"}
            assert homes == {"127.0.0.1"}
        finally:
            program.send_signal(signal.SIGINT)
            program.wait(30)


def test_without_the_extra_it_says_what_to_install(place, lake, monkeypatch):
    import tidelake.model.extras

    monkeypatch.setattr(tidelake.model.extras, "find_spec", lambda _: None)
    told = Tidelake(place.url)("ui", "--no-browser", ok=False)
    assert "pip install 'tidelake[ui]'" in told.output


def test_a_port_that_is_taken_is_told(place, lake):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = Tidelake(place.url)("ui", "--no-browser", "--port", port, ok=False)
    assert "--port" in told.output
    assert main.commands["ui"].help


@pytest.mark.parametrize("option", ["--port", "--flight-port"])
def test_a_port_of_the_service_that_is_taken_is_told_before_any_address(place, lake, option):
    other = {"--port": "--flight-port", "--flight-port": "--port"}[option]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = Tidelake(place.url)("serve", option, port, other, "0", ok=False)
    assert isinstance(told.exception, SystemExit)
    assert "error: cannot listen at" in told.stderr
    assert option in told.stderr
    assert "http://" not in told.stdout
