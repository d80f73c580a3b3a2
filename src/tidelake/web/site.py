"""What all views share: the lake that a request is about, templates, and how numbers look."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from tidelake import __version__
from tidelake.catalog.read import tables as read
from tidelake.errors import Denied
from tidelake.model.settings import PREFIX
from tidelake.session.caches import Memory, Recent
from tidelake.web.code import Where
from tidelake.web.queries import Queries
from tidelake.web.state import State

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

HERE = Path(__file__).parent
NOTHING = "\N{EN DASH}"
MOST_CHOICES = 1000
"""Tables that a list to choose from has."""
LakeFor = Callable[[Request], "Lake"]
Value = TypeVar("Value")


class ViewMemory(Memory):
    """What views have found out, as long as the lake stands still."""

    def __init__(self) -> None:
        self._values: Recent[Any] = Recent()

    def get(self, key: object, make: Callable[[], Value]) -> Value:
        found = self._values.get(repr(key))
        if found is None:
            found = make()
            self._values.keep(repr(key), found)
        kept: Value = found
        return kept

    def forget(self) -> None:
        self._values.clear()


@dataclass(frozen=True)
class Site:
    """A page over lakes. `lake_for` says which lake a request is about; `writable`: whether the
    page may change it."""

    lake_for: LakeFor
    writable: bool
    queries: Queries = field(default_factory=Queries)


@dataclass(frozen=True)
class Ask:
    """A request, the lake that it is about, and what its address says."""

    request: Request
    site: Site
    lake: Lake
    state: State

    @property
    def where(self) -> Where:
        return Where(self.lake.url)

    def check_writable(self) -> None:
        if not self.site.writable:
            raise Denied(
                "this page only looks", hint="start it with `tidelake ui --write` to change things"
            )

    def keep(self, key: object, make: Callable[[], Value]) -> Value:
        """What was found out before, unless the lake has changed since."""
        with self.lake.session.reading() as reader:
            at = self.lake.session.at(reader)
        return self.lake.session.memory(ViewMemory).get((at, key), make)

    def tables_with(self, *settings: str) -> list[str]:
        """The tables that have all of these settings, by name."""
        session = self.lake.session
        with session.reading() as reader:
            at = session.at(reader)
            having = [read.tag_values(reader, at, f"{PREFIX}{each}") for each in settings]
            found = [
                str(session.namespace.inner_table(name))
                for table_id, name in session.view.names(reader, at, "table")
                if all(table_id in each for each in having)
            ]
        return sorted(found)[:MOST_CHOICES]

    def link(self, page: str, /, **changes: Any) -> str:
        """The address of a view, with this state but for the changes."""
        return self.link_to(page, self.state.moved(**changes))

    def link_to(self, page: str, state: State) -> str:
        query = state.query()
        path = f"{self.request.scope.get('root_path', '')}/{quote(page.lstrip('/'))}"
        return f"{path}?{query}" if query else path

    def page(self, template: str, **values: Any) -> Response:
        """A whole page, or if the request wants no more, what is in it."""
        return HTMLResponse(self._rendered(template, values))

    fragment = page

    def json(self, value: object) -> Response:
        return JSONResponse(value)

    def _rendered(self, template: str, values: dict[str, Any]) -> str:
        return (
            environment()
            .get_template(template)
            .render(
                ask=self,
                state=self.state,
                link=self.link,
                writable=self.site.writable,
                csrf=self.request.scope.get("tidelake.csrf", ""),
                version=__version__,
                **values,
            )
        )


@cache
def environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "number": number,
        "size": size,
        "moment": moment,
        "since": since,
        "cell": cell,
        "short": short,
    }
    found.tests["numeric"] = is_numeric
    return found


def is_numeric(kind: str) -> bool:
    """Whether an Arrow type is one of numbers."""
    return kind.startswith(("int", "uint", "float", "double", "decimal", "half"))


def number(value: float | int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def short(value: float | None) -> str:
    """A number with few digits: 1.2 M."""
    if value is None:
        return NOTHING
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            scaled = value / (1e3 if letter == "k" else unit)
            return f"{scaled:.3g} {letter}"
    return f"{value:,}"


def size(value: float | None) -> str:
    """Bytes, as people say them."""
    if value is None:
        return NOTHING
    if value < 1000:
        return f"{value:.0f} B"
    power = min(int(math.log(value, 1000)), 5)
    return f"{value / 1000**power:.3g} {' kMGTP'[power]}B"


def moment(value: datetime | None) -> str:
    return NOTHING if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def since(value: datetime) -> str:
    """How long ago."""
    seconds = max((datetime.now(UTC) - value).total_seconds(), 0)
    for span, words in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= span:
            count = int(seconds // span)
            return f"{count:,} {words.removesuffix('s') if count == 1 else words} ago"
    return "just now"


def cell(value: Any) -> str:
    """One value of a row, on one line."""
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
