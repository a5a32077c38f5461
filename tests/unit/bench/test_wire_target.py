"""How each router is started."""

from pathlib import Path

import pytest

from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.target import PEERS, TARGETS, USUAL, Site, make, usual
from steelyard_router.analysis.endpoint import ENDPOINTS
from steelyard_router.discovery.file import load_config

ENGINES = ("http://127.0.0.1:9001", "http://127.0.0.1:9002")


def _site(folder: Path, *, peers: bool = False) -> Site:
    if peers:
        (folder / "bin").mkdir()
        for program in ("sglang-router", "vllm-router"):
            (folder / "bin" / program).touch()
    return Site(ENGINES, ["steelyard"], folder if peers else None, folder)


@pytest.mark.parametrize(
    ("label", "strategy"), [("steelyard", "Multiplicative"), ("steelyard-bare", "RoundRobin")]
)
def test_ours_runs_with_default_limits_and_its_strategy(
    tmp_path: Path, label: str, strategy: str
) -> None:
    target = make(label, _site(tmp_path))

    config = load_config(Path(target.command[target.command.index("--config") + 1]))
    assert [endpoint.url for endpoint in config.service.endpoints] == list(ENGINES)
    assert config.policy.workloads[0].routing.strategy == strategy
    assert config.limits == type(config.limits)()
    assert f":{config.listen.port}/" in target.url
    assert f":{config.listen.admin_port}/readyz" in target.ready_url


def test_only_the_bare_router_gets_requests_that_it_does_not_read(tmp_path: Path) -> None:
    paths = {
        label: "/" + make(label, _site(tmp_path)).url.split("/", 3)[3]
        for label in ("direct", "steelyard", "steelyard-bare")
    }

    assert paths["direct"] == paths["steelyard"]
    assert paths["steelyard"] in ENDPOINTS
    assert paths["steelyard-bare"] not in ENDPOINTS


@pytest.mark.parametrize("label", PEERS)
def test_peers_route_by_their_policy_without_retries(tmp_path: Path, label: str) -> None:
    command = list(make(label, _site(tmp_path, peers=True)).command)

    assert "--disable-retries" in command
    policy = command[command.index("--policy") + 1]
    assert policy == ("round_robin" if label.endswith("-rr") else "cache_aware")
    workers = command.index("--worker-urls")
    assert command[workers + 1 : workers + 3] == list(ENGINES)
    assert len({command[command.index(flag) + 1] for flag in ("--port", "--prometheus-port")}) == 2


def test_a_peer_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(WireError, match="make peers"):
        make("vllm-router", _site(tmp_path))
    with pytest.raises(WireError, match="make peers"):
        make("vllm-router", Site(ENGINES, ["steelyard"], tmp_path, tmp_path))


def test_peers_are_left_out_where_there_are_none(tmp_path: Path) -> None:
    assert usual(None) == ["direct", "steelyard", "steelyard-bare"]
    assert usual(tmp_path) == list(USUAL)
    assert set(USUAL) < set(TARGETS)
