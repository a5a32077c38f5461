"""What sessions have been given so far."""

from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.scheduling.attained import KEPT, Attained


def test_a_session_has_had_nothing_until_it_is_given_something() -> None:
    attained = Attained()
    attained.add("a", 100.0)

    assert (attained.of("a"), attained.of("b")) == (100.0, 0.0)


def test_what_has_no_session_adds_to_none() -> None:
    attained = Attained()
    attained.add(None, 100.0)

    assert attained.of(None) == 0.0


def test_who_was_given_something_longest_ago_is_forgotten_first() -> None:
    attained = Attained()
    for number in range(KEPT):
        attained.add(str(number), 1.0)
    attained.add("0", 1.0)
    attained.add("new", 1.0)

    assert [attained.of(name) for name in ("0", "1", "2", "new")] == [2.0, 0.0, 1.0, 1.0]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 10**6))))
def test_each_has_had_the_sum_of_what_it_was_given(given_: list[tuple[str, int]]) -> None:
    attained = Attained()
    for session, tokens in given_:
        attained.add(session, tokens)

    for name in "abc":
        assert attained.of(name) == sum(tokens for session, tokens in given_ if session == name)
