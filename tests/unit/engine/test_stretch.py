import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.engine.stretch import Stretch


@given(
    st.floats(0, 1e5),
    st.floats(1e-4, 10),
    st.floats(0, 0.1),
    st.integers(1, 2000),
    st.integers(0, 2000),
)
def test_a_step_is_complete_exactly_when_its_end_has_come(
    begin_s: float, first_s: float, growth_s: float, steps: int, asked: int
) -> None:
    stretch = Stretch(begin_s, first_s, growth_s, steps)
    wanted = min(asked, steps)

    assert stretch.completed(stretch.end_s(wanted)) == wanted
    assert stretch.completed(begin_s - 1.0) == 0
    assert stretch.completed(stretch.end_s(steps) + 1.0) == steps


def test_each_step_is_longer_than_the_last_by_the_growth() -> None:
    stretch = Stretch(5.0, 1.0, 0.25, 10)
    ends = [stretch.end_s(count) for count in range(5)]

    assert ends == pytest.approx([5.0, 6.0, 7.25, 8.75, 10.5])


def test_a_cut_keeps_the_running_step() -> None:
    stretch = Stretch(0.0, 1.0, 0.0, 10)
    stretch.done = 3
    stretch.cut()

    assert stretch.steps == 4
