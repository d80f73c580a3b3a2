"""How many there are, in words that fit the number."""

import pytest

from tidelake.drawing.amounts import quantity


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (0, "row", "0 rows"),
        (1, "row", "1 row"),
        (1234567, "row", "1,234,567 rows"),
        (1, "entity", "1 entity"),
        (2, "entity", "2 entities"),
    ],
)
def test_one_is_one_and_the_rest_are_many(count: int, noun: str, said: str) -> None:
    assert quantity(count, noun) == said
