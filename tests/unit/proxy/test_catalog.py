"""Which instances may serve a model, and the merged list of models."""

import orjson
import pytest

from steelyard_router import config
from steelyard_router.errors import ModelNotFound
from steelyard_router.proxy.catalog import LISTED_MODELS, Catalog
from steelyard_router.proxy.roster import Roster


def catalog_of(**models: tuple[str, ...] | None) -> tuple[Catalog, Roster]:
    roster = Roster(config.Breaker(), config.Health(failures=1), on_limit=lambda *_: None)
    apply(roster, **models)
    return Catalog(roster), roster


def apply(roster: Roster, **models: tuple[str, ...] | None) -> None:
    endpoints = [
        config.Endpoint(id=name, url=f"http://{name}:1", models=served)
        for name, served in models.items()
    ]
    roster.apply(endpoints, now=0)


def test_a_model_is_served_by_the_members_that_list_it() -> None:
    catalog, _ = catalog_of(a=("m", "n"), b=("m",), c=("n",))

    assert catalog.among("m") == frozenset({"a", "b"})
    assert catalog.among("n") == frozenset({"a", "c"})


def test_all_members_are_told_as_none() -> None:
    catalog, _ = catalog_of(a=("m",), b=("m",))

    assert catalog.among("m") is None
    assert catalog.among(None) is None


def test_a_member_with_unknown_models_may_serve_any() -> None:
    catalog, _ = catalog_of(a=("m",), b=("n",), c=None)

    assert catalog.among("m") == frozenset({"a", "c"})
    assert catalog.among("whatever") == frozenset({"c"})


def test_an_unknown_model_is_refused_with_what_there_is() -> None:
    catalog, _ = catalog_of(a=("llama-3-8b",), b=("qwen-2",))

    with pytest.raises(ModelNotFound, match="Did you mean `llama-3-8b`") as caught:
        catalog.among("llama-3-8B")

    error = orjson.loads(caught.value.body())["error"]
    assert error["code"] == "model_not_found"
    assert error["param"] == "model"
    assert "qwen-2" in error["message"]


def test_the_message_about_an_unknown_model_is_bounded() -> None:
    catalog, _ = catalog_of(a=tuple(f"model-{number}" for number in range(500)))

    with pytest.raises(ModelNotFound, match=f"and {500 - LISTED_MODELS} more") as caught:
        catalog.among("x" * 100_000)

    assert len(caught.value.message) < 1000


def test_a_model_whose_only_member_is_down_is_still_known() -> None:
    catalog, roster = catalog_of(a=("m",), b=("n",))
    roster.probed(roster["a"], ok=False, now=1)

    assert catalog.among("m") == frozenset({"a"})


def test_without_members_there_is_no_candidate_to_name() -> None:
    catalog, _ = catalog_of()

    assert catalog.among("m") is None


def test_the_set_is_one_object_while_its_members_stay() -> None:
    catalog, roster = catalog_of(a=("m", "n"), b=("m", "n"), c=None, d=("x",))
    before = catalog.among("m")
    assert before is catalog.among("n")
    unknown = catalog.among("whatever")

    roster.probed(roster["a"], ok=False, now=1)
    apply(roster, a=("m", "n"), b=("m", "n"), c=None, d=("y",))

    assert catalog.among("m") is before
    assert catalog.among("other") is unknown


def test_changes_of_the_roster_are_followed() -> None:
    catalog, roster = catalog_of(a=None, b=("n",))
    assert catalog.among("m") == frozenset({"a"})
    roster.learned(roster["a"], ({"id": "m"},))
    assert catalog.models() == ["m", "n"]

    apply(roster, b=("n",))

    with pytest.raises(ModelNotFound):
        catalog.among("m")


def test_the_list_holds_each_model_once_in_order_with_what_its_first_member_tells() -> None:
    catalog, roster = catalog_of(b=None, a=None, c=("plain",), d=("gone",))
    roster.learned(roster["a"], ({"id": "m", "object": "model", "max_model_len": 100},))
    roster.learned(roster["b"], ({"id": "m", "max_model_len": 200}, {"id": "lora", "parent": "m"}))
    roster.probed(roster["d"], ok=False, now=1)

    listing = orjson.loads(catalog.body())

    assert listing["object"] == "list"
    assert [card["id"] for card in listing["data"]] == ["lora", "m", "plain"]
    assert listing["data"][0]["parent"] == "m"
    assert listing["data"][1]["max_model_len"] == 100
    assert listing["data"][2]["object"] == "model"
    assert catalog.body() is catalog.body()
