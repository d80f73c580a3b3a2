"""Nobody gets out of a sandbox: not by SQL, not by conditions, and not past the first wall."""

import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelake
from tests.sandbox.attempts import Bait, attempts, conditions
from tidelake import Sandbox
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError
from tidelake.testing.place import Place

_SECRET = "marked-7b1f"
_REFUSALS = (Denied, NotFound, Invalid)


@pytest.fixture
def bait(tmp_path: Path) -> Bait:
    folder = tmp_path / "outside"
    folder.mkdir()
    path = folder / "secret.csv"
    path.write_text(f"a\n{_SECRET}\n")
    return Bait(str(path), str(folder), _SECRET)


@pytest.fixture
def sandbox(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, s VARCHAR").append([{"id": 1, "s": "a"}])
    limits = Sandbox(seconds=20, memory=256 * 1024**2)
    with tidelake.connect(place.url, sandbox=limits) as lake:
        yield lake


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_no_statement_gets_out(sandbox: tidelake.Lake, bait: Bait, step: int) -> None:
    before = sandbox.snapshots()
    tried = list(dict.fromkeys(attempts(bait)))
    assert len(tried) > 5_000
    leaked = []
    for text in tried[::step]:
        try:
            done = sandbox.sql(text)
            rows = done.to_arrow() if hasattr(done, "to_arrow") else done
            leaked.append((text, str(rows)))
        except _REFUSALS as error:
            if _SECRET in str(error):
                leaked.append((text, str(error)))
    assert leaked == []
    assert sandbox.snapshots() == before
    assert [path.name for path in Path(bait.folder).iterdir()] == ["secret.csv"]


def test_what_is_shown_is_the_lakes_own(sandbox: tidelake.Lake) -> None:
    assert sandbox.sql("SHOW TABLES").to_dicts() == [{"name": "t"}]
    own = [{"schema": "main", "name": "t", "kind": "table"}]
    assert sandbox.sql("SHOW ALL TABLES").to_dicts() == own


def test_no_condition_gets_out(sandbox: tidelake.Lake) -> None:
    table = sandbox.table("t")
    for text in conditions():
        with pytest.raises(_REFUSALS):
            table.scan(where=text).to_arrow()
        with pytest.raises(_REFUSALS):
            table.delete(text)
        with pytest.raises(_REFUSALS):
            table.update({"s": f"CASE WHEN {text} THEN 'a' END"})
    assert table.count() == 1


def test_behind_the_first_wall_is_a_second(sandbox: tidelake.Lake, bait: Bait) -> None:
    """Whoever finds a way past the list of functions still opens no file, and sets nothing."""
    engine = sandbox.session.local
    folder = bait.folder
    for text in (
        f"SELECT content FROM read_text('{bait.path}')",
        f"FROM read_csv('{bait.path}')",
        f"FROM '{bait.path}'",
        f"FROM glob('{folder}/*')",
        f"FROM read_blob('{folder}/../outside/secret.csv')",
        "FROM read_text('/etc/passwd')",
        "FROM read_text('/proc/self/environ')",
        f"FROM query('FROM read_text(''{bait.path}'')')",
        f"COPY (SELECT 1) TO '{folder}/out.csv'",
        f"ATTACH '{folder}/out.db'",
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "INSTALL httpfs",
        "LOAD httpfs",
    ):
        with pytest.raises(TidelakeError) as caught:
            engine.query(text, {}).to_arrow()
        assert _SECRET not in _told(caught.value), text
    assert [path.name for path in Path(folder).iterdir()] == ["secret.csv"]


def test_links_lead_nowhere(sandbox: tidelake.Lake, bait: Bait, place: Place) -> None:
    link = Path(sandbox.session.data_path) / "link.csv"
    link.symlink_to(bait.path)
    for text in (f"FROM read_text('{link}')", f"FROM read_csv('{link}')"):
        with pytest.raises(Denied):
            sandbox.session.local.query(text, {}).to_arrow()
    with pytest.raises(Denied):
        sandbox.session.store.read(str(link))
    with pytest.raises(Denied):
        sandbox.table("t").append(str(link))


def test_a_query_sees_nothing_of_the_program(
    sandbox: tidelake.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not its environment, and not its variables, which DuckDB takes for tables."""
    monkeypatch.setenv("TIDELAKE_TESTS_SECRET", _SECRET)
    import pyarrow as pa

    frame = pa.table({"a": [_SECRET]})
    assert frame.num_rows == 1
    with pytest.raises(NotFound):
        sandbox.sql("SELECT * FROM frame").to_arrow()
    with pytest.raises(TidelakeError):
        sandbox.session.local.query("SELECT * FROM frame", {}).to_arrow()
    with pytest.raises(TidelakeError) as caught:
        sandbox.session.local.query("FROM read_text('/proc/self/environ')", {}).to_arrow()
    assert _SECRET not in _told(caught.value)
