"""The reference of the API: nothing public is missing, and every example runs."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import pytest

import tidelake
from docs import api, api_examples

FACES = api.FACES
EXAMPLES = [
    pytest.param(example, id=f"{face.__name__}.{name}")
    for face in FACES
    for name, example in api.examples(face).items()
] + [pytest.param(example, id=name) for name, example in api_examples.FUNCTIONS.items()]


def test_the_page_is_the_one_that_would_be_made() -> None:
    """If not: `python -m docs.api`."""
    assert api.PAGE.read_text() == api.page()


@pytest.mark.parametrize("face", FACES)
def test_every_public_member_has_a_docstring_and_an_example(face: type) -> None:
    undocumented = [name for name in api.members(face) if not inspect.getdoc(getattr(face, name))]
    assert undocumented == []
    assert set(api.members(face)) - set(api.examples(face)) == set()
    assert set(api.examples(face)) - set(api.members(face)) == set()


def test_every_public_name_is_on_the_page() -> None:
    page = api.PAGE.read_text()
    for name in tidelake.__all__:
        if not name.startswith("_") and name != "errors":
            assert getattr(tidelake, name) in FACES or name in api_examples.FUNCTIONS
            assert f"## {name}\n" in page or f"### tidelake.{name}\n" in page, name


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example: str, tmp_path: Path) -> None:
    names = api_examples.names(tmp_path)
    try:
        exec(compile(textwrap.dedent(example).strip(), "example", "exec"), names)
    finally:
        names["lake"].close()
