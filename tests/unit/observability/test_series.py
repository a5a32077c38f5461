from hypothesis import given
from hypothesis import strategies as st
from support.observed import served

from steelyard_router.observability.series import MAX_INSTANCES, OTHER, Buckets, SeriesTable, Tally

BOUNDS = (1.0, 2.0, 5.0)


def test_a_value_on_a_bound_counts_below_it() -> None:
    buckets = Buckets(BOUNDS)
    for value in (0.5, 1.0, 1.5, 5.0, 6.0):
        buckets.add(value)

    assert buckets.cumulative() == [2, 3, 4, 5]
    assert buckets.sum == 14.0


@given(st.lists(st.floats(0, 100)))
def test_cumulative_counts_are_the_counts_of_values_at_or_below(values: list[float]) -> None:
    buckets = Buckets(BOUNDS)
    for value in values:
        buckets.add(value)

    expected = [sum(value <= bound for value in values) for bound in BOUNDS]
    assert buckets.cumulative() == [*expected, len(values)]


def test_results_and_statuses_outside_the_known_ones_share_one_place() -> None:
    tally = Tally()
    for number in range(1000):
        tally.add(served(result=f"invented-{number}", status=number * 1000))

    assert tally.results == {(OTHER, 0): 1000}
    assert tally.requests == 1000


def test_errors_are_failures_that_are_not_the_clients() -> None:
    tally = Tally()
    results = (
        "ok",
        "client_gone",
        "client_error",
        "upstream_error",
        "timeout",
        "overloaded",
        "no_instance",
    )
    for result in results:
        tally.add(served(result=result))

    assert (tally.requests, tally.errors) == (7, 4)


def test_the_hit_ratio_counts_only_prompts_whose_engine_reported() -> None:
    tally = Tally()

    assert tally.hit_ratio is None

    tally.add(served(prompt_tokens=1000, cached_tokens=None))
    tally.add(served(prompt_tokens=1000, cached_tokens=250))

    assert tally.hit_ratio == 0.25


def test_ten_thousand_instance_names_share_a_bounded_number_of_series() -> None:
    table = SeriesTable()
    for number in range(10_000):
        table.get("chat", f"pod-{number}").add(served())

    series = dict(table.items())
    assert len(series) == MAX_INSTANCES + 1
    assert series["chat", OTHER].tally.requests == 10_000 - MAX_INSTANCES


def test_a_departed_instance_vanishes_and_gives_its_place_back() -> None:
    table = SeriesTable(max_instances=2)
    for instance in ("a", "b", ""):
        table.get("chat", instance).add(served())
    table.keep({"b"})
    table.get("chat", "c").add(served())

    assert {instance for (_, instance), _ in table.items()} == {"b", "", "c"}
    assert table.total().requests == 4
