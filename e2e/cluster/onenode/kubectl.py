"""kubectl, as the tests call it: one server, and an error that says what kubectl said."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

POLL_S = 0.25

Object = dict[str, Any]


class KubectlError(Exception):
    """kubectl failed; the text is what it wrote to its standard error."""


@dataclass(frozen=True)
class Kubectl:
    """Calls one program with one kubeconfig; in one namespace, if it is given here."""

    program: Path
    kubeconfig: Path
    namespace: str = ""
    options: tuple[str, ...] = ()

    def within(self, namespace: str) -> "Kubectl":
        return replace(self, namespace=namespace)

    def __call__(
        self, *arguments: str, stdin: str = "", timeout_s: float = 60.0, check: bool = True
    ) -> str:
        """What it printed. Without `check` a failure returns that and what it complained of."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode and check:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout if check else done.stdout + done.stderr

    def command(self, *arguments: str) -> list[str]:
        place = [f"--namespace={self.namespace}"] if self.namespace else []
        options = (f"--kubeconfig={self.kubeconfig}", *self.options, *place)
        return [str(self.program), *options, *arguments]

    def apply(self, *manifests: Mapping[str, Any] | str | Path, field_manager: str = "e2e") -> None:
        """Server-side, as GitOps tools do. A manifest is an object, YAML text, or a path."""
        arguments = ("apply", "--server-side", f"--field-manager={field_manager}")
        for each in manifests:
            if isinstance(each, Path):
                self(*arguments, "-f", str(each))
            else:
                text = each if isinstance(each, str) else json.dumps(each)
                self(*arguments, "-f", "-", stdin=text)

    def get(self, kind: str, name: str) -> Object:
        """One object; KubectlError if there is none."""
        found: Object = json.loads(self("get", kind, name, "-o", "json"))
        return found

    def find(self, kind: str, name: str) -> Object | None:
        text = self("get", kind, name, "-o", "json", "--ignore-not-found")
        found: Object | None = json.loads(text) if text.strip() else None
        return found

    def list(self, kind: str, *, labels: str = "", arguments: Sequence[str] = ()) -> list[Object]:
        selector = ("-l", labels) if labels else ()
        found: list[Object] = json.loads(self("get", kind, "-o", "json", *selector, *arguments))[
            "items"
        ]
        return found

    def until(
        self,
        kind: str,
        name: str,
        condition: Callable[[Object], bool],
        *,
        within_s: float,
        what: str,
    ) -> Object:
        """The object once the condition holds of it; AssertionError with `what` if not in time."""
        end_s = time.monotonic() + within_s
        while True:
            found = self.find(kind, name)
            if found is not None and condition(found):
                return found
            if time.monotonic() > end_s:
                status = json.dumps((found or {}).get("status"), indent=1)
                raise AssertionError(f"not within {within_s:g} s: {what}; {kind}/{name}: {status}")
            time.sleep(POLL_S)
