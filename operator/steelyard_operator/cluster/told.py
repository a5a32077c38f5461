"""What the routers of a service were told last: the configuration in its live ConfigMap.

While its policy is invalid, a service keeps what was in force; the ConfigMap remembers it, so that
an operator that was started anew knows it too.
"""

from steelyard_router.config import RouterConfig
from steelyard_router.discovery.file import parse_configs
from steelyard_router.errors import ConfigError
from steelyard_router.kube.resource import Object


def told(config_map: Object | None) -> RouterConfig | None:
    """None when there is none, or none that can be read."""
    if config_map is None:
        return None
    try:
        return parse_configs(config_map.get("data") or {}, config_map["metadata"]["name"])
    except ConfigError:
        return None
