"""Bad manifests: each problem with its place, all of them at once."""

from pathlib import Path
from textwrap import dedent

import pytest

from steelyard_operator.api.manifest import read
from steelyard_operator.errors import ManifestError, Problem

HEAD = "apiVersion: steelyard.io/v1alpha1\n"
SERVICE = HEAD + "kind: LLMService\nmetadata: {name: chat}\n"
POLICY = HEAD + "kind: SLOPolicy\nmetadata: {name: fast}\n"
EXAMPLES = Path(__file__).parents[3] / "examples"


def problems(tmp_path: Path, text: str) -> list[Problem]:
    path = tmp_path / "bad.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    with pytest.raises(ManifestError) as caught:
        read([path])
    return list(caught.value.problems)


def only(tmp_path: Path, text: str) -> Problem:
    (problem,) = problems(tmp_path, text)
    return problem


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_valid(path: Path) -> None:
    found = read([path])

    assert found.services or found.policies


def test_objects_of_all_files_and_documents_are_read_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    engine = "spec: {engine: {type: Simulator}}\n"
    first.write_text(f"---\n{SERVICE}{engine}---\n", encoding="utf-8")
    second.write_text(SERVICE.replace("chat", "code") + engine, encoding="utf-8")

    found = read([first, second])

    assert [item.metadata.name for item in found.services] == ["chat", "code"]


def test_what_kubectl_prints_is_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(
        HEAD
        + "kind: LLMService\n"
        + "metadata: {name: chat, uid: abc, resourceVersion: '7', generation: 2,"
        + " creationTimestamp: 2026-03-01T00:00:00Z}\n"
        + "spec: {engine: {type: Simulator}}\nstatus: {observedGeneration: 2}\n",
        encoding="utf-8",
    )

    (found,) = read([path]).services

    assert found.metadata.creation_timestamp is not None
    assert found.metadata.creation_timestamp.year == 2026


def test_a_misspelt_field_is_named_with_its_line_and_the_right_spelling(tmp_path: Path) -> None:
    problem = only(
        tmp_path,
        SERVICE + "spec:\n  engine:\n    type: Simulator\n  replica: 3\n",
    )

    assert (problem.line, problem.field) == (7, "spec.replica")
    assert "did you mean `replicas`?" in problem.reason
    assert str(problem).endswith(
        "bad.yaml:7: LLMService/chat: spec.replica: unknown field; did you mean `replicas`?"
    )


def test_a_misspelt_field_deep_in_a_list_is_compared_with_the_fields_there(tmp_path: Path) -> None:
    problem = only(
        tmp_path,
        POLICY
        + "spec:\n  targetRefs: [{name: chat}]\n  workloads:\n  - name: a\n    default: true\n"
        + "    slo:\n      ttftMillisecond: 5\n",
    )

    assert (problem.line, problem.field) == (10, "spec.workloads[0].slo.ttftMillisecond")
    assert "`ttftMilliseconds`" in problem.reason


def test_snake_case_is_not_accepted_in_place_of_camel_case(tmp_path: Path) -> None:
    problem = only(
        tmp_path,
        SERVICE + "spec: {engine: {type: Simulator}, router: {client_hints: Ignore}}\n",
    )

    assert "did you mean `clientHints`?" in problem.reason


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text(
        SERVICE + "spec: {engine: {type: Simulator}, replicas: -1}\n---\nkind: LMService\n",
        encoding="utf-8",
    )
    second.write_text("a: [", encoding="utf-8")

    with pytest.raises(ManifestError) as caught:
        read([first, second, tmp_path / "missing.yaml"])

    assert [(Path(p.path).name, p.field) for p in caught.value.problems] == [
        ("1.yaml", "spec.replicas"),
        ("1.yaml", "kind"),
        ("2.yaml", ""),
        ("missing.yaml", ""),
    ]
    assert "did you mean `LLMService`?" in caught.value.problems[1].reason


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [", "is not YAML"),
        ("a: 1\n\tb: 2", "is not YAML"),
        ("", "holds no object"),
        ("---\n---\n", "holds no object"),
        ("just text", "is not an object"),
        ("- a\n- b\n", "is not an object"),
        ("kind: Deployment\napiVersion: apps/v1\n", "unknown kind 'Deployment'"),
        ("kind: [LLMService]\n", "unknown kind"),
        ("kind: LLMService\napiVersion: steelyard.io/v1\n", "must be steelyard.io/v1alpha1"),
        ("a: 2024-13-45", "is not YAML"),
        ("[" * 3000, "nested too deeply"),
        ("&a [*a]", "is not an object"),
    ],
)
def test_files_that_hold_no_object_say_why(tmp_path: Path, text: str, part: str) -> None:
    assert part in only(tmp_path, text).reason


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"\xff\xfe\xfa")

    with pytest.raises(ManifestError, match="UTF-8"):
        read([path])


def test_a_key_given_twice_is_refused_at_its_second_place(tmp_path: Path) -> None:
    problem = only(
        tmp_path, SERVICE + "spec:\n  engine: {type: Simulator}\n  engine: {type: VLLM}\n"
    )

    assert (problem.line, problem.field) == (6, "engine")


def test_an_object_given_twice_is_refused(tmp_path: Path) -> None:
    one = SERVICE + "spec: {engine: {type: Simulator}}\n"

    problem = only(tmp_path, f"{one}---\n{one}")

    assert problem.line == 6
    assert "given twice" in problem.reason


@pytest.mark.parametrize(
    ("spec", "field", "part"),
    [
        ("{}", "spec.engine", "is required"),
        ("{engine: {type: vllm}}", "spec.engine.type", "'VLLM'"),
        ("{engine: {type: VLLM}}", "spec", "need model.uri"),
        ("{engine: {type: VLLM}, model: {uri: org/m}}", "spec.model.uri", "must be hf://"),
        ("{engine: {type: Simulator}, replicas: '2'}", "spec.replicas", "integer"),
        ("{engine: {type: Simulator}, replicas: 2.0}", "spec.replicas", "integer"),
        ("{engine: {type: Simulator}, replicas: true}", "spec.replicas", "integer"),
        ("{engine: {type: Simulator, args: [--port=1]}}", "spec.engine.args", "set by Steelyard"),
        ("{engine: {type: Simulator, args: [1]}}", "spec.engine.args[0]", "put it in quotes"),
        ("{engine: {type: Simulator, urls: ['http://a']}}", "spec.engine", "need type External"),
        ("{engine: {type: External}}", "spec.engine", "exactly one of urls and serviceRef"),
        ("{engine: {type: External, urls: []}}", "spec.engine.urls", "at least 1"),
        ("{engine: {type: External, urls: ['https://a']}}", "spec.engine.urls", "http://host:port"),
        ("{engine: {type: External, urls: ['http://a:0x']}}", "spec.engine.urls", "http://host"),
        (
            "{engine: {type: External, urls: ['http://a', 'http://a:80/']}}",
            "spec.engine.urls",
            "given twice: a:80",
        ),
        (
            "{engine: {type: External, urls: ['http://a'], args: [x]}}",
            "spec.engine",
            "takes only urls",
        ),
        ("{engine: {type: External, urls: ['http://a']}, replicas: 2}", "spec", "no effect"),
    ],
)
def test_a_bad_service_is_explained(tmp_path: Path, spec: str, field: str, part: str) -> None:
    problem = only(tmp_path, f"{SERVICE}spec: {spec}\n")

    assert problem.field == field
    assert part in problem.reason


def test_a_service_name_that_cannot_become_a_label_is_refused(tmp_path: Path) -> None:
    text = SERVICE.replace("chat", "a" * 41) + "spec: {engine: {type: Simulator}}\n"

    assert "at most 40" in only(tmp_path, text).reason


ALL = "{name: all, default: true}"


def one(part: str) -> str:
    return f"{{targetRefs: [{{name: a}}], workloads: [{{name: x, default: true, {part}}}]}}"


@pytest.mark.parametrize(
    ("spec", "field", "part"),
    [
        (f"{{workloads: [{ALL}]}}", "spec.targetRefs", "is required"),
        (f"{{targetRefs: [], workloads: [{ALL}]}}", "spec.targetRefs", "at least 1"),
        ("{targetRefs: [{name: a}], workloads: []}", "spec.workloads", "at least 1"),
        ("{targetRefs: [{name: a}], workloads: [{name: x}]}", "spec.workloads", "exactly one"),
        (
            f"{{targetRefs: [{{name: a}}], workloads: [{ALL}, {{name: all}}]}}",
            "spec.workloads",
            "given twice: all",
        ),
        (
            "{targetRefs: [{name: a}], workloads: [{name: x, default: 'yes'}]}",
            "spec.workloads[0].default",
            "boolean",
        ),
        (
            one("match: {promptTokensMin: 9, promptTokensMax: 3}"),
            "spec.workloads[0].match",
            "nothing could match",
        ),
        (
            one("match: {headers: [{name: A, value: '1'}, {name: a, value: '2'}]}"),
            "spec.workloads[0].match.headers",
            "given twice: a",
        ),
        (
            one("routing: {strategy: Fastest}"),
            "spec.workloads[0].routing.strategy",
            "'Multiplicative'",
        ),
        (
            f"{{targetRefs: [{{name: a}}], workloads: [{ALL}], scheduler: {{mode: Maybe}}}}",
            "spec.scheduler.mode",
            "'Disabled'",
        ),
        (
            f"{{targetRefs: [{{name: a}}], workloads: [{ALL}], batch: {{maxSequence: 8}}}}",
            "spec.batch.maxSequence",
            "did you mean `maxSequences`?",
        ),
        (
            one("maxConcurrent: 0"),
            "spec.workloads[0].maxConcurrent",
            "greater than or equal to 1",
        ),
    ],
)
def test_a_bad_policy_is_explained(tmp_path: Path, spec: str, field: str, part: str) -> None:
    problem = only(tmp_path, f"{POLICY}spec: {spec}\n")

    assert problem.field == field
    assert part in problem.reason


@pytest.mark.parametrize(
    ("alert", "field", "part"),
    [
        ("{metric: Score, threshold: 1}", "spec.alerts[0].name", "is required"),
        ("{name: a, metric: Score}", "spec.alerts[0]", "exactly one of threshold"),
        (
            "{name: a, metric: Score, threshold: 1, baselinePercent: 2}",
            "spec.alerts[0]",
            "exactly one of threshold",
        ),
        (
            "{name: a, metric: Score, threshold: 1, repeatSeconds: 60}",
            "spec.alerts[0].repeatSeconds",
            "300",
        ),
        ("{name: a, metric: Score, threshold: 1, workloads: [b]}", "spec", "unknown workloads: b"),
    ],
)
def test_a_bad_alert_is_explained(tmp_path: Path, alert: str, field: str, part: str) -> None:
    spec = f"{{targetRefs: [{{name: a}}], workloads: [{ALL}], alerts: [{alert}]}}"

    problem = only(tmp_path, f"{POLICY}spec: {spec}\n")

    assert problem.field == field
    assert part in problem.reason


def test_lists_are_bounded(tmp_path: Path) -> None:
    many = ", ".join(f"{{name: w{i}, default: {str(i == 0).lower()}}}" for i in range(17))

    problem = only(tmp_path, f"{POLICY}spec: {{targetRefs: [{{name: a}}], workloads: [{many}]}}\n")

    assert problem.field == "spec.workloads"
    assert "16" in problem.reason
