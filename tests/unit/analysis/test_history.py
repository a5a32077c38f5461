import pytest

from steelyard_router.analysis.history import PRIOR_TOKENS, SESSIONS, OutputHistory
from steelyard_router.analysis.quantile import ENOUGH

SHORT, LONG = 700, 20_000
"""Lengths of prompts, far from each other."""


def taught(short: int, long: int, *, answers: int) -> OutputHistory:
    """A workload that answers short and long prompts alternately with so many tokens."""
    history = OutputHistory()
    for _ in range(answers):
        history.learn("chat", SHORT, short)
        history.learn("chat", LONG, long)
    return history


def test_before_any_answer_the_prior_counts_and_the_limit_caps_it() -> None:
    history = OutputHistory()

    assert history.expected("chat", SHORT, None) == PRIOR_TOKENS
    assert history.expected("chat", SHORT, 16) == 16
    assert history.expected("chat", SHORT, 100_000) == PRIOR_TOKENS


def test_the_first_answer_replaces_the_prior() -> None:
    history = OutputHistory()
    history.learn("chat", SHORT, 40)

    assert history.expected("chat", SHORT, None) == 40


def test_the_mean_follows_a_change() -> None:
    history = OutputHistory()
    for tokens in [100] * 200 + [400] * 300:
        history.learn("chat", SHORT, tokens)

    assert history.expected("chat", SHORT, None) == pytest.approx(400, rel=0.02)
    assert history.expected("chat", LONG, None) == pytest.approx(400, rel=0.02)


def test_long_prompts_that_are_answered_briefly_are_told_from_short_ones() -> None:
    history = taught(500, 20, answers=200)

    assert history.expected("chat", SHORT, None) > 400
    assert history.expected("chat", LONG, None) < 80
    assert history.expected("chat", LONG, 10) == 10


def test_prompts_are_of_one_length_from_one_power_of_two_to_the_next() -> None:
    history = OutputHistory()
    for _ in range(200):
        history.learn("chat", 512, 500)
        history.learn("chat", 512 * 2, 20)

    assert history.expected("chat", 1023, None) == history.expected("chat", 512, None) > 400
    assert history.expected("chat", 1024, None) < 80


def test_a_length_that_was_not_met_yet_has_the_mean_of_the_workload() -> None:
    history = taught(500, 20, answers=200)

    assert history.expected("chat", 3000, None) == pytest.approx(260, rel=0.1)


def test_one_answer_to_a_prompt_of_that_length_counts_little_beside_all_others() -> None:
    history = OutputHistory()
    for _ in range(200):
        history.learn("chat", SHORT, 300)
    history.learn("chat", LONG, 5000)
    first = history.expected("chat", LONG, None)

    for _ in range(50):
        history.learn("chat", LONG, 5000)

    assert 300 < first < 1000
    assert history.expected("chat", LONG, None) > 4000


def test_workloads_learn_apart() -> None:
    history = OutputHistory()
    history.learn("code", SHORT, 1000)

    assert history.expected("chat", SHORT, None) == PRIOR_TOKENS


def test_at_least_one_token_is_expected() -> None:
    history = OutputHistory()
    history.learn("chat", SHORT, 0)

    assert history.expected("chat", SHORT, None) == 1
    assert history.expected("chat", SHORT, 0) == 1


def test_workloads_long_gone_are_forgotten() -> None:
    history = OutputHistory()
    history.learn("kept", SHORT, 7)
    for number in range(255):
        history.learn(f"w{number}", SHORT, 5)
    history.learn("w9", SHORT, 5)
    assert history.expected("kept", SHORT, None) == 7  # a known workload needs no room

    history.learn("kept", SHORT, 7)
    history.learn("one too many", SHORT, 5)

    assert history.expected("w0", SHORT, None) == PRIOR_TOKENS
    assert history.expected("w1", SHORT, None) == 5
    assert history.expected("kept", SHORT, None) == 7


def test_a_session_that_answers_at_length_is_expected_to_go_on_and_others_are_not() -> None:
    history = OutputHistory()
    for number in range(200):
        history.learn("chat", SHORT, 100, f"s{number}")
    for _ in range(8):
        history.learn("chat", SHORT, 1000, "essay")

    known = history.expected("chat", SHORT, None)
    assert known < 250
    assert 700 < history.expected("chat", SHORT, None, "essay") < 1000
    assert history.expected("chat", SHORT, None, "never heard of") == known
    assert history.expected("chat", SHORT, 300, "essay") == 300
    assert history.expected("code", SHORT, None, "essay") == PRIOR_TOKENS  # it has that name there


def test_one_answer_of_a_session_counts_less_than_all_others() -> None:
    history = OutputHistory()
    for _ in range(500):
        history.learn("chat", SHORT, 100)
    history.learn("chat", SHORT, 600, "s")

    assert 100 < history.expected("chat", SHORT, None, "s") < 350


def test_sessions_heard_of_longest_ago_are_forgotten() -> None:
    history = OutputHistory()
    for number in range(SESSIONS):
        history.learn("chat", SHORT, 900, f"s{number}")
    history.learn("chat", SHORT, 900, "s0")
    history.learn("chat", SHORT, 900, "one too many")
    for _ in range(200):
        history.learn("chat", SHORT, 10)

    assert history.expected("chat", SHORT, None, "s0") > 300
    assert history.expected("chat", SHORT, None, "s1") == history.expected("chat", SHORT, None)


def test_the_most_is_not_known_before_there_are_enough_answers() -> None:
    history = OutputHistory()
    assert history.most("chat", SHORT, None) is None

    for _ in range(ENOUGH - 1):
        history.learn("chat", SHORT, 50)
    assert history.most("chat", SHORT, None) is None

    history.learn("chat", SHORT, 50)
    assert history.most("chat", SHORT, None) == pytest.approx(50, rel=0.2)
    assert history.most("chat", SHORT, 16) == 16
    assert history.most("chat", SHORT, 0) == 1


def test_the_most_is_by_the_length_of_the_prompt_where_enough_such_answers_are_known() -> None:
    history = taught(500, 20, answers=200)
    history.learn("chat", 3000, 5000)

    assert history.most("chat", SHORT, None) == pytest.approx(500, rel=0.2)
    assert history.most("chat", LONG, None) == pytest.approx(20, rel=0.2)
    assert history.most("chat", 3000, None) == pytest.approx(500, rel=0.2)
