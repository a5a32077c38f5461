"""The retry budget."""

from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.proxy.retry import RetryBudget


@given(
    attempts=st.lists(st.booleans(), max_size=400),
    percent=st.integers(0, 100),
    reserve=st.integers(0, 20),
)
def test_retries_never_exceed_the_share_of_requests_and_the_reserve(
    attempts: list[bool], percent: int, reserve: int
) -> None:
    budget = RetryBudget(percent, reserve=reserve)
    firsts = retries = 0
    for is_retry in attempts:
        if is_retry:
            retries += budget.withdraw()
        else:
            budget.deposit()
            firsts += 1

        assert retries <= firsts * percent / 100 + reserve + 1e-6


def test_a_quiet_service_may_retry_from_the_reserve() -> None:
    budget = RetryBudget(10, reserve=10)

    assert [budget.withdraw() for _ in range(11)] == [True] * 10 + [False]


def test_requests_earn_new_retries() -> None:
    budget = RetryBudget(10, reserve=0)
    for _ in range(9):
        budget.deposit()
    assert not budget.withdraw()

    for _ in range(2):
        budget.deposit()

    assert budget.withdraw()
    assert not budget.withdraw()


def test_a_budget_of_nothing_allows_no_retry_not_even_from_the_reserve() -> None:
    budget = RetryBudget(0)
    for _ in range(1000):
        budget.deposit()

    assert not budget.withdraw()


def test_quiet_hours_do_not_add_up_to_a_storm() -> None:
    budget = RetryBudget(100, most=50)
    for _ in range(10_000):
        budget.deposit()

    assert sum(budget.withdraw() for _ in range(1000)) == 50


def test_a_reload_changes_the_share_and_keeps_the_balance() -> None:
    budget = RetryBudget(10)
    budget.update(0)
    assert not budget.withdraw()

    budget.update(10)

    assert budget.withdraw()
