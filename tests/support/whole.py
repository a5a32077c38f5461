"""One object of each kind with every part that it may have."""

from .policy_case import ALL, REST, policy
from .service_case import EITHER, HF, SECRET, TEMPLATE, service

NAME = "whole"

SERVICE = service(
    name=NAME,
    model={**HF, "name": "org/model", "revision": "main", "tokenSecretRef": SECRET},
    engine={
        "type": "VLLM",
        "image": "registry.example/vllm:1",
        "imagePullPolicy": "IfNotPresent",
        "args": ["--max-model-len=8192"],
        "env": EITHER,
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "port": 8001,
        "sharedMemorySize": "16Gi",
        "startupTimeoutSeconds": 3600,
        "drain": {"gracePeriodSeconds": 300},
        "podTemplate": {"spec": {"nodeSelector": {"gpu": "big"}}},
    },
    replicas=2,
    rollout={"maxSurge": 1, "maxUnavailable": 0, "progressDeadlineSeconds": 7200},
    restartToken="1",
    disruption={"minAvailable": 1},
    cache={"type": "PersistentVolumeClaim", "template": TEMPLATE, "retention": "Delete"},
    router={
        "replicas": 2,
        "image": "registry.example/steelyard:1",
        "env": EITHER,
        "resources": {"requests": {"cpu": "2"}},
        "podTemplate": {"metadata": {"annotations": {"a": "b"}}},
        "service": {"type": "LoadBalancer", "port": 8080, "annotations": {"a.example/b": "c"}},
        "apiKeySecretRef": SECRET,
        "drain": {"gracePeriodSeconds": 300},
        "defaults": {"strategy": "Multiplicative", "maxPTokens": 100_000},
        "clientHints": "Trusted",
    },
    networkPolicy="Enabled",
    reconciliation="Paused",
)
"""Every part that an LLMService with engines of its own may have."""

POLICY = policy(
    name=NAME,
    targetRefs=[
        {"group": "steelyard.io", "kind": "LLMService", "name": "chat"},
        {"name": "code"},
    ],
    mode="DryRun",
    workloads=[
        {
            **ALL,
            "priority": 10,
            "slo": {
                "ttftMilliseconds": 500,
                "tpotMilliseconds": 30,
                "e2eMilliseconds": 9000,
                "attainmentPercent": 95,
            },
            "weights": {"ttftPercent": 60, "tpotPercent": 30, "e2ePercent": 10},
            "routing": {
                "strategy": "Multiplicative",
                "pTokenExponentPercent": 100,
                "batchSizeExponentPercent": 50,
                "pTokenOffset": 1,
                "maxPTokens": 100_000,
            },
            "maxConcurrent": 64,
            "maxSequencesPerInstance": 16,
            "queue": {"maxWaitSeconds": 10, "onTimeout": "Reject"},
        },
        {
            **REST,
            "match": {
                "headers": [{"name": "X-Team", "value": "search"}],
                "models": ["m"],
                "paths": ["/v1/embeddings"],
                "promptTokensMin": 1,
                "promptTokensMax": 4096,
            },
        },
    ],
    queue={"maxWaitSeconds": 60, "onTimeout": "Degrade"},
    batch={
        "maxSequences": 32,
        "kvPercent": 90,
        "harmPercent": 70,
        "queuedPrefillMilliseconds": 500,
    },
    scheduler={
        "mode": "Enforce",
        "order": "SimulatedAnnealing",
        "timeoutMilliseconds": 2,
        "annealing": {"iterations": 50, "coolingPercent": 90, "acceptancePercent": 70},
        "enginePriority": "Header",
    },
    alerts=[
        {
            "name": "a",
            "metric": "Score",
            "threshold": 200_000,
            "percentile": 95,
            "windowSeconds": 60,
            "forSeconds": 10,
            "clearPercent": 90,
            "minSamples": 20,
            "repeatSeconds": 300,
            "severity": "Normal",
            "workloads": ["all"],
        },
        {"name": "b", "metric": "TTFT", "baselinePercent": 150},
    ],
)
"""Every part that an SLOPolicy may have."""
