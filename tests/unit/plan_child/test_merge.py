"""A podTemplate over ours."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steelyard_operator.plan.child.merge import merged

KEYS = st.sampled_from("abc")
LEAVES = st.integers(0, 3) | st.sampled_from(["x", "y"]) | st.booleans()


def named(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A list of items with names, as containers and volumes are."""
    items = st.builds(
        lambda name, rest: {**rest, "name": name}, KEYS, st.dictionaries(KEYS, values)
    )
    return st.lists(items, min_size=1, max_size=3, unique_by=lambda item: str(item["name"]))


TREES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES | st.lists(LEAVES, max_size=3),
        lambda inner: st.dictionaries(KEYS, inner, max_size=3) | named(inner),
        max_leaves=8,
    ),
    max_size=3,
)


def says(tree: object, over: object) -> bool:
    """Whether everything in `over` stands in `tree`."""
    if isinstance(over, dict):
        return isinstance(tree, dict) and all(
            key in tree and says(tree[key], value) for key, value in over.items()
        )
    if isinstance(over, list) and over and all(isinstance(item, dict) for item in over):
        assert isinstance(tree, list)
        by_name = {item["name"]: item for item in tree}
        return all(says(by_name[item["name"]], item) for item in over)
    if over == [] and isinstance(tree, list):
        return all(isinstance(item, dict) for item in tree)  # named items stay
    return tree == over


@given(TREES)
def test_nothing_laid_over_changes_nothing(base: dict[str, Any]) -> None:
    assert merged(base, {}) == base
    assert merged({}, base) == base


@given(TREES, TREES)
def test_what_the_user_says_stands_in_the_result(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    assert says(merged(base, over), over)


@given(TREES, TREES)
def test_what_the_user_does_not_mention_stays(base: dict[str, Any], over: dict[str, Any]) -> None:
    result = merged(base, over)

    assert all(result[key] == value for key, value in base.items() if key not in over)


@given(TREES, TREES)
def test_laid_over_twice_is_laid_over_once(base: dict[str, Any], over: dict[str, Any]) -> None:
    once = merged(base, over)

    assert merged(once, over) == once


@given(TREES, TREES)
def test_neither_input_is_changed_nor_shared(base: dict[str, Any], over: dict[str, Any]) -> None:
    before = deepcopy((base, over))
    result = merged(base, over)
    poison(result)

    assert (base, over) == before


def poison(value: object) -> None:
    """Changes everything that can be changed."""
    if isinstance(value, dict):
        for inner in value.values():
            poison(inner)
        value["poison"] = True
    elif isinstance(value, list):
        for inner in value:
            poison(inner)
        value.append("poison")


def test_named_items_keep_their_order_and_new_ones_come_last() -> None:
    base = {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]}
    over = {"env": [{"name": "C", "value": "2"}, {"name": "A", "value": "2"}]}

    assert merged(base, over)["env"] == [
        {"name": "A", "value": "2"},
        {"name": "B", "value": "1"},
        {"name": "C", "value": "2"},
    ]


def test_a_list_without_names_is_replaced() -> None:
    assert merged({"args": ["a", "b"]}, {"args": ["c"]}) == {"args": ["c"]}


def test_a_volume_may_be_mounted_at_a_second_path() -> None:
    base = {"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}
    over = {"volumeMounts": [{"name": "cache", "mountPath": "/other", "subPath": "x"}]}

    paths = [item["mountPath"] for item in merged(base, over)["volumeMounts"]]
    assert paths == ["/cache", "/other"]


def test_a_null_takes_a_setting_away() -> None:
    """What OpenShift needs: it chooses the user itself."""
    base = {"securityContext": {"runAsNonRoot": True, "runAsUser": 65532}}
    over = {"securityContext": {"runAsUser": None}}

    assert merged(base, over) == {"securityContext": {"runAsNonRoot": True}}


def test_an_empty_list_takes_no_named_item_away() -> None:
    base = {"volumes": [{"name": "tmp", "emptyDir": {}}]}

    assert merged(base, {"volumes": []}) == base
