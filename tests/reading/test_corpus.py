"""Every lake of the corpus, at every snapshot: Tidelake's answer is DuckDB's answer."""

from random import Random

import pytest

import tidelake
from tests.reading.compare import differences
from tests.reading.conftest import Lakes
from tests.reading.corpus import CORPUS
from tests.reading.scripts.script import Script

# The form of inlined values depends on the catalog, so these run on all of them.
_FORMS_DIFFER = {"inline", "types", "nested"}


def _cases() -> list[object]:
    """(script, catalog, limit): all on SQLite, with and without inlining; on the others by
    default only what they store in their own way."""
    cases = []
    for script in CORPUS.values():
        for catalog in script.catalogs:
            for limit in script.limits():
                named = f"{script.name}-{catalog}-{limit}"
                usual = catalog == "sqlite" or (limit and script.tags & _FORMS_DIFFER)
                marks = [] if usual else [pytest.mark.slow]
                cases.append(pytest.param(script, catalog, limit, id=named, marks=marks))
    return cases


@pytest.mark.parametrize(("script", "catalog", "limit"), _cases())
def test_reads_as_duckdb_does(lakes: Lakes, script: Script, catalog: str, limit: int) -> None:
    made, truth = lakes.get(script, catalog, limit)
    with tidelake.connect(made.url, read_only=True) as lake:
        found = differences(lake, truth, Random(script.name))
    assert not found, "\n".join(found)
