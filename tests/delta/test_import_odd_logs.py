"""Logs that are odd and legal: every version that delta-rs reads is read here, with the same rows.
What is not legal is refused in our own words."""

import json
import random
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.delta.logs import (
    Action,
    Log,
    brought,
    checkpoint,
    column,
    lake_at,
    metadata,
    plain,
    protocol,
    remove,
    rows,
    snapshots_by_version,
)
from tidelake.errors import Corrupt, TidelakeError, Unsupported

STRANGE: list[Action] = [
    {"txn": {"appId": "a", "version": 3}},
    {"txn": {"appId": "b", "version": 1, "lastUpdated": 5, "more": {"x": [1]}}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    {"neverHeardOf": {"path": "x", "deep": [{"a": None}]}},
    {"cdc": {"path": "_change_data/x", "partitionValues": {}, "size": 1, "dataChange": False}},
    {"commitInfo": {"timestamp": 1, "operation": "STREAMING UPDATE", "operationParameters": {}}},
]


class OddLog(Log):
    """Writes commits as nobody does, and anybody may."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root)
        self.chance = chance
        self.live: list[Action] = []

    def odd(self, *actions: Action) -> None:
        self.version += 1
        lines = list(actions)
        extra = self.chance.sample(STRANGE, self.chance.choice([0, 0, 1, 2]))
        lines += extra if self.version else [each for each in extra if "txn" in each]
        self.chance.shuffle(lines)
        ends = self.chance.choice(["\n", "\n\n", " \n", "\r\n"])
        spread = self.chance.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
        text = ends.join(json.dumps(line, separators=spread) for line in lines)
        text += self.chance.choice(["", "\n", "\n\n"])
        place = self.folder / f"{self.version:020d}.json"
        place.write_bytes(text.encode())

    def more(self) -> Action:
        number = self.chance.randrange(1000)
        stats = self.chance.choice([None, "", "{}", '{"numRecords":2,"odd":[1]}'])
        action = self.add({"x": pa.array([number, number + 1], pa.int32())}, stats=stats)
        added = action["add"]
        for name in ("stats", "modificationTime"):
            if name == "stats" and self.chance.random() < 0.2:
                added.pop(name)
        if self.chance.random() < 0.3:
            added |= {"tags": {"A": "b"}, "unheardOf": {"x": 1}}
        self.live.append(action)
        return action

    def step(self) -> None:
        match self.chance.randrange(6):
            case 0 if self.live:
                gone = self.live.pop(self.chance.randrange(len(self.live)))
                self.odd(remove(gone, extendedFileMetadata=True))
            case 1:
                self.odd(metadata([("x", "integer")]))
            case 2:
                self.odd(protocol())
            case 3:
                self.odd({"commitInfo": {"operation": "NOTHING"}})
            case 4 if self.live:
                gone = self.live.pop(0)
                self.odd(self.more(), remove(gone), {"add": None, "txn": None})
            case _:
                self.odd(self.more())


def made(root: Path, seed: int) -> OddLog:
    chance = random.Random(seed)
    log = OddLog(root, chance)
    begin = [protocol(), metadata([("x", "integer")])]
    chance.shuffle(begin)
    match chance.randrange(4):
        case 0:
            log.odd(*begin)
        case 1:
            log.odd(begin[0])
            log.odd(begin[1])
        case 2:
            log.odd({"commitInfo": {"operation": "CREATE"}})
            log.odd(*begin)
        case _:
            log.odd(log.more(), *begin)
    for _ in range(chance.randrange(2, 7)):
        log.step()
    if chance.random() < 0.5:
        at = chance.randrange(2, log.version + 1)
        checkpoint_of(log, at)
        for version in range(chance.randrange(at + 1)):
            (log.folder / f"{version:020d}.json").unlink()
    return log


def checkpoint_of(log: OddLog, version: int) -> None:
    for number in range(version + 1):
        place = log.folder / f"{number:020d}.json"
        lines = [json.loads(line) for line in place.read_text().splitlines() if line.strip()]
        kept = [{k: v for k, v in line.items() if v is not None} for line in lines]
        place.write_text("\n".join(json.dumps(line) for line in kept if line))
    checkpoint(log, version)


def theirs(root: Path, version: int) -> list[Any] | None:
    try:
        return plain(deltalake.DeltaTable(root, version=version).to_pyarrow_table())
    except Exception:
        return None


def in_files(log: OddLog) -> list[Any]:
    """The rows of the files that the log was left with."""
    found = [pq.read_table(log.root / each["add"]["path"]) for each in log.live]
    return plain(pa.concat_tables(found)) if found else []


def first_told(log: OddLog) -> int:
    """Where the log's beginning is gone, nobody can tell the table before the first checkpoint;
    delta-rs answers all the same."""
    if (log.folder / f"{0:020d}.json").exists():
        return 0
    return min(int(each.name[:20]) for each in log.folder.glob("*.checkpoint*.parquet"))


def check(place: Path, seed: int) -> int:
    log = made(place / "table", seed)
    compared = 0
    with lake_at(place) as lake:
        wanted = {version: theirs(log.root, version) for version in range(log.version + 1)}
        try:
            tidelake.import_delta(lake, str(log.root), "all", mode="full-history")
            tidelake.import_delta(lake, str(log.root), "now")
        except Corrupt:
            assert wanted[log.version] is None
            return 0
        at = snapshots_by_version(lake, "all")
        for version, expected in wanted.items():
            if expected is not None and version >= first_told(log):
                compared += 1
                assert version in at, (seed, version)
                assert rows(lake, "all", at[version]) == expected, (seed, version)
        assert rows(lake, "now") == rows(lake, "all") == in_files(log)
        assert wanted[log.version] in (None, in_files(log))  # delta-rs cannot read them all
        assert lake.verify(deep=True).ok
    return compared


@pytest.mark.parametrize(
    "seeds",
    [
        range(3),
        pytest.param(range(3, 120), marks=pytest.mark.slow),
    ],
    ids=["few", "many"],
)
def test_odd_logs(tmp_path: Path, seeds: range) -> None:
    found = 0
    for seed in seeds:
        (tmp_path / str(seed)).mkdir()
        found += check(tmp_path / str(seed), seed)
    assert found


def test_a_log_that_says_later_what_the_table_is(tmp_path: Path) -> None:
    """Old writers began tables without columns."""
    log = Log(tmp_path / "table")
    first = metadata([])
    del first["metaData"]["schemaString"]
    log.commit(protocol(), first)
    log.commit(metadata([("x", "integer")]), log.add({"x": pa.array([1], pa.int32())}))
    log.commit(log.add({"x": pa.array([2], pa.int32())}))
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t", mode="full-history")
        assert (done.first, done.last, done.snapshots) == (1, 2, 2)
        assert done.notes == ("versions 0 to 0 do not say what the table is",)
        tidelake.import_delta(lake, str(log.root), "fast")
        assert rows(lake, "t") == rows(lake, "fast") == [(1,), (2,)]
        assert rows(lake, "t", done.snapshot_id - 1) == [(1,)]


ILLEGAL: dict[str, list[str]] = {
    "minReaderVersion is missing": ['{"protocol": {"minWriterVersion": 2}}'],
    "path is missing": ['{"add": {"size": 1}}'],
    "no JSON from character": ['{"add": {"path": "x"'],
    "no columns up to version 0": [
        '{"metaData": {"id": "x"}}',
        '{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}',
    ],
    "no protocol up to version 0": ['{"metaData": {"schemaString": "{}"}}'],
    "fields is missing": [
        '{"metaData": {"schemaString": "{\\"type\\": \\"struct\\"}"}}',
        '{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}',
    ],
    "a value stands where fields must be": [
        '{"metaData": {"schemaString": "x", "configuration": 7}}'
    ],
    "is no action": ["[1]"],
    "is no text": ["\udcff"],
}


@pytest.mark.parametrize("words", ILLEGAL)
@pytest.mark.parametrize("mode", ["fast", "full-history"])
def test_what_is_not_legal_is_refused_in_plain_words(tmp_path: Path, words: str, mode: str) -> None:
    log = Log(tmp_path / "table")
    text = "\n".join(ILLEGAL[words]).encode(errors="surrogateescape")
    (log.folder / f"{0:020d}.json").write_bytes(text)
    with pytest.raises(TidelakeError, match=words) as refusal:
        brought(tmp_path, log, mode=mode)
    assert "Error(" not in str(refusal.value)


@pytest.mark.parametrize("mode", ["fast", "full-history"])
@pytest.mark.parametrize("kind", ["void", "null"])
def test_columns_of_nothing(tmp_path: Path, mode: str, kind: str) -> None:
    """A column of type void is all NULL, whatever a file has by its name, until it has a type."""
    log = Log(tmp_path / "table")
    inside = {"type": "struct", "fields": [column("a", "integer"), column("nothing", kind)]}
    log.begin([("x", "integer"), ("nothing", kind), ("s", inside)])
    nested = pa.array([{"a": 1}, {"a": 2}], pa.struct({"a": pa.int32()}))
    log.commit(log.add({"x": pa.array([1, 2], pa.int32()), "s": nested}))
    odd = pa.table({"x": pa.array([3], pa.int32()), "nothing": ["hidden"]})
    log.commit(log.add(odd))
    typed = {"type": "struct", "fields": [column("a", "integer"), column("nothing", "string")]}
    log.commit(metadata([("x", "integer"), ("nothing", "string"), ("s", typed)]))
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, str(log.root), "t", mode=mode, up_to_version=2)
        before = lake.table("t").snapshots()[-1].snapshot_id
        assert lake.table("t").schema.column("nothing").duckdb_type == "INTEGER"
        was = [(1, None, {"a": 1, "nothing": None}), (2, None, {"a": 2, "nothing": None})]
        assert rows(lake, "t") == [*was, (3, None, None)]
        tidelake.import_delta(lake, str(log.root), "t", mode=mode, resume=True)
        assert rows(lake, "t") == [*was, (3, "hidden", None)]
        assert rows(lake, "t", before) == [*was, (3, None, None)]
        assert lake.verify(deep=True).ok


@pytest.mark.parametrize("feature", ["variantType", "variantType-preview"])
def test_variants(tmp_path: Path, feature: str) -> None:
    """The feature alone does no harm; a column of that type is refused by its name."""
    log = Log(tmp_path / "table")
    log.begin([("x", "integer")], features=[feature])
    log.commit(log.add({"x": pa.array([1, 2], pa.int32())}))
    assert brought(tmp_path, log) == [(1,), (2,)]
    log.commit(metadata([("x", "integer"), ("v", "variant")]))
    with lake_at(tmp_path) as lake, pytest.raises(Unsupported, match="variant") as refusal:
        tidelake.import_delta(lake, str(log.root), "other")
    assert "to_json" in str(refusal.value)
