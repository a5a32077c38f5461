"""From objects to engines, router configurations and conditions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.manifests import policy, service

from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import Condition, Key, Plan, plan
from steelyard_router import config
from steelyard_router.strategies import strategies_for

CHAT = Key("default", "chat")


def verdicts(made: Plan) -> dict[str, list[tuple[str, str]]]:
    return {
        result.name: [(item.target, item.condition.reason) for item in result.ancestors]
        for result in made.policies
    }


def affected(made: Plan) -> Condition:
    (condition,) = made.services[0].conditions
    return condition


def broken(name: str = "broken", created: str | None = None) -> SLOPolicy:
    """A policy that the API's bounds would have stopped: objects can be older than the bounds."""
    good = policy(name, created=created)
    unnamed = good.spec.workloads[0].model_copy(update={"name": ""})
    spec = good.spec.model_copy(update={"workloads": (unnamed,)})
    return good.model_copy(update={"spec": spec})


def test_absent_replicas_mean_one_engine() -> None:
    made = plan([service()], [])

    assert [engine.name for engine in made.services[0].engines] == ["chat-0"]


def test_zero_replicas_mean_no_engine_and_a_router_still() -> None:
    made = plan([service(replicas=0)], [])

    assert made.services[0].engines == ()
    assert made.services[0].router.service.name == "chat"


def test_engines_serve_the_name_of_the_service_unless_the_model_has_one() -> None:
    plain, named = plan([service("a"), service("b", model={"name": "org/big"})], []).services

    assert plain.engines[0].model == "a"
    assert named.engines[0].model == "org/big"


def test_only_engines_that_load_weights_get_the_uri() -> None:
    model = {"uri": "hf://org/model"}
    real, simulated = plan(
        [service("a", model=model, engine={"type": "VLLM"}), service("b", model=model)], []
    ).services

    assert real.engines[0].uri == "hf://org/model"
    assert simulated.engines[0].uri is None


def test_external_engines_are_endpoints_that_keep_their_ids_when_reordered() -> None:
    urls = ["http://10.0.0.1:8000", "http://gpu-7", "http://[::1]:9/"]
    first, second = (
        plan([service(engine={"type": "External", "urls": order})], []).services[0]
        for order in (urls, urls[::-1])
    )

    assert first.engines == ()
    ids = {endpoint.url: endpoint.id for endpoint in first.router.service.endpoints}
    assert ids == {endpoint.url: endpoint.id for endpoint in second.router.service.endpoints}
    assert ids["http://10.0.0.1:8000"] == "10.0.0.1-8000"
    assert ids["http://gpu-7"] == "gpu-7-80"


def test_a_model_name_pins_the_models_of_external_engines() -> None:
    engine = {"type": "External", "urls": ["http://a:1"]}
    asked, pinned = plan(
        [service("a", engine=engine), service("b", engine=engine, model={"name": "m"})], []
    ).services

    assert asked.router.service.endpoints[0].models is None
    assert pinned.router.service.endpoints[0].models == ("m",)


def test_a_service_without_a_policy_runs_on_router_defaults() -> None:
    made = plan([service()], [])

    assert made.services[0].router.policy == config.Policy()
    assert (affected(made).status, affected(made).reason) == ("False", "NoPolicy")


def test_the_oldest_policy_is_in_force_and_the_others_are_told_which() -> None:
    made = plan(
        [service()],
        [
            policy("young", created="2026-03-02T00:00:00Z"),
            policy("old", created="2026-03-01T00:00:00Z"),
            policy("undated"),
        ],
    )

    assert verdicts(made) == {
        "young": [("chat", "Conflicted")],
        "old": [("chat", "Accepted")],
        "undated": [("chat", "Conflicted")],
    }
    assert "old" in made.policies[0].ancestors[0].condition.message
    assert "old" in affected(made).message


def test_between_policies_of_one_age_the_name_decides() -> None:
    made = plan([service()], [policy("b"), policy("a")])

    assert verdicts(made) == {"b": [("chat", "Conflicted")], "a": [("chat", "Accepted")]}


def test_a_policy_is_judged_target_by_target() -> None:
    made = plan(
        [service("a"), service("b")],
        [policy("one", targets=("a",)), policy("two", targets=("a", "b", "gone"))],
    )

    assert verdicts(made)["two"] == [
        ("a", "Conflicted"),
        ("b", "Accepted"),
        ("gone", "TargetNotFound"),
    ]


def test_a_policy_reaches_no_other_namespace() -> None:
    made = plan([service()], [policy(namespace="other")])

    assert verdicts(made) == {"fast": [("chat", "TargetNotFound")]}
    assert affected(made).reason == "NoPolicy"


def test_services_of_one_name_in_two_namespaces_have_policies_of_their_own() -> None:
    made = plan(
        [service(), service(namespace="other")],
        [policy(), policy(namespace="other", workloads=[{"name": "theirs", "default": True}])],
    )

    names = [item.router.policy.workloads[0].name for item in made.services]
    assert names == ["all", "theirs"]


def test_an_invalid_policy_leaves_what_is_in_force_as_it_is() -> None:
    before = config.Policy(workloads=(config.Workload(name="before", default=True),))
    running = config.RouterConfig(
        policy=before, policy_ref=config.ObjectRef(name="earlier", uid="u1")
    )

    made = plan([service()], [broken()], {CHAT: running})

    assert made.services[0].router.policy == before
    assert made.services[0].router.policy_ref == running.policy_ref
    assert verdicts(made) == {"broken": [("chat", "Invalid")]}
    assert made.policies[0].ancestors[0].condition.message.startswith("name: ")
    assert affected(made).reason == "PolicyInvalid"


def test_an_invalid_policy_does_not_keep_a_new_service_from_running() -> None:
    made = plan([service()], [broken()])

    assert made.services[0].router.policy == config.Policy()
    assert made.services[0].engines


def test_an_invalid_policy_does_not_let_the_next_in_line_take_over() -> None:
    old, young = broken("old", "2026-01-01T00:00:00Z"), policy("young")

    made = plan([service()], [old, young])

    assert verdicts(made) == {"old": [("chat", "Invalid")], "young": [("chat", "Conflicted")]}


def test_what_a_policy_leaves_out_keeps_the_routers_default() -> None:
    made = plan([service()], [policy(alerts=[{"name": "a", "metric": "Score", "threshold": 9}])])

    compiled = made.services[0].router.policy
    assert compiled.alerts == (config.Alert(name="a", metric="Score", threshold=9),)
    assert compiled.workloads == (config.Workload(name="all", default=True),)


def test_header_names_are_compiled_without_case() -> None:
    headers = [{"name": "X-Team", "value": "Search"}]
    made = plan(
        [service()],
        [policy(workloads=[{"name": "a", "default": True, "match": {"headers": headers}}])],
    )

    assert made.services[0].router.policy.workloads[0].match.headers == {"x-team": "Search"}


def test_equal_objects_give_equal_plans() -> None:
    first, second = (plan([service(replicas=3)], [policy()]) for _ in range(2))

    assert first == second
    assert first.services[0].router.revision == second.services[0].router.revision


@pytest.mark.parametrize("strategy", ["Auto", "Multiplicative", "LeastRequest", "RoundRobin"])
def test_the_router_knows_every_strategy_of_the_api(strategy: str) -> None:
    made = plan(
        [service()],
        [policy(workloads=[{"name": "a", "default": True, "routing": {"strategy": strategy}}])],
    )

    assert strategies_for(made.services[0].router.policy)


counts = st.integers(0, 2**53)
percents = st.integers(0, 100)


def optional(**parts: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional=parts)


workloads = st.fixed_dictionaries(
    {"name": st.from_regex(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,20}[A-Za-z0-9])?", fullmatch=True)},
    optional={
        "priority": st.integers(-(2**31), 2**31 - 1),
        "slo": optional(
            ttftMilliseconds=st.integers(1, 86_400_000),
            attainmentPercent=st.integers(1, 100),
        ),
        "weights": optional(ttftPercent=percents, tpotPercent=percents, e2ePercent=percents),
        "match": optional(promptTokensMin=st.integers(0, 9), promptTokensMax=st.integers(9, 2**53)),
        "routing": optional(
            pTokenExponentPercent=st.integers(0, 1000),
            pTokenOffset=counts,
            maxPTokens=st.integers(1, 2**53),
        ),
    },
)
alerts = st.fixed_dictionaries(
    {"metric": st.sampled_from(["Score", "TTFT", "Attainment", "PredictionError"])},
    optional={
        "percentile": st.integers(1, 100),
        "forSeconds": st.integers(0, 86_400),
        "repeatSeconds": st.integers(300, 3300),
        "minSamples": st.integers(1, 2**53),
    },
)


@given(
    st.lists(workloads, min_size=1, max_size=16, unique_by=lambda item: item["name"]),
    st.lists(alerts, max_size=16),
)
def test_whatever_the_api_accepts_the_router_accepts(
    classes: list[dict[str, object]], rules: list[dict[str, object]]
) -> None:
    classes[0]["default"] = True
    named = [{"name": f"a{i}", "threshold": 1, **rule} for i, rule in enumerate(rules)]

    made = plan([service()], [policy(workloads=classes, alerts=named)])

    assert verdicts(made) == {"fast": [("chat", "Accepted")]}


def test_a_policy_on_trial_changes_nothing_that_is_in_force() -> None:
    enforced, dry = policy("fast"), policy("next", mode="DryRun", created="2026-01-01T00:00:00Z")

    made = plan([service()], [enforced, dry])

    assert made.services[0].router.policy == plan([service()], [enforced]).services[0].router.policy
    assert made.services[0].router.shadow is not None
    assert verdicts(made) == {"fast": [("chat", "Accepted")], "next": [("chat", "DryRun")]}


def test_only_the_oldest_policy_on_trial_is_measured() -> None:
    old = policy(
        "old",
        mode="DryRun",
        created="2026-01-01T00:00:00Z",
        workloads=[{"name": "theirs", "default": True}],
    )

    made = plan([service()], [policy("young", mode="DryRun"), old])

    shadow = made.services[0].router.shadow
    assert shadow is not None
    assert shadow.workloads[0].name == "theirs"
    assert verdicts(made) == {"young": [("chat", "Conflicted")], "old": [("chat", "DryRun")]}
    assert affected(made).reason == "NoPolicy"


def test_routers_are_told_which_stored_policy_theirs_comes_from() -> None:
    stored = policy().model_copy(deep=True)
    metadata = stored.metadata.model_copy(update={"uid": "u1"})

    made = plan([service()], [stored.model_copy(update={"metadata": metadata})])
    unstored = plan([service()], [policy()])

    assert made.services[0].router.policy_ref == config.ObjectRef(name="fast", uid="u1")
    assert unstored.services[0].router.policy_ref is None
