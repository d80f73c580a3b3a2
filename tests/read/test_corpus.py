"""Every lake of the corpus, at every snapshot: Tidelake's answer is DuckDB's answer."""

from random import Random

import pytest

import tidelake
from tests.read.compare import differences
from tests.read.conftest import Lakes
from tests.read.corpus import CORPUS
from tests.read.scripts.script import Script

# What inlining keeps in a form of the catalog's own.
_FORMS_DIFFER = {"inline", "types"}


def _is_usual(script: Script, catalog: str, limit: int) -> bool:
    """Whether a case is run by default. On SQLite all are, with inlining where that is another
    way to store the values; on the other catalogs those that are about inlining."""
    if catalog == "sqlite":
        return limit == 0 or script.inline is not None or bool(script.tags & _FORMS_DIFFER)
    return limit > 0 and "inline" in script.tags


def _cases() -> list[object]:
    return [
        pytest.param(
            script,
            catalog,
            limit,
            id=f"{script.name}-{catalog}-{limit}",
            marks=[] if _is_usual(script, catalog, limit) else [pytest.mark.slow],
        )
        for script in CORPUS.values()
        for catalog in script.catalogs
        for limit in script.limits()
    ]


@pytest.mark.parametrize(("script", "catalog", "limit"), _cases())
def test_reads_as_duckdb_does(lakes: Lakes, script: Script, catalog: str, limit: int) -> None:
    made, truth = lakes.get(script, catalog, limit)
    with tidelake.connect(made.url, read_only=True) as lake:
        found = differences(lake, truth, Random(script.name))
    assert not found, "\n".join(found)
