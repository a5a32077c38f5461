"""The rights that the chart ships are the rights that are used.

Runs last: it reads what all other tests made the API server write into its audit log. The roles and
their holders are noted while they are there, by the fixture that every test uses.
"""

from onenode.audit import AuditLog
from scene.cluster import Records
from scene.figure import Figures
from scene.right import used

UNUSED: dict[str, str] = {
    "steelyard-operator: bind clusterroles.rbac.authorization.k8s.io": (
        "is asked of whoever makes a RoleBinding, and is no request of its own"
    ),
    "steelyard-operator: delete rolebindings.rbac.authorization.k8s.io": (
        "a RoleBinding cannot be led to another role: when that got another name it is made anew"
    ),
}
"""Rights that no request shows in the log, and why they are shipped."""


def test_least_privilege(records: Records, audit: AuditLog, figures: Figures) -> None:
    ours = records.entries()
    refused = sorted({f"{each.user}: {each.verb} {each.path}" for each in records.refused()})
    granted = {right for role in records.roles for right in role.rights}
    idle = {str(right) for right in granted - used(ours, records.roles)}
    figures.note(
        requests=len(ours),
        refused=len(refused),
        rights=len(granted),
        unused_with_reason=len(UNUSED),
    )
    assert granted
    assert refused == []
    unused = sorted(idle - set(UNUSED))
    assert not unused, "\n".join(unused)
    assert set(UNUSED) <= idle, "a right that is used needs no reason"
