"""When nothing changes, nothing is written."""

import time
from collections import Counter

from onenode.audit import AuditLog
from scene.cluster import Cluster
from scene.figure import Figures
from scene.manifest import policy, simulated
from scene.ready import await_ready

RESYNC_S = 10
WATCHED_S = 2.5 * RESYNC_S
SETTLE_S = 20
"""No request is sent, so no measured value changes after that."""


def test_quiet_when_steady(cluster: Cluster, audit: AuditLog, figures: Figures) -> None:
    kubectl = cluster.kubectl
    names = [f"svc{number}" for number in range(5)]
    with cluster.operator_with(f"--resync-seconds={RESYNC_S}"):
        for name in names:
            kubectl.apply(simulated(name), policy(name, name))
        for name in names:
            await_ready(kubectl, name, within_s=120)
            await_ready(kubectl, name, kind="slopolicy", within_s=30)
        time.sleep(SETTLE_S)
        cluster.end()  # so that the entries of its routers are known as ours
        mark = audit.mark()
        time.sleep(WATCHED_S)
        # Of its own namespace: those of other tests may still be going.
        ours = [
            each
            for each in cluster.records.entries(mark)
            if each.namespace in {cluster.namespace, ""}
        ]
    writes = Counter(f"{each.verb} {each.resource}" for each in ours if each.is_write)
    resyncs = sum(each.verb == "list" and each.resource == "llmservices" for each in ours)
    figures.note(services=len(names), requests=len(ours), resyncs=resyncs, writes=dict(writes))
    assert resyncs >= 2
    assert set(writes) <= {"update leases"}
