"""The page as an application: its routes, and what is said when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tidelake.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    TidelakeError,
    Unavailable,
)
from tidelake.web.guard import Guard
from tidelake.web.pages import activity, clocks, coverage, files, history, lake, remedies, sql
from tidelake.web.site import HERE, Ask, LakeFor, Site, environment
from tidelake.web.state import State

Handler = Callable[[Ask], Response]

_VIEWS: dict[str, Handler] = {
    "/": lake.show,
    "/tables": lake.tables,
    "/signals": lake.health,
    "/clocks": clocks.show,
    "/clocks/plane": clocks.plane,
    "/clocks/answer": clocks.answer,
    "/history": history.show,
    "/history/diff": history.diff,
    "/history/schema": history.schema,
    "/files": files.show,
    "/coverage": coverage.show,
    "/coverage/strips": coverage.strips,
    "/coverage/gaps": coverage.gaps,
    "/sql": sql.show,
    "/sql/names": sql.names,
    "/activity": activity.show,
}
_ACTIONS: dict[str, Callable[[Ask, dict[str, Any]], Response]] = {
    "/remedy": remedies.run,
    "/history/rollback": history.rollback,
    "/sql/run": sql.run,
    "/sql/plan": sql.plan,
    "/sql/cancel": sql.cancel,
    "/sql/export": sql.export,
    "/sql/code": sql.code,
    "/activity/verify": activity.verify,
}
_STATUS: tuple[tuple[type[TidelakeError], int], ...] = (
    (NotFound, 404),
    (Denied, 403),
    (Conflict, 409),
    (Unavailable, 503),
    (Corrupt, 500),
    (Invalid, 400),
)
_MOST_FIELDS = 100
_OURS = "This is a mistake in Tidelake, not in the lake. Nothing was changed by looking."


def application(
    lake_for: LakeFor, *, writable: bool, middleware: Sequence[Middleware] = ()
) -> Starlette:
    """The page over the lakes that requests are about. What may change a lake is refused unless it
    is `writable`. `middleware` stands before all of it."""
    site = Site(lake_for, writable)
    routes = [
        *(Route(path, partial(_view, site, handler)) for path, handler in _VIEWS.items()),
        *(
            Route(path, _action(site, handler), methods=["POST"])
            for path, handler in _ACTIONS.items()
        ),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    return Starlette(
        routes=routes,
        middleware=[*middleware, Middleware(Guard)],
        exception_handlers={
            TidelakeError: partial(_told, site),
            404: partial(_nowhere, site),
            Exception: partial(_broken, site),
        },
    )


def _view(site: Site, handler: Handler, request: Request) -> Response:
    return handler(_ask(site, request))


def _action(site: Site, handler: Callable[[Ask, dict[str, Any]], Response]) -> Any:
    async def act(request: Request) -> Response:
        given = await _given(request)
        return await run_in_threadpool(lambda: handler(_ask(site, request), given))

    return act


async def _given(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            found = await request.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Invalid("the request is no JSON object", hint="load the page again")
        return found
    try:
        form = parse_qs((await request.body()).decode(), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Invalid("the request is no form", hint="load the page again") from None
    return {name: values[-1] for name, values in form.items()}


def _ask(site: Site, request: Request) -> Ask:
    return Ask(request, site, site.lake_for(request), State.of(request.query_params))


def _told(site: Site, request: Request, error: Exception) -> Response:
    """An error of ours: what, where, and what next."""
    assert isinstance(error, TidelakeError)
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    return _problem(site, request, status, error.message, error.hint)


def _nowhere(site: Site, request: Request, _: Exception) -> Response:
    return _problem(
        site, request, 404, f"there is no page {request.url.path}", "go to the lake's first page"
    )


def _broken(site: Site, request: Request, error: Exception) -> Response:
    return _problem(site, request, 500, f"{type(error).__name__} where none was expected", _OURS)


def _problem(site: Site, request: Request, status: int, message: str, hint: str | None) -> Response:
    """As those want it who asked: as JSON, as a part of a page, or as one."""
    wanted = request.headers.get("accept", "")
    if "text/html" not in wanted:
        return JSONResponse({"error": {"message": message, "hint": hint}}, status)
    part = request.headers.get("x-part") == "1"
    text = (
        environment()
        .get_template("problem_part.html" if part else "problem.html")
        .render(
            status=status,
            message=message,
            hint=hint,
            root=request.scope.get("root_path", ""),
            writable=site.writable,
        )
    )
    return HTMLResponse(text, status)
