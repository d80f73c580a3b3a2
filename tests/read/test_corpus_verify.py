"""Lakes that DuckDB made are whole, with the few exceptions that DuckDB answers for."""

import pytest

import tidelake
from tests.read.conftest import Lakes
from tests.read.corpus import CORPUS, is_one_of, is_usual
from tests.read.scripts.script import Script

pytestmark = pytest.mark.xdist_group("corpus")

# A file of nothing but NaN makes DuckDB forget the bounds that the table had.
DEFECTS: dict[tuple[str, int], set[str]] = {("floats", 0): {"table-statistics"}}


# Of the rest, what is stored is what DuckDB wrote once and nobody touched.
_TELLING = {"maintenance", "deletes", "partition", "foreign", "encrypted"}


def _cases() -> list[object]:
    return [
        pytest.param(
            script,
            catalog,
            limit,
            id=f"{script.name}-{catalog}-{limit}",
            marks=[]
            if is_usual(script, catalog, limit) and script.tags & _TELLING and is_one_of(script, 2)
            else [pytest.mark.slow],
        )
        for script in CORPUS.values()
        for catalog in script.catalogs
        for limit in script.limits()
    ]


@pytest.mark.parametrize(("script", "catalog", "limit"), _cases())
def test_a_lake_of_duckdbs_is_whole(lakes: Lakes, script: Script, catalog: str, limit: int) -> None:
    made, _ = lakes.get(script, catalog, limit)
    with tidelake.connect(made.url, read_only=True) as lake:
        report = lake.verify(deep=True)
    expected = DEFECTS.get((script.name, limit), set())
    assert {problem.check for problem in report.problems} == expected, str(report)
