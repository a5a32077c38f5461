"""Two accounts of one configuration: the ConfigMap through the API, at once, and the same as files
that the kubelet brings along, up to two minutes later. Which of them is in force:

1. Until the API has answered once, the files are.
2. While the API is heard, the ConfigMap is. The files are only noted.
3. While it is not heard, files that say something new are, but not what the API had already
   replaced: the kubelet is late, not ahead.
4. When it is heard again, the ConfigMap is.

An account that cannot be used changes nothing but the problem that is shown; so does a ConfigMap
that is gone.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard_router.config import RouterConfig
from steelyard_router.discovery.file import parse_configs
from steelyard_router.errors import ConfigError
from steelyard_router.kube.resource import Object

REMEMBERED = 64
"""Replaced revisions: a kubelet is not further behind than that."""

Account = RouterConfig | ConfigError
"""A configuration, or why there is none."""


@dataclass(frozen=True, slots=True)
class ConfigMapText:
    """The files in a ConfigMap at one version; what is no visible *.yaml is left alone."""

    place: str
    texts: Mapping[str, str]

    @classmethod
    def of(cls, item: Object) -> "ConfigMapText":
        metadata = item["metadata"]
        texts = {
            str(name): str(text)
            for name, text in (item.get("data") or {}).items()
            if name.endswith(".yaml") and not name.startswith(".")
        }
        return cls(f"ConfigMap {metadata.get('namespace')}/{metadata['name']}", texts)

    def account(self) -> Account:
        """Parses and checks it: milliseconds, so not on the event loop."""
        try:
            return parse_configs(self.texts, self.place)
        except ConfigError as error:
            return error


class Arbiter:
    """Tells which account is in force after each piece of news; None: what is in force stays.

    `started` is the revision of the files that the process began with.
    """

    def __init__(self, started: str) -> None:
        self._recent = {started}
        """Revisions in force since the API last said one, that one among them."""
        self._replaced: OrderedDict[str, None] = OrderedDict()
        self._api: Account | None = None
        self._files: Account | None = None
        self.heard = False
        """Whether the API is heard at the moment."""

    def api(self, account: Account) -> Account:
        """The ConfigMap says this now."""
        self.heard, self._api = True, account
        if isinstance(account, RouterConfig):
            self._replace_by(account.revision)
        return account

    def files(self, account: Account) -> Account | None:
        """The files say this now."""
        self._files = account
        return None if self.heard else self._fall_back()

    def lost(self) -> Account | None:
        """The API is not heard any more."""
        self.heard = False
        return self._fall_back()

    def back(self) -> Account | None:
        """The API is heard again, and says what it said before."""
        self.heard = True
        return self._api

    def _fall_back(self) -> Account | None:
        files = self._files
        if isinstance(files, RouterConfig):
            if files.revision in self._replaced:
                return None
            self._recent.add(files.revision)
        return files

    def _replace_by(self, revision: str) -> None:
        for old in self._recent - {revision}:
            self._replaced[old] = None
        self._replaced.pop(revision, None)
        while len(self._replaced) > REMEMBERED:
            self._replaced.popitem(last=False)
        self._recent = {revision}
