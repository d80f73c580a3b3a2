"""Files that are damaged or made to do harm end in an error of ours, in bounded memory and time."""

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.delta.logs import Log
from tests.hostile.parquet_bombs import bombs, good
from tidelake.delta.log.names import parse_checkpoint
from tidelake.delta.log.vectors import decode_vector, z85
from tidelake.delta.values.actions import Vector
from tidelake.engine.parquet.first_look import look_first
from tidelake.errors import Corrupt, Denied, Invalid, TidelakeError
from tidelake.store.files import Store

_SECONDS = 300
_MEGABYTES = 1500
"""That a process may use, of which Python and its libraries are some 200."""


def outcomes(folder: Path, verbs: str, files: Sequence[Path]) -> list[str]:
    """What came of each; fails if the process did not live to tell."""
    command = [sys.executable, "-m", "tests.hostile.child", str(folder), verbs, *map(str, files)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_SECONDS, cwd=root, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    *told, read, peak = done.stdout.splitlines()
    assert read.startswith("read t")
    assert int(peak.split()[1]) < _MEGABYTES, peak
    return told


def test_parquet_that_lies(tmp_path: Path) -> None:
    files = []
    for at, (_, content) in enumerate(bombs()):
        files.append(tmp_path / f"{at}.parquet")
        files[-1].write_bytes(content)
    told = outcomes(tmp_path, "add_files,append,ingest", files)
    assert len(told) == 3 * len(files)
    assert [each for each in told if not each.endswith("refused")] == []


def _mangled(number: int) -> Iterator[bytes]:
    chance, whole = random.Random(7), good()
    for _ in range(number):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 8)):
            near_end = chance.random() < 0.7
            start = len(data) - 400 if near_end else 0
            data[chance.randrange(start, len(data) - 8)] = chance.randrange(256)
        yield bytes(data[: chance.randrange(len(data))] if chance.random() < 0.2 else data)


@pytest.mark.parametrize("number", [6, pytest.param(600, marks=pytest.mark.slow)])
def test_parquet_with_bits_that_fell_over(tmp_path: Path, number: int) -> None:
    files = []
    for at, content in enumerate(_mangled(number)):
        files.append(tmp_path / f"{at}.parquet")
        files[-1].write_bytes(content)
    told = outcomes(tmp_path, "append,add_files", files)
    assert len(told) == 2 * number
    assert not [each for each in told if each.endswith("at length")]


@pytest.mark.slow
def test_a_file_that_grows_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bomb.parquet"
    table = pa.table({"x": pa.array([b"\0" * 2**28] * 2)})
    pq.write_table(table, file, compression="zstd", use_dictionary=False, write_statistics=False)
    assert file.stat().st_size < 2**20
    assert outcomes(tmp_path, "append,add_files,ingest,create", [file])


def test_a_footer_is_looked_at_before_anybody_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "deep.parquet"
    file.write_bytes(dict(bombs())["nested 100,000 deep"])
    with pytest.raises(Invalid, match="too deeply nested"):
        look_first(Store(), [str(file)])


def _texts(folder: Path) -> Iterator[tuple[str, bytes]]:
    deep = 200_000
    yield "deep.json", b'{"x":' + b"[" * deep + b"]" * deep + b"}\n"
    yield "deeper.json", b'{"x":' * deep + b"1" + b"}" * deep + b"\n"
    yield "array.json", b"[" * deep
    yield "long.json", b'{"x":"' + b"y" * 20_000_000 + b'"}\n'
    yield "long.csv", b'x\n"' + b"y" * 3_000_000 + b'"\n'
    yield "wide.csv", b",".join(b"c%d" % at for at in range(100_000)) + b"\n"
    yield "nul.csv", b"x\n\0\0\0\n"
    yield "broken.json.gz", gzip.compress(b'{"x": 1}\n')[:-9]
    yield "broken.csv.gz", b"\x1f\x8bno gzip at all"


@pytest.mark.slow
def test_text_that_lies(tmp_path: Path) -> None:
    files = []
    for name, content in _texts(tmp_path):
        files.append(tmp_path / name)
        files[-1].write_bytes(content)
    told = outcomes(tmp_path, "append,ingest", files)
    assert len(told) == 2 * len(files)
    assert not [each for each in told if each.endswith("at length")]


@pytest.mark.slow
def test_text_that_grows_when_it_is_read(tmp_path: Path) -> None:
    """Three gigabytes in three megabytes."""
    for name, start in (("bomb.json.gz", b'{"x":"'), ("bomb.csv.gz", b'x\n"')):
        with gzip.open(tmp_path / name, "wb", 9) as file:
            file.write(start)
            for _ in range(300):
                file.write(b"y" * 10_000_000)
    for name in ("bomb.json.gz", "bomb.csv.gz"):
        assert all(
            each.endswith("refused")
            for each in outcomes(tmp_path, "append,ingest", [tmp_path / name])
        )


def _logs(folder: Path) -> Iterator[Path]:
    def new(name: str) -> Log:
        log = Log(folder / name)
        log.begin()
        return log

    def write(log: Log, text: str, name: str = "00000000000000000001.json") -> Path:
        (log.folder / name).write_text(text)
        return log.root

    yield write(new("deep"), '{"add":' * 200_000)
    yield write(new("nested"), '{"metaData":' + "[" * 200_000 + "]" * 200_000 + "}")
    yield write(new("long"), json.dumps({"add": {"path": "x" * 20_000_000}}))
    yield write(new("many"), '{"unknown":[' + ",".join(["{}"] * 6_000_000) + "]}")
    yield write(new("far"), "{}", "99999999999999999999.json")
    yield write(new("parts"), "", "00000000000000000000.checkpoint.0000000001.9999999999.parquet")
    yield write(new("checkpoint"), "PAR1nothing", "00000000000000000009.checkpoint.parquet")
    log = new("lying checkpoint")
    content = dict(bombs())["nested 100,000 deep"]
    (log.folder / "00000000000000000009.checkpoint.parquet").write_bytes(content)
    yield log.root
    log = new("huge numbers")
    log.commit({"add": {"path": "f", "size": 10**400, "modificationTime": -(10**30)}})
    yield log.root
    log = new("lying file")
    added = log.add({"x": [1]}, "f.parquet", stats={})
    (log.root / "f.parquet").write_bytes(content)
    log.commit(added)
    yield log.root


@pytest.mark.slow
def test_delta_logs_that_lie(tmp_path: Path) -> None:
    roots = list(_logs(tmp_path))
    told = outcomes(tmp_path, "import", roots)
    assert len(told) == len(roots)
    assert [each for each in told if not each.endswith("refused")] == ["import parts taken"]


def test_parts_without_end_are_not_counted() -> None:
    found = parse_checkpoint("00000000000000000000.checkpoint.0000000001.9999999999.parquet")
    assert found is not None
    assert found.parts == 9_999_999_999


@pytest.mark.slow
def test_a_vector_of_a_few_bytes_that_names_billions_of_rows() -> None:
    from pyroaring import BitMap64

    bitmap = BitMap64()
    bitmap.add_range(0, 2**33)
    bitmap.run_optimize()
    data = (1681511377).to_bytes(4, "little") + bitmap.serialize()
    data += b"\0" * (-len(data) % 4)
    size = 4 + len(bitmap.serialize())
    for count in (2**33, 3):
        vector = Vector("i", z85(data), size, count)
        with pytest.raises(Corrupt, match=r"names 8,589,934,592 rows"):
            decode_vector(vector, "/nowhere/", lambda _: b"")
    for absurd in (Vector("u", "x" * 20, 2**31, 1, 1), Vector("i", "~~~~~", 5, 1)):
        with pytest.raises(TidelakeError):
            decode_vector(absurd, "/nowhere/", lambda _: b"\x01short")


_OUTSIDE = [
    "../secret.parquet",
    "%2e%2e/secret.parquet",
    "a/../../secret.parquet",
    "{}/secret.parquet",
    "file:{}/secret.parquet",
    "file://{}/secret.parquet",
    "file:///{}/table/../secret.parquet",
    "link/secret.parquet",
    "%2e%2e%2fsecret.parquet",
]


@pytest.mark.parametrize("path", _OUTSIDE)
def test_a_delta_log_that_leads_outside(tmp_path: Path, path: str) -> None:
    pq.write_table(pa.table({"x": pa.array([42], pa.int32())}), tmp_path / "secret.parquet")
    log = Log(tmp_path / "table")
    log.begin()
    (log.root / "a").mkdir()
    (log.root / "link").symlink_to(tmp_path)
    size = (tmp_path / "secret.parquet").stat().st_size
    added = {"path": path.format(tmp_path), "partitionValues": {}, "size": size, "dataChange": True}
    log.commit({"add": added | {"modificationTime": 0, "stats": '{"numRecords": 1}'}})
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", data_path=f"{tmp_path}/data/") as lake:
        with pytest.raises((Denied, Corrupt)):
            tidelake.import_delta(lake, str(log.root), "t")
        assert lake.tables() == []


def test_a_checkpoint_whose_parts_are_elsewhere(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    name = f"{0:020d}.checkpoint.{'0' * 8}-0000-4000-8000-{'0' * 12}.json"
    (log.folder / f"{0:020d}.json").unlink()
    for path in ("/etc/passwd", "../../x.parquet", "file:///x", "..%2fx"):
        lines = [{"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 1}}]
        (log.folder / name).write_text("\n".join(map(json.dumps, lines)))
        with (
            tidelake.connect(f"sqlite:///{tmp_path}/lake.db", data_path=f"{tmp_path}/d/") as lake,
            pytest.raises(TidelakeError) as caught,
        ):
            tidelake.import_delta(lake, str(log.root), "t")
        assert "none of its files" in str(caught.value)
