"""Beliefs about a key, compared with asking at every moment."""

from hypothesis import given
from hypothesis import strategies as st

from tidelake.event_time.values.belief import Belief, Fact, beliefs

MOST = 8


@st.composite
def lives(draw: st.DrawFn) -> list[Fact]:
    """Rows that come, go and come back with another time, as updates and rollbacks do."""
    found = []
    for row in range(draw(st.integers(0, 7))):
        edges = sorted(draw(st.sets(st.integers(0, MOST), min_size=1, max_size=5)))
        for came, went in zip(edges, [*edges[1:], None], strict=True):
            if draw(st.booleans()):
                time, ends = draw(st.integers(0, 4)), draw(st.booleans())
                found.append(Fact(row, time, came, went, ends))
    return draw(st.permutations(found))


def asked(facts: list[Fact], time: int, moment: int) -> Fact | None:
    there = [f for f in facts if f.came <= moment and (f.went is None or moment < f.went)]
    winner = max((f for f in there if f.time <= time), key=lambda f: (f.time, f.row), default=None)
    return None if winner is None or winner.ends else winner


def contains(belief: Belief, time: int, moment: int) -> bool:
    return (
        belief.fact.time <= time
        and (belief.until is None or time < belief.until)
        and belief.known_from <= moment
        and (belief.known_to is None or moment < belief.known_to)
    )


@given(lives())
def test_every_time_and_moment_has_the_answer_of_then(facts: list[Fact]) -> None:
    told = beliefs(facts)
    for time in range(-1, 6):
        for moment in range(-1, MOST + 2):
            found = [belief.fact for belief in told if contains(belief, time, moment)]
            answer = asked(facts, time, moment)
            assert found == ([] if answer is None else [answer])


@given(lives())
def test_a_belief_lasts_as_long_as_it_can(facts: list[Fact]) -> None:
    told = beliefs(facts)
    ends = {(b.fact, b.until, b.known_to) for b in told}
    assert not [b for b in told if (b.fact, b.until, b.known_from) in ends]


def test_what_never_was_there_says_nothing() -> None:
    assert beliefs([Fact(1, 1, came=3, went=3)]) == []
    assert beliefs([]) == []
