from dataclasses import replace

import pytest

from steelyard_simulator.engine.profile import PROFILES, profile


def test_the_reference_profile_has_the_constants_it_is_compared_by() -> None:
    step_s = profile("reference").step_s(
        prefill_tokens=1000, pairs=1_000_000, sequences=100, context_tokens=1_000_000
    )

    assert step_s == pytest.approx(0.009 + 0.035 + 0.0012 + 0.006 + 0.065)
    assert profile("reference").kv_tokens == 1_536_000


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_every_profile_serves_its_longest_request(name: str) -> None:
    one = profile(name)

    assert one.name == name
    assert one.longest <= one.kv_tokens
    assert one.longest >= 32_768


def test_the_larger_model_on_the_older_gpu_is_slower_in_every_term() -> None:
    new, old = profile("h100-8b"), profile("a100-30b")

    assert old.base_s > new.base_s
    assert old.per_prefill_token_s > new.per_prefill_token_s
    assert old.per_context_token_s > new.per_context_token_s
    assert old.kv_tokens < new.kv_tokens


def test_an_unknown_profile_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="a100-30b, h100-8b, reference"):
        profile("b200")


def test_sizes_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one block"):
        replace(profile("reference"), kv_tokens=8)
    with pytest.raises(ValueError, match="base_s"):
        profile("reference").slowed(0.0)
