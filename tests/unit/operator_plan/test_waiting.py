"""What an SLOPolicy says about waiting reaches the routers, and no more than it says."""

from pathlib import Path
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st
from support import whole
from support.manifests import Tree, policy, service

from steelyard_operator.api import manifest
from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.api.waiting import OrderName
from steelyard_operator.plan import plan
from steelyard_operator.plan.policy import compile_policy
from steelyard_router import config
from steelyard_router.scheduling.order import AUTO, ORDERS

EXAMPLE = Path(__file__).parents[3] / "examples" / "slo-ordering.yaml"
PARTS = {"queue", "batch", "scheduler"}


def compiled(**spec: Any) -> config.Policy:
    return compile_policy(policy(**spec))


def said(made: config.Policy) -> dict[str, Any]:
    """What a router is told: no default takes part."""
    return made.model_dump(mode="json", exclude_unset=True)


def test_every_part_arrives_in_the_units_of_the_router() -> None:
    made = compile_policy(SLOPolicy.model_validate(whole.POLICY))

    assert made.queue == config.Queue(max_wait_s=60, on_timeout=config.OnTimeout.DEGRADE)
    assert made.batch == config.Batch(
        max_sequences=32, kv_percent=90, harm_percent=70, queued_prefill_ms=500
    )
    assert made.scheduler == config.SchedulerSettings(
        mode=config.SchedulerMode.ENFORCE,
        order="SimulatedAnnealing",
        timeout_ms=2,
        annealing=config.Annealing(iterations=50, cooling_percent=90, acceptance_percent=70),
        engine_priority=config.EnginePriority.HEADER,
    )
    first = made.workloads[0]
    assert (first.max_concurrent, first.max_sequences_per_instance) == (64, 16)
    assert first.queue == config.OwnQueue(max_wait_s=10, on_timeout=config.OnTimeout.REJECT)


def test_what_is_absent_is_left_to_the_router() -> None:
    plain = said(compiled())
    assert not PARTS & plain.keys()
    assert not {"queue", "max_concurrent", "max_sequences_per_instance"} & {*plain["workloads"][0]}

    some = said(compiled(scheduler={"annealing": {"iterations": 50}}, batch={"kvPercent": 90}))
    assert {part: some[part] for part in PARTS & some.keys()} == {
        "scheduler": {"annealing": {"iterations": 50}},
        "batch": {"kv_percent": 90},
    }


def test_a_workloads_queue_is_passed_on_as_it_was_written() -> None:
    own = {"name": "all", "default": True, "queue": {"maxWaitSeconds": 5}}

    told = said(compiled(workloads=[own], queue={"maxWaitSeconds": 60, "onTimeout": "Reject"}))

    assert told["workloads"][0]["queue"] == {"max_wait_s": 5}
    assert told["queue"] == {"max_wait_s": 60, "on_timeout": "Reject"}


def test_a_policy_on_trial_brings_its_waiting_along() -> None:
    trial = policy("next", mode="DryRun", scheduler={"order": "FCFS"})

    router = plan([service()], [policy(), trial]).services[0].router

    assert router.policy.scheduler == config.SchedulerSettings()
    assert router.shadow is not None
    assert router.shadow.scheduler.order == "FCFS"


def test_the_example_of_waiting_says_something_about_every_part() -> None:
    found = manifest.read([EXAMPLE])

    router = plan(found.services, found.policies).services[0].router

    assert said(router.policy).keys() >= PARTS
    assert any("queue" in workload for workload in said(router.policy)["workloads"])


def test_the_api_has_the_orders_that_the_router_has() -> None:
    assert sorted(get_args(OrderName)) == sorted((AUTO, *ORDERS))


def optional(**parts: st.SearchStrategy[object]) -> st.SearchStrategy[Tree]:
    return st.fixed_dictionaries({}, optional=parts)


queues = optional(
    maxWaitSeconds=st.integers(1, 86_400),
    onTimeout=st.sampled_from(["Promote", "Degrade", "Reject"]),
)
workloads = optional(maxConcurrent=st.integers(1, 10**6), queue=queues)
batches = optional(
    maxSequences=st.integers(1, 65_536),
    kvPercent=st.integers(1, 100),
    harmPercent=st.integers(1, 1_000_000),
    queuedPrefillMilliseconds=st.integers(1, 86_400_000),
)
schedulers = optional(
    mode=st.sampled_from(["Enforce", "DryRun", "Disabled"]),
    order=st.sampled_from(get_args(OrderName)),
    timeoutMilliseconds=st.integers(1, 1000),
    annealing=optional(
        iterations=st.integers(1, 10_000),
        coolingPercent=st.integers(50, 99),
        acceptancePercent=st.integers(1, 99),
    ),
    enginePriority=st.sampled_from(["None", "Header"]),
)


@given(workloads, optional(queue=queues, batch=batches, scheduler=schedulers))
def test_whatever_the_api_accepts_the_router_accepts_and_reads_again(own: Tree, spec: Tree) -> None:
    made = compiled(workloads=[{"name": "all", "default": True, **own}], **spec)

    assert config.Policy.model_validate(said(made)) == made
