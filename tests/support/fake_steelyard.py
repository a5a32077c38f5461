"""Stands in for `steelyard engine` and `steelyard router`: answers health paths and takes orders.

A script, run as `fake_steelyard.py engine|router ...`. The folder in $FAKE_STEELYARD_DIR is how a
test talks to it: `starts` and `ends` get a line for each life, `leases.json` and `alerts.json` say
what /status shows, and while a file `<model>.dies` is there, engines of that model die at once.
"""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard_router.config import RouterConfig

FOLDER = Path(os.environ["FAKE_STEELYARD_DIR"])


def note(file: str, text: str) -> None:
    with (FOLDER / file).open("a", encoding="utf-8") as out:
        out.write(text + "\n")


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def configuration() -> "RouterConfig":
    import yaml  # noqa: PLC0415 (engines start faster without)

    from steelyard_router.config import RouterConfig  # noqa: PLC0415

    path = Path(option("--config"))
    return RouterConfig.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})


class Engine(BaseHTTPRequestHandler):
    """200 for everything."""

    def do_GET(self) -> None:
        self.answer({})

    def answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Silence."""


class Router(Engine):
    """/status echoes the configuration file as it is now."""

    def do_GET(self) -> None:
        config = configuration()
        leases = FOLDER / "leases.json"
        held = json.loads(leases.read_text(encoding="utf-8")) if leases.exists() else {}
        routed = {endpoint.id for endpoint in config.service.endpoints}
        alerts = FOLDER / "alerts.json"
        self.answer(
            {
                "revision": config.revision,
                "ready": bool(routed),
                "instances": [
                    {
                        "id": name,
                        "state": "ready" if name in routed else "draining",
                        "leases": held.get(name, 0),
                    }
                    for name in sorted(routed | held.keys())
                ],
                "alerts": json.loads(alerts.read_text(encoding="utf-8")) if alerts.exists() else [],
            }
        )


def end(number: int, _: FrameType | None) -> None:
    note("ends", f"{sys.argv[1]} {signal.Signals(number).name}")
    sys.exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, end)
    note("starts", json.dumps({"pid": os.getpid(), "argv": sys.argv[1:]}))
    if sys.argv[1] == "engine":
        if (FOLDER / f"{option('--model')}.dies").exists():
            sys.exit("out of memory, says the fake")
        ThreadingHTTPServer((option("--host"), int(option("--port"))), Engine).serve_forever()
    port = configuration().listen.admin_port
    ThreadingHTTPServer(("127.0.0.1", port), Router).serve_forever()


if __name__ == "__main__":
    main()
