from pathlib import Path

import pytest
from support.fidelity_case import document, policies

from steelyard_bench.fidelity.page import write_page
from steelyard_bench.fidelity.verdict import bars, off, order

AGREES = policies((300, 250, 200), (315, 240, 170))


def met(real: list[object]) -> list[bool]:
    return [bar.met for bar in bars(document(real))][:2]


def test_the_bars_are_the_order_and_a_fifth_of_the_mean() -> None:
    assert met(AGREES) == [True, True]
    assert met(policies((300, 250, 200), (300, 250, 159))) == [True, False]
    assert met(policies((300, 250, 200), (249, 251, 200))) == [False, True]
    assert off(AGREES[2], "ttft_ms") == pytest.approx(-0.15)
    assert order(AGREES, "live") == ["multiplicative", "least-request", "round-robin"]


def test_the_page_shows_what_the_json_says(tmp_path: Path) -> None:
    page = write_page(document(AGREES), tmp_path).read_text()

    assert "| real engines: TTFT mean within 20 % | at worst multiplicative -15.0 % | met |" in page
    assert "| TTFT mean, ms | round-robin | 300 | 315 | +5.0 % | 2.2 % |" in page
    assert "|  | multiplicative | 200 | 170 | -15.0 % | 4.1 % |" in page
    assert "| multiplicative | 300 | 99.5 % | -3.1 % | 4.2 |" in page
    assert "| round-robin | 1.05 | 330 | +10.0 % | 10.0 | +0.0 % |" in page
    assert "| a step, ms | 7.00 |" in page
    assert "| prompt alone | 26 | +1.2 % | 3.4 % | 20.0 % |" in page
    assert "Measured in 7.5 minutes on none, 2 cores, Python 3.11, vLLM 0.32.0." in page
    assert "quiet" not in page


def test_what_failed_and_what_was_disturbed_stands_out(tmp_path: Path) -> None:
    wrong = policies((300, 250, 200), (200, 250, 300), usual=0.44)

    page = write_page({**document(wrong), "ahead": True}, tmp_path).read_text()

    assert "multiplicative < least-request < round-robin; simulated round-robin <" in page
    assert "**not met**" in page
    assert "at most 0.44 cores meanwhile at the usual priority" in page
    assert "**It was not quiet.**" in page
    assert "run before all others' (`--ahead`)" in page
