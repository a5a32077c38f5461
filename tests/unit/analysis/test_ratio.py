import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.analysis.ratio import HIGHEST, LOWEST, MEDIA_PRIOR, PRIOR, TokenRatio


def test_four_bytes_are_a_token_until_usage_says_otherwise() -> None:
    ratio = TokenRatio()

    assert ratio.tokens_per_byte("m") == PRIOR == 0.25


@pytest.mark.parametrize("true", [0.1, 0.2, 0.33, 0.9])
def test_the_ratio_follows_reports(true: float) -> None:
    ratio = TokenRatio()
    for size in [500, 3000, 40_000] * 30:
        ratio.learn("m", text_bytes=size, tokens=round(size * true))

    assert ratio.tokens_per_byte("m") == pytest.approx(true, rel=0.05)


def test_a_template_s_fixed_tokens_do_not_bias_long_prompts() -> None:
    ratio = TokenRatio()
    for size in [100, 100, 100, 20_000] * 40:
        ratio.learn("m", text_bytes=size, tokens=30 + size // 4)

    assert ratio.tokens_per_byte("m") == pytest.approx(0.25, rel=0.05)


def test_one_absurd_report_moves_little() -> None:
    ratio = TokenRatio()
    for _ in range(100):
        ratio.learn("m", text_bytes=4000, tokens=1000)
    ratio.learn("m", text_bytes=4000, tokens=1_000_000)

    assert ratio.tokens_per_byte("m") == pytest.approx(0.25, rel=0.02)


def test_models_learn_apart() -> None:
    ratio = TokenRatio()
    for _ in range(50):
        ratio.learn("dense", text_bytes=4000, tokens=2000)

    assert ratio.tokens_per_byte("dense") > 0.4
    assert ratio.tokens_per_byte("other") == PRIOR


@pytest.mark.parametrize(("text_bytes", "tokens"), [(0, 10), (100, 0), (-1, 5), (5, -1)])
def test_reports_without_text_or_tokens_teach_nothing(text_bytes: int, tokens: int) -> None:
    ratio = TokenRatio()
    ratio.learn("m", text_bytes=text_bytes, tokens=tokens)

    assert ratio.tokens_per_byte("m") == PRIOR


@given(st.lists(st.tuples(st.integers(1, 10**8), st.integers(1, 10**9)), max_size=100))
def test_the_ratio_stays_within_its_bounds(reports: list[tuple[int, int]]) -> None:
    ratio = TokenRatio()
    for text_bytes, tokens in reports:
        ratio.learn("m", text_bytes=text_bytes, tokens=tokens)

    assert LOWEST <= ratio.tokens_per_byte("m") <= HIGHEST


def test_tokens_of_a_picture_are_learned_from_what_the_text_does_not_explain() -> None:
    ratio = TokenRatio()
    media = (("image", 2),)
    assert ratio.media_tokens("m", media) == 2 * MEDIA_PRIOR["image"]

    for _ in range(100):
        ratio.learn("m", text_bytes=4000, tokens=1000 + 2 * 300, media=media)

    assert ratio.media_tokens("m", (("image", 1),)) == pytest.approx(300, rel=0.02)
    assert ratio.tokens_per_byte("m") == PRIOR


def test_mixed_media_teach_nothing_because_their_shares_are_unknown() -> None:
    ratio = TokenRatio()
    media = (("audio", 1), ("image", 1))
    before = ratio.media_tokens("m", media)
    ratio.learn("m", text_bytes=4000, tokens=9000, media=media)

    assert ratio.media_tokens("m", media) == before


def test_the_number_of_models_is_bounded() -> None:
    ratio = TokenRatio()
    for model in range(3000):
        ratio.learn(f"m{model}", text_bytes=4000, tokens=2000)

    assert ratio.tokens_per_byte("m0") > PRIOR
    assert ratio.tokens_per_byte("m2999") == PRIOR
