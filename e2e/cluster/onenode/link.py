"""The cable between this machine and the node: the only way to and from it.

Keeps true: making the link reserves its block of addresses, so two clusters that start at once
never share one; the node has no route to anywhere else, so nothing that a pod sends leaves this
machine.
"""

import ipaddress
import json
import subprocess
import time
from pathlib import Path
from typing import Any

from onenode.address import BLOCKS, Addresses, Network, free_blocks, in_block

LINKS = Path("/sys/class/net")
GONE_S = 30.0
POLL_S = 0.05


def connect(pid: int, record: Path) -> Addresses:
    """Joins the network namespace of that process to this machine's, and records by what."""
    for block in free_blocks(_taken()):
        name = f"steelyard{BLOCKS.index(block)}"
        made = _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        if made.returncode == 0:
            record.write_text(f"{name} {_index(name)}", encoding="utf-8")
            return _address(name, pid, in_block(block))
        if "File exists" not in made.stderr:
            raise RuntimeError(f"no network link to the node: {made.stderr.strip()}")
    raise RuntimeError("no block of addresses is free for the cluster (10.201.0.0/16 and up)")


def await_gone(record: Path) -> None:
    """The kernel takes a network namespace apart some time after its last process has ended."""
    if not record.exists():
        return
    name, index = record.read_text(encoding="utf-8").split()
    end_s = time.monotonic() + GONE_S
    while _index(name) == index:
        if time.monotonic() > end_s:
            raise TimeoutError(f"the network link {name} stays")
        time.sleep(POLL_S)


def _index(name: str) -> str:
    """The kernel gives no number twice; a name may belong to another cluster by now."""
    try:
        return (LINKS / name / "ifindex").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _address(name: str, pid: int, addresses: Addresses) -> Addresses:
    enter = ("nsenter", f"--target={pid}", "--net", "ip")
    for command in (
        ("ip", "address", "add", f"{addresses.host}/30", "dev", name),
        (*enter, "address", "add", f"{addresses.node}/30", "dev", "eth0"),
        ("ip", "link", "set", name, "up"),
        (*enter, "link", "set", "eth0", "up"),
        ("ip", "route", "add", str(addresses.block), "via", addresses.node),
    ):
        subprocess.run(command, check=True)
    return addresses


def _taken() -> list[Network]:
    routes: list[dict[str, Any]] = json.loads(_ip("-json", "-4", "route").stdout or "[]")
    links: list[dict[str, Any]] = json.loads(_ip("-json", "-4", "address").stdout or "[]")
    named = [route["dst"] for route in routes if route["dst"] != "default"]
    own = [f"{info['local']}/{info['prefixlen']}" for each in links for info in each["addr_info"]]
    return [ipaddress.IPv4Network(each, strict=False) for each in (*named, *own)]


def _ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
