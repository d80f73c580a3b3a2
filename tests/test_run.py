"""How the tests themselves are run."""

import ast
from pathlib import Path

import pytest


@pytest.mark.xdist_group("a group")
def test_processes_know_of_groups(request: pytest.FixtureRequest, worker_id: str) -> None:
    """Else each process would start a Spark of its own, and nobody would notice but the clock."""
    if worker_id == "master":
        pytest.skip("there is one process only")
    assert request.node.nodeid.endswith("@a group")


def test_every_file_has_a_say_in_make_test() -> None:
    """A promise whose tests are all slow is one that nobody checks before a change is pushed."""
    folder = Path(__file__).parent
    files = sorted(folder.rglob("test_*.py"))
    silent = {str(file.relative_to(folder)) for file in files if not _has_quick_test(file)}
    assert silent == set(_LATER)


_LATER = {
    "datasets/test_datasets_spark.py": "frozen sets on Spark; test_freeze.py has them locally",
    "delta/test_delta_spark.py": "needs Maven Central",
    "engine/spark/test_cluster.py": "starts a cluster",
    "engine/spark/test_s3a.py": "needs Maven Central",
    "erasure/test_erase_spark.py": "a story takes a minute; test_erase.py has them locally",
    "spark/test_cluster.py": "starts a cluster",
    "spark/test_driver_memory.py": "takes millions of rows",
    "spark/test_object_store.py": "needs Maven Central",
    "spark/test_on_cluster.py": "starts a cluster",
    "spark/test_running_streams.py": "streams run until their batches have come",
    "spark/test_soak.py": "runs for minutes",
    "web/test_flight_jdbc.py": "needs Maven Central",
    "web/test_serve_load.py": "thousands of queries",
}


def _has_quick_test(file: Path) -> bool:
    later = {"slow", "jvm", "stores"}
    tree = ast.parse(file.read_text())
    for line in tree.body:
        named = isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "pytestmark"
        if named and later & _marks(line.value):
            return False
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return any(
        node.name.lower().startswith("test") and not later & _own_marks(node) for node in tests
    )


def _own_marks(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """The marks of a test, not those of some of its cases."""
    found: set[str] = set()
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call):
            found |= _marks(decorator)
    return found


def _marks(node: ast.expr) -> set[str]:
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
