"""API keys from a file: who may call, and as which tenant.

One `key` or `key tenant` a line; `#` starts a comment. Only digests are kept, and a presented key
is compared with every one of them in constant time, so neither the time of an answer nor a memory
dump tells a key. The file is read again when it changes; a bad file leaves the last good keys in
force.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from steelyard_router.discovery.stamp import FileStamp
from steelyard_router.errors import ConfigError, Unauthorized

TENANT = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
KEY = re.compile(r"[\x21-\x7e]+")
COMMENT = re.compile(r"(?:^|\s)#")


def digest(key: str) -> bytes:
    """Fixed size, so that a comparison does not depend on the length of a key."""
    # aiohttp and our own server hand over bytes that are no UTF-8 as lone surrogates.
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of one state of the file. `problem` says why a newer state could not be used."""

    path: Path
    stamp: FileStamp | None
    keys: tuple[tuple[bytes, str], ...]
    """Digest and tenant of each key."""
    problem: str | None = None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the file. ConfigError names the file, the line and what to do."""
        path = Path(path)
        stamp = FileStamp.of(path)
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot read the API keys: {error}") from error
        return cls(path, stamp, _parse(path, text))

    def tenant(self, authorization: str | None) -> str:
        """The tenant of an Authorization header, or Unauthorized."""
        scheme, _, key = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Unauthorized(
                "You didn't provide an API key. Send it as the header `Authorization: Bearer KEY`."
            )
        given, found = digest(key.strip()), ""
        for known, tenant in self.keys:
            if hmac.compare_digest(given, known):
                found = tenant  # no early exit: the time must not tell which key it was
        if not found:
            raise Unauthorized("Incorrect API key. Ask whoever runs this service for a valid one.")
        return found

    def fresh(self) -> "KeyRing":
        """This ring, or the next one when the file has changed.

        A file that cannot be used gives a ring with the same keys and `problem` set, once for each
        change of the file, so a caller reports it when the ring it gets is a new one.
        """
        stamp = FileStamp.of(self.path)
        if stamp == self.stamp:
            return self
        try:
            return KeyRing.load(self.path)
        except ConfigError as error:
            return replace(self, stamp=stamp, problem=str(error))


def _parse(path: Path, text: str) -> tuple[tuple[bytes, str], ...]:
    keys: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        fields = COMMENT.split(line, maxsplit=1)[0].split()
        if not fields:
            continue
        key, *rest = fields
        problem = _problem_with(key, rest)
        if digest(key) in keys:
            problem = "the key is there twice; remove one of the lines"
        if problem:
            raise ConfigError(f"{path}:{number}: {problem}")
        keys[digest(key)] = rest[0] if rest else f"key-{digest(key).hex()[:8]}"
    if not keys:
        raise ConfigError(f"{path}: no API key in it; add one `key` or `key tenant` a line")
    return tuple(keys.items())


def _problem_with(key: str, rest: list[str]) -> str | None:
    if len(rest) > 1:
        return "expected `key` or `key tenant`; a tenant name has no spaces"
    if not KEY.fullmatch(key):
        return "a key may hold printable ASCII characters only"
    if rest and not TENANT.fullmatch(rest[0]):
        # Not repeated here: who swapped the two columns would find the key in the log.
        return "a tenant name is at most 63 letters, digits, '-', '_' or '.'"
    return None
