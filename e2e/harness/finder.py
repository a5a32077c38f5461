"""Finds the cluster: the one that $KUBECONFIG names; kind, where Docker runs; one of our own.

$STEELYARD_E2E_CLUSTER (given, kind, own) settles it instead. What cannot be had is said in one
sentence, and the tests are skipped with it; what should work and does not is an error.
"""

import os
import shutil
from pathlib import Path

from onenode import package, preflight
from onenode.binary import LEVEL_2
from onenode.build import Workshop, go_problem
from onenode.cluster import Cluster
from onenode.image import IMAGE, Builder
from onenode.kubectl import Kubectl
from onenode.place import Place

from harness import kind
from harness.target import Target

CHOICE = "STEELYARD_E2E_CLUSTER"
GIVEN_IMAGE = "STEELYARD_E2E_IMAGE"


class NotHere(Exception):
    """There is no cluster on this machine, and none can be made; the text is the reason."""


def find() -> Target:
    place = Place()
    choice = os.environ.get(CHOICE) or _choice(place)
    match choice:
        case "given":
            return _given(place)
        case "kind":
            return _kind(place)
        case "own":
            return _own(place)
        case _:
            raise ValueError(f"${CHOICE} is {choice}; it can be given, kind or own")


def _choice(place: Place) -> str:
    named = os.environ.get("KUBECONFIG")
    if named and Path(named) != Cluster(place, tied=False).plane.kubeconfig:
        return "given"
    return "own" if named or kind.problem() else "kind"


def _given(place: Place) -> Target:
    kubeconfig, image = os.environ.get("KUBECONFIG"), os.environ.get(GIVEN_IMAGE)
    if not kubeconfig:
        raise NotHere("KUBECONFIG names no cluster")
    if os.pathsep in kubeconfig:
        raise NotHere("KUBECONFIG names several files; the tests need one")
    if not image:
        raise NotHere(f"set {GIVEN_IMAGE} to an image of this checkout that your cluster can pull")
    kubectl = Kubectl(_program(place, "kubectl"), Path(kubeconfig))
    return Target("$KUBECONFIG", kubectl, _program(place, "helm"), image, "IfNotPresent")


def _kind(place: Place) -> Target:
    if reason := kind.problem():
        raise NotHere(reason)
    programs = (_program(place, "kubectl"), _program(place, "helm"))
    kubeconfig = kind.up(place, IMAGE)
    kubectl = Kubectl(programs[0], kubeconfig)
    return Target("kind", kubectl, programs[1], IMAGE, "Never", close=lambda: kind.down(place))


def _own(place: Place) -> Target:
    if reason := preflight.problem(place):
        raise NotHere(reason)
    package.install()
    Workshop(place.programs).build(LEVEL_2)
    archive = Builder(place).build()
    standing = Cluster(place, tied=False)
    cluster = standing if standing.is_standing else Cluster(place, tied=True)
    if cluster is not standing:
        cluster.up()
    cluster.load(archive)
    return Target(
        "one node of our own",
        cluster.plane.kubectl,
        place.programs / "helm",
        IMAGE,
        "Never",
        audit=cluster.plane.audit,
        reaches_services=True,
        close=(lambda: None) if cluster is standing else cluster.down,
    )


def _program(place: Place, name: str) -> Path:
    """From the PATH, else built here."""
    if found := shutil.which(name):
        return Path(found)
    if reason := go_problem():
        raise NotHere(f"{name} is not installed, and {reason}")
    Workshop(place.programs).build([each for each in LEVEL_2 if each.name == name])
    return place.programs / name
