"""Packages that not every user needs: extras bring them (`pyproject.toml`)."""

from __future__ import annotations

from importlib.util import find_spec

from tidelake.errors import Unsupported


def require(extra: str, purpose: str, *packages: str) -> None:
    """Raise Unsupported, with the way to install it, unless the packages that an extra brings are
    there: one of its own name, if none is given."""
    for package in packages or (extra,):
        if find_spec(package) is None:
            raise Unsupported(
                f"{purpose} needs the Python package {package}",
                hint=f"pip install 'tidelake[{extra}]'",
            )
