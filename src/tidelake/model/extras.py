"""Packages that not every user needs, and the extra that brings each."""

from __future__ import annotations

from importlib.util import find_spec

from tidelake.errors import Unsupported

_EXTRAS = {
    "pandas": "pandas",
    "polars": "polars",
    "pyspark": "spark",
    "psycopg": "postgres",
    "pymysql": "mysql",
}


def require(package: str, purpose: str) -> None:
    """Raise Unsupported, with the way to install it, unless the package is there."""
    if find_spec(package) is None:
        raise Unsupported(
            f"{purpose} needs the Python package {package}",
            hint=f"pip install 'tidelake[{_EXTRAS[package]}]'",
        )
