"""What is measured: each router as its users would start it, and the way without any.

Peers run with the cache-aware policy, which is what they are for, or round robin as their cheapest;
retries are off, everything else is as they ship.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard_bench.wire.errors import WireError
from steelyard_operator.local.port import free_port

HOST = "127.0.0.1"
CHAT = "/v1/chat/completions"
UNREAD = "/v1/unread"
"""A path that our router does not know, so it passes the request on without reading its body."""


@dataclass(frozen=True, slots=True)
class Site:
    """What targets are made of."""

    engines: Sequence[str]
    """URLs of the dummy engines."""
    steelyard: Sequence[str]
    """The command that starts this product."""
    peers: Path | None
    """A virtual environment with the peers in it."""
    folder: Path
    """For configuration files."""


@dataclass(frozen=True, slots=True)
class Target:
    """One arm of the comparison: what to run, if anything, and where to send requests."""

    label: str
    command: Sequence[str]
    url: str
    ready_url: str
    """Answers 200 when it serves."""


def _direct(label: str, site: Site) -> Target:
    base = site.engines[0]
    return Target(label, (), base + CHAT, f"{base}/health")


def _steelyard(label: str, site: Site) -> Target:
    return _ours(label, site, "Multiplicative", CHAT)


def _bare(label: str, site: Site) -> Target:
    """Our byte path alone: nothing read, nothing indexed, the next engine in turn."""
    return _ours(label, site, "RoundRobin", UNREAD)


def _ours(label: str, site: Site, strategy: str, path: str) -> Target:
    port, admin_port = free_port(HOST), free_port(HOST)
    endpoints = [
        {"id": f"engine-{number}", "url": url, "engine": "VLLM"}
        for number, url in enumerate(site.engines)
    ]
    workload = {"name": "default", "default": True, "routing": {"strategy": strategy}}
    config = {
        "service": {"endpoints": endpoints},
        "policy": {"workloads": [workload]},
        "listen": {"host": HOST, "port": port, "admin_port": admin_port},
    }
    file = site.folder / f"{label}.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    command = [*site.steelyard, "router", "--config", str(file), "--log-level", "warning"]
    return Target(
        label, command, f"http://{HOST}:{port}{path}", f"http://{HOST}:{admin_port}/readyz"
    )


def _sglang(label: str, site: Site) -> Target:
    return _peer(label, site, ["sglang-router", "launch"], "cache_aware", "warn")


def _sglang_round_robin(label: str, site: Site) -> Target:
    return _peer(label, site, ["sglang-router", "launch"], "round_robin", "warn")


def _vllm(label: str, site: Site) -> Target:
    return _peer(label, site, ["vllm-router"], "cache_aware", "warning")


def _vllm_round_robin(label: str, site: Site) -> Target:
    return _peer(label, site, ["vllm-router"], "round_robin", "warning")


def _peer(label: str, site: Site, start: list[str], policy: str, log_level: str) -> Target:
    program = find_peer(site.peers, start[0])
    port, metrics_port = free_port(HOST), free_port(HOST)
    command = [
        *(str(program), *start[1:]),
        *("--host", HOST, "--port", str(port), "--worker-urls", *site.engines),
        *("--policy", policy, "--disable-retries", "--worker-startup-check-interval", "1"),
        *("--prometheus-host", HOST, "--prometheus-port", str(metrics_port)),
        *("--log-level", log_level),
    ]
    base = f"http://{HOST}:{port}"
    return Target(label, command, base + CHAT, f"{base}/readiness")


TARGETS: dict[str, Callable[[str, Site], Target]] = {
    "direct": _direct,
    "steelyard": _steelyard,
    "steelyard-bare": _bare,
    "sglang-router": _sglang,
    "vllm-router": _vllm,
    "sglang-router-rr": _sglang_round_robin,
    "vllm-router-rr": _vllm_round_robin,
}
OURS = "steelyard"
BARE = "steelyard-bare"
PEERS = ("sglang-router", "vllm-router", "sglang-router-rr", "vllm-router-rr")
USUAL = ("direct", "steelyard", "steelyard-bare", "sglang-router", "vllm-router")
"""Measured unless others are named; of the peers, those that are installed."""


def find_peer(peers: Path | None, program: str) -> Path:
    """The program in the peers' environment. Raises WireError."""
    if peers is None:
        raise WireError(
            f"{program}: where is it? Run `make peers` and give --peers-venv build/peers"
        )
    found = peers / "bin" / program
    if not found.is_file():
        raise WireError(
            f"{peers} has no {program}: run `make peers`, or name another with --peers-venv"
        )
    return found.absolute()


def usual(peers: Path | None) -> list[str]:
    """The labels to measure when none are named."""
    return [label for label in USUAL if peers is not None or label not in PEERS]


def make(label: str, site: Site) -> Target:
    return TARGETS[label](label, site)
