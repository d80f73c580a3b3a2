"""Imports point down the rooms, every library has an owner, and the front door stays small.

Imports inside functions count, and so does `import_module("…")` with a literal name. Under
`if TYPE_CHECKING:` the rooms' order still holds, but any third-party library may be named: such an
import never runs, so it costs a user nothing.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tidelake"

_BASE = {"errors", "model", "scratch"}
MAY_IMPORT = {
    "errors": set(),
    "scratch": {"errors"},
    "duck": {"scratch"},
    "model": {"errors"},
    "store": _BASE,
    "catalog": _BASE | {"duck"},
    "syntax": {"errors", "duck"},
    "plan": _BASE | {"syntax"},
    "engine": _BASE | {"duck", "store", "plan"},
    "mirror": _BASE | {"store", "catalog"},
    "session": _BASE | {"store", "catalog", "plan", "engine", "mirror", "syntax"},
    "cli": _BASE | {"session", "tidelake"},
    "web": _BASE | {"session", "tidelake"},
    "spark_source": _BASE | {"session", "tidelake"},
    "testing": _BASE | {"duck", "session", "tidelake"},
    "tidelake": _BASE | {"session"},
}

OWNERS = {
    "click": {"cli"},
    "duckdb": {"catalog", "duck", "engine", "testing"},
    "obstore": {"store"},
    "pandas": {"engine"},
    "polars": {"engine"},
    "psycopg": {"catalog"},
    "pyarrow": {"engine"},
    "pymysql": {"catalog"},
    "pyroaring": {"model"},
    "pyspark": {"engine/spark"},
    "rich": {"cli", "session/progress", "session/strip_terminal"},
    "sqlalchemy": {"catalog"},
    "sqlglot": {"engine", "plan", "session"},
    "sqlite3": {"catalog"},
}

OWNERS_OF_DUCKDB = "catalog, duck, engine, testing"

PUBLIC = [
    "Calendar",
    "Coverage",
    "Interval",
    "Lake",
    "Scan",
    "Snapshot",
    "Table",
    "__version__",
    "asof_join",
    "col",
    "connect",
    "errors",
    "import_delta",
    "is_compatible",
    "lit",
]

NOT_AT_IMPORT = {"duckdb", "pandas", "polars", "pyarrow", "pyspark", "sqlalchemy", "sqlglot"}


@dataclass(frozen=True)
class Import:
    name: str
    line: int
    typing_only: bool


def module_name(path: Path) -> str:
    parts = ("tidelake", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts)


def room_of(module: str) -> str:
    """`tidelake.model.schema` is in model; `tidelake` itself, and its names, in tidelake."""
    name = module.split(".")[1] if "." in module else ""
    if name == "__main__":
        return "cli"
    return name if name in MAY_IMPORT else "tidelake"


def imports_of(source: str, module: str) -> Iterator[Import]:
    tree = ast.parse(source)
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        for name in names_in(node, module):
            yield Import(name, node.lineno, id(node) in typing_only)


def names_in(node: ast.AST, module: str) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [each.name for each in names]
        case ast.ImportFrom(module=target, names=names, level=level):
            start = module.split(".")[:-level] if level else []
            base = ".".join([*start, *([target] if target else [])])
            return [f"{base}.{each.name}" for each in names] if base == "tidelake" else [base]
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
            dynamic = ast.unparse(function).endswith(("import_module", "__import__"))
            return [name] if dynamic else []
    return []


def violations(source: str, module: str) -> list[str]:
    return [
        f"{module}:{each.line} {problem}"
        for each in imports_of(source, module)
        if (problem := problem_with(each, module))
    ]


def problem_with(found: Import, module: str) -> str | None:
    here, top = room_of(module), found.name.split(".")[0]
    if top == "tidelake":
        there = room_of(found.name)
        allowed = there == here or there in MAY_IMPORT[here]
        return None if allowed else f"{here} may not import {there}"
    if found.typing_only or (top in sys.stdlib_module_names and top not in OWNERS):
        return None
    if top not in OWNERS:
        return f"{top} has no owner: give it one in OWNERS"
    inside = module.removeprefix("tidelake.").replace(".", "/")
    if any(here == owner or ("/" in owner and inside.startswith(owner)) for owner in OWNERS[top]):
        return None
    return f"{top} belongs to {', '.join(sorted(OWNERS[top]))}"


def test_imports_point_down_and_libraries_stay_with_their_owners():
    found = [
        problem
        for path in sorted(SOURCE.rglob("*.py"))
        for problem in violations(path.read_text(), module_name(path))
    ]
    assert found == []


def test_every_room_is_known():
    rooms = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}
    assert {Path(room).stem for room in rooms} - {"__init__", "__main__"} <= set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("model.schema", "from tidelake.catalog import x", "model may not import catalog"),
        ("store.files", "from tidelake.plan.prune import x", "store may not import plan"),
        ("engine.local", "def f():\n import tidelake.session", "engine may not import session"),
        ("engine.local", "from ..catalog import x", "engine may not import catalog"),
        ("engine.local", "from .. import catalog", "engine may not import catalog"),
        ("session.lake", "from tidelake import connect", "session may not import tidelake"),
        ("session.lake", "import pyarrow as pa", "pyarrow belongs to engine"),
        ("engine.local", "import pyspark.sql", "pyspark belongs to engine/spark"),
        ("store.files", "import_module('duckdb')", "duckdb belongs to " + OWNERS_OF_DUCKDB),
        ("model.schema", "import sqlite3", "sqlite3 belongs to catalog"),
        ("model.schema", "import numpy", "numpy has no owner: give it one in OWNERS"),
        ("model.x", "if TYPE_CHECKING:\n import tidelake.plan", "model may not import plan"),
        ("session.lake", "from tidelake.testing import x", "session may not import testing"),
    ],
)
def test_a_forbidden_import_is_found(module, source, problem):
    assert [text.split(" ", 1)[1] for text in violations(source, f"tidelake.{module}")] == [problem]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model.schema", "import datetime\nfrom .types import x\nfrom tidelake import errors"),
        ("engine.spark_read", "import pyspark.sql\nimport pyarrow"),
        ("engine.spark.read", "from pyspark.sql import functions"),
        ("session.lake", "if TYPE_CHECKING:\n import pyarrow\nfrom tidelake.catalog import x"),
        ("cli.main", "import click, rich\nfrom tidelake.session import Lake\nimport tidelake"),
    ],
)
def test_an_allowed_import_is_let_through(module, source):
    assert violations(source, f"tidelake.{module}") == []


def fresh_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_loads_no_heavy_library():
    loaded = set(fresh_python("import sys, tidelake; print(*sys.modules)").split())
    assert loaded & NOT_AT_IMPORT == set()


def test_front_door_is_pinned():
    import tidelake

    assert tidelake.__all__ == PUBLIC
    assert all(hasattr(tidelake, name) for name in PUBLIC)
