"""The kinds that are watched, read and written, each by the name the API server has for it."""

from steelyard_router.kube.resource import (
    CONFIG_MAP,
    DEPLOYMENT,
    LLM_SERVICE,
    NETWORK_POLICY,
    PDB,
    POD,
    PVC,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    SLO_POLICY,
)

OWN = (LLM_SERVICE, SLO_POLICY)
CHILDREN = (
    DEPLOYMENT, SERVICE, CONFIG_MAP, SERVICE_ACCOUNT, ROLE_BINDING, PDB, PVC, NETWORK_POLICY,
)  # fmt: skip
LABELLED = (*CHILDREN, POD)
"""Watched only where they carry the label steelyard.io/service."""
