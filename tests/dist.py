"""`python -m tests.dist FOLDER`: what was built can be installed, alone, and does its work.

For each Python that is here an empty environment gets the wheel and nothing that it does not ask
for. A lake is then made, written, read as of two moments and asked on the command line.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

_VERSIONS = ("3.11", "3.12", "3.13")
_UV = Path(sys.executable).parent / "uv"
_PROGRAM = """
import datetime, importlib.util, subprocess, sys
import tidelake

for absent in ("sqlalchemy", "pyspark", "pandas", "polars", "starlette"):
    assert importlib.util.find_spec(absent) is None, absent
with tidelake.connect("sqlite:///lake.db") as lake:
    t = lake.create_table("t", "k INTEGER, ts TIMESTAMP, v DOUBLE", key="k", event_time="ts")
    first = datetime.datetime(2024, 3, 15)
    t.append([{"k": 1, "ts": first, "v": 1.0}])
    t.append([{"k": 1, "ts": first, "v": 2.0}])
    assert t.as_of(first).to_arrow()["v"].to_pylist() == [2.0]
    assert t.as_of(first).known_at(2).to_arrow()["v"].to_pylist() == [1.0]
    for extra, ask in {"pandas": t.to_pandas, "polars": t.to_polars, "spark": t.to_spark}.items():
        try:
            ask()
        except tidelake.errors.Unsupported as error:
            assert f"tidelake[{extra}]" in str(error), error
        else:
            raise AssertionError(f"{extra} is not here, and nobody said so")
try:
    tidelake.connect("postgresql://127.0.0.1/x")
except tidelake.errors.Unsupported as error:
    assert "tidelake[postgres]" in str(error), error
command = [sys.executable, "-m", "tidelake", "--catalog", "sqlite:///lake.db", "count", "t"]
assert subprocess.check_output(command, text=True).strip() == "2"
"""


def check(folder: Path) -> None:
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    _check_contents(wheel, source)
    for version in _VERSIONS:
        python = _python(version)
        if python is None:
            print(f"*** Python {version} is not here: the wheel was NOT tried on it ***")
        else:
            _try(wheel, python)
            print(f"{wheel.name} works on Python {version}")


def _check_contents(wheel: Path, source: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"tidelake", "pyspark_tidelake"}, top
    assert "tidelake/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with tarfile.open(source) as archive:
        kept = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/tidelake/__init__.py"} <= kept


def _python(version: str) -> str | None:
    found = subprocess.run([_UV, "python", "find", version], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def _try(wheel: Path, python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "bin", "python")
        subprocess.run([_UV, "venv", "--quiet", "--python", python, folder], check=True)
        install = [_UV, "pip", "install", "--quiet", "--python", own, wheel]
        subprocess.run(install, check=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TIDELAKE"))}
        subprocess.run([own, "-c", _PROGRAM], cwd=folder, env=clean, check=True)


if __name__ == "__main__":
    check(Path(sys.argv[1]))
