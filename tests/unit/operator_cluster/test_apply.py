"""What counts as a difference between what was seen of a child and what an apply made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_operator.cluster.apply import differ

ASKED = {"metadata": {"labels": {"a": "1"}}, "spec": {"replicas": 2, "ports": [{"port": 80}]}}

trees = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "before",
    [
        {"metadata": {"labels": {"a": "2"}}, "spec": ASKED["spec"]},
        {"metadata": {}, "spec": ASKED["spec"]},
        {"metadata": ASKED["metadata"], "spec": {"replicas": 7, "ports": [{"port": 80}]}},
        {"metadata": ASKED["metadata"], "spec": {"replicas": 2, "ports": []}},
    ],
)
def test_a_change_of_what_is_asked_for_counts(before: object) -> None:
    assert differ(before, ASKED, ASKED)


def test_a_change_of_anything_else_does_not() -> None:
    before = {**ASKED, "status": {"ready": 1}, "metadata": {"labels": {"a": "1", "b": "2"}}}
    after = {**ASKED, "status": {"ready": 2}, "metadata": {"labels": {"a": "1"}, "uid": "u"}}

    assert not differ(before, after, ASKED)


@given(tree=trees, asked=trees)
def test_nothing_differs_from_itself_unless_it_has_another_shape_than_asked(
    tree: object, asked: object
) -> None:
    same_shape = not (isinstance(asked, dict) and not isinstance(tree, dict))

    assert differ(tree, tree, tree) is False
    if not same_shape:
        assert differ(tree, tree, asked)
