"""DuckDB in a Python worker of Spark's.

Who asks for it is a function of a module: what is defined inside a function is sent to the worker
with all that it refers to, and would bring a `WORKER` of its own.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipimport import zipimporter

from tidelake.engine.local.engine import LocalEngine

_MEMORY = "1GB"
_SPARKS_OWN = re.compile(r"pyspark\.zip|py4j-.*|.*\.jar", re.IGNORECASE)
"""How files are called that Spark has every Python import from; they stay as they are. Packages of
Java are among them: all that `spark.jars.packages` names."""


class Worker:
    """The one DuckDB of this process, as small as a task should be: to open one takes longer than
    many a task. Tasks share nothing in it, as each has a connection of its own. One that failed
    leaves no DuckDB behind, and other credentials or folders get another.

    After every task Spark has Python look for garbage, among all that the libraries have made:
    longer than a small task takes. From the second task on what is there then is left out."""

    def __init__(self) -> None:
        self._kept: tuple[Any, LocalEngine] | None = None
        self._is_settled = False

    @contextmanager
    def engine(self, local: LocalEngine) -> Iterator[LocalEngine]:
        """An engine like this one, for one task."""
        try:
            yield self._like(local)
        except GeneratorExit:  # nobody wants the rest of the rows
            raise
        except BaseException:
            self.forget()
            raise
        finally:
            _leave_zips_closed()

    def _like(self, local: LocalEngine) -> LocalEngine:
        if self._kept is None or self._kept[0] != local.identity:
            self.forget()
            local.is_alone = False
            with local.workbench().connection as connection:
                if local.confinement is None:  # else nobody can change its settings
                    connection.execute(f"SET threads = 1; SET memory_limit = '{_MEMORY}'")
                    local.is_small = True
            self._kept = local.identity, local
        elif not self._is_settled:
            self._is_settled = True
            gc.collect()
            gc.freeze()
        return self._kept[1]

    def forget(self) -> None:
        """The next task gets another DuckDB."""
        if self._kept is not None:
            self._kept[1].close()
        self._kept = None


def _leave_zips_closed() -> None:
    """Before every task Spark has Python look again at what there is to import. Of a zip file
    Python then reads all names at once, and of Spark's own it does so for every folder in it from
    which something was imported: a quarter of a second, and more with every package of Java. What
    is not remembered is not read."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and _SPARKS_OWN.fullmatch(Path(finder.archive).name):
            del sys.path_importer_cache[path]


WORKER = Worker()
