import pytest

from steelyard_router.analysis.workload import WorkloadTable
from steelyard_router.config import Match, Targets, WeightPercents, Workload
from steelyard_router.scheduling.request import SLO, Weights

CHAT = "/v1/chat/completions"
TABLE = WorkloadTable(
    [
        Workload(name="batch", match=Match(headers={"X-Kind": "batch"})),
        Workload(name="embed", match=Match(paths=("/v1/embeddings", "/v1/rerank"))),
        Workload(name="code", match=Match(models=("coder",), prompt_tokens_min=100)),
        Workload(name="long", match=Match(prompt_tokens_min=1000, prompt_tokens_max=2000)),
        Workload(name="rest", default=True),
        Workload(name="named-only"),
    ]
)


@pytest.mark.parametrize(
    ("path", "headers", "model", "prompt_tokens", "workload"),
    [
        (CHAT, {}, "m", 10, "rest"),
        (CHAT, {"x-kind": "batch"}, "coder", 500, "batch"),
        (CHAT, {"x-kind": "Batch"}, "m", 10, "rest"),
        ("/v1/embeddings", {}, None, 10, "embed"),
        ("/v1/rerank", {}, None, 10, "embed"),
        (CHAT, {}, "coder", 100, "code"),
        (CHAT, {}, "coder", 99, "rest"),
        (CHAT, {}, "m", 999, "rest"),
        (CHAT, {}, "m", 1000, "long"),
        (CHAT, {}, "m", 2000, "long"),
        (CHAT, {}, "m", 2001, "rest"),
        (CHAT, {"x-steelyard-workload": "named-only", "x-kind": "batch"}, "m", 10, "named-only"),
        (CHAT, {"x-steelyard-workload": "unknown", "x-kind": "batch"}, "m", 10, "batch"),
        (CHAT, {"x-steelyard-workload": "unknown"}, "m", 10, "rest"),
    ],
)
def test_the_named_or_first_matching_workload_takes_a_request(
    path: str, headers: dict[str, str], model: str | None, prompt_tokens: int, workload: str
) -> None:
    found = TABLE.find(path, headers, model=model, prompt_tokens=prompt_tokens)

    assert found.workload.name == workload


def test_a_default_workload_with_conditions_also_takes_what_nothing_matches() -> None:
    table = WorkloadTable(
        [
            Workload(name="first", default=True, match=Match(models=("m",))),
            Workload(name="second", match=Match(models=("m", "n"))),
        ]
    )

    names = [table.find(CHAT, {}, model=m, prompt_tokens=1).workload.name for m in ("m", "n", "o")]

    assert names == ["first", "second", "first"]


def test_targets_and_weights_arrive_in_the_scheduler_s_units() -> None:
    table = WorkloadTable(
        [
            Workload(
                name="chat",
                default=True,
                slo=Targets(ttft_ms=500, tpot_ms=30),
                weights=WeightPercents(ttft_percent=50, tpot_percent=50, e2e_percent=0),
            )
        ]
    )

    found = table.find(CHAT, {}, model=None, prompt_tokens=1)

    assert found.slo == SLO(ttft_s=0.5, tpot_s=0.03, e2e_s=None)
    assert found.weights == Weights(ttft=0.5, tpot=0.5, e2e=0.0)


def test_absent_weights_are_sixty_thirty_ten() -> None:
    table = WorkloadTable([Workload(name="chat", default=True)])

    assert table.find(CHAT, {}, model=None, prompt_tokens=1).weights == Weights(0.6, 0.3, 0.1)
