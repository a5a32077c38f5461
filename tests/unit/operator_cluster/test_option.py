"""The options of `steelyard operator`: on the command line, or in the environment."""

import click
import pytest

from steelyard.main import main
from steelyard_operator.plan.child import Settings


def parsed(*arguments: str) -> dict[str, object]:
    """What the command would be called with."""
    with click.Context(main) as context:
        command = main.get_command(context, "operator")
        assert command is not None
        return command.make_context("operator", list(arguments), parent=context).params


def test_without_options_it_works_in_all_namespaces_with_the_products_own_images() -> None:
    found, default = parsed(), Settings()

    assert found["namespaces"] == ()
    assert (found["image"], found["vllm_image"]) == (default.image, default.vllm_image)
    assert (found["port"], found["resync_seconds"]) == (9091, 600.0)


def test_namespaces_may_be_several() -> None:
    assert parsed("--namespace", "a", "--namespace", "b")["namespaces"] == ("a", "b")


def test_options_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_OPERATOR_VLLM_IMAGE", "mine/vllm:1")
    monkeypatch.setenv("STEELYARD_OPERATOR_NAMESPACES", "a b")
    monkeypatch.setenv("STEELYARD_OPERATOR_RESYNC_SECONDS", "30")

    found = parsed()

    assert found["vllm_image"] == "mine/vllm:1"
    assert found["namespaces"] == ("a", "b")
    assert found["resync_seconds"] == 30.0


def test_what_kubernetes_sets_for_a_service_of_that_name_is_not_taken_for_a_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STEELYARD_OPERATOR_PORT", "tcp://10.0.0.1:9091")

    assert parsed()["port"] == 9091
