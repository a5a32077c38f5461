"""A policy on trial in a running router: measured beside the one in force, never acted on."""

from support.routing import config_for, running
from support.scripted import engines

SHADOW = {
    "workloads": [
        {"name": "streams", "default": True, "slo": {"ttft_ms": 60_000},
         "routing": {"strategy": "RoundRobin"}},
    ],
    "alerts": [{"name": "busy", "metric": "Score", "threshold": 1, "min_samples": 1, "for_s": 0}],
}  # fmt: skip


async def test_a_trial_is_measured_and_changes_nothing() -> None:
    async with engines(3) as fleet:
        config = config_for(
            fleet, policy={"workloads": [{"name": "all", "default": True}]}, shadow=SHADOW,
            shadow_ref={"name": "trial", "uid": "u"},
        )  # fmt: skip
        async with running(config) as proxy:
            for number in range(6):
                status, _ = await proxy.chat(f"hello {number}", stream=True)
                assert status == 200
            await proxy.settled()
            book = proxy.router.observer.shadow
            assert book is not None
            book.judge(0.0)

            found = await proxy.status()

    shadow = found["shadow"]
    assert (shadow["name"], shadow["decisions"]) == ("trial", 6)
    assert 0 <= shadow["agreement_percent"] <= 100
    (row,) = shadow["workloads"]
    assert (row["name"], row["requests"]) == ("streams", 6)
    assert row["targets"]["ttft"] == {"held": 6, "told": 6, "percent": 100.0}
    assert [alert["alert"] for alert in shadow["alerts"]] == ["busy"]
    assert found["alerts"] == []
    assert [row["name"] for row in found["workloads"]] == ["all"]


async def test_a_trial_comes_and_goes_with_the_configuration() -> None:
    async with engines(1) as fleet:
        plain = config_for(fleet)
        async with running(plain) as proxy:
            assert (await proxy.status())["shadow"] is None
            proxy.router.reload(config_for(fleet, shadow=SHADOW))
            await proxy.chat()
            await proxy.settled()
            shadow = (await proxy.status())["shadow"]
            assert (shadow["name"], shadow["decisions"]) == (None, 1)
            proxy.router.reload(plain)
            assert (await proxy.status())["shadow"] is None
            assert (await proxy.chat())[0] == 200
