"""Coverages put together: what both have, what one has, what only the first has."""

from operator import and_, or_, sub

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coverage.naive import Naive, series, stretches, told
from tidelake.coverage.answer import Coverage
from tidelake.coverage.values.bitmaps import MOST, Buckets
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Range
from tidelake.errors import Invalid

HALF = 1 << 63
SIZE = 30
OF = series("timestamp", "1m", "varchar")
NAMELESS = series("timestamp", "1m")
OPERATIONS = st.sampled_from([and_, or_, sub])


@st.composite
def part(draw, *, named=True):
    first = draw(st.integers(0, SIZE - 1))
    end = draw(st.integers(first + 1, SIZE))
    numbers = st.sets(st.integers(first, end - 1))
    rule = draw(st.none() | numbers)
    names = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3)) if named else [""]
    ids = {
        ((name,) if name else ()): {HALF + n for n in draw(numbers) if rule is None or n in rule}
        for name in names
    }
    moved = None if rule is None else frozenset(HALF + n for n in rule)
    return Naive(ids, HALF + first, HALF + end, moved)


def together(a: Naive, b: Naive, operation) -> tuple[dict, tuple[int, int] | None, set[int]]:
    """Entities with their ids, the range, and what is expected of each."""
    keys = [*a.ids] if operation is sub else [*{**a.ids, **b.ids}]
    ids = {key: operation(a.ids.get(key, set()), b.ids.get(key, set())) for key in keys}
    if operation is sub:
        return ids, (a.first, a.end), a.expected
    if operation is or_:
        hull = min(a.first, b.first), max(a.end, b.end)
        whole = a.rule is None and b.rule is None
        return ids, hull, set(range(*hull)) if whole else a.expected | b.expected
    shared = max(a.first, b.first), min(a.end, b.end)
    return ids, shared if shared[0] < shared[1] else None, a.expected & b.expected


@given(part(), part(), OPERATIONS)
def test_entity_by_entity(a, b, operation):
    found = operation(a.coverage(OF), b.coverage(OF))
    ids, spanned, expected = together(a, b, operation)
    assert found.entities == list(ids)
    assert told(OF, found.runs) == [
        (e, *each) for e, some in ids.items() for each in stretches(some)
    ]
    assert (found._extent.range and (found._extent.range.first, found._extent.range.end)) == spanned
    assert found.expected == len(expected) * len(ids)
    gaps = [(e, *each) for e, some in ids.items() for each in stretches(expected - some)]
    assert told(OF, found.gaps) == (gaps if spanned else [])


@given(part(), part(named=False), OPERATIONS)
def test_one_without_a_name_is_laid_over_every_entity(a, b, operation):
    spread = Naive(dict.fromkeys(a.ids, b.ids[()]), b.first, b.end, b.rule)
    for one, other in ((a, b), (b, a)):
        found = operation(one.coverage(OF), other.coverage(NAMELESS))
        wanted = operation(
            *(each.coverage(OF) for each in ((a, spread) if one is a else (spread, a)))
        )
        assert (found.runs, found.gaps) == (wanted.runs, wanted.gaps)
        assert (found.start, found.end, found.expected) == (
            wanted.start,
            wanted.end,
            wanted.expected,
        )


@given(part(), part(), OPERATIONS)
def test_merged_ones_are_laid_over_too_and_stay_nameless_among_themselves(a, b, operation):
    one, other = a.coverage(OF), b.coverage(OF)
    found = operation(one.all, other.any)
    assert found.entities == [()]
    assert all(each.entity is None for each in [*found.runs, *found.gaps])
    over = operation(one, other.any)
    assert over.entities == one.entities
    for entity in one.entities:
        mine = over.each[entity]
        assert mine.covered == operation(one.each[entity].all, other.any).covered


def test_ranges_that_share_nothing_are_no_complete_answer():
    a = Coverage(NAMELESS, Extent({(): Buckets([HALF])}, Range(HALF, HALF + 1)))
    b = Coverage(NAMELESS, Extent({(): Buckets([HALF + 5])}, Range(HALF + 5, HALF + 6)))
    found = a & b
    assert (found.start, found.ratio, found.is_complete, found.gaps) == (None, 0.0, False, [])
    empty = Coverage(NAMELESS, Extent({(): Buckets()}, Range(HALF, HALF)))
    assert (empty & a).is_complete
    assert [(a | b).expected, (a | b).covered, (a - b).covered] == [6, 2, 1]


def test_what_is_of_nothing_adds_nothing():
    nothing = Coverage(NAMELESS, Extent({(): Buckets()}, None))
    a = Coverage(NAMELESS, Extent({(): Buckets([HALF])}, Range(HALF, HALF + 2)))
    assert [(a | nothing).ratio, (nothing | a).ratio, (a - nothing).ratio] == [0.5, 0.5, 0.5]
    assert [(a & nothing).ratio, (nothing & a).ratio, (nothing - a).ratio] == [0.0, 0.0, 0.0]
    assert not (nothing & a).is_complete


@pytest.mark.parametrize(
    ("kind", "bucket"),
    [("timestamp", "2m"), ("timestamp", "1mo"), ("timestamp", "7d"), ("int64", 60), ("uint64", 1)],
)
def test_other_buckets_are_refused(kind, bucket):
    chosen = Extent({(): Buckets([HALF])}, Range(HALF, HALF + 1))
    weeks = Coverage(series("timestamp", "1w"), chosen)
    with pytest.raises(Invalid, match=f"buckets of 1w cannot .* buckets of {bucket}") as refused:
        weeks & Coverage(series(kind, bucket), chosen)
    assert "set_coverage" in refused.value.hint


def test_spellings_of_one_width_are_one():
    chosen = Extent({(): Buckets([HALF])}, Range(HALF, HALF + 1))
    found = Coverage(series("timestamp", "60m"), chosen) & Coverage(
        series("timestamptz", "1h"), chosen
    )
    assert (found.covered, found.bucket) == (1, "60m")


def test_entities_of_more_columns_are_refused_and_what_is_no_coverage_too():
    chosen = Range(HALF, HALF + 1)
    one = Coverage(OF, Extent({("a",): Buckets([HALF])}, chosen))
    two = Coverage(
        series("timestamp", "1m", "varchar", "int64"), Extent({("a", 1): Buckets([HALF])}, chosen)
    )
    with pytest.raises(Invalid, match="several columns") as refused:
        one | two
    assert ".all" in refused.value.hint
    assert (one | two.all).covered == 1
    with pytest.raises(TypeError):
        one & 3


def test_a_union_that_cannot_be_listed_is_refused():
    a = Coverage(NAMELESS, Extent({(): Buckets()}, Range(0, MOST + 1)))
    rule = Buckets([HALF])
    b = Coverage(NAMELESS, Extent({(): rule}, Range(HALF, HALF + 1), rule))
    with pytest.raises(Invalid, match="too many to be listed"):
        a | b
    within = Coverage(NAMELESS, Extent({(): Buckets([5])}, Range(5, 6), Buckets([5])))
    assert (a | within).expected == MOST + 1


def test_only_a_table_knows_what_came_late():
    found = Coverage(NAMELESS, Extent({(): Buckets()}, Range(0, 1)))
    with pytest.raises(Invalid, match="of no table"):
        found.diff(known_at=1)
