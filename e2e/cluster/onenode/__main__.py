"""The one-node cluster by hand. `python -m onenode COMMAND`:

build [NAME ...]  the programs, from Go modules: all, or those named
api               the programs of an API server without a node; where there is no Go, says so
prepare           whatever can be done before the cluster starts: programs, packages, images
up                prepare, and start the cluster with the product's image; it stays until `down`
load              build the product's image again, if it changed, and load it
down              take the cluster down, also what is left of one that crashed
check             whether this machine can run it; if not, why
"""

import argparse
import sys
from collections.abc import Sequence

from onenode import package, preflight
from onenode.binary import LEVEL_1, LEVEL_2
from onenode.build import BuildError, Workshop, go_problem
from onenode.cluster import Cluster, ClusterError
from onenode.image import Builder
from onenode.phase import log, shown
from onenode.place import Place


def build(place: Place, names: Sequence[str]) -> None:
    known = [each.name for each in LEVEL_2]
    if unknown := set(names) - set(known):
        sys.exit(f"no such program: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if reason := go_problem():
        sys.exit(reason)
    Workshop(place.programs).build([each for each in LEVEL_2 if not names or each.name in names])


def api(place: Place) -> None:
    """`make test` goes on without: the tests that want an API server are skipped."""
    if reason := go_problem():
        log.info("no API server for the tests: %s", reason)
    else:
        Workshop(place.programs).build(LEVEL_1)


def prepare(place: Place) -> None:
    check(place)
    package.install()
    Workshop(place.programs).build(LEVEL_2)
    Builder(place).build()


def up(place: Place) -> None:
    prepare(place)
    cluster = Cluster(place, tied=False)
    cluster.up()
    cluster.load(Builder(place).build())
    log.info("export KUBECONFIG=%s PATH=%s:$PATH", cluster.plane.kubeconfig, place.programs)


def load(place: Place) -> None:
    cluster = Cluster(place, tied=False)
    if not cluster.is_running:
        sys.exit("no cluster runs; start one with `up`")
    cluster.load(Builder(place).build())


def down(place: Place) -> None:
    Cluster(place, tied=False).down()


def check(place: Place) -> None:
    if reason := preflight.problem(place):
        sys.exit(f"no one-node cluster on this machine: {reason}")


COMMANDS = {"api": api, "prepare": prepare, "up": up, "load": load, "down": down, "check": check}


def main() -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="onenode", description=__doc__, formatter_class=formatter)
    parser.add_argument("command", choices=["build", *COMMANDS])
    parser.add_argument("names", nargs="*", help="of `build`")
    given = parser.parse_args()
    with shown():
        try:
            if given.command == "build":
                build(Place(), given.names)
            else:
                COMMANDS[given.command](Place())
        except (BuildError, ClusterError, RuntimeError) as error:
            sys.exit(str(error))


main()
