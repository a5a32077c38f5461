"""Small requests to side paths: /status, /metrics, /reset_prefix_cache."""

import json
import urllib.error
import urllib.request
from typing import Any

TIMEOUT_S = 5.0


def call(url: str, *, method: str = "GET", body: object = None) -> bytes | None:
    """The body of a 2xx answer; None for any other, and for none. `body` is sent as JSON."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            answer: bytes = response.read()
            return answer
    except (urllib.error.URLError, OSError):
        return None


def document(url: str) -> dict[str, Any] | None:
    """A JSON object; None while there is none."""
    body = call(url)
    if body is None:
        return None
    found: dict[str, Any] = json.loads(body)
    return found
