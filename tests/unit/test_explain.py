"""`steelyard explain` and `steelyard render`: what they print, against a router's admin port."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml
from click.testing import CliRunner, Result

from steelyard.explain import command as explain
from steelyard.render import command as render

EXAMPLES = Path(__file__).parents[2] / "examples"
DECISION = {
    "time": "2026-03-01T10:00:00.000+00:00",
    "request_id": "r-1",
    "workload": "chat",
    "strategy": "Multiplicative",
    "instance": "chat-1",
    "score": 2000.0,
    "prompt_tokens": 1500,
    "hit_tokens": 500,
    "candidates": [
        {"instance": "chat-0", "slot": 0, "q": 3000, "p": 1500, "b": 1, "c": 9, "cost": 9000.0},
        {"instance": "chat-1", "slot": 1, "q": 0, "p": 1000, "b": 1, "c": 9, "cost": 2000.0},
    ],
}


@contextmanager
def admin(status: int, body: object) -> Iterator[str]:
    """An admin port that answers everything like this; gives its address."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Silence."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def run(*args: str) -> Result:
    return CliRunner().invoke(explain, args)


def test_every_candidate_is_shown_by_cost_with_the_chosen_one_marked() -> None:
    with admin(200, {"decisions": [DECISION]}) as url:
        result = run("--url", url)

    assert result.exit_code == 0
    rows = [line for line in result.output.splitlines() if "chat-" in line]
    assert "chat-1 <- chosen" in rows[0]
    assert "2,000" in rows[0]
    assert "chat-0" in rows[1]
    assert "9,000" in rows[1]
    for part in ("r-1", "workload chat", "Multiplicative", "1,500 prompt tokens", "lowest cost"):
        assert part in result.output


def test_the_newest_decision_comes_last_and_no_more_than_asked_for() -> None:
    decisions = [{**DECISION, "request_id": f"r-{i}"} for i in (9, 8, 7)]
    with admin(200, {"decisions": decisions}) as url:
        result = run("--url", url, "-n", "2")

    assert result.output.index("r-8") < result.output.index("r-9")
    assert "r-7" not in result.output


def test_json_holds_the_same_decisions(tmp_path: Path) -> None:
    path = tmp_path / "out" / "decisions.json"
    with admin(200, {"decisions": [DECISION]}) as url:
        run("--url", url, "--json", str(path))

    (decision,) = json.loads(path.read_text(encoding="utf-8"))["decisions"]
    assert decision["instance"] == "chat-1"
    assert decision["candidates"][0]["cost"] == 9000.0


def test_a_router_that_keeps_no_decisions_is_told_how_to() -> None:
    with admin(404, {"error": {}}) as url:
        result = run("--url", url)

    assert result.exit_code == 1
    assert "--debug-decisions" in result.output
    assert "debug: {decisions: 1000}" in result.output


def test_a_router_without_traffic_says_so() -> None:
    with admin(200, {"decisions": []}) as url:
        result = run("--url", url)

    assert result.exit_code == 0
    assert "send a request first" in result.output


def test_an_address_where_no_router_is_is_named() -> None:
    with admin(200, b"<html>") as url:
        assert "is not the admin address" in run("--url", url).output

    result = run("--url", url)

    assert result.exit_code == 1
    assert f"no router answers at {url}" in result.output


def test_render_prints_engines_router_and_conditions_as_yaml_and_json(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    manifests = [str(EXAMPLES / "quickstart.yaml"), str(EXAMPLES / "policy-round-robin.yaml")]

    result = CliRunner().invoke(render, [*manifests, "--json", str(path)])

    assert result.exit_code == 0
    tree = yaml.safe_load(result.output)
    assert tree == json.loads(path.read_text(encoding="utf-8"))
    (service,) = tree["services"]
    assert service["engines"][0]["command"][:2] == ["steelyard", "engine"]
    alerts = service["router"]["configuration"]["policy"]["alerts"]
    assert alerts[0]["name"] == "score-high"
    reasons = [item["ancestors"][0]["conditions"][0]["reason"] for item in tree["policies"]]
    assert reasons == ["Accepted", "TargetNotFound"]


def test_render_names_what_is_wrong_with_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("kind: LLMServic\n", encoding="utf-8")

    result = CliRunner().invoke(render, [str(path)])

    assert result.exit_code == 1
    assert "bad.yaml:1" in result.output
    assert "did you mean `LLMService`?" in result.output


def test_render_says_what_cannot_run_on_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "sglang.yaml"
    path.write_text(
        "apiVersion: steelyard.io/v1alpha1\nkind: LLMService\nmetadata: {name: chat}\n"
        "spec: {model: {uri: 'hf://a/b'}, engine: {type: SGLang}}\n",
        encoding="utf-8",
    )

    tree = yaml.safe_load(CliRunner().invoke(render, [str(path)]).output)

    assert "SGLang is not run on one machine" in tree["refusals"][0]
    assert tree["services"][0]["engines"][0]["command"] is None
