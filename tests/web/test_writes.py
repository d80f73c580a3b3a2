"""A page that may write: remedies and going back, after a dry run."""

import pytest

from tests.web.conftest import Browser


@pytest.fixture
def numbers(lake):
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("numbers", "x INTEGER")
    for number in range(20):
        table.append([{"x": number}])
    return table


def test_a_remedy_is_tried_and_then_done(lake, numbers):
    browser = Browser(lake, writable=True)
    assert "tidelake compact" in browser.get("/signals")
    remedy = {"operation": "compact", "table": "main.numbers"}
    tried = browser.post("/remedy", **remedy, dry_run=True).json()
    assert "would bring 20 files" in tried["text"]
    assert len(numbers.files()) == 20
    browser.post("/remedy", **remedy, dry_run=False)
    assert len(numbers.files()) == 1
    assert "small files" not in browser.get("/signals")


@pytest.mark.parametrize(
    "remedy",
    [
        {"operation": "expire", "older_than": "1 day"},
        {"operation": "cleanup"},
        {"operation": "sync_mirrors"},
        {"operation": "drop_rollups", "table": "main.numbers"},
        {"operation": "compact"},
    ],
)
def test_every_remedy_has_a_dry_run(lake, numbers, remedy):
    browser = Browser(lake)
    before = len(lake.snapshots())
    assert browser.post("/remedy", **remedy, dry_run=True).json()["text"]
    assert len(lake.snapshots()) == before


def test_an_unknown_remedy_is_refused(lake):
    assert Browser(lake, writable=True).post("/remedy", 400, operation="drop_everything")


def test_a_table_goes_back_after_a_dry_run(lake, numbers):
    browser = Browser(lake, writable=True)
    tried = browser.post("/history/rollback", table="numbers", to="6").json()
    assert "0 inserted, 0 updated, 15 deleted" in tried["text"]
    assert numbers.count() == 20
    done = browser.post("/history/rollback", table="numbers", to="6", dry_run=False).json()
    assert "made snapshot" in done["text"]
    assert numbers.count() == 5
