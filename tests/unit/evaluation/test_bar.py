from support.evaluation_case import cell, document, evaluation, run

from steelyard_bench.evaluation import rival
from steelyard_bench.evaluation.bar import Bar, bars, leads
from steelyard_bench.evaluation.cell import Group
from steelyard_bench.evaluation.result import Evaluation


def bar(one: Evaluation, about: str) -> Bar:
    (found,) = (each for each in bars(one, "adaptive") if about in each.about)
    return found


def test_nothing_is_met_that_was_not_measured() -> None:
    empty = Evaluation(document([], [], missing=1))

    assert {each.met for each in bars(empty, "adaptive")} == {None}


def test_one_cell_in_which_a_mean_is_worse_is_enough_to_miss_the_bar() -> None:
    one = evaluation(
        run("good", "adaptive", tpot=9.0),
        run("good", "multiplicative", tpot=10.0),
        run("bad", "adaptive", tpot=10.3),
        run("bad", "multiplicative", tpot=10.0),
    )

    found = bar(one, "TTFT and TPOT: in no cell")

    assert found.met is False
    assert found.measured == "bad TPOT +3.0 % (2 cells)"
    assert bar(one, "TTFT p99 and TPOT p99").met is True


def test_a_gain_needs_every_figure_that_is_asked_for() -> None:
    def against_vllm(ttft: float, tpot: float) -> bool | None:
        one = evaluation(
            run("conversation-x4", "adaptive", ttft=ttft, tpot=tpot, hit=0.3),
            run("conversation-x4", "vllm", ttft=100, tpot=10, hit=0.1),
        )
        assert bar(one, "hit ratio at least 2").met is True
        return bar(one, "against vllm: TTFT mean -45 %").met

    assert against_vllm(50, 6) is True
    assert against_vllm(50, 7) is False
    assert against_vllm(60, 6) is False


def test_a_baseline_dominates_only_where_both_means_are_better() -> None:
    def dominated(ttft: float, tpot: float) -> list[str]:
        one = evaluation(
            run("c", "adaptive", ttft=100, tpot=10),
            run("c", "lpwl", ttft=ttft, tpot=tpot),
            run("c", "multiplicative", ttft=1, tpot=1),
        )
        found = [each.policy for each in rival.dominating(one, "adaptive", ["c"])]
        assert bar(one, "No baseline better").met is not bool(found)
        return found

    assert dominated(97, 9.7) == ["lpwl"]
    assert dominated(97, 9.9) == []
    assert dominated(50, 11) == []


def test_a_loss_is_told_against_the_best_of_all_policies() -> None:
    one = evaluation(
        run("c", "adaptive", ttft=100, tpot=10),
        run("c", "multiplicative", ttft=90, tpot=10.1),
        run("c", "lpwl", ttft=80, tpot=20),
    )

    assert [(each.metric, each.policy) for each in rival.losses(one, "adaptive", ["c"])] == [
        ("ttft", "lpwl"), ("ttft_p99", "lpwl"),
    ]  # fmt: skip


def robust(wrong_tpot: float, late_tpot: float) -> Evaluation:
    """The usual lead is 20 % in both means."""
    return Evaluation(
        document(
            [
                cell("conversation-x4"),
                cell("conversation-x4-wrong", Group.WRONG),
                cell("conversation-x4-late", Group.WRONG),
            ],
            [
                run("conversation-x4", "adaptive", ttft=80, tpot=8),
                run("conversation-x4", "multiplicative", ttft=100, tpot=10),
                run("conversation-x4-wrong", "adaptive:base=2", ttft=80, tpot=wrong_tpot),
                run("conversation-x4-late", "adaptive", ttft=160, tpot=late_tpot),
                run("conversation-x4-late", "multiplicative", ttft=200, tpot=20),
            ],
        )
    )


def test_half_of_the_lead_must_be_left_in_both_means() -> None:
    kept = robust(wrong_tpot=8.9, late_tpot=17.0)
    lost = robust(wrong_tpot=9.1, late_tpot=19.0)

    assert [lead.kept for lead in leads(kept)] == [True, True]
    assert [lead.situation for lead in leads(lost)] == ["base=2", "conversation-x4-late"]
    assert bar(kept, "Any coefficient").met is True
    assert (
        bar(lost, "Any coefficient").measured
        == "base=2: TTFT 20.0 % of 20.0 %, TPOT 9.0 % of 20.0 %"
    )
    assert bar(lost, "Metrics a second late").met is False
    assert bar(lost, "Four routers").met is None


def test_a_burst_must_be_even_with_each_of_ours() -> None:
    even = run("burst", "adaptive") | {"requests_by_instance": {"least": 124, "most": 125}}
    uneven = run("burst", "multiplicative") | {"requests_by_instance": {"least": 0, "most": 500}}

    assert bar(evaluation(even, group=Group.BURST), "1,000 equal").met is True
    found = bar(evaluation(even, uneven, group=Group.BURST), "1,000 equal")
    assert found.met is False
    assert found.measured == "adaptive 124 to 125, multiplicative 0 to 500"


def test_the_time_that_all_runs_take_counts_only_when_all_are_there() -> None:
    runs = [run("c", "adaptive", cpu_s=1500.0), run("c", "vllm", cpu_s=1500.0)]

    def met(missing: int, **more: object) -> bool | None:
        made = document([cell("c")], runs, **{"missing": missing, **more})
        return bar(Evaluation(made), "within 25 minutes").met

    assert met(0) is True
    assert met(1) is None
    assert met(0, seeds=1) is None
