"""Small lakes, and the page over them, asked as a browser asks it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.middleware import Middleware
from starlette.testclient import TestClient

import tidelake
from tests.web.market import make
from tidelake.testing.place import Place
from tidelake.web.app import application
from tidelake.web.guard import LoopbackOnly

DAYS = 8


class Browser:
    """Asks the page of a lake, and gives back what it posts the token it was given."""

    def __init__(
        self, lake: tidelake.Lake, *, writable: bool = False, lake_for: Any = None
    ) -> None:
        app = application(
            lake_for or (lambda _: lake),
            writable=writable,
            middleware=[Middleware(LoopbackOnly)],
        )
        self.client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        self.lake = lake

    def get(self, path: str, status: int = 200, **query: Any) -> str:
        answer = self.client.get(path, params=query or None, headers={"accept": "text/html"})
        assert answer.status_code == status, answer.text
        return answer.text

    def json(self, path: str, status: int = 200, **query: Any) -> Any:
        answer = self.client.get(path, params=query or None, headers={"accept": "application/json"})
        assert answer.status_code == status, answer.text
        return answer.json()

    @property
    def token(self) -> str:
        found = re.search(r'name="csrf" content="([^"]+)"', self.get("/sql"))
        assert found is not None
        return found[1]

    def post(self, path: str, status: int = 200, **body: Any) -> Any:
        answer = self.client.post(path, json=body, headers={"x-csrf-token": self.token})
        assert answer.status_code == status, answer.text
        return answer

    def run(self, sql: str, **more: Any) -> list[dict[str, Any]]:
        """The lines that tell of a query."""
        text = self.post("/sql/run", sql=sql, **more).text
        return [json.loads(line) for line in text.splitlines()]


def cells(html: str) -> list[list[str]]:
    """The rows of the first grid of a page."""
    body = html.split('class="grid"', 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    plain = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in plain]


@pytest.fixture(scope="package")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tidelake.Lake]:
    """A lake that nobody changes."""
    with make(Place.at("sqlite", tmp_path_factory.mktemp("market")), DAYS) as lake:
        yield lake


@pytest.fixture(scope="package")
def browser(market: tidelake.Lake) -> Browser:
    return Browser(market)
