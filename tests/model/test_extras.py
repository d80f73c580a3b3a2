"""Packages that only some need: without them all else works, and an error names the extra."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

PROJECT: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())[
    "project"
]

WITHOUT = """
import json, sys
from importlib.machinery import PathFinder

missing = json.loads(sys.argv[1])

class NotInstalled(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in missing else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = NotInstalled
import pyarrow as pa
import tidelake
"""


def packages(requirements: list[str]) -> list[str]:
    return [re.split(r"[^\w-]", each)[0] for each in requirements]


EXTRAS = {
    name: packages(needed)
    for name, needed in PROJECT["optional-dependencies"].items()
    if name != "dev"
}
ADDRESSES = {
    "postgres": "postgresql://nobody@127.0.0.1:1/lake",
    "mysql": "mysql://nobody@127.0.0.1:1/lake",
}


def without(missing: list[str], code: str, *words: str) -> str:
    """What is printed where these packages are not installed."""
    command = [sys.executable, "-c", WITHOUT + code, json.dumps(missing), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["lake.sqlite", "lake.duckdb"])
def test_a_lake_in_a_file_needs_no_extra(tmp_path: Path, name: str) -> None:
    optional = {each for needed in EXTRAS.values() for each in needed}
    missing = sorted(optional - set(packages(PROJECT["dependencies"])))
    assert "sqlalchemy" in missing
    code = """
with tidelake.connect(sys.argv[2]) as lake:
    lake.create_table("t", {"i": "BIGINT", "s": "VARCHAR"})
    lake.table("t").append(pa.table({"i": [1, 2], "s": ["a", None]}))
    lake.table("t").delete("i = 1")
    print(lake.table("t").to_arrow().to_pylist(), lake.sql("SELECT 1 + count(*) FROM t").to_arrow())
"""
    said = without(missing, code, f"{name.split('.')[1]}:///{tmp_path / name}")
    assert said.startswith("[{'i': 2, 's': None}]")


@pytest.mark.parametrize(
    ("extra", "missing"), [(extra, each) for extra in ADDRESSES for each in EXTRAS[extra]]
)
def test_a_server_needs_one_and_the_error_names_it(
    tmp_path: Path, extra: str, missing: str
) -> None:
    code = """
try:
    tidelake.connect(sys.argv[2], data_path=sys.argv[3])
except tidelake.errors.Unsupported as error:
    print(error)
"""
    said = without([missing], code, ADDRESSES[extra], str(tmp_path))
    assert f"needs the Python package {missing}" in said
    assert f"pip install 'tidelake[{extra}]'" in said


def test_spark_needs_one_and_the_error_names_it() -> None:
    code = """
try:
    import tidelake.spark
except tidelake.errors.Unsupported as error:
    print(error)
"""
    said = without(["pyspark"], code)
    assert "tidelake.spark needs the Python package pyspark" in said
    assert "pip install 'tidelake[spark]'" in said
