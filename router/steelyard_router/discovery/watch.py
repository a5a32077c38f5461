"""Following the configuration file while the router runs.

Every replacement is noticed: edits in place, atomic renames, and the symlink swaps by which
Kubernetes updates a mounted ConfigMap. The file is polled, since inotify sees neither network file
systems nor all of these. A file with a problem is reported once, and the last good configuration
stays in force.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from steelyard_router.config import RouterConfig
from steelyard_router.discovery.file import load_config
from steelyard_router.discovery.stamp import FileStamp
from steelyard_router.errors import ConfigError

NOT_LOADED = FileStamp(device=-1, inode=-1, size=-1, mtime_ns=-1)


class ConfigWatch:
    """Yields each configuration of a file that is another than the one before.

    `current` is the one in force; `on_error` gets each problem once, while the watch goes on. When
    a problem is repaired, the configuration is yielded even if it is the one in force, so that
    whoever shows the problem learns that it is gone.
    """

    def __init__(
        self,
        path: str | Path,
        current: RouterConfig,
        *,
        on_error: Callable[[ConfigError], None],
        interval_s: float = 0.5,
    ) -> None:
        self._path = Path(path)
        self._revision = current.revision
        self._on_error = on_error
        self._interval_s = interval_s
        self.problem: str | None = None
        """Why the file as it is now is not the configuration in force; None when it is."""

    async def changes(self) -> AsyncIterator[RouterConfig]:
        """Runs until it is closed or cancelled."""
        loaded: FileStamp | None = NOT_LOADED
        seen: FileStamp | None = None
        while True:
            before, seen = seen, FileStamp.of(self._path)
            if _is_settled(seen, before=before, loaded=loaded):
                loaded = seen
                if (config := await self._load()) is not None:
                    yield config
            await asyncio.sleep(self._interval_s)

    async def _load(self) -> RouterConfig | None:
        """The file's configuration, if it is a valid one and there is a reason to take it over."""
        try:
            config = await asyncio.to_thread(load_config, self._path)
        except ConfigError as error:
            if str(error) != self.problem:
                self.problem = str(error)
                self._on_error(error)
            return None
        repaired, self.problem = self.problem is not None, None
        if config.revision == self._revision and not repaired:
            return None
        self._revision = config.revision
        return config


def _is_settled(
    seen: FileStamp | None, *, before: FileStamp | None, loaded: FileStamp | None
) -> bool:
    """Whether there is a state of the file that should be read, given the stamps of this look, of
    the look before, and of the last state that was read.

    A file that was renamed over the old one is whole at once. One that is written in place may be
    caught half written, and half a file can be a valid one; so it is read when it was the same
    twice. A file that is gone may be about to come back; it is missed when it is gone twice.
    """
    if seen == loaded:
        return False
    return seen == before or (seen is not None and seen.replaces(before))
