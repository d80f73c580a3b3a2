"""`python -m docs.api`: the reference of the Python API, from docstrings and examples."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tidelake
from docs import api_examples
from tidelake.lake.transaction import Transaction
from tidelake.sql.query import Query

PAGE = Path(__file__).with_name("api.md")
INTRODUCTION = """# Python API

This page is made from the docstrings: `python -m docs.api` makes it anew. Every example runs in
the tests; `lake` is a lake, `t` its table `prices`, `s` a scan of it, and `new` a list of rows.

All of it is typed, for mypy and for the completion of editors. Names from other libraries
(`t.filter(…)`, `lake.list_tables()`, `scan(limit=…)`) are errors that say what it is called here.

Writes take `once`, `expected`, `author` and `message`: see
[jobs that run again](writing.md#jobs-that-run-again).
"""


OWN = {
    tidelake.Lake: api_examples.LAKE,
    tidelake.Calendar: api_examples.CALENDAR,
    tidelake.Coverage: api_examples.COVERAGE,
}
FACES = (tidelake.Lake, tidelake.Table, tidelake.Scan, tidelake.Calendar, tidelake.Coverage)
"""What is told of member by member."""
INNER = {tidelake.Calendar: {"check_fits", "expected", "rule"}}
"""For features of Tidelake, not for callers."""


def members(face: type) -> list[str]:
    found = [name for name, _ in inspect.getmembers(face) if not name.startswith("_")]
    return [name for name in found if name not in INNER.get(face, ())]


def examples(face: type) -> Mapping[str, str]:
    if face in OWN:
        return OWN[face]
    rows = api_examples.ROWS | api_examples.SCAN
    if face is tidelake.Table:
        as_table = {name: text.replace("s.", "t.") for name, text in api_examples.ROWS.items()}
        return as_table | api_examples.TABLE
    return rows if face is tidelake.Scan else {}


def page() -> str:
    parts = [INTRODUCTION, *_functions()]
    for face in FACES:
        parts += _face(face)
    parts += _short(Query, "Query", "What `lake.sql` gives for a SELECT. ")
    parts += _short(Transaction, "Transaction", "What `lake.transaction()` gives. ")
    for name in tidelake.__all__:
        thing = getattr(tidelake, name)
        if inspect.isclass(thing) and thing not in FACES:
            parts += _short(thing, name, "")
    return "\n".join(parts).rstrip() + "\n"


def _functions() -> Iterator[str]:
    yield "## Functions\n"
    for name in tidelake.__all__:
        thing = getattr(tidelake, name)
        if inspect.isfunction(thing):
            yield f"### tidelake.{name}\n"
            yield from _told(name, thing, api_examples.FUNCTIONS[name])


def _face(face: type) -> Iterator[str]:
    yield f"## {face.__name__}\n\n{_text(face)}\n"
    known = examples(face)
    for name in members(face):
        yield f"### {face.__name__}.{name}\n"
        yield from _told(name, inspect.getattr_static(face, name), known.get(name))


def _short(thing: type, name: str, lead: str) -> Iterator[str]:
    yield f"## {name}\n\n{lead}{_text(thing)}\n"
    yield f"```py\n{textwrap.dedent(api_examples.FUNCTIONS[name]).strip()}\n```\n"
    own = ", ".join(f"`{each}`" for each in members(thing))
    if own and not issubclass(thing, Transaction):
        yield f"It has {own}.\n"


def _told(name: str, thing: Any, example: str | None) -> Iterator[str]:
    if isinstance(thing, property):
        yield f"*a property*\n\n{_text(thing)}\n"
    else:
        yield f"```py\n{name}{_signature(thing)}\n```\n\n{_text(thing)}\n"
    if example is not None:
        yield f"```py\n{textwrap.dedent(example).strip()}\n```\n"


def _signature(thing: Any) -> str:
    function = getattr(thing, "__func__", thing)
    given = inspect.signature(function)
    own = [each for each in given.parameters.values() if each.name not in ("self", "cls")]
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", _laid_out(given.replace(parameters=own)))


def _laid_out(given: inspect.Signature) -> str:
    """On one line, or if that is long with a line for each parameter."""
    line = str(given)
    if len(line) <= 76:
        return line
    inside = "".join(f"    {each},\n" for each in _parameters(given))
    bare = str(given.replace(return_annotation=inspect.Signature.empty))
    return f"(\n{inside}){line.removeprefix(bare)}"


def _parameters(given: inspect.Signature) -> Iterator[str]:
    """As they are written, with the star before the first one that needs its name."""
    starred = False
    for each in given.parameters.values():
        starred |= each.kind is each.VAR_POSITIONAL
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(each)


def _text(thing: Any) -> str:
    """As Markdown, in which indented lines would be code."""
    return inspect.getdoc(thing) or ""


if __name__ == "__main__":
    PAGE.write_text(page())
