"""Start-up: a new process that imports Tidelake, opens a lake and gets a DataFrame."""

import shutil
from pathlib import Path

from bench.report import Part, Verdict
from bench.timing import best_of, new_python

_ROUNDS = 5
_TARGET = 0.8
_READ = "import sys, tidelake; lake = tidelake.connect(sys.argv[1]); lake.table('t').{method}()"
_COMMAND = "import sys; from tidelake.cli import main; main([{words}, '--catalog', sys.argv[1]])"
_PROGRAMS = {
    "python alone": "pass",
    "import sqlalchemy": "import sqlalchemy",
    "import duckdb": "import duckdb",
    "import pyarrow": "import pyarrow",
    "import pandas": "import pandas",
    "import tidelake": "import tidelake",
    "tidelake: connect, count": _READ.format(method="count"),
    "$ tidelake count t": _COMMAND.format(words="'count', 't'"),
    "$ tidelake tables": _COMMAND.format(words="'tables'"),
    "$ tidelake log": _COMMAND.format(words="'log'"),
    "tidelake: connect, to_arrow": _READ.format(method="to_arrow"),
    "tidelake: connect, to_pandas": _READ.format(method="to_pandas"),
}


def run(folder: Path) -> Part:
    url = _small_lake(folder / "start")
    found = best_of(lambda name: new_python(_PROGRAMS[name], url), list(_PROGRAMS), _ROUNDS)
    whole, pandas = found["tidelake: connect, to_pandas"], found["import pandas"]
    part = Part("Start-up", ["a new process", "wall clock, s", "processor, s"])
    part.rows = [[name, f"{t['wall']:.2f}", f"{t['cpu']:.2f}"] for name, t in found.items()]
    added = whole["wall"] - pandas["wall"]
    part.notes = [
        f"the least of {_ROUNDS} runs that took turns; a SQLite catalog, 1,000 rows in one file",
        f"over `import pandas`, which to_pandas cannot do without, Tidelake adds {added:.2f} s",
    ]
    part.numbers = {**found, "added over pandas": added}
    part.verdicts = [Verdict("import, connect, to_pandas", whole["wall"], _TARGET, unit="s")]
    return part


def _small_lake(folder: Path) -> str:
    from tidelake.testing.duck import duck_connection

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with duck_connection(extensions=("ducklake", "sqlite_scanner")) as connection:
        connection.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake (DATA_PATH '{folder}/data')"
        )
        connection.execute(
            "CREATE TABLE lake.t AS SELECT range AS id, range * 1.5 AS price,"
            " 'S' || range % 50 AS symbol FROM range(1000)"
        )
    return f"sqlite:///{folder}/lake.db"
