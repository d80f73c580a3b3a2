"""The least and the greatest of bounds, of whatever texts."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelake.model.bounds import exact_point, greatest, least


def test_whole_numbers_are_compared_as_numbers() -> None:
    assert (least("int64", ["9", "10", "-3"]), greatest("int64", ["9", "10", "-3"])) == ("-3", "10")
    assert greatest("uint64", ["18446744073709551615", "9"]) == "18446744073709551615"
    assert greatest("decimal(18,2)", ["9", "10", "2"]) == "10"


def test_others_beside_them_count_too() -> None:
    assert (least("int32", ["true", "7", "0"]), greatest("int32", ["true", "0"])) == ("0", "true")
    assert greatest("decimal(18,2)", ["9", "9.5", "10"]) == "10"
    assert least("int64", ["1", "x"]) is None
    assert least("int64", ["1", None]) is None
    assert least("int64", []) is None


def test_words_that_are_numbers_are_words() -> None:
    assert greatest("varchar", ["9", "10"]) == "9"
    assert greatest("float64", ["9", "1e3"]) == "1e3"


DAYS = [
    "2024-02-29",
    "2023-02-29",
    "2024-01-01",
    "0000-01-01",
    "9999-12-31",
    "12024-01-01",
    "2024-03-01",
]
DAYS += ["2024-13-01", "٢024-01-01", "0044-03-15 (BC)"]
CLOCKS = ["", " 00:00:00", " 23:59:59.1", " 23:59:59.10", " 23:59:59.12", " 23:59:59.120001"]
CLOCKS += [" 24:00:00", " 25:00:00", "T00:00:00", " 00:00:00.123456789", " 23:59:59"]
ZONES = ["", "+00", "+01", "Z"]
TIMES = [f"{day}{clock}{zone}" for day in DAYS for clock in CLOCKS for zone in ZONES]
TIMES += ["infinity", "-infinity", "x", "", "a\n", "2024-01-01\n"]
KINDS = [
    "date",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamp_s",
    "varchar",
    "time",
    "uuid",
]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(KINDS), st.data())
def test_ends_are_where_each_of_many_is(kind: str, data: st.DataObject) -> None:
    """Also where the texts alone tell."""
    plain = [text for text in TIMES if exact_point(kind, text) is not None] or TIMES
    some = st.sampled_from(plain)
    texts = data.draw(st.lists(data.draw(st.sampled_from([some, some, st.sampled_from(TIMES)]))))
    points = [exact_point(kind, text) for text in texts]
    known = bool(points) and None not in points
    assert least(kind, texts) == (
        min(texts, key=lambda text: exact_point(kind, text)) if known else None
    )
    assert greatest(kind, texts) == (
        max(texts, key=lambda text: exact_point(kind, text)) if known else None
    )


def test_any_two_times_are_in_order() -> None:
    for kind in ("timestamp", "timestamptz"):
        places: dict[str, Any] = {text: exact_point(kind, text) for text in TIMES}
        for one, here in places.items():
            for two, there in places.items():
                ends = least(kind, [one, two]), greatest(kind, [one, two])
                if here is None or there is None:
                    assert ends == (None, None)
                else:
                    assert ends == (one if here <= there else two, one if here >= there else two)
