"""Writes that come between an append and its commit: no bucket is taken twice."""

from itertools import product
from typing import Any

import pytest

import tidelake
from tests.coverage.deliveries import POLICIES, as_arrow, as_dicts, make, minutes
from tidelake.errors import Conflict, Overlap
from tidelake.testing.place import Place

FEW, MANY = range(3), range(40)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_two_transactions(lake: tidelake.Lake, policy: str) -> None:
    """Rows in the same buckets are a conflict, rows beside them are none, be they in the catalog
    or in files."""
    table = make(lake, policy)
    table.append(as_arrow(minutes("a", range(100, 140))))
    for mine, theirs in product((FEW, MANY), repeat=2):
        for entity, gap in (("b", 0), ("a", 50), ("a", 0)):
            tx = lake.transaction()
            tx.table(policy).append(as_dicts(minutes("a", mine, 1)))
            table.append(as_dicts(minutes(entity, [gap + n for n in theirs], 2)))
            if (entity, gap) == ("a", 0):
                with pytest.raises(Conflict, match="same buckets"):
                    tx.commit()
            else:
                tx.commit()
            table.delete("v IN (1, 2)")
    assert lake.verify(deep=True).ok


def test_rows_that_go_in_between(lake: tidelake.Lake) -> None:
    """What is skipped because of them would have to come, what they were replaced by stays."""
    for policy in POLICIES:
        table = make(lake, policy)
        table.append(as_arrow(minutes("a", range(40))))
        tx = lake.transaction()
        rows = minutes("b", [0]) if policy == "reject" else minutes("a", range(39, 42), 1)
        tx.table(policy).append(as_dicts(rows))
        table.delete(f"minute(ts) = {5 if policy == 'replace' else 39}")
        if policy == "reject":
            tx.commit()
            continue
        with pytest.raises(Conflict):
            tx.commit()


def test_everything_skipped_by_somebody_who_was_not_up_to_date(place: Place) -> None:
    """A lake that begins from what it last knew must not skip rows because of others that have
    been deleted before."""
    with place.open() as ours, place.open() as theirs:
        table = make(ours, "skip")
        table.append(as_dicts(minutes("a", FEW)))
        theirs.table("skip").delete("true")
        assert table.append(as_dicts(minutes("a", FEW, 1))).inserted == len(FEW)
        theirs.table("skip").append(as_dicts(minutes("b", FEW)))
        assert table.append(as_dicts(minutes("a", FEW, 1))).inserted == 0
        assert table.count() == 2 * len(FEW)


def test_somebody_who_was_not_up_to_date_is_rejected_for_the_right_reason(place: Place) -> None:
    with place.open() as ours, place.open() as theirs:
        table = make(ours, "reject")
        table.append(as_arrow(minutes("a", MANY)))
        theirs.table("reject").append(as_arrow(minutes("b", MANY)))
        with pytest.raises(Overlap):
            table.append(as_arrow(minutes("b", range(39, 80))))
        theirs.table("reject").append(as_arrow(minutes("c", MANY)))
        assert table.append(as_arrow(minutes("d", MANY))).attempts == 1
        theirs.table("reject").delete("s = 'a'")
        table.append(as_arrow(minutes("a", MANY)))
        assert table.count() == 4 * len(MANY)


def test_what_cannot_be_told_is_looked_at_again(lake: tidelake.Lake, duck: Any) -> None:
    """Files of DuckDB's, snapshots that have been expired, other buckets."""
    table = make(lake, "reject")
    sql = "INSERT INTO lake.reject SELECT 'b', ts, 9 FROM lake.reject WHERE s = 'a'"
    table.append(as_arrow(minutes("a", MANY)))
    duck.execute(sql)
    table.append(as_arrow(minutes("c", MANY)))
    tx = lake.transaction()
    tx.table("reject").append(as_arrow(minutes("d", MANY)))
    duck.execute(sql)
    with pytest.raises(Conflict):
        tx.commit()
    with pytest.raises(Overlap):
        table.append(as_arrow(minutes("b", MANY)))
    tx = lake.transaction()
    tx.table("reject").append(as_arrow(minutes("e", MANY)))
    table.set_coverage("1h", entity="s", overlap="reject")
    with pytest.raises(Conflict):
        tx.commit()
    tx = lake.transaction()
    tx.table("reject").append(as_arrow(minutes("e", MANY)))
    table.append(as_arrow(minutes("f", MANY)))
    table.append(as_arrow(minutes("g", MANY)))
    lake.expire(keep_last=1)
    with pytest.raises(Conflict):
        tx.commit()
