"""Whatever a cell of the catalog becomes, every question has an answer or an error of ours."""

import random
import shutil
from pathlib import Path

import pytest

import tidelake
from tests.verify.tampering import build, fresh, questions, tamper
from tidelake.errors import TidelakeError

FEW = 12


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the lake, and where it must lie."""
    folder = tmp_path_factory.mktemp("tampered") / "lake"
    folder.mkdir()
    build(folder)
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    return copy, folder


def ask(template: tuple[Path, Path], seed: int, most: int) -> None:
    chance = random.Random(seed)
    place = fresh(*template)
    what = [tamper(place, chance) for _ in range(chance.choice([1, 1, 2]))]
    asked = list(questions())
    chance.shuffle(asked)
    try:
        with tidelake.connect(f"sqlite:///{place}") as lake:
            for name, question in asked[:most]:
                try:
                    question(lake)
                except TidelakeError:
                    continue
                except Exception as error:
                    raise AssertionError(f"{name} after {what} in trial {seed}") from error
    except TidelakeError:
        pass


def test_every_question_has_an_answer_when_nothing_is_wrong(template: tuple[Path, Path]) -> None:
    place = fresh(*template)
    with tidelake.connect(f"sqlite:///{place}") as lake:
        for _, question in list(questions())[::4]:
            question(lake)


@pytest.mark.parametrize("seed", range(4))
def test_tampered_catalogs(template: tuple[Path, Path], seed: int) -> None:
    ask(template, seed, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_many_tampered_catalogs(template: tuple[Path, Path], seed: int) -> None:
    ask(template, seed, 1000)
