"""Beliefs about a key, compared with asking at every moment."""

from hypothesis import given
from hypothesis import strategies as st

from tidelake.event_time.values.belief import Belief, Fact, answers, beliefs

MOST = 8


@st.composite
def lives(draw: st.DrawFn, *, lasting: bool = False) -> list[Fact]:
    """Rows that come, go and come back with another time, as updates and rollbacks do; some that
    end by themselves if they are not `lasting`."""
    found = []
    for row in range(draw(st.integers(0, 7))):
        edges = sorted(draw(st.sets(st.integers(0, MOST), min_size=1, max_size=5)))
        for came, went in zip(edges, [*edges[1:], None], strict=True):
            if draw(st.booleans()):
                time, ends = draw(st.integers(0, 4)), draw(st.booleans())
                until = None if lasting else draw(st.none() | st.integers(0, 5))
                found.append(Fact(row, time, came, went, ends, until))
    return draw(st.permutations(found))


def asked(facts: list[Fact], time: int, moment: int) -> Fact | None:
    there = [f for f in facts if f.came <= moment and (f.went is None or moment < f.went)]
    hold = [f for f in there if f.time <= time and (f.until is None or time < f.until)]
    winner = max(hold, key=lambda f: (f.time, f.row), default=None)
    return None if winner is None or winner.ends else winner


def contains(belief: Belief, time: int, moment: int) -> bool:
    return (
        belief.since <= time
        and (belief.until is None or time < belief.until)
        and belief.known_from <= moment
        and (belief.known_to is None or moment < belief.known_to)
    )


@given(lives() | lives(lasting=True))
def test_every_time_and_moment_has_the_answer_of_then(facts: list[Fact]) -> None:
    told = beliefs(facts)
    for time in range(-1, 6):
        for moment in range(-1, MOST + 2):
            found = [belief.fact for belief in told if contains(belief, time, moment)]
            answer = asked(facts, time, moment)
            assert found == ([] if answer is None else [answer])


@given(lives() | lives(lasting=True))
def test_a_belief_lasts_as_long_as_it_can(facts: list[Fact]) -> None:
    told = beliefs(facts)
    ends = {(b.fact, b.since, b.until, b.known_to) for b in told}
    assert not [b for b in told if (b.fact, b.since, b.until, b.known_from) in ends]
    stops = {(b.fact, b.until, b.known_from, b.known_to) for b in told}
    assert not [b for b in told if (b.fact, b.since, b.known_from, b.known_to) in stops]


@given(lives(lasting=True))
def test_what_was_answered_for_one_time(facts: list[Fact]) -> None:
    told = answers(facts)
    for moment in range(-1, MOST + 2):
        found = [b.fact for b in told if contains(b, 9, moment)]
        answer = asked(facts, 9, moment)
        assert found == ([] if answer is None else [answer])
    assert not [b for b in told if (b.fact, b.known_from) in {(b.fact, b.known_to) for b in told}]


def test_what_never_was_there_says_nothing() -> None:
    assert beliefs([Fact(1, 1, came=3, went=3)]) == []
    assert beliefs([]) == []
