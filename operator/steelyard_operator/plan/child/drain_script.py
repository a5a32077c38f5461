"""What an engine's preStop hook runs, inside the engine's container.

A real engine breaks its streams on SIGTERM, so SIGTERM has to wait for them: first until routers
have heard that the pod is going, then until the engine has been idle twice in a row, or until the
grace is nearly over. It needs a python3, which every engine's image has, and nothing else.

An engine that nothing listens for has no requests. One that answers but does not say how many it
has (metrics switched off) is given the whole time: a slow rollout is better than a broken stream.
"""

SCRIPT = '''\
import http.client, sys, time

PORT, SETTLE_S, LIMIT_S = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
COUNTS = (
    "vllm:num_requests_running", "vllm:num_requests_waiting",
    "sglang:num_running_reqs", "sglang:num_queue_reqs",
)
END = time.monotonic() + LIMIT_S


def requests():
    """How many requests the engine has; None when it does not say."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
    try:
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode(errors="replace")
    finally:
        connection.close()
    samples = [line.rsplit(" ", 1) for line in page.splitlines() if line.startswith(COUNTS)]
    counts = [float(value) for name, value in samples if name.split("{")[0] in COUNTS]
    return sum(counts) if counts else None


time.sleep(min(SETTLE_S, LIMIT_S))
idle = 0
while time.monotonic() < END and idle < 2:
    try:
        idle = idle + 1 if requests() == 0 else 0
    except ConnectionRefusedError:
        break
    except (OSError, http.client.HTTPException, ValueError):
        idle = 0
    time.sleep(min(1, SETTLE_S))
'''


def command(*, port: int, settle_s: float, limit_s: float) -> list[str]:
    return ["python3", "-c", SCRIPT, str(port), f"{settle_s:g}", f"{limit_s:g}"]
