"""What children, their ports and their files are called.

A service's name has at most 40 characters, so every name made from it is a valid label and a valid
DNS name.
"""

from typing import Literal

Component = Literal["engine", "router"]
"""Also the name of the component's container."""

ENGINE: Component = "engine"
ROUTER: Component = "router"

HTTP = "http"
ADMIN = "admin"
ENGINE_PORT = 8000
"""Where an engine listens unless engine.port says otherwise."""
ROUTER_PORT = 8080
ADMIN_PORT = 9090
CLIENT_PORT = 80
"""The router's Service, unless router.service.port says otherwise."""

CONFIG_DIR = "/etc/steelyard"


def engine_name(service: str) -> str:
    return f"{service}-engine"


def router_name(service: str) -> str:
    return f"{service}-router"


def cache_name(service: str) -> str:
    return f"{service}-cache"
