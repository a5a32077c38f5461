"""What LLMServices the schema takes and refuses."""

from collections.abc import Iterable
from typing import Any

from .case import Duplicates, EnumCase, RuleCase, body
from .crd import Tree

KIND = "LLMService"
HF = {"uri": "hf://org/model"}


def service(*, name: str = "chat", **spec: Any) -> Tree:
    return body(KIND, {"engine": {"type": "Simulator"}, **spec}, name)


def simulated(**engine: object) -> Tree:
    return service(engine={"type": "Simulator", **engine})


def real(kind: str = "VLLM", *, model: Tree = HF, **spec: Any) -> Tree:
    return service(engine={"type": kind}, model=model, **spec)


def external(*, engine: Tree | None = None, **spec: Any) -> Tree:
    return service(engine={"type": "External", **(engine or {"urls": ["http://a:1"]})}, **spec)


def graces(router: int | None, engine: int | None) -> Tree:
    def drain(seconds: int | None) -> Tree:
        return {} if seconds is None else {"drain": {"gracePeriodSeconds": seconds}}

    return service(engine={"type": "Simulator", **drain(engine)}, router=drain(router))


def patience(deadline: int | None, startup: int | None) -> Tree:
    engine = {} if startup is None else {"startupTimeoutSeconds": startup}
    rollout = {} if deadline is None else {"progressDeadlineSeconds": deadline}
    return service(engine={"type": "Simulator", **engine}, rollout=rollout)


def claim(**cache: object) -> Tree:
    return service(cache={"type": "PersistentVolumeClaim", **cache})


def urls(*values: str) -> Tree:
    return external(engine={"urls": list(values)})


def port(value: object) -> Tree:
    return external(engine={"serviceRef": {"name": "a", "port": value}})


def case(
    path: str, message: str, *, accept: Iterable[Tree], reject: Iterable[Tree], told: str = ""
) -> RuleCase:
    return RuleCase(KIND, path, message, tuple(accept), tuple(reject), told)


TEMPLATE = {"size": "10Gi", "storageClassName": "fast", "accessModes": ["ReadWriteMany"]}
SECRET = {"name": "hub", "key": "token"}
VALUE_FROM = {"secretKeyRef": SECRET}
BOTH = [{"name": "A", "value": "1", "valueFrom": VALUE_FROM}]
EITHER = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": VALUE_FROM}, {"name": "C"}]
OWNED = ("--host", "--port", "--model", "--served-model-name")
ONE_SOURCE = "give at most one of value and valueFrom"

RULES = (
    case(
        "",
        "name becomes part of Service and label names: it must start with a letter and have at "
        "most 40 of a-z, 0-9 and '-'",
        accept=[service(name=name) for name in ("a", "a" * 40, "a-1")],
        reject=[service(name=name) for name in ("a" * 41, "1a", "a.b")],
    ),
    case(
        "spec",
        "model.uri, replicas, rollout, restartToken, disruption and cache have no effect on "
        "engines that someone else runs; leave them out",
        accept=[external(), external(model={"name": "m"}), real(replicas=2)],
        reject=[
            external(model=HF),
            external(replicas=2),
            external(rollout={}),
            external(restartToken="1"),
            external(disruption={"maxUnavailable": 1}),
            external(cache={"type": "EmptyDir"}),
        ],
    ),
    case(
        "spec",
        "engine types VLLM and SGLang need model.uri, for example hf://org/model",
        accept=[real("VLLM"), real("SGLang"), service(), external()],
        reject=[
            service(engine={"type": "VLLM"}),
            service(engine={"type": "SGLang"}, model={"name": "m"}),
        ],
    ),
    case(
        "spec",
        "rollout.progressDeadlineSeconds must be at least engine.startupTimeoutSeconds, or a slow "
        "start counts as a failed rollout",
        accept=[patience(60, 60), patience(60, None), patience(None, 60)],
        reject=[patience(59, 60)],
    ),
    case(
        "spec",
        "router.drain.gracePeriodSeconds must be at least that of engine.drain, or the router "
        "breaks streams that the engine would finish",
        accept=[graces(60, 60), graces(1, None), graces(None, 600)],
        reject=[graces(59, 60)],
    ),
    case(
        "spec.model",
        "revision and tokenSecretRef need a uri of the form hf://org/model",
        accept=[real(model={**HF, "revision": "main", "tokenSecretRef": SECRET})],
        reject=[
            real(model={"uri": "file:///m", "revision": "main"}),
            service(model={"tokenSecretRef": SECRET}),
        ],
    ),
    case(
        "spec.model.uri",
        "must be hf://org/model, pvc://claim/path or file:///path",
        accept=[
            real(model={"uri": uri})
            for uri in ("hf://gpt2", "pvc://my.claim", "pvc://c/a/b", "file:///models/m")
        ],
        reject=[
            real(model={"uri": uri})
            for uri in (
                "org/m",
                "hf://",
                "hf://a/b/c",
                "hf://a b",
                "s3://b/m",
                "pvc://A/b",
                "file://m",
            )
        ],
    ),
    case(
        "spec.engine",
        "urls and serviceRef need type External",
        accept=[urls("http://a"), port(80), service()],
        reject=[
            simulated(urls=["http://a"]),
            simulated(serviceRef={"name": "a", "port": 80}),
        ],
    ),
    case(
        "spec.engine",
        "type External needs exactly one of urls and serviceRef",
        accept=[urls("http://a"), port("http")],
        reject=[
            service(engine={"type": "External"}),
            external(engine={"urls": ["http://a"], "serviceRef": {"name": "a", "port": 80}}),
        ],
    ),
    case(
        "spec.engine",
        "type External takes only urls or serviceRef: nothing else has an effect on engines that "
        "someone else runs",
        accept=[urls("http://a"), external(engine={"urls": ["http://a"], "args": [], "env": []})],
        reject=[
            external(engine={"urls": ["http://a"], **extra})
            for extra in (
                {"image": "a"},
                {"imagePullPolicy": "Never"},
                {"args": ["-v"]},
                {"env": [{"name": "A"}]},
                {"resources": {"limits": {"cpu": "1"}}},
                {"port": 80},
                {"sharedMemorySize": "0"},
                {"startupTimeoutSeconds": 9},
                {"drain": {"gracePeriodSeconds": 9}},
                {"podTemplate": {"spec": {"hostname": "a"}}},
            )
        ],
    ),
    case(
        "spec.engine.args",
        "--host, --port, --model, --served-model-name are set by Steelyard; leave them out (the "
        "served name is model.name, the model is model.uri, the port is engine.port)",
        accept=[simulated(args=["--speed", "2", "--hosts=1", "--model-impl=auto", "a--port"])],
        reject=[simulated(args=["-v", form]) for arg in OWNED for form in (arg, f"{arg}=1")],
    ),
    case(
        "spec.engine.env[]",
        ONE_SOURCE,
        accept=[simulated(env=EITHER)],
        reject=[simulated(env=BOTH)],
    ),
    case(
        "spec.router.env[]",
        ONE_SOURCE,
        accept=[service(router={"env": EITHER})],
        reject=[service(router={"env": BOTH})],
    ),
    case(
        "spec.engine.urls",
        "each must be http://host:port, without a path",
        accept=[
            urls("http://a", "http://gpu-7.local:8000/", "http://[::1]:9", "http://10.0.0.1:65535")
        ],
        reject=[
            urls(url)
            for url in (
                *("https://a", "a:80", "http://", "http://a/v1", "http://a:0", "http://a:65536"),
                *("http://a:0x", "http://me@a", "http://a?b", "http://a:"),
            )
        ],
    ),
    case(
        "spec.engine.urls",
        "urls must be unique",
        accept=[urls("http://a", "http://a:81", "http://b", "http://a8080", "http://a:8080")],
        reject=[
            urls("http://a", "http://a"),
            urls("http://a", "http://a/"),
            urls("http://a", "http://a:80"),
            urls("http://a:80/", "http://a"),
            urls("http://a/", "http://a:80"),
            urls("http://b", "http://a:9/", "http://a:9"),
        ],
    ),
    case(
        "spec.engine.serviceRef.port",
        "must be the name of one of the Service's ports, or the number that its pods listen on "
        "(1 to 65535)",
        accept=[port(value) for value in (1, 65535, "http", "a" * 63)],
        reject=[port(value) for value in (0, -1, 65536, "", "HTTP", "a-")],
    ),
    case(
        "spec.rollout",
        "maxUnavailable 0 needs maxSurge of at least 1, or no pod could be replaced",
        accept=[
            service(rollout=rollout)
            for rollout in ({}, {"maxSurge": 0}, {"maxSurge": 1, "maxUnavailable": 0})
        ],
        reject=[
            service(rollout={"maxUnavailable": 0}),
            service(rollout={"maxUnavailable": 0, "maxSurge": 0}),
        ],
    ),
    case(
        "spec.disruption",
        "give exactly one of minAvailable and maxUnavailable",
        accept=[service(disruption={"minAvailable": 0}), service(disruption={"maxUnavailable": 0})],
        reject=[
            service(disruption={}),
            service(disruption={"minAvailable": 1, "maxUnavailable": 1}),
        ],
    ),
    case(
        "spec.cache",
        "claimName and template need type PersistentVolumeClaim",
        accept=[claim(claimName="a"), service(cache={"type": "None"})],
        reject=[
            service(cache={"type": "EmptyDir", "claimName": "a"}),
            service(cache={"type": "None", "template": TEMPLATE}),
        ],
    ),
    case(
        "spec.cache",
        "type PersistentVolumeClaim needs exactly one of claimName and template",
        accept=[claim(claimName="a"), claim(template=TEMPLATE)],
        reject=[claim(), claim(claimName="a", template=TEMPLATE)],
    ),
    case(
        "spec.cache",
        "retention needs template: a claim that you made stays yours",
        accept=[claim(template=TEMPLATE, retention="Delete")],
        reject=[
            claim(claimName="a", retention="Delete"),
            service(cache={"type": "EmptyDir", "retention": "Retain"}),
        ],
    ),
)


def _engine_type(value: str) -> Tree:
    match value:
        case "External":
            return external()
        case "VLLM" | "SGLang":
            return real(value)
        case _:
            return service(engine={"type": value})


def _cache_type(value: str) -> Tree:
    return claim(claimName="a") if "Claim" in value else service(cache={"type": value})


def _modes(value: str) -> Tree:
    return claim(template={"size": "1Gi", "accessModes": [value]})


def _condition(value: str) -> Tree:
    condition = {
        "type": "Ready",
        "status": value,
        "reason": "Because",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {**service(), "status": {"conditions": [condition]}}


ENUMS = (
    EnumCase(KIND, "spec.engine.type", _engine_type),
    EnumCase(KIND, "spec.engine.imagePullPolicy", lambda value: simulated(imagePullPolicy=value)),
    EnumCase(KIND, "spec.cache.type", _cache_type),
    EnumCase(KIND, "spec.cache.template.accessModes[]", _modes),
    EnumCase(KIND, "spec.cache.retention", lambda value: claim(template=TEMPLATE, retention=value)),
    EnumCase(KIND, "spec.router.service.type", lambda v: service(router={"service": {"type": v}})),
    EnumCase(
        KIND,
        "spec.router.defaults.strategy",
        lambda v: service(router={"defaults": {"strategy": v}}),
    ),
    EnumCase(KIND, "spec.router.clientHints", lambda v: service(router={"clientHints": v})),
    EnumCase(KIND, "spec.networkPolicy", lambda value: service(networkPolicy=value)),
    EnumCase(KIND, "spec.reconciliation", lambda value: service(reconciliation=value)),
    EnumCase(KIND, "status.conditions[].status", _condition),
)

TWICE = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
DUPLICATES: Duplicates = {
    (KIND, "spec.engine.env"): simulated(env=TWICE),
    (KIND, "spec.router.env"): service(router={"env": TWICE}),
}
