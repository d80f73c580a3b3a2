"""The documentation can fail: its code runs, its links lead somewhere, each command is in it.

Python blocks of a page run in order, in one empty folder, sharing their names; so do bash blocks
marked `run`. Blocks marked `spark` need a session and run in a test of their own.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cases import every
from tests.servers.commands import Commands
from tests.test_architecture import ORDER
from tidelake.cli import main

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(sys.executable).parent
GUIDES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *GUIDES,
    *sorted((ROOT / "docs").rglob("*.md")),
]
COMMANDS = sorted(main.commands)

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    language: str
    marks: frozenset[str]
    code: str
    place: str

    @property
    def runs(self) -> bool:
        return self.language == "python" or "run" in self.marks


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in _BLOCK.finditer(text):
        language, marks, code = match.groups()
        line = text.count("\n", 0, match.start(3)) + 1
        yield Block(language, frozenset(marks.split()), code, f"{name(page)}:{line}")


def run(block: Block, names: dict[str, Any], commands: Path = SCRIPTS) -> None:
    if block.language == "python":
        exec(compile(block.code, block.place, "exec"), names)
        return
    path = os.pathsep.join([str(commands), str(SCRIPTS), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    command = ["bash", "-e", "-u", "-o", "pipefail", "-c", block.code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}"


def pages_with(mark: str | None) -> list[Path]:
    return [
        page
        for page in PAGES
        if any(b.runs if mark is None else mark in b.marks for b in blocks(page))
    ]


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    monkeypatch.delenv("TIDELAKE_DATA_PATH", raising=False)


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    commands.stop()


@pytest.mark.parametrize("page", pages_with(None), ids=name)
def test_the_code_on_a_page_runs(page, empty_folder, commands):
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.runs and not block.marks & {"spark", "postgresql"}:
            run(block, names, SCRIPTS if name(page) == "README.md" else commands.folder)


@pytest.mark.spark
@pytest.mark.parametrize("page", every(6, pages_with("spark"), map(name, pages_with("spark"))))
def test_the_spark_code_on_a_page_runs(page, empty_folder, spark):
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark}
    for block in blocks(page):
        if block.runs:
            run(block, names)


@pytest.mark.parametrize("page", pages_with("postgresql"), ids=name)
def test_the_postgresql_code_on_a_page_runs(page, empty_folder, postgres_server):
    names: dict[str, Any] = {"__name__": "__main__", "address": postgres_server.new_database()}
    for block in blocks(page):
        if "postgresql" in block.marks:
            run(block, names)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_help_with_an_example(command):
    help_text = main.commands[command].help or ""
    assert "Example:" in help_text
    assert f"tidelake {command}" in help_text.split("Example:")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_stands_on_the_page_with_an_example_that_runs(command):
    page = ROOT / "docs" / "cli.md"
    assert f"\n## tidelake {command}\n" in page.read_text()
    examples = [b.code for b in blocks(page) if b.language == "bash" and b.runs]
    assert any(f"tidelake {command}" in code for code in examples)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_stands_on_the_page(command):
    text = (ROOT / "docs" / "cli.md").read_text()
    found = main.commands[command]
    inside = found.commands.values() if isinstance(found, click.Group) else ()
    for parameter in [each for one in (found, *inside) for each in one.params]:
        if isinstance(parameter, click.Option):
            assert all(option in text for option in parameter.opts if option.startswith("--"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in _LINK.findall(page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name(page)} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{name(page)} links to {target}"


_UNMERGED = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_has_both_sides_of_a_merge(page):
    assert _UNMERGED.findall(page.read_text()) == []


_PATH = re.compile(r"`([\w./-]+)`")


def places(text: str) -> Iterator[str]:
    """What is written as a path: with a slash in it, or ending as a file does."""
    for found in _PATH.findall(text):
        if not found.startswith(("http", ".")) and ("/" in found.strip("/") or found.endswith("/")):
            yield found


@pytest.mark.parametrize(
    "page", [*GUIDES, *sorted((ROOT / "docs" / "design").glob("*.md"))], ids=name
)
def test_paths_on_the_pages_for_developers_exist(page):
    homes = [ROOT, ROOT / "src" / "tidelake", ROOT / "tests"]
    missing = [
        place
        for place in places(page.read_text())
        if place.endswith((".py", ".md", ".txt", "/"))
        and not any((home / place).exists() for home in homes)
    ]
    assert missing == []


def test_every_noun_of_the_architecture_is_where_the_page_says():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = text.split("## The nouns")[1].split("## ")[0].splitlines()[3:]
    for nouns, _, files in (row.strip("| ").split(" | ") for row in rows if row.startswith("|")):
        sources = [(ROOT / "src/tidelake" / path).read_text() for path in places(files)]
        for noun in nouns.split(", "):
            assert any(f"class {noun}" in source for source in sources), noun


def test_the_tree_of_the_architecture_is_that_of_the_source():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tree = text.split("src/tidelake/\n")[1].split("```")[0]
    listed = set(re.findall(r"(?:^  |  )(\w+)/", tree, re.MULTILINE))
    there = {each.parent.name for each in (ROOT / "src" / "tidelake").glob("*/__init__.py")}
    assert there <= listed
    order = text.split("Imports point down: `")[1].split("`")[0]
    floors = [set(re.findall(r"\w+", floor)) for floor in order.split("◂")]
    known = [floor & (there | {"errors", "scratch", "duck"}) for floor in ORDER]
    assert [floor for floor in known if floor] == floors


@pytest.mark.parametrize(("page", "most"), list(zip(GUIDES, (120, 80), strict=True)))
def test_the_pages_for_developers_stay_short(page, most):
    assert page.read_text().count("\n") <= most


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked by."""
    titles = _HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_the_readme_is_short_and_has_one_picture():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 150
    assert text.count("![") == 1


def test_every_page_is_in_the_navigation_of_the_site():
    listed = set(re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {name(page) for page in PAGES}
