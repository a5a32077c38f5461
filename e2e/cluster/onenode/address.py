"""Which addresses the cluster uses.

Keeps true: a level-1 cluster is on loopback; a level-2 cluster has a block of its own in which
nothing of this machine lies, and all of it is routed into the node's network namespace, so that
what is sent to a pod or a Service that is not there ends in that namespace and nowhere else.
"""

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

Network = ipaddress.IPv4Network

BLOCKS = tuple(Network(f"10.{second}.0.0/16") for second in range(201, 251))


@dataclass(frozen=True)
class Addresses:
    """`host` is this machine's end of the link to the node, where the API server listens."""

    host: str
    node: str
    block: Network
    pods: Network
    services: Network

    @property
    def node_pods(self) -> Network:
        """The part of the only node."""
        return next(self.pods.subnets(new_prefix=24))

    @property
    def kubernetes_service(self) -> str:
        return str(self.services[1])

    @property
    def dns(self) -> str:
        return str(self.services[10])


def loopback() -> Addresses:
    """For level 1. Services get addresses that nobody can reach."""
    block = BLOCKS[0]
    host = "127.0.0.1"
    return Addresses(host, host, block, *_parts(block))


def in_block(block: Network) -> Addresses:
    return Addresses(str(block[1]), str(block[2]), block, *_parts(block))


def free_blocks(taken: Iterable[Network]) -> list[Network]:
    """Those that overlap with nothing that this machine has an address or a route for."""
    everything = Network("0.0.0.0/0")
    others = [each for each in taken if each != everything]
    return [each for each in BLOCKS if not any(each.overlaps(other) for other in others)]


def free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def _parts(block: Network) -> tuple[Network, Network]:
    """Pods in the second quarter, Services in the second half; the link is in the first quarter."""
    _, pods, _, _ = block.subnets(new_prefix=18)
    _, services = block.subnets(new_prefix=17)
    return pods, services
