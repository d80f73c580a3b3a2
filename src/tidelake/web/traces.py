"""Spans of OpenTelemetry, where its API is installed; otherwise nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

from tidelake.web.access import Visitor


class Asker(Protocol):
    @property
    def visitor(self) -> Visitor: ...

    @property
    def request(self) -> str: ...


def _tracer() -> Any:
    if find_spec("opentelemetry") is None:
        return None
    from opentelemetry import trace

    return trace.get_tracer("tidelake")


@contextmanager
def span(name: str, asker: Asker) -> Iterator[None]:
    """What is done inside is one span: who asked, and the request's id, and no SQL."""
    tracer = _tracer()
    if tracer is None:
        yield
        return
    facts = {"tidelake.visitor": asker.visitor.name, "tidelake.request": asker.request}
    if asker.visitor.tenant is not None:
        facts["tidelake.tenant"] = asker.visitor.tenant
    with tracer.start_as_current_span(f"tidelake.{name}", attributes=facts):
        yield
