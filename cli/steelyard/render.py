"""`steelyard render`: prints what `up` would run, or what the operator would apply."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
import yaml

from steelyard.parameter import FilePath, manifests_argument
from steelyard_operator.api import manifest
from steelyard_operator.errors import LocalError, ManifestError
from steelyard_operator.local.command import check, engine_command, router_command
from steelyard_operator.local.settings import Settings
from steelyard_operator.plan import (
    Condition,
    EngineProcess,
    Plan,
    PolicyResult,
    ServicePlan,
    child,
    plan,
)

Tree = dict[str, object]

_SETTINGS = Settings(run_dir=Path("<run-dir>"), steelyard=("steelyard",), vllm="vllm")
"""Names rather than places: what is printed does not depend on this machine."""


@click.command(name="render")
@manifests_argument
@click.option("--kubernetes", is_flag=True, help="Print the children in a cluster instead.")
@click.option("--image", help="Of routers and simulated engines; only with --kubernetes.")
@click.option("--json", "json_path", type=FilePath, help="Write JSON here too.")
def command(
    *, manifests: Sequence[Path], kubernetes: bool, image: str | None, json_path: Path | None
) -> None:
    """Print the engines, the router configurations and the conditions of manifests, as YAML.

    With --kubernetes, print the objects that the operator would make of them. No cluster is asked.
    """
    if image is not None and not kubernetes:
        raise click.UsageError("--image needs --kubernetes: nothing else runs in an image")
    try:
        found = manifest.read(manifests)
    except ManifestError as error:
        raise click.ClickException(str(error)) from error
    if kubernetes:
        settings = child.Settings() if image is None else child.Settings(image=image)
        tree: Tree | list[Tree] = render_children(found, settings)
        text = yaml.dump_all(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    else:
        tree = render(plan(found.services, found.policies))
        text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    click.echo(text, nl=False)
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
        json_path.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Writes out what stands twice: a person reads it, and tools that know no anchors."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def render_children(found: manifest.Manifest, settings: child.Settings) -> list[Tree]:
    """What the operator would apply, were the objects new: without owners, which only a cluster
    can name.
    """
    planned = plan(found.services, found.policies).services
    pairs = zip(found.services, planned, strict=True)
    return [item for service, its in pairs for item in child.children(service, its, {}, settings)]


def render(planned: Plan) -> Tree:
    """A plan as plain data. `refusals` says what `up` would not run here."""
    return {
        "services": [_service(service) for service in planned.services],
        "policies": [_policy(policy) for policy in planned.policies],
        "refusals": check(planned, _SETTINGS),
    }


def _service(service: ServicePlan) -> Tree:
    return {
        "namespace": service.key.namespace,
        "name": service.key.name,
        "engines": [_engine(engine) for engine in service.engines],
        "router": {
            "command": router_command("<run-dir>/router.yaml", _SETTINGS),
            "configuration": service.router.model_dump(mode="json", exclude_defaults=True),
        },
        "conditions": [_condition(condition) for condition in service.conditions],
    }


def _engine(engine: EngineProcess) -> Tree:
    try:
        argv: list[str] | None = engine_command(engine, "<port>", _SETTINGS)
    except LocalError:
        argv = None
    return {"name": engine.name, "command": argv, "env": dict(engine.env)}


def _policy(policy: PolicyResult) -> Tree:
    return {
        "namespace": policy.namespace,
        "name": policy.name,
        "ancestors": [
            {"target": ancestor.target, "conditions": [_condition(ancestor.condition)]}
            for ancestor in policy.ancestors
        ],
    }


def _condition(condition: Condition) -> Tree:
    return asdict(condition)
