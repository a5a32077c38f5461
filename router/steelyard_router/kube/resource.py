"""The kinds that Steelyard reads and writes, and where the API server has them.

A fixed table instead of discovery: it costs no requests at start, needs no rights, and a kind that
is not in it cannot be touched by mistake.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

Object = dict[str, Any]
"""An object as the API server gives it: JSON, camelCase."""


class Resource(NamedTuple):
    """One kind. `group` is empty for the core group."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """The URL path; a namespaced kind without a namespace means all namespaces."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{place}/{self.plural}{tail}"


POD = Resource("", "v1", "Pod", "pods")
SERVICE = Resource("", "v1", "Service", "services")
CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
SERVICE_ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts")
PVC = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
EVENT = Resource("", "v1", "Event", "events")
NAMESPACE = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
PDB = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
NETWORK_POLICY = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
ROLE_BINDING = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
ENDPOINT_SLICE = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases")
LLM_SERVICE = Resource("steelyard.io", "v1alpha1", "LLMService", "llmservices")
SLO_POLICY = Resource("steelyard.io", "v1alpha1", "SLOPolicy", "slopolicies")

_ALL = (
    POD, SERVICE, CONFIG_MAP, SERVICE_ACCOUNT, PVC, EVENT, NAMESPACE, DEPLOYMENT, PDB,
    NETWORK_POLICY, ROLE_BINDING, ENDPOINT_SLICE, LEASE, LLM_SERVICE, SLO_POLICY,
)  # fmt: skip
_BY_KIND: Mapping[tuple[str, str], Resource] = {(r.api_version, r.kind): r for r in _ALL}


def by_kind(api_version: str, kind: str) -> Resource:
    """The resource of an object's apiVersion and kind. Raises KeyError for one not in the table."""
    return _BY_KIND[api_version, kind]


def of(body: Object) -> Resource:
    """The resource that an object belongs to. Raises KeyError."""
    return by_kind(body["apiVersion"], body["kind"])
