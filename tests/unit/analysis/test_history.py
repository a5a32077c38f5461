import pytest

from steelyard_router.analysis.history import PRIOR_TOKENS, OutputHistory


def test_before_any_answer_the_prior_counts_and_the_limit_caps_it() -> None:
    history = OutputHistory()

    assert history.expected("chat", None) == PRIOR_TOKENS
    assert history.expected("chat", 16) == 16
    assert history.expected("chat", 100_000) == PRIOR_TOKENS


def test_the_first_answer_replaces_the_prior() -> None:
    history = OutputHistory()
    history.learn("chat", 40)

    assert history.expected("chat", None) == 40


def test_the_mean_follows_a_change() -> None:
    history = OutputHistory()
    for tokens in [100] * 200 + [400] * 300:
        history.learn("chat", tokens)

    assert history.expected("chat", None) == pytest.approx(400, rel=0.02)


def test_workloads_learn_apart() -> None:
    history = OutputHistory()
    history.learn("code", 1000)

    assert history.expected("chat", None) == PRIOR_TOKENS


def test_at_least_one_token_is_expected() -> None:
    history = OutputHistory()
    history.learn("chat", 0)

    assert history.expected("chat", None) == 1
    assert history.expected("chat", 0) == 1


def test_workloads_long_gone_are_forgotten() -> None:
    history = OutputHistory()
    history.learn("kept", 7)
    for number in range(255):
        history.learn(f"w{number}", 5)
    history.learn("w9", 5)
    assert history.expected("kept", None) == 7  # a known workload needs no room

    history.learn("kept", 7)
    history.learn("one too many", 5)

    assert history.expected("w0", None) == PRIOR_TOKENS
    assert history.expected("w1", None) == 5
    assert history.expected("kept", None) == 7
