"""Whatever a catalog or a file holds, verify says what is wrong with it; it never breaks off."""

import random

import pytest

from tests.cases import every
from tests.verify.conftest import Patient
from tidelake.catalog.layout import TABLES

GARBAGE = ["", "x", "-1", "99999999999999999999", "NULL", "'", "\x00"]


@pytest.mark.parametrize("seed", every(3, range(12)))
def test_garbage_in_the_catalog_is_a_problem_and_no_more(patient: Patient, seed: int) -> None:
    chance = random.Random(seed)
    with patient.open(read_only=True) as lake:
        for _ in range(3):
            table = chance.choice(sorted(TABLES))
            column = chance.choice([part.split(" ")[0] for part in TABLES[table].split(", ")])
            value = chance.choice([*GARBAGE, None, -5, 2**62])
            said = "NULL" if value is None else repr(value).replace("\\", "")
            said = "''''" if value == "'" else said.replace("\x00", "")
            where = f"rowid = (SELECT min(rowid) FROM {table})"
            patient.sql(f'UPDATE OR IGNORE {table} SET "{column}" = {said} WHERE {where}')
        for problem in lake.verify(deep=True).problems:
            assert problem.what
            assert problem.mend


@pytest.mark.parametrize("kind", ["data_file", "delete_file"])
@pytest.mark.parametrize("seed", range(4))
def test_garbage_in_a_file_is_a_problem_and_no_more(patient: Patient, kind: str, seed: int) -> None:
    chance = random.Random(seed)
    path = patient.path("t", kind=kind)
    raw = bytearray(path.read_bytes())
    for _ in range(40):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    path.write_bytes(bytes(raw))
    with patient.open(read_only=True) as lake:
        problems = lake.verify(deep=True).problems
    assert problems
    assert all(problem.mend for problem in problems)


def test_an_empty_file_and_a_folder(patient: Patient) -> None:
    path = patient.path("p")
    path.unlink()
    path.mkdir()
    patient.path("merged").write_bytes(b"")
    with patient.open(read_only=True) as lake:
        found = {problem.check for problem in lake.verify(deep=True).problems}
    assert found == {"missing-files", "file-sizes"}


def test_a_catalog_without_snapshots(patient: Patient) -> None:
    with patient.open(read_only=True) as lake:
        patient.sql("DELETE FROM ducklake_snapshot")
        (problem,) = lake.verify(deep=True, tables=["t"]).problems
    assert problem.check == "head"
