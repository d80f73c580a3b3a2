"""The pictures of the benchmark."""

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench import plots
from bench.__main__ import FIRST, PARTS, in_time
from bench.report import Curve, Part, Verdict

_SVG = "{http://www.w3.org/2000/svg}"
_CURVE = Curve(
    "planning",
    "Planning & <more>",
    "files",
    "milliseconds",
    {"flat": [(1_000, 4.0), (1_000_000, 4.0)], "linear": [(1_000, 4.0), (1_000_000, 4_000.0)]},
)


def test_a_curve_that_is_flat_is_drawn_flat_and_one_that_grows_rises() -> None:
    root = ElementTree.fromstring(plots.chart(_CURVE, "2 cores"))
    flat, linear = (line.attrib["points"].split() for line in root.iter(f"{_SVG}polyline"))
    heights = [[float(point.split(",")[1]) for point in line] for line in (flat, linear)]
    assert heights[0][0] == heights[0][1] == heights[1][0] > heights[1][1]
    assert [float(point.split(",")[0]) for point in flat] == sorted({84.0, 550.0})


def test_labels_of_lines_that_end_together_do_not_lie_on_one_another() -> None:
    lines = {name: [(1.0, 5.0), (10.0, 5.0)] for name in ("one", "two", "three")}
    root = ElementTree.fromstring(plots.chart(Curve("c", "C", "x", "y", lines), "2 cores"))
    places = [float(text.attrib["y"]) for text in root.iter(f"{_SVG}text") if text.text in lines]
    assert len(places) == 3
    assert min(abs(a - b) for a in places for b in places if a is not b) >= 16


@pytest.mark.parametrize(
    ("verdict", "share"),
    [
        (Verdict("least", 0.5, 1.0), 0.5),
        (Verdict("least, missed", 3.0, 1.5), 2.0),
        (Verdict("most", 20.0, 10, at_most=False), 0.5),
        (Verdict("most, missed", 5.0, 10, at_most=False), 2.0),
    ],
)
def test_up_to_the_line_is_good_whichever_way_the_target_goes(
    verdict: Verdict, share: float
) -> None:
    assert plots.share_of_target(verdict) == share
    assert (share <= 1) is verdict.passed


def test_every_curve_is_a_picture_that_says_where_it_was_made(tmp_path: Path) -> None:
    part = Part("Planning", ["what"], verdicts=[Verdict("plan", 2.0, 1.0)], curves=[_CURVE])
    unmeasured = Part("Other", ["what"], verdicts=[Verdict("jvm", None, 1.0)])
    paths = plots.draw({"plan": part, "other": unmeasured}, {"cores": 2}, tmp_path / "plots")
    assert [path.name for path in paths] == ["planning.svg", "targets.svg"]
    for path in paths:
        ElementTree.fromstring(path.read_text())
        assert "cores 2" in path.read_text()
    assert "jvm" not in paths[1].read_text()


def test_parts_begin_in_time_and_the_first_come_first():
    clock = iter([0.0, 0.0, 100.0, 400.0, 500.0])
    names = ["scan", "start", "tables", "web"]
    assert list(in_time(names, 8, lambda: next(clock))) == ["tables", "scan", "start"]
    assert sorted(in_time(list(PARTS), math.inf)) == sorted(PARTS)
    assert set(FIRST) <= set(PARTS)
