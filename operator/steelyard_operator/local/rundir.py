"""Files of a run: the routers' configurations and everybody's logs."""

from pathlib import Path

import yaml

from steelyard_operator.plan import Key
from steelyard_router.config import RouterConfig


class RunDir:
    """A folder for each service: <root>/<namespace>/<name>/."""

    def __init__(self, root: Path, key: Key) -> None:
        self._folder = root / key.namespace / key.name
        self.router_file = self._folder / "router.yaml"

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def write(self, config: RouterConfig) -> None:
        """Replaces the router's configuration whole: a reader never sees half a file."""
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self.router_file.with_suffix(".draft")
        draft.write_text(to_yaml(config), encoding="utf-8")
        draft.replace(self.router_file)


def to_yaml(config: RouterConfig) -> str:
    """What the configuration says, which is what its revision is made of; no defaults."""
    content = config.model_dump(mode="json", exclude_unset=True)
    return yaml.safe_dump(content, sort_keys=False)
