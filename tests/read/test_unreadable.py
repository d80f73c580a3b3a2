"""Lakes whose inlined values DuckDB cannot read back: Tidelake reads what was written, or says
that it cannot. It never makes values up."""

from random import Random

import duckdb
import pytest

import tidelake
from tests.read.conftest import Lakes
from tests.read.scripts.script import Script
from tests.read.scripts.unreadable import SCRIPTS
from tidelake.errors import TidelakeError
from tidelake.testing import canonical
from tidelake.testing.agreement import differences
from tidelake.testing.oracle import Oracle, Row
from tidelake.testing.place import Place


@pytest.mark.parametrize("catalog", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_reads_what_was_written_or_refuses(lakes: Lakes, script: Script, catalog: str) -> None:
    _, truth = lakes.get(script, "sqlite", 0)
    written = truth.latest.tables["main", "t"].rows
    made = lakes.make(script, catalog, 10)
    duckdb_reads = _duckdb_rows(made)
    assert duckdb_reads != written, "DuckDB has been mended: move the script to the corpus"
    with tidelake.connect(made.url, read_only=True) as lake:
        try:
            got = canonical.rows(lake.table("t").to_arrow())
        except TidelakeError:
            return
    assert got in (written, duckdb_reads)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_duckdb_catalog_keeps_them_as_they_are(lakes: Lakes, script: Script) -> None:
    made, truth = lakes.get(script, "duckdb", 10)
    with tidelake.connect(made.url, read_only=True) as lake:
        found = differences(lake, truth, Random(script.name))
    assert not found, "\n".join(found)


def _duckdb_rows(made: Place) -> list[Row] | None:
    """What a DuckDB of its own reads: some of these lakes make it unusable afterwards."""
    oracle = Oracle()
    try:
        return oracle.read(made).latest.tables["main", "t"].rows
    except duckdb.Error:
        return None
    finally:
        oracle.close()
