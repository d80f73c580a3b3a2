"""How the house is built: imports point down, nothing goes in a circle, every library has an owner,
what is private stays so, and names are of things and of doings.

Imports inside functions count, and so do those under `if TYPE_CHECKING:`. What is not yet as it
should be stands in `architecture_exceptions.txt`, a list that may only shrink: a line that is no
longer needed fails the test too.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import tidelake.errors

SOURCE = Path(__file__).parents[1] / "src" / "tidelake"
EXCEPTIONS = Path(__file__).with_name("architecture_exceptions.txt")

ORDER = [
    {"errors"},
    {"drawing"},
    {"scratch"},
    {"duck"},
    {"model"},
    {"syntax"},
    {"store", "catalog", "plan"},
    {"engine"},
    {"session"},
    {"coverage"},
    {"write"},
    {"history"},
    {"event_time"},
    {"ingestion"},
    {"upkeep"},
    {"delta"},
    {"verify"},
    {"tenants"},
    {"erasure", "audit"},
    {"join"},
    {"sql"},
    {"datasets", "backup"},
    {"lake"},
    {"spark"},
    {"tidelake"},
    {"web"},
    {"cli", "testing"},
]
"""Packages from the bottom up; those on one floor do not know of each other. The values of a
feature belong to the floor of model."""

LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}

OWNERS = {
    "click": {"cli"},
    "duckdb": {"catalog", "coverage", "delta", "duck", "engine", "testing", "upkeep", "verify"},
    "exchange_calendars": {"coverage/values/exchange"},
    "google": {"web/flight"},
    "h11": {"web"},
    "hypothesis": {"testing/histories/machine"},
    "jinja2": {"web"},
    "numpy": {"coverage"},
    "obstore": {"store"},
    "opentelemetry": {"web/traces"},
    "pandas": {"engine"},
    "polars": {"engine"},
    "psycopg": {"catalog/database/postgresql"},
    "prometheus_client": {"web"},
    "prompt_toolkit": {"cli/shell"},
    "pyarrow": {"coverage", "delta", "engine", "spark", "testing", "upkeep", "verify", "web"},
    "pymysql": {"catalog/database/mysql"},
    "pyroaring": {"coverage", "delta", "engine/parquet", "model", "verify"},
    "pyspark": {"engine/spark", "spark"},
    "rich": {"cli", "coverage/draw", "drawing/terminal", "session/progress"},
    "sqlalchemy": {"catalog/database"},
    "sqlglot": {"engine", "plan", "sql"},
    "sqlite3": {"catalog/database/sqlite", "testing"},
    "starlette": {"web"},
    "uvicorn": {"web"},
}

PUBLIC = [
    "Calendar",
    "Coverage",
    "Feature",
    "Interval",
    "Lake",
    "Quota",
    "Sandbox",
    "Scan",
    "Snapshot",
    "Table",
    "__version__",
    "asof_join",
    "col",
    "connect",
    "diff_delta",
    "errors",
    "import_delta",
    "ingest",
    "is_compatible",
    "lit",
    "restore",
]

NOT_AT_IMPORT = {
    "duckdb",
    "exchange_calendars",
    "pandas",
    "polars",
    "prompt_toolkit",
    "pyarrow",
    "pyspark",
    "sqlalchemy",
    "sqlglot",
}

parsed = cache(ast.parse)

MOST_LINES, MOST_LINES_OF_A_FUNCTION = 400, 40


@dataclass(frozen=True)
class Import:
    name: str
    line: int
    typing_only: bool
    inside: bool


def module_name(path: Path) -> str:
    parts = ("tidelake", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def package_of(module: str) -> str:
    """`tidelake.model.schema` is in model, as the values of a feature are; `tidelake` itself, and
    its names, are in tidelake."""
    _, *parts = module.split(".")
    name = parts[0] if parts else ""
    if name == "__main__":
        return "cli"
    if len(parts) > 1 and parts[1].startswith("values"):
        return "model"
    return name if name in LEVEL else "tidelake"


@cache
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    """All nodes of a module: nearly every rule goes through them."""
    return list(ast.walk(tree))


@cache
def imports_of(source: str, module: str) -> list[Import]:
    tree = parsed(source)
    typing_only = {
        id(inner)
        for node in nodes_of(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    inside = {
        id(inner)
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    return [
        Import(name, node.lineno, id(node) in typing_only, id(node) in inside)
        for node in nodes_of(tree)
        for name in names_in(node, module)
    ]


def names_in(node: ast.AST, module: str) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [each.name for each in names]
        case ast.ImportFrom(module=target, names=names, level=level):
            start = module.split(".")[:-level] if level else []
            base = ".".join([*start, *([target] if target else [])])
            ours = base.split(".")[0] == "tidelake"
            return [f"{base}.{each.name}" for each in names] if ours else [base]
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
            dynamic = ast.unparse(function).endswith(("import_module", "__import__"))
            return [name] if dynamic else []
    return []


@cache
def modules() -> dict[str, str]:
    """The sources of all modules."""
    return {module_name(path): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def home_of(name: str) -> str:
    """The module that an imported name is of: itself, or the one that has it."""
    while name not in modules():
        name = name.rpartition(".")[0]
    return name


def problem_with(found: Import, module: str) -> str | None:
    here, top = package_of(module), found.name.split(".")[0]
    if top == "tidelake":
        there = package_of(found.name)
        if there == here or LEVEL[there] < LEVEL[here]:
            return None
        return f"{here} may not import {there}"
    if found.typing_only or (top in sys.stdlib_module_names and top not in OWNERS):
        return None
    if top not in OWNERS:
        return f"{top} has no owner: give it one in OWNERS"
    room = module.split(".")[1]
    inside = module.removeprefix("tidelake.").replace(".", "/")
    if any(room == owner or ("/" in owner and inside.startswith(owner)) for owner in OWNERS[top]):
        return None
    return f"{top} belongs to {', '.join(sorted(OWNERS[top]))}"


def violations(source: str, module: str) -> list[str]:
    return [
        f"{module}:{each.line} {problem}"
        for each in imports_of(source, module)
        if (problem := problem_with(each, module))
    ]


def edges() -> dict[str, set[str]]:
    """Who imports whom, in whatever way."""
    found: dict[str, set[str]] = {}
    for module, source in modules().items():
        found[module] = {home_of(name) for name in our_imports(source, module)} - {module}
    return found


def our_imports(source: str, module: str) -> Iterator[str]:
    names = (each.name for each in imports_of(source, module))
    return (name for name in names if name.split(".")[0] == "tidelake")


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Groups of modules that import each other (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                yield from visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                yield group

    for node in sorted(graph):
        if node not in order:
            yield from visit(node)


def upward() -> Iterator[str]:
    for module, source in modules().items():
        for each in imports_of(source, module):
            if problem_with(each, module):
                ours = each.name.startswith("tidelake")
                target = home_of(each.name) if ours else each.name.split(".")[0]
                yield f"upward {module} {target}"


def circular() -> Iterator[str]:
    for group in circles(edges()):
        yield from (f"circle {module}" for module in group)


_RUN_TIME = {"import_module", "__import__"}


def built_at_run_time() -> Iterator[str]:
    """Modules whose names nobody can read."""
    for module, source in modules().items():
        calls = (node for node in nodes_of(parsed(source)) if isinstance(node, ast.Call))
        for call in calls:
            imports = ast.unparse(call.func).split(".")[-1] in _RUN_TIME
            if imports and not isinstance(call.args[0], ast.Constant):
                yield f"run-time-name {module}"


@cache
def loads_a_heavy_library(module: str) -> bool:
    """Whether it does so as soon as it is imported, by itself or by what it imports."""
    found = imports_of(modules()[module], module)
    names = [each.name for each in found if not (each.typing_only or each.inside)]
    if any(name.split(".")[0] in NOT_AT_IMPORT for name in names):
        return True
    homes = {home_of(name) for name in names if name.split(".")[0] == "tidelake"}
    return any(map(loads_a_heavy_library, homes - {module}))


def imported_inside() -> Iterator[str]:
    """Our own modules, where a function imports them; the face may, so that it opens quickly, and
    who now and then needs one that loads a heavy library."""
    for module, source in modules().items():
        if package_of(module) in ("lake", "cli", "tidelake"):
            continue
        for each in imports_of(source, module):
            if not each.inside or each.typing_only or not each.name.startswith("tidelake"):
                continue
            if not loads_a_heavy_library(home_of(each.name)):
                yield f"inside {module} {home_of(each.name)}"


_CHANGES_A_TABLE = re.compile(
    r"\b(INSERT INTO|UPDATE|DELETE FROM|ALTER TABLE|DROP TABLE|CREATE TABLE)\b[^\"']*ducklake_"
)


def writers_of_ducklake() -> Iterator[str]:
    for module, source in modules().items():
        if package_of(module) not in ("catalog", "testing") and _CHANGES_A_TABLE.search(source):
            yield f"writes-ducklake {module}"


_DATABASES = "tidelake.catalog.database"
_SYSTEMS = {"sqlite", "postgres", "postgresql", "mysql", "mariadb"}


def tells_databases_apart(node: ast.AST) -> bool:
    """Whether code asks which kind of database a catalog is in, or has a table of them. DuckDB by
    itself is more than a database of catalogs: views and values are of it too."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        asks = any(ast.unparse(side).endswith(("dialect.name", "url.kind")) for side in sides)
        return asks or bool(_words(*sides) & _SYSTEMS)
    if isinstance(node, ast.Dict):
        return len(_words(*filter(None, node.keys)) & {*_SYSTEMS, "duckdb"}) > 1
    if isinstance(node, ast.Set):
        return len(_words(*node.elts) & {*_SYSTEMS, "duckdb"}) > 1
    return isinstance(node, ast.MatchValue) and bool(_words(node.value) & _SYSTEMS)


def _words(*nodes: ast.AST) -> set[object]:
    """Constants in them."""
    inner = (each for node in nodes for each in ast.walk(node))
    return {each.value for each in inner if isinstance(each, ast.Constant)}


def about_databases() -> Iterator[str]:
    """What differs between databases is known in their folders alone; and tests start them all."""
    folders = tuple(f"{_DATABASES}.{kind}." for kind in (*_SYSTEMS, "duckdb"))
    for module, source in modules().items():
        if module.startswith(_DATABASES) or package_of(module) == "testing":
            continue
        if any(f"{home_of(name)}.".startswith(folders) for name in our_imports(source, module)):
            yield f"database {module}"
        for node in nodes_of(parsed(source)):
            if tells_databases_apart(node):
                yield f"database {module}"


def too_long() -> Iterator[str]:
    for module, source in modules().items():
        if source.count("\n") > MOST_LINES:
            yield f"long-module {module}"
        for node in nodes_of(parsed(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1 if ast.get_docstring(node) else 0 :]
                if body and (body[-1].end_lineno or 0) - body[0].lineno >= MOST_LINES_OF_A_FUNCTION:
                    yield f"long-function {module} {node.name}"


_OF_PYTHON = re.compile(r"_(fields|make|replace|asdict|exit|fields_|handle|dyld_\w+)")
"""Names that Python and macOS offer in spite of their underscore."""


def private_reach() -> Iterator[str]:
    """Parts of other objects that are private to them: `x._y` where this module has no `_y`."""
    for module, source in modules().items():
        tree = parsed(source)
        own = {
            node.name
            for node in nodes_of(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        }
        own |= {
            name.id for name in nodes_of(tree) if isinstance(name, ast.Name) and not _loads(name)
        }
        attributes = [node for node in nodes_of(tree) if isinstance(node, ast.Attribute)]
        own |= {node.attr for node in attributes if not _loads(node) and _of_self(node)}
        for node in attributes:
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            private = private and not _OF_PYTHON.fullmatch(node.attr)
            if private and node.attr not in own and not _of_self(node):
                yield f"private {module} {node.attr}"


def _loads(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


_OF_TRANSFORMS = re.compile(r"identity|year|month|day|hour|bucket\(.*")


def readers_of_transforms() -> Iterator[str]:
    """Whoever looks into the text of a partition transform, which `transform_of` is to do; random
    histories write such texts, as callers do."""
    for module, source in modules().items():
        if not module.startswith(("tidelake.plan.partitioning.", "tidelake.testing.histories.")):
            yield from (f"transform {module} {what}" for what in texts_of_transforms(source))


def texts_of_transforms(source: str) -> Iterator[str]:
    """Names of transforms as constants; and `key.transform` compared, cut up or written out."""
    for node in nodes_of(parsed(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _OF_TRANSFORMS.fullmatch(node.value):
                yield repr(node.value)
        elif isinstance(node, ast.Compare | ast.Attribute | ast.Subscript | ast.FormattedValue):
            used = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.value]
            yield from ("read" for each in used if _is_transform(each))


def _is_transform(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name == "transform"


_PARTICIPLE = re.compile(
    r"\w+(?:ed|en)|bound|brought|built|done|drawn|found|gone|grown|held|kept|known|laid|left|lost"
    r"|made|met|overlaid|rebuilt|said|seen|sent|shown|taught|thrown|told|understood|worn"
)
_ONLY_LOOKS_SO = {"bring", "feed", "token", "widen"}
"""Verbs and nouns. What is a verb as well (`put`, `read`, `cut`) is no bare participle."""


def named_by_a_participle() -> Iterator[str]:
    """A module, and what is public in it, is a thing or does something. `kept` says neither."""
    for module, source in modules().items():
        place = module.rpartition(".")[2]
        if _PARTICIPLE.fullmatch(place) and place not in _ONLY_LOOKS_SO:
            yield f"participle {module}"
        yield from (f"participle {module} {name}" for name in bare_participles(source))


def bare_participles(source: str) -> Iterator[str]:
    """Of the public functions and classes. One in -ing may be a context manager, as in
    `contextlib.closing`."""
    for node in parsed(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            word = node.name.lower()
            is_one = _is_one_word(node.name) and word not in _ONLY_LOOKS_SO
            bare = _PARTICIPLE.fullmatch(word) or (word.endswith("ing") and not _is_entered(node))
            if is_one and bare:
                yield node.name


def _is_one_word(name: str) -> bool:
    return re.fullmatch("[A-Z]?[a-z]+", name) is not None


def _is_entered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a `with` takes what it makes."""
    if isinstance(node, ast.ClassDef):
        methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        return "__enter__" in methods
    return any(ast.unparse(each).endswith("contextmanager") for each in node.decorator_list)


def without_a_hint() -> Iterator[str]:
    """An error says what to do next."""
    for module, source in modules().items():
        for node in ast.walk(parsed(source)):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                named = {each.arg for each in node.exc.keywords}
                ours = getattr(node.exc.func, "id", "") in ERRORS
                if ours and not named & {"hint", None}:
                    yield f"hintless {module}"


ERRORS = {
    each.__name__
    for each in vars(tidelake.errors).values()
    if isinstance(each, type) and issubclass(each, tidelake.errors.TidelakeError)
}
RULES = {
    "upward": upward,
    "circle": circular,
    "run-time-name": built_at_run_time,
    "inside": imported_inside,
    "writes-ducklake": writers_of_ducklake,
    "database": about_databases,
    "long": too_long,
    "private": private_reach,
    "transform": readers_of_transforms,
    "participle": named_by_a_participle,
    "hintless": without_a_hint,
}


def excepted(rule: str) -> Counter[str]:
    """A line is a rule, whom it concerns and, if more than one is allowed, `x` and how many."""
    found: Counter[str] = Counter()
    for line in EXCEPTIONS.read_text().splitlines():
        said = line.partition("#")[0].strip()
        if said.startswith(rule):
            what, _, times = said.partition(" x")
            found[what] += int(times or 1)
    return found


@pytest.mark.parametrize("rule", RULES)
def test_the_house_is_built_by_its_rules(rule):
    broken, excuse = Counter(RULES[rule]()), excepted(rule)
    assert sorted((broken - excuse).elements()) == [], "break the rule no more than before"
    assert sorted((excuse - broken).elements()) == [], "take these out of the exceptions"


def test_every_package_is_known():
    rooms = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}
    assert {Path(room).stem for room in rooms} - {"__init__", "__main__"} <= set(LEVEL)


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("model.schema", "from tidelake.catalog import x", "model may not import catalog"),
        ("store.files", "from tidelake.plan.prune import x", "store may not import plan"),
        ("engine.local", "def f():\n import tidelake.session", "engine may not import session"),
        ("coverage.records", "from tidelake.write import x", "coverage may not import write"),
        ("coverage.values.clock", "from tidelake.engine import x", "model may not import engine"),
        ("engine.local.job", "from ...session import x", "engine may not import session"),
        ("engine.local", "from .. import session", "engine may not import session"),
        ("session.draft", "from tidelake import connect", "session may not import tidelake"),
        ("lake.lake", "import pyarrow as pa", "pyarrow belongs to coverage"),
        ("engine.local.job", "import pyspark.sql", "pyspark belongs to engine/spark"),
        ("store.files", "import_module('duckdb')", "duckdb belongs to catalog"),
        ("model.schema", "import sqlite3", "sqlite3 belongs to catalog"),
        ("model.schema", "import scipy", "scipy has no owner: give it one in OWNERS"),
        ("model.x", "if TYPE_CHECKING:\n import tidelake.plan", "model may not import plan"),
        ("lake.lake", "from tidelake.testing import x", "lake may not import testing"),
    ],
)
def test_a_forbidden_import_is_found(module, source, problem):
    (found,) = [text.split(" ", 1)[1] for text in violations(source, f"tidelake.{module}")]
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model.schema", "import datetime\nfrom .types import x\nfrom tidelake import errors"),
        ("engine.spark.read", "import pyspark.sql\nimport pyarrow"),
        ("engine.local.job", "from tidelake.coverage.values.piece import x"),
        ("session.draft", "if TYPE_CHECKING:\n import pyarrow\nfrom tidelake.catalog import x"),
        ("cli.main", "import click, rich\nfrom tidelake.lake import Lake\nimport tidelake"),
    ],
)
def test_an_allowed_import_is_let_through(module, source):
    assert violations(source, f"tidelake.{module}") == []


@pytest.mark.parametrize(
    "source",
    [
        "key.transform == kind",
        "transform in ('x', 'y')",
        "key.transform.startswith('bu')",
        "key.transform[:6]",
        "f'{key.transform} of it'",
        "PartitionKey(1, 'identity')",
        "PARTS = {'year': 1}",
        "text = 'bucket(8)'",
    ],
)
def test_whoever_looks_into_a_transform_is_found(source):
    assert len(list(texts_of_transforms(source))) == 1


def test_a_transform_may_be_passed_on():
    assert list(texts_of_transforms("f(key.transform); kept = [k.transform]; 'bucket'")) == []


def test_every_transform_is_looked_for():
    from tidelake.plan.partitioning.transforms import KINDS

    words = [f"{kind.word}(8)" if kind.parameters else kind.word for kind in KINDS]
    assert all(_OF_TRANSFORMS.fullmatch(word) for word in words)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def translated(): ...", ["translated"]),
        ("async def kept(): ...", ["kept"]),
        ("class Chosen: ...", ["Chosen"]),
        ("def listing(): ...", ["listing"]),
        ("class Waiting: ...", ["Waiting"]),
        ("@contextmanager\ndef reading(): ...", []),
        ("@contextlib.contextmanager\ndef reading(): ...", []),
        ("class Reading:\n def __enter__(self): ...", []),
        ("def translate(): ...\ndef kept_rows(): ...\nclass KeptRows: ...", []),
        ("def _kept(): ...\nclass _Kept: ...", []),
        ("class Lake:\n def mirrored(self): ...", []),
        ("def put(): ...\ndef read(): ...\ndef feed(): ...\nclass Token: ...", []),
    ],
)
def test_a_bare_participle_is_found(source, found):
    assert list(bare_participles(source)) == found


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert [sorted(group) for group in circles(graph)] == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("code", "apart"),
    [
        ("reader.dialect.name == kind", True),
        ("database.url.kind != 'duckdb'", True),
        ("kind in ('sqlite', 'duckdb')", True),
        ("'mariadb' == kind", True),
        ("match kind:\n case 'mysql': pass", True),
        ("{'duckdb': 1, 'postgresql': 2}", True),
        ("{'sqlite', 'duckdb'}", True),
        ("view.dialect != 'duckdb'", False),
        ("reader.dialect.clock is None", False),
        ("{'psycopg': 'postgres', 'pymysql': 'mysql'}", False),
    ],
)
def test_telling_databases_apart_is_found(code, apart):
    assert any(map(tells_databases_apart, ast.walk(ast.parse(code)))) is apart


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
