"""Each DuckDB spills into a folder of its own, which nobody else sees and which does not stay."""

import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tidelake
from tidelake import scratch
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Unavailable
from tidelake.scratch import Scratch

SOURCE = Path(tidelake.__file__).parent
BIG = "SELECT range AS n, hash(range)::VARCHAR || repeat('x', 20) AS s FROM range({}) ORDER BY s"


def spilling(engine, rows=800_000):
    """A stream of rows that did not fit into memory."""
    engine.workbench().connection.execute("SET GLOBAL memory_limit = '40MB'; SET threads = 1")
    stream = engine.query(BIG.format(rows), {}).to_batches(10_000)
    stream.read_next_batch()
    return stream


def folders(base):
    return sorted(path for path in Path(base).iterdir() if path.name.startswith("tidelake-"))


def files(folder):
    return [path.name for path in folder.iterdir() if path.name != ".owner"]


def test_nobody_else_may_look_into_the_folder(tmp_path):
    old = os.umask(0)
    try:
        stream = spilling(LocalEngine(temp_directory=str(tmp_path)))
    finally:
        os.umask(old)
    [folder] = folders(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert any(name.startswith("duckdb_temp") for name in files(folder))
    stream.close()


@pytest.mark.slow
def test_two_engines_have_two_folders_and_right_answers(tmp_path):
    engines = [LocalEngine(temp_directory=str(tmp_path)) for _ in range(2)]
    streams = [spilling(engine, rows=400_000) for engine in engines]
    assert [len(files(folder)) > 0 for folder in folders(tmp_path)] == [True, True]
    for stream in streams:
        numbers = [n for batch in stream for n in batch.column("n").to_pylist()]
        assert len(numbers) == len(set(numbers)) == 390_000


def test_the_folder_goes_with_the_engine(tmp_path):
    engine = LocalEngine(temp_directory=str(tmp_path))
    stream = spilling(engine)
    engine.close()
    assert len(folders(tmp_path)) == 1, "rows are still being read"
    stream.close()
    del stream
    assert folders(tmp_path) == []


def test_a_closed_lake_leaves_nothing_behind(tmp_path):
    lake = tidelake.connect(f"duckdb:///{tmp_path}/lake.duckdb", temp_directory=tmp_path / "spill")
    t = lake.create_table("t", "n BIGINT")
    t.append([{"n": n} for n in range(100)])
    assert t.scan(where="n > 3").count() == 96
    assert len(folders(tmp_path / "spill")) == 1
    lake.close()
    assert folders(tmp_path / "spill") == []


def test_a_relation_may_spill_after_its_lake_was_closed(tmp_path):
    lake = tidelake.connect(f"sqlite:///{tmp_path}/lake.db", temp_directory=tmp_path / "spill")
    relation = lake.sql("SELECT 1 AS one").to_duckdb()
    lake.close()
    assert relation.fetchall() == [(1,)]
    assert len(folders(tmp_path / "spill")) == 1


def test_copies_for_other_processes_have_their_own_folder_in_the_same_place(tmp_path):
    engine = LocalEngine({}, str(tmp_path))
    copy = pickle.loads(pickle.dumps(engine))
    benches = [engine.workbench(), copy.workbench()]
    assert len({bench.scratch.path for bench in benches}) == len(folders(tmp_path)) == 2


def test_where_it_spills_can_be_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)

    def spills_to(**options):
        with tidelake.connect(**options) as lake:
            query = "SELECT current_setting('temp_directory') AS place"
            return Path(lake.sql(query).to_arrow()["place"][0].as_py()).parent.name

    monkeypatch.setenv("TIDELAKE_TEMP_DIRECTORY", str(tmp_path / "variable"))
    assert spills_to(url="sqlite:///a.db") == "variable"
    Path("tidelake.toml").write_text('catalog = "sqlite:///b.db"\ntemp_directory = "file"\n')
    assert spills_to() == "file"
    assert spills_to(temp_directory="option") == "option"
    monkeypatch.setenv("TIDELAKE_TEMP_DIRECTORY", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert spills_to(url="sqlite:///a.db") == tmp_path.name


def test_a_place_that_cannot_be_used_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match=r"no temporary files can be made in .*file") as refused:
        LocalEngine(temp_directory=str(tmp_path / "file")).workbench()
    assert "TIDELAKE_TEMP_DIRECTORY" in refused.value.hint


def test_without_any_place_all_that_fits_into_memory_works(monkeypatch):
    monkeypatch.delenv("TIDELAKE_TEMP_DIRECTORY", raising=False)
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    assert LocalEngine().query("SELECT 1", {}).count() == 1


OWNER = """
import sys
from tidelake.engine.local.engine import LocalEngine
engine = LocalEngine(temp_directory=sys.argv[1])
bench = engine.workbench()
print(bench.scratch.path, flush=True)
"""


def owner(base, then="sys.stdin.read()"):
    """Another process that has a folder, and goes on as it is told."""
    command = [sys.executable, "-c", OWNER + then, str(base)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    return process, Path(process.stdout.readline().strip())


@pytest.mark.slow
def test_folders_of_the_killed_are_cleared_away_and_those_of_the_living_are_not(tmp_path):
    alive, kept = owner(tmp_path)
    killed, left = owner(tmp_path)
    (left / "duckdb_temp_storage_DEFAULT-0.tmp").write_text("rows")
    (left / "deeper").mkdir()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert left.is_dir()
    scratch.sweep(str(tmp_path))
    assert kept.is_dir()
    assert not left.exists()
    alive.communicate("")
    assert (alive.returncode, kept.exists()) == (0, False)


@pytest.mark.parametrize("end", ["sys.exit(3)", "raise KeyboardInterrupt", "1 / 0", "pass"])
def test_nothing_stays_whichever_way_a_program_ends(tmp_path, end):
    command = [sys.executable, "-c", OWNER + end, str(tmp_path)]
    subprocess.run(command, capture_output=True)
    assert folders(tmp_path) == []


def test_a_fork_leaves_its_parents_folder_alone(tmp_path):
    then = """
import os
child = os.fork()
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert os.path.isdir(bench.scratch.path), "the fork took it away"
print(engine.query("SELECT 7 AS n", {}).count())
"""
    process, folder = owner(tmp_path, then)
    said, _ = process.communicate("")
    assert (process.returncode, said) == (0, "1\n")
    assert not folder.exists()


def test_what_only_looks_like_ours_is_left_alone(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("")
    (tmp_path / "tidelake-scratch-link").symlink_to(precious)
    named_alike = tmp_path / "tidelake-scratch-abcdefgh"
    named_alike.mkdir()
    (named_alike / "file").write_text("")
    scratch.sweep(str(tmp_path))
    assert (precious / "file").exists()
    assert (named_alike / "file").exists()


def test_links_inside_are_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("")
    own = Scratch(str(tmp_path / "base"))
    (Path(own.path) / "link").symlink_to(precious)
    del own
    assert (precious / "file").exists()
    assert folders(tmp_path / "base") == []


def test_a_folder_swept_away_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    made = []
    mkdtemp = scratch.tempfile.mkdtemp

    def swept_at_first(**where):
        made.append(mkdtemp(**where))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", swept_at_first)
    assert Scratch(str(tmp_path)).path == made[1]


def test_every_duckdb_is_opened_in_one_place():
    calls = re.compile(r"\bduckdb\.connect\(|default_connection\(")
    found = [path.name for path in SOURCE.rglob("*.py") if calls.search(path.read_text())]
    assert found == ["duck.py"]


SORTING = """
import hashlib, sys
from tidelake.engine.local.engine import LocalEngine
engine = LocalEngine(temp_directory=sys.argv[1])
engine.workbench().connection.execute("SET GLOBAL memory_limit = '100MB'")
found = hashlib.sha256()
sql = "SELECT hash(range * 7)::VARCHAR || repeat('p', 30) AS s, range AS n FROM range(2000000)"
for batch in engine.query(sql + " ORDER BY s, n", {}).to_batches():
    found.update(str(batch.column(1)[:5].to_pylist()).encode())
print(found.hexdigest())
"""


@pytest.mark.slow
def test_processes_that_spill_together_all_give_the_right_answer(tmp_path):
    command = [sys.executable, "-c", SORTING, str(tmp_path)]

    def started():
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    right = started().communicate()[0]
    for _ in range(2):
        crowd = [started() for _ in range(4)]
        assert [process.communicate()[0] for process in crowd] == [right] * 4
        assert [process.returncode for process in crowd] == [0] * 4
    assert folders(tmp_path) == []
