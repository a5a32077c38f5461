"""From samples to medians and the comparison."""

from dataclasses import replace

from steelyard_bench.wire.cell import CELLS
from steelyard_bench.wire.figure import Sample, compare, figures, policy_us
from steelyard_bench.wire.load import Load

PLAIN, STREAM = CELLS[0], CELLS[2]
LOAD = Load(seconds=2.0, requests=200, chunks=0, p50_ms=1.0, p99_ms=2.0, errors=0)


def _sample(
    target: str, *, cpu_s: float = 1.0, rss: int = 50, requests: int = 200, errors: int = 0
) -> Sample:
    load = replace(LOAD, requests=requests, errors=errors)
    return Sample(PLAIN, target, load, cpu_s, rss)


def test_medians_hold_against_one_bad_run() -> None:
    samples = [_sample("steelyard", cpu_s=cpu_s) for cpu_s in (0.1, 0.2, 9.0)]

    (figure,) = figures(samples)

    assert figure.runs == 3
    assert figure.medians["requests_per_s"] == 100
    assert figure.medians["cpu_us_per_request"] == 1000
    assert figure.spread["cpu_us_per_request"] == (500, 45000)
    assert figure.medians["cpu_us_per_chunk"] is None


def test_errors_add_up_and_memory_is_the_peak() -> None:
    samples = [_sample("a", errors=errors, rss=rss) for errors, rss in ((0, 5), (2, 9), (1, 6))]

    (figure,) = figures(samples)

    assert figure.medians["errors"] == 3
    assert figure.medians["rss_bytes"] == 9


def test_a_streams_cpu_is_shared_by_its_chunks() -> None:
    sample = Sample(STREAM, "a", replace(LOAD, chunks=3200), 0.032, 1)

    (figure,) = figures([sample])

    assert figure.medians["cpu_us_per_chunk"] == 10


def test_without_a_router_there_is_no_cpu_to_report() -> None:
    (figure,) = figures([Sample(PLAIN, "direct", LOAD, None, None)])

    told = figure.to_dict()
    assert told["cpu_us_per_request"] is None
    assert told["rss_bytes"] is None


def test_the_best_peer_is_found_for_each_measure() -> None:
    found = figures(
        [
            _sample("steelyard", requests=300, cpu_s=0.3),
            _sample("one", requests=400, cpu_s=0.8, rss=100),
            _sample("two", requests=200, cpu_s=0.1, rss=25),
            _sample("bystander", requests=9000, cpu_s=0.001, rss=1),
        ]
    )

    ratios = {ratio.measure: ratio for ratio in compare(found, "steelyard", ["one", "two"])}

    assert (ratios["requests_per_s"].peer, ratios["requests_per_s"].ratio) == ("one", 0.75)
    assert (ratios["cpu_us_per_request"].peer, ratios["cpu_us_per_request"].ratio) == ("two", 2.0)
    assert (ratios["rss_bytes"].peer, ratios["rss_bytes"].ratio) == ("two", 2.0)
    assert "cpu_us_per_chunk" not in ratios


def test_without_peers_there_is_no_comparison() -> None:
    assert compare(figures([_sample("steelyard")]), "steelyard", ["one"]) == []


def test_the_policy_costs_what_ours_uses_more_than_the_bare_router() -> None:
    found = figures([_sample("steelyard", cpu_s=0.3), _sample("bare", cpu_s=0.1)])

    assert policy_us(found, "steelyard", "bare") == {"plain-c1": 1000.0}
    assert policy_us(found[:1], "steelyard", "bare") == {}
