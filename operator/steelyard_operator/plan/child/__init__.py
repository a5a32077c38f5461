"""The children of a service as Kubernetes manifests. Pure: objects in, objects out."""

from .child import children
from .config_map import cluster_config
from .ownership import foreign, obsolete
from .settings import Settings

__all__ = ["Settings", "children", "cluster_config", "foreign", "obsolete"]
