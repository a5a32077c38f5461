"""`vllm-current` against the code that it describes: the method of the vLLM that is installed."""

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.placing import arrival, policy

from steelyard_simulator.replay.policy import Polled

PYTHON = Path(__file__).parents[3] / "build/engine/venv/bin/python"
ENGINES = 5
VERSION = "0.32.0"

SCRIPT = """
import json, sys
from collections import Counter
from types import SimpleNamespace
import vllm
from vllm.v1.engine.core_client import DPLBAsyncMPClient

steps, engines, clients, client = json.load(sys.stdin)
this = SimpleNamespace(
    reqs_in_flight={}, core_engines=list(range(engines)), engine_inflight=Counter(),
    lb_engines=[[0, 0, 0.0] for _ in range(engines)], client_count=clients,
    eng_start_index=engines * client // clients,
)
chosen = []
for kind, what in steps:
    if kind == "place":
        request = SimpleNamespace(request_id=what, data_parallel_rank=None, pooling_params=None)
        chosen.append(DPLBAsyncMPClient.get_core_engine_for_request(this, request))
    elif kind == "finish":
        this.engine_inflight[this.reqs_in_flight.pop(what)] -= 1
    else:
        this.lb_engines = what
print(json.dumps([vllm.__version__, chosen]))
"""


def story(seed: int) -> list[list[Any]]:
    """Placements and ends, and published counts that have little to do with them."""
    rng, steps, running = Random(seed), [], set()
    for number in range(600):
        steps.append(["place", number])
        running.add(number)
        for done in rng.sample(sorted(running), k=min(len(running) // 3, rng.randrange(3))):
            running.remove(done)
            steps.append(["finish", done])
        if rng.random() < 0.3:
            rows = [
                [rng.choice([0, 0, 1, 4]), rng.randrange(30), rng.randrange(11) / 10]
                for _ in range(ENGINES)
            ]
            steps.append(["publish", rows])
    return steps


def ours(steps: list[list[Any]], clients: int, client: int) -> list[int]:
    made = policy("vllm-current", instances=ENGINES, router=client, routers=clients)
    chosen = []
    for kind, what in steps:
        if kind == "place":
            chosen.append(int(made.place(arrival(what), 0.0)[1:]))
        elif kind == "finish":
            made.finished(what, 0.0, output_tokens=1, cached_tokens=None)
        else:
            for number, (waiting, running, usage) in enumerate(what):
                made.polled(f"e{number}", Polled(running, waiting, usage, 0.0))
    return chosen


@pytest.mark.skipif(
    not PYTHON.exists(), reason="build/engine has no vLLM; `make e2e-engine` installs it"
)
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("clients", "client"), [(1, 0), (3, 1)])
def test_it_chooses_as_the_installed_vllm_does(clients: int, client: int) -> None:
    steps = story(seed=clients)
    done = subprocess.run(
        [PYTHON, "-c", SCRIPT],
        input=json.dumps([steps, ENGINES, clients, client]),
        capture_output=True,
        text=True,
        check=True,
    )
    version, theirs = json.loads(done.stdout.splitlines()[-1])
    assert version.startswith(VERSION)
    assert ours(steps, clients, client) == theirs
