"""Every lake of the corpus, at every snapshot: Tidelake's answer is DuckDB's answer."""

from random import Random

import pytest

import tidelake
from tests.read.conftest import Lakes
from tests.read.corpus import CORPUS, is_usual
from tests.read.scripts.script import Script
from tidelake.testing.agreement import differences

pytestmark = pytest.mark.xdist_group("corpus")


def _cases() -> list[object]:
    return [
        pytest.param(
            script,
            catalog,
            limit,
            id=f"{script.name}-{catalog}-{limit}",
            marks=[] if is_usual(script, catalog, limit) else [pytest.mark.slow],
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
