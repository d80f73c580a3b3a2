"""What is worth compacting, from facts alone."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidelake.model.schema import Column, Schema
from tidelake.model.table import SortKey
from tidelake.upkeep import choose as compaction
from tidelake.upkeep.choose import FileFacts, KeptRows, Situation, actions, sort_column
from tidelake.upkeep.values import CompactAction

NOWHERE = (None, ())


def file(number: int, **facts: Any) -> FileFacts:
    known = {"version": 1, "partition": NOWHERE, "rows": 100, "deleted": 0, "bytes": 10, "begin": 1}
    return FileFacts(number, **(known | facts))


def planned(*files: FileFacts, **facts: Any) -> list[CompactAction]:
    return actions(Situation("t", **({"version": 1, "target_bytes": 100} | facts), files=files))


def groups(found: list[CompactAction]) -> list[tuple[str, tuple[int, ...]]]:
    return [(action.kind, action.file_ids) for action in found]


def test_small_files_are_merged_up_to_the_target_size():
    sizes = [40, 40, 30, 30, 10, 50, 200]
    found = planned(*(file(n, bytes=size) for n, size in enumerate(sizes)))
    assert groups(found) == [("merge", (0, 1)), ("merge", (2, 3, 4))]
    assert [(a.files, a.rows, a.bytes, a.files_after) for a in found] == [
        (2, 200, 80, 1),
        (3, 300, 70, 1),
    ]


def test_one_small_file_is_left_alone():
    assert planned(file(1), file(2, bytes=60)) == []


def test_files_of_other_columns_or_partitions_stay_apart():
    found = planned(
        file(1),
        file(2, version=2),
        file(3, partition=(7, ("a",))),
        file(4, partition=(7, ("b",))),
        file(5, partition=(8, ("a",))),
        file(6),
        file(7, partition=(7, ("a",))),
    )
    assert groups(found) == [("merge", (1, 6)), ("merge", (3, 7))]
    assert found[1].partition == ("a",)


def test_neighbours_in_the_order_of_the_table_come_together():
    keys = [5, 1, 4, 2, None, 3]
    found = planned(*(file(n, bytes=40, key=key) for n, key in enumerate(keys)))
    assert groups(found) == [("merge", (1, 3)), ("merge", (5, 2)), ("merge", (0, 4))]


def test_without_an_order_older_files_come_first():
    files = [file(1, begin=3), file(2, begin=1, first_row=9), file(3, begin=1, first_row=2)]
    assert groups(planned(*files)) == [("merge", (3, 2, 1))]


def test_files_with_many_deletes_are_rewritten_and_others_carry_theirs():
    found = planned(file(1, deleted=29), file(2, deleted=30))
    assert groups(found) == [("rewrite", (2,)), ("merge", (1, 2))], "what is rewritten is small too"
    assert (found[0].bytes, found[0].bytes_after) == (10, 7)


def test_of_a_file_without_rows_nothing_is_written():
    (found,) = planned(file(3, deleted=100, bytes=1000))
    assert (found.kind, found.files_after, found.bytes_after) == ("rewrite", 0, 0)


def test_the_threshold_can_be_set():
    assert planned(file(1, deleted=40), threshold=0.5) == []


def test_what_the_catalog_keeps_comes_first():
    kept = (KeptRows("k1", 1, NOWHERE, 5, 0), KeptRows("k2", 2, NOWHERE, 3, 1))
    found = planned(file(1), file(2, deleted=4, position_count=4), kept=kept)
    assert groups(found) == [
        ("flush", ()),
        ("flush_deletes", (2,)),
        ("rewrite", (-2,)),
        ("merge", (1, 2, -2, -1)),
    ]
    assert (found[0].rows, found[0].files_after) == (8, 2)
    assert found[1].rows == 4


def test_what_is_not_done_is_not_counted_upon():
    kept = (KeptRows("k1", 1, NOWHERE, 5, 0),)
    now = Situation("t", 2, (file(1, deleted=50), file(2), file(3, version=2)), kept)
    assert groups(actions(now)) == [
        ("flush", ()),
        ("rewrite", (1,)),
        ("merge", (2, -1)),
        ("merge", (1, 3)),
    ]
    assert groups(actions(now, ["merge"])) == [("merge", (1, 2))]


def test_what_cannot_be_written_again_stays():
    assert planned(file(1, fixed=True, deleted=90), file(2, fixed=True), file(3)) == []
    stuck = [file(1, portable=False), file(2), file(3)]
    assert groups(planned(*stuck)) == [("merge", (2, 3))]
    assert groups(planned(file(1, portable=False, deleted=90))) == [("rewrite", (1,))]


def test_a_merge_takes_only_so_many_files():
    found = planned(*(file(n, bytes=0) for n in range(compaction.MOST_FILES + 5)))
    assert [action.files for action in found] == [compaction.MOST_FILES, 5]


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 100)), max_size=40))
def test_no_file_is_taken_twice_and_no_merge_is_too_large(files):
    found = planned(*(file(n, bytes=size, deleted=gone) for n, (size, gone) in enumerate(files)))
    for kind in ("rewrite", "merge"):
        taken = [number for action in found if action.kind == kind for number in action.file_ids]
        assert len(taken) == len(set(taken))
    assert all(action.bytes_after <= 100 for action in found if action.files > 1)
    assert all(action.files > 1 for action in found if action.kind == "merge")


@given(st.lists(st.integers(1, 120), max_size=40))
def test_merging_comes_to_an_end(sizes):
    files = [file(n, bytes=size) for n, size in enumerate(sizes)]
    for _ in range(2):
        merges = planned(*files)
        gone = {number for action in merges for number in action.file_ids}
        made = [file(1000 + n, bytes=action.bytes) for n, action in enumerate(merges)]
        files = [each for each in files if each.id not in gone] + made
    assert planned(*files) == []


def test_which_column_a_table_is_sorted_by():
    schema = Schema((Column(1, "a", "int64"), Column(2, 'odd "name"', "varchar")))
    plain, odd = SortKey("A", "ASC", "NULLS_LAST"), SortKey('"odd ""name"""', "ASC", "NULLS_LAST")
    assert sort_column([plain], schema) == 1
    assert sort_column([odd, plain], schema) == 2
    assert sort_column([SortKey("a + 1", "ASC", "NULLS_LAST")], schema) is None
    assert sort_column([replace(plain, dialect="spark")], schema) is None
    assert sort_column([], schema) is None
