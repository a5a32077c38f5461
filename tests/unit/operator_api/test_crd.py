"""What holds for the schema of each kind as a whole."""

import json

import pytest
from support.crd import CRDS, KINDS, definition, nodes, root, version

from steelyard_operator.api.base import API_VERSION
from steelyard_operator.api.position import documents

SIZE_LIMIT = 200_000
"""`kubectl apply` keeps the whole object in an annotation, which may have 262,144 bytes."""
OWN = ("", "apiVersion", "kind", "metadata")


@pytest.mark.parametrize("kind", KINDS)
def test_a_definition_fits_into_the_annotation_of_kubectl_apply(kind: str) -> None:
    compact = json.dumps(definition(kind), separators=(",", ":"))

    assert len(compact.encode()) < SIZE_LIMIT


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_is_given_twice(kind: str) -> None:
    (only,) = documents((CRDS / KINDS[kind]).read_text(encoding="utf-8"))

    assert list(only.repeated_keys()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_in_a_sentence(kind: str) -> None:
    silent = [
        path
        for path, schema in nodes(root(kind))
        if not schema.get("description", "").endswith((".", '".'))
        and path != "metadata"
        and not path.endswith("{}")
    ]

    assert silent == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_string_and_map_is_bounded(kind: str) -> None:
    unbounded = [
        path
        for path, schema in nodes(root(kind))
        if path not in OWN
        and (
            (schema.get("type") == "array" and "maxItems" not in schema)
            or ("additionalProperties" in schema and "maxProperties" not in schema)
            or (
                (schema.get("type") == "string" or "x-kubernetes-int-or-string" in schema)
                and not {"maxLength", "enum", "format"} & schema.keys()
            )
        )
    ]

    assert unbounded == []


@pytest.mark.parametrize("kind", KINDS)
def test_only_modes_have_a_default(kind: str) -> None:
    """A default is stored for good, so a number must have none: evidence may change it."""
    defaults = {path for path, schema in nodes(root(kind)) if "default" in schema}
    modes = {path for path, schema in nodes(root(kind)) if "enum" in schema}

    assert defaults <= modes | {"status"}
    assert root(kind)["properties"]["status"]["default"] == {"observedGeneration": -1}


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_no_fractions(kind: str) -> None:
    assert [path for path, schema in nodes(root(kind)) if schema.get("type") == "number"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_a_status_are_bounded_by_64(kind: str) -> None:
    status = root(kind)["properties"]["status"]

    assert all(
        schema["maxItems"] <= 64 for _, schema in nodes(status) if schema.get("type") == "array"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_merge_by_type(kind: str) -> None:
    conditions = root(kind)["properties"]["status"]["properties"]["conditions"]

    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


@pytest.mark.parametrize(
    ("kind", "short", "columns"),
    [
        (
            "LLMService",
            "llmsvc",
            "Model Engine Ready Replicas Desired Reason P95 URL Age",
        ),
        ("SLOPolicy", "slopol", "Target Accepted Programmed Mode Firing Age Reason"),
    ],
)
def test_kubectl_shows_what_matters_under_short_names(kind: str, short: str, columns: str) -> None:
    names = definition(kind)["spec"]["names"]

    assert names["shortNames"] == [short]
    assert names["categories"] == ["llm"]
    shown = version(kind)["additionalPrinterColumns"]
    assert [column["name"] for column in shown] == columns.split()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_show_fields_that_there_are(kind: str) -> None:
    paths = {path for path, _ in nodes(root(kind))} | {"metadata.creationTimestamp"}

    for column in version(kind)["additionalPrinterColumns"]:
        field, _, rest = column["jsonPath"].removeprefix(".").partition("[")
        tail = rest.partition("]")[2]
        shown = f"{field}[]{tail}" if rest else field
        assert shown in paths


@pytest.mark.parametrize("kind", KINDS)
def test_a_definition_is_of_the_api_version_that_the_models_read(kind: str) -> None:
    group = definition(kind)["spec"]["group"]

    assert f"{group}/{version(kind)['name']}" == API_VERSION


def test_autoscalers_find_replicas_and_selector() -> None:
    scale = version("LLMService")["subresources"]["scale"]

    assert scale == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }


def test_a_policy_is_marked_as_a_direct_policy() -> None:
    labels = definition("SLOPolicy")["metadata"]["labels"]

    assert labels["gateway.networking.k8s.io/policy"] == "Direct"
