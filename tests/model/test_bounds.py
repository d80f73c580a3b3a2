"""The least and the greatest of bounds, of whatever texts."""

from tidelake.model.bounds import greatest, least


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
