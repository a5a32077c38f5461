"""Rights as the shipped roles grant them, and as the audit log shows them used."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from onenode.audit import Entry
from onenode.kubectl import Kubectl

OURS = "app.kubernetes.io/name=steelyard"


class Right(NamedTuple):
    """What a role lets its holders do."""

    role: str
    verb: str
    group: str
    resource: str
    """With its subresource: `slopolicies/status`."""

    def __str__(self) -> str:
        place = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.role}: {self.verb} {place}"


class Role(NamedTuple):
    """A shipped role and the service accounts that hold it."""

    name: str
    rights: frozenset[Right]
    holders: frozenset[str]


def roles(kubectl: Kubectl) -> list[Role]:
    """Roles that are bound to service accounts of ours, in any namespace."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for kind in ("clusterrolebindings", "rolebindings"):
        for binding in _all(kubectl, kind, OURS):
            reference = binding["roleRef"]
            home = binding["metadata"].get("namespace", "")
            space = home if reference["kind"] == "Role" else ""
            holders = found.setdefault((reference["kind"], space, reference["name"]), set())
            holders.update(
                f"system:serviceaccount:{each.get('namespace', home)}:{each['name']}"
                for each in binding.get("subjects", ())
            )
    return [
        Role(name, frozenset(_rights(kubectl, kind, space, name)), frozenset(holders))
        for (kind, space, name), holders in found.items()
    ]


def used(entries: Iterable[Entry], shipped: Iterable[Role]) -> set[Right]:
    """What was asked for and not refused. An apply that answers 201 is a create as well."""
    by_holder: dict[str, list[str]] = {}
    for role in shipped:
        for holder in role.holders:
            by_holder.setdefault(holder, []).append(role.name)
    rights = set()
    for each in entries:
        if each.code in {401, 403}:
            continue
        resource = "/".join(part for part in (each.resource, each.subresource) if part)
        for role_name in by_holder.get(each.user, ()):
            rights.add(Right(role_name, each.verb, each.group, resource))
            if each.verb == "patch" and each.code == 201:
                rights.add(Right(role_name, "create", each.group, resource))
    return rights


def _rights(kubectl: Kubectl, kind: str, namespace: str, name: str) -> Iterator[Right]:
    place = kubectl.within(namespace) if namespace else kubectl
    for rule in place.get(kind.lower(), name)["rules"]:
        for group in rule.get("apiGroups", ()):
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Right(name, verb, group, resource)


def _all(kubectl: Kubectl, kind: str, labels: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        kubectl("get", kind, "--all-namespaces", "-l", labels, "-o", "json")
    )["items"]
    return found
