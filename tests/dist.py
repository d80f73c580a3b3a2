"""`python -m tests.dist FOLDER`: what was built can be installed, alone, and does its work.

For each Python that is here an empty environment gets the wheel and nothing that it does not ask
for; `tests/wheel/smoke.py` then makes lakes, writes, reads and asks. Once more it does so with the
oldest and the newest DuckDB that the wheel takes, and each extra is installed on its own. With the
extra `testing` the page about it runs.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

_VERSIONS = ("3.11", "3.12", "3.13")
_DUCKDBS = ("==1.5.5", ">=2")
_HERE = Path(__file__).parent
_UV = Path(sys.executable).parent / "uv"
_APART = {"testing", "dev"}
"""Extras for those who work on Tidelake, or test what they build on it."""


def check(folder: Path) -> None:
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    _check_contents(wheel, source)
    pythons = {version: _python(version) for version in _VERSIONS}
    for version, python in pythons.items():
        if python is None:
            print(f"*** Python {version} is not here: the wheel was NOT tried on it ***")
        else:
            _try([str(wheel)], python)
    here = [python for python in pythons.values() if python]
    for duckdb in _DUCKDBS:
        _try([str(wheel), f"duckdb{duckdb}"], here[-1])
    for extra, packages in _extras().items():
        _install_extra(wheel, extra, packages, here[0])
    _run_page(wheel, "testing", here[0])


def _check_contents(wheel: Path, source: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"tidelake", "pyspark_tidelake"}, top
    assert "tidelake/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with tarfile.open(source) as archive:
        kept = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/tidelake/__init__.py"} <= kept
    assert {"Makefile", "examples/demo.py", "tests/run.py", "docs/site.py", "mkdocs.yml"} <= kept


def _python(version: str) -> str | None:
    """One of those that uv knows of, or that pyenv has made."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    made = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    found = subprocess.run([_UV, "python", "find", version], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else str(made[-1]) if made else None


def _extras() -> dict[str, list[str]]:
    """The packages of each extra, by the names that they are imported by."""
    project = tomllib.loads((_HERE.parent / "pyproject.toml").read_text())["project"]
    known = project["optional-dependencies"].keys() - _APART
    assert known == _IMPORTED.keys(), known ^ _IMPORTED.keys()
    return _IMPORTED


_IMPORTED = {
    "azure": ["fsspec"],
    "calendars": ["exchange_calendars"],
    "delta": ["deltalake"],
    "gcs": ["fsspec"],
    "mysql": ["pymysql", "sqlalchemy"],
    "pandas": ["pandas"],
    "polars": ["polars"],
    "postgres": ["psycopg", "sqlalchemy"],
    "s3": ["duckdb_extension_httpfs", "fsspec"],
    "spark": ["pyspark", "grpc"],
    "ui": ["jinja2", "prometheus_client", "google.protobuf", "starlette", "uvicorn"],
}


def _try(what: Sequence[str], python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = _environment(folder, python, what)
        print(f"{' with '.join(Path(each).name for each in what)}:", end=" ", flush=True)
        _run([own, _HERE / "wheel" / "smoke.py", "--alone"], folder)


def _install_extra(wheel: Path, extra: str, packages: Sequence[str], python: str) -> None:
    """In the versions of the lock, which need not be fetched again."""
    with tempfile.TemporaryDirectory() as folder:
        what = [f"{wheel}[{extra}]", "--constraint", _HERE.parent / "requirements.lock"]
        own = _environment(folder, python, what)
        imported = ", ".join(packages)
        _run([own, "-c", f"import {imported}, tidelake"], folder)
    print(f"tidelake[{extra}]: {imported}")


def _run_page(wheel: Path, extra: str, python: str) -> None:
    """The examples of the page that is called as an extra, with that extra alone."""
    page = (_HERE.parent / "docs" / f"{extra}.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        own = _environment(folder, python, [f"{wheel}[{extra}]"])
        _run([own, "-c", code], folder)
    print(f"tidelake[{extra}]: docs/{extra}.md runs")


def _environment(folder: str, python: str, what: Sequence[str | Path]) -> Path:
    own = Path(folder, "bin", "python")
    subprocess.run([_UV, "venv", "--quiet", "--python", python, folder], check=True)
    subprocess.run([_UV, "pip", "install", "--quiet", "--python", own, *what], check=True)
    return own


def _run(command: Sequence[str | Path], folder: str) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TIDELAKE"))}
    subprocess.run(command, cwd=folder, env=clean, check=True)


if __name__ == "__main__":
    check(Path(sys.argv[1]))
