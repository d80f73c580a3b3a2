"""Modules for later: most who open a lake only read, and should not wait for what writes."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = f"tidelake.{name}"

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
