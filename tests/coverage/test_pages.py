"""What files with many entities cover lies in pages: it is what rows say, whoever looks for whom,
and whatever Tidelake 0.1 keeps of such files beside it."""

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import tidelake
from tests.coverage.oracle import by_catalog, by_rows
from tidelake.catalog.read import snapshots
from tidelake.coverage import layouts
from tidelake.coverage import records as coverage
from tidelake.coverage.layouts import FILES, PAGE_FILES, PAGES, TABLE, Scope
from tidelake.coverage.recompute import cover_tasks, read_coverage
from tidelake.coverage.series_in_use import in_use
from tidelake.coverage.values import page
from tidelake.coverage.values.bitmaps import Buckets, as_listed, by_entity, pieces
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.piece import Piece
from tidelake.errors import Corrupt, Overlap
from tidelake.testing.place import Place

START = datetime(2024, 3, 1)
SERIES = {"entity": "k", "event_time": "ts", "bucket": "1m"}
MANY = 100


def drawn_pieces(drawn: random.Random, many: int) -> list[Piece]:
    found: list[Piece] = []
    for number in range(many):
        entity = f'["{number}{"ü" * drawn.choice([0, 0, 0, 3000])}"]'
        for begin, end in drawn.choice([[(None, None)], [(0, 4), (4, None)]]):
            first = SIGN + drawn.randrange(-5000, 5000)
            ids = Buckets(range(first, first + drawn.randrange(1, 3000)))
            few = min(drawn.choice([0, 1, len(ids) // 3, len(ids)]), len(ids) - 1)
            found += pieces(entity, ids - Buckets(drawn.sample(list(ids), few)), begin, end)
    return found


@pytest.mark.parametrize("many", [1, 2, 40, 1500])
@pytest.mark.parametrize("seed", range(3))
def test_pages_have_what_they_were_made_of(seed: int, many: int) -> None:
    found = drawn_pieces(random.Random(seed), many)
    made = list(page.pages_of(found))
    largest = max(each.slot for each in made)
    back = []
    for each in made:
        inside = list(page.pieces_in(7, (each.begin, each.end), each[3:]))
        assert len(inside) == 1 or sum(map(len, each[3:])) <= page.LARGEST_PAGE
        for piece in inside:
            assert each.slot in page.slots_of_entities([piece.entity], largest)
        one = inside[0].entity
        only = list(page.pieces_in(7, (each.begin, each.end), each[3:], {one}))
        assert only == [piece for piece in inside if piece.entity == one]
        back += inside
    assert sorted(back) == sorted(each._replace(begin=each.begin or 0) for each in found)
    whole = by_entity(found)
    assert by_entity(back) == whole
    assert by_entity(p for each in found for p in as_listed(each)) == whole


def test_entities_that_cannot_be_told_apart_share_a_page() -> None:
    """Not even the deepest node divides them."""
    one = Piece("[1]", b"x" * page.LARGEST_PAGE, SIGN, SIGN + 5, 3)
    (made,) = page.pages_of([one, one._replace(first=SIGN + 1)])
    assert made.slot.bit_length() == 33
    assert made.slot in page.slots_of_entities(["[1]"], made.slot)


def test_a_page_that_is_cut_short_cannot_be_read() -> None:
    (made,) = page.pages_of(pieces("[1]", Buckets([5, 7, 9])))
    entities, spans, buckets = made[3:]
    for damaged in (
        (entities, spans, buckets[:-1]),
        (entities, spans[:-1], buckets),
        (entities + "\n[2]", spans, buckets),
        (entities, spans + spans, buckets),
    ):
        with pytest.raises(Corrupt, match="of file 7 cannot be read"):
            list(page.kept_pieces(7, damaged))


def rows(hour: int, many: int = MANY, minutes: int = 20) -> pa.Table:
    """Of each entity most minutes of an hour, and more of them from hour to hour."""
    listed = [
        (f"k{n}", START + timedelta(hours=hour, minutes=minute), minute)
        for n in range(many)
        for minute in range(minutes)
        if (n + minute) % (7 + n % 3)
    ]
    names, times, values = zip(*listed, strict=True)
    return pa.table({"k": names, "ts": times, "v": pa.array(values, pa.int32())})


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("t", "k VARCHAR, ts TIMESTAMP, v INTEGER", **SERIES)
        lake.set_option("data_inlining_row_limit", 0)
        yield lake


def asked(lake: tidelake.Lake, sql: str) -> list[tuple[object, ...]]:
    with lake.session.reading() as reader:
        return [tuple(row) for row in reader.rows(sql)]


def assert_true_everywhere(lake: tidelake.Lake) -> None:
    table = lake.table("t")
    for snapshot in table.snapshots():
        then = table.known_at(snapshot.snapshot_id)
        wanted = by_rows(then)
        assert by_catalog(then) == wanted
        for (entity,) in list(wanted)[:3]:
            assert then.coverage(entity=entity).covered == len(wanted[entity,])
    assert lake.verify(deep=True).ok, str(lake.verify(deep=True))


@pytest.mark.parametrize("place", ["sqlite", "postgresql", "mariadb", "duckdb"], indirect=True)
def test_a_history_of_many_entities(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    for hour in range(3):
        t.append(rows(hour))
    t.append(rows(3, many=5))
    assert {row[0] for row in asked(lake, f"SELECT data_file_id FROM {PAGE_FILES}")} == {0, 1, 2}
    assert asked(lake, f"SELECT data_file_id FROM {FILES}") == [(3,)]
    assert_true_everywhere(lake)
    t.delete("v = 5 AND k LIKE 'k1%'")
    t.update({"ts": "ts + INTERVAL 5 HOUR"}, where="k = 'k7'")
    assert_true_everywhere(lake)
    t.compact()
    assert_true_everywhere(lake)
    t.rollback(t.snapshots()[-2].snapshot_id)
    lake.expire(keep_last=2)
    assert_true_everywhere(lake)
    lake.drop("t")
    lake.expire(keep_last=1)
    assert not asked(lake, f"SELECT 1 FROM {PAGES}")
    assert not asked(lake, f"SELECT 1 FROM {PAGE_FILES}")


def test_much_that_few_have_is_divided(lake: tidelake.Lake) -> None:
    """Of a thousand entities none is in the uppermost node."""
    t = lake.table("t")
    t.append(rows(0, many=1000, minutes=15))
    (least,) = asked(lake, f"SELECT min(slot) FROM {PAGES}")
    assert int(str(least[0])) > 1
    assert_true_everywhere(lake)
    assert t.coverage(entity="nobody").covered == 0
    assert t.coverage(entity=[f"k{n}" for n in range(0, 1000, 9)]).covered > 1000


@pytest.mark.parametrize("policy", ["reject", "skip", "replace"])
def test_what_is_covered_already(policy: str, lake: tidelake.Lake, place: Place) -> None:
    t = lake.table("t")
    t.set_coverage("1m", entity="k", overlap=policy)
    t.append(rows(0))
    if policy == "reject":
        with pytest.raises(Overlap):
            t.append(rows(0, many=40))
        with place.open() as other, lake.transaction() as tx:
            other.table("t").append(rows(1))
            tx.table("t").append(rows(2))
    else:
        t.append(rows(0, minutes=30))
    assert_true_everywhere(lake)
    found = t.to_arrow()
    assert len(found) == len(set(zip(*(found[c].to_pylist() for c in ("k", "ts")), strict=True)))


def kept_by_0_1(lake: tidelake.Lake) -> None:
    """What 0.1 finds out of files of which it knows nothing, as it keeps it."""
    with lake.session.reading() as reader:
        table = lake.table("t").info
        (usage,) = in_use(reader, table.id, lake.session.data_path).values()
        ids = coverage.visible_files(reader, table.id, snapshots.head_id(reader))
        work = cover_tasks(reader, usage, ids)
    found = read_coverage(lake.session, usage, work)
    scope = Scope(usage.table.id, usage.series.number)
    with lake.session.database.writing() as writer:
        for each in found:
            made = layouts.listed_rows(scope, each.file_id, each.pieces)
            writer.insert_values(TABLE, layouts.COLUMNS, made)
            known = [(scope.table_id, scope.series, each.file_id, each.through)]
            writer.insert_values(FILES, layouts.FILE_COLUMNS, known)


def execute(lake: tidelake.Lake, sql: str, **values: object) -> None:
    with lake.session.database.writing() as writer:
        writer.execute(sql, **values)


def test_both_keep_the_same(lake: tidelake.Lake) -> None:
    lake.table("t").append(rows(0))
    kept_by_0_1(lake)
    assert_true_everywhere(lake)


def test_0_1_has_found_out_what_is_left(lake: tidelake.Lake) -> None:
    """The pages are of before the delete, and what 0.1 has kept is of after it."""
    t = lake.table("t")
    t.append(rows(0))
    t.delete("v < 9")
    kept_by_0_1(lake)
    assert asked(lake, f"SELECT deleted_through FROM {PAGE_FILES}") == [(0,)]
    assert_true_everywhere(lake)
    assert asked(lake, f"SELECT deleted_through FROM {PAGE_FILES}") == [(0,)]


def test_pages_tell_of_later_deletes_than_0_1(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    t.append(rows(0))
    kept_by_0_1(lake)
    before = asked(lake, f"SELECT * FROM {TABLE}")
    t.delete("v < 9")
    assert_true_everywhere(lake)
    assert not asked(lake, f"SELECT 1 FROM {FILES}"), "one of them is enough"
    with lake.session.database.writing() as writer:
        writer.insert_values(TABLE, layouts.COLUMNS, before)
        writer.insert_values(FILES, layouts.FILE_COLUMNS, [(*before[0][:2], 0, 0)])
    assert_true_everywhere(lake)


def test_0_1_finds_nothing_kept_of_such_files(lake: tidelake.Lake) -> None:
    """So it looks at the files, and is never told that they cover nothing."""
    lake.table("t").append(rows(0))
    assert not asked(lake, f"SELECT 1 FROM {FILES} UNION ALL SELECT 1 FROM {TABLE}")


@pytest.mark.parametrize("dropped", [(PAGES,), (PAGE_FILES,), (PAGES, PAGE_FILES)])
def test_pages_are_dropped(dropped: tuple[str, ...], lake: tidelake.Lake, place: Place) -> None:
    t = lake.table("t")
    t.append(rows(0))
    wanted = by_rows(t)
    for name in dropped:
        execute(lake, f"DROP TABLE {name}")
    with place.open() as other:
        assert by_catalog(other.table("t")) == wanted
        assert by_catalog(other.table("t")) == wanted


def spans(lake: tidelake.Lake, change: Callable[[bytes], bytes]) -> None:
    for slot, kept in asked(lake, f"SELECT slot, spans FROM {PAGES}"):
        assert isinstance(kept, bytes)
        execute(lake, f"UPDATE {PAGES} SET spans = :to WHERE slot = {slot}", to=change(kept))


DAMAGE: dict[str, tuple[Callable[[tidelake.Lake], object], str, bool]] = {
    "another count": (
        lambda lake: spans(lake, lambda kept: kept[:16] + b"\x01" + kept[17:]),
        "that is said to be another",
        False,
    ),
    "less than the entities": (
        lambda lake: spans(lake, lambda kept: kept[32:]),
        "a page that cannot be read",
        False,
    ),
    "another beginning": (
        lambda lake: spans(lake, lambda kept: b"\0" + kept[1:]),
        "",
        False,
    ),
    "bitmaps less": (
        lambda lake: execute(lake, f"UPDATE {PAGES} SET buckets = :to", to=b""),
        "a page that cannot be read",
        False,
    ),
    "another entity": (
        lambda lake: execute(
            lake, f"UPDATE {PAGES} SET entities = replace(entities, 'k1\"', 'x\"')"
        ),
        'of ["x"] is kept as covered',
        True,
    ),
    "an entity that is none": (
        lambda lake: execute(lake, f"UPDATE {PAGES} SET entities = replace(entities, '[', '')"),
        "an entity that is none",
        False,
    ),
    "another node": (
        lambda lake: execute(lake, f"UPDATE {PAGES} SET slot = 4"),
        "an entity that is none",
        False,
    ),
    "a page less": (
        lambda lake: execute(lake, f"DELETE FROM {PAGES}"),
        "has rows, and is not kept",
        True,
    ),
    "a record less": (
        lambda lake: execute(lake, f"DELETE FROM {PAGE_FILES}"),
        "of which it is not said that they are all",
        False,
    ),
    "deletes that have not been": (
        lambda lake: execute(lake, f"UPDATE {PAGE_FILES} SET deleted_through = 99"),
        "for deletes up to snapshot 99",
        False,
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_put_right(what: str, tmp_path: Path) -> None:
    damage, said, is_deep = DAMAGE[what]
    with Place.at("sqlite", tmp_path).open() as lake:
        t = lake.create_table("t", "k VARCHAR, ts TIMESTAMP, v INTEGER", **SERIES)
        t.append(rows(0, many=40))
        damage(lake)
        problems = lake.verify(deep=is_deep).problems
        assert any(said in problem.what for problem in problems), problems
        assert {problem.check for problem in problems} == {"coverage"}
        assert t.recompute_coverage() == 1
        assert_true_everywhere(lake)
