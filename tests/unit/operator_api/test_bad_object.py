"""Models refuse what the API server refuses, in the same words; and no rule goes untested."""

import pytest
from pydantic import BaseModel, ValidationError
from support import policy_case, service_case, whole
from support.case import EnumCase, RuleCase
from support.crd import KINDS, Tree, nodes, root

from steelyard_operator.api.base import Model
from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.api.slopolicy import SLOPolicy

MODELS: dict[str, type[Model]] = {"LLMService": LLMService, "SLOPolicy": SLOPolicy}
RULES = (*service_case.RULES, *policy_case.RULES)
ENUMS = (*service_case.ENUMS, *policy_case.ENUMS)
DUPLICATES = {**service_case.DUPLICATES, **policy_case.DUPLICATES}
WHOLE = (whole.SERVICE, whole.POLICY)
SPEC_ENUMS = [case for case in ENUMS if case.path.startswith("spec")]


def validated(item: Tree) -> BaseModel:
    return MODELS[item["kind"]].model_validate(item)


def values(case: EnumCase) -> list[str]:
    found: list[str] = dict(nodes(root(case.kind)))[case.path]["enum"]
    return found


@pytest.mark.parametrize("case", RULES, ids=str)
def test_the_models_take_and_refuse_what_each_rule_does_and_say_the_same(case: RuleCase) -> None:
    for good in case.accept:
        validated(good)
    for bad in case.reject:
        with pytest.raises(ValidationError) as caught:
            validated(bad)
        assert case.said_by_models in str(caught.value), bad


@pytest.mark.parametrize("case", SPEC_ENUMS, ids=lambda case: f"{case.kind}.{case.path}")
def test_the_models_take_the_values_of_each_enum_and_no_other(case: EnumCase) -> None:
    for value in values(case):
        validated(case.holding(value))
    with pytest.raises(ValidationError, match="literal_error"):
        validated(case.holding("Bogus"))


@pytest.mark.parametrize("place", DUPLICATES, ids=".".join)
def test_the_models_refuse_a_key_that_is_given_twice(place: tuple[str, str]) -> None:
    with pytest.raises(ValidationError, match="given twice"):
        validated(DUPLICATES[place])


@pytest.mark.parametrize("item", WHOLE, ids=lambda item: str(item["kind"]))
def test_an_object_with_every_part_is_taken(item: Tree) -> None:
    validated(item)


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_of_the_schema_has_a_case(kind: str) -> None:
    written = sorted(
        (path, rule["message"])
        for path, schema in nodes(root(kind))
        for rule in schema.get("x-kubernetes-validations", ())
    )

    assert sorted((case.path, case.message) for case in RULES if case.kind == kind) == written
    assert all(case.accept and case.reject for case in RULES)


@pytest.mark.parametrize("kind", KINDS)
def test_every_enum_of_the_schema_has_a_case(kind: str) -> None:
    written = sorted(path for path, schema in nodes(root(kind)) if "enum" in schema)

    assert sorted(case.path for case in ENUMS if case.kind == kind) == written


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_with_keys_has_a_case(kind: str) -> None:
    spec = root(kind)["properties"]["spec"]
    written = {
        (kind, path)
        for path, schema in nodes(spec, "spec")
        if schema.get("x-kubernetes-list-type") == "map"
    }

    assert {place for place in DUPLICATES if place[0] == kind} == written
