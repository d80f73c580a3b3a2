"""The page. This one says where to look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tidelake.lake.lake import Lake


def application(
    lake_for: Callable[[Request], Lake], *, writable: bool, middleware: Sequence[Any] = ()
) -> Starlette:
    def home(request: Request) -> PlainTextResponse:
        names = "\n".join(lake_for(request).tables())
        return PlainTextResponse(f"{names}\n{'writable' if writable else 'read only'}\n")

    return Starlette(routes=[Route("/", home)], middleware=list(middleware))
