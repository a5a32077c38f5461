"""The live table of `steelyard up`."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from steelyard.dashboard import LiveScreen, PlainScreen, tables
from steelyard_operator.local.admin import Status
from steelyard_operator.local.view import ServiceView

STATUS = Status.model_validate(
    {
        "revision": "abc123",
        "ready": True,
        "instances": [
            {"id": "chat-10", "state": "ready", "queued_tokens": 1234, "requests": 3},
            {"id": "chat-2", "state": "ready", "queued_tokens": 0, "requests": 0},
            {"id": "chat-3", "state": "draining", "requests": 1},
        ],
        "workloads": [{"name": "code", "score": {"p95": 65432.0, "count": 9}, "ttft_ms": None}],
        "alerts": [
            {
                "alert": "slow",
                "workload": "code",
                "metric": "Score",
                "state": "Firing",
                "value": 65432.0,
                "threshold": 50000,
            }
        ],
    }
)
VIEW = ServiceView(
    "chat",
    "http://h:1",
    "http://h:2",
    engines={"chat-2": "ready", "chat-3": "draining", "chat-10": "ready", "chat-11": "starting"},
    status=STATUS,
)


def text(view: ServiceView) -> list[str]:
    console = Console(file=io.StringIO(), width=110)
    with console.capture() as captured:
        for table in tables(view):
            console.print(table)
    return captured.get().splitlines()


def row(lines: list[str], name: str) -> list[str]:
    (line,) = [line for line in lines if line.startswith(f"│ {name} ")]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_instances_are_in_the_order_of_their_numbers_with_what_they_carry() -> None:
    lines = text(VIEW)

    names = [line.split()[1] for line in lines if line.startswith("│ chat-")]
    assert names == ["chat-2", "chat-3", "chat-10", "chat-11"]
    assert row(lines, "chat-10") == ["chat-10", "ready", "1,234", "3", "0"]
    assert row(lines, "chat-3")[1] == "draining"
    assert row(lines, "chat-11") == ["chat-11", "starting", "", "", ""]


def test_workloads_and_alerts_have_their_figures() -> None:
    lines = text(VIEW)

    assert row(lines, "code") == ["code", "65,432", "-", "-", "-"]
    assert row(lines, "slow") == ["slow", "code", "Score", "Firing", "65,432", "50,000"]


def test_before_the_router_answers_there_are_the_engines_only() -> None:
    lines = text(replace(VIEW, status=None))

    assert row(lines, "chat-2") == ["chat-2", "ready", "", "", ""]
    assert not any("Workload" in line or "Alert" in line for line in lines)


def test_lines_stay_above_the_live_table() -> None:
    out = io.StringIO()
    console = Console(file=out, width=110, force_terminal=True)

    with LiveScreen(console) as screen:
        screen.show([VIEW])
        screen.say("ALERT FIRING chat/slow [code]")

    shown = out.getvalue()
    assert "ALERT FIRING chat/slow [code]" in shown
    assert "chat-10" in shown


def test_without_a_terminal_there_are_lines_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with PlainScreen() as screen:
        screen.show([VIEW])
        screen.say("ready")

    out, _ = capsys.readouterr()
    assert out == "ready\n"
