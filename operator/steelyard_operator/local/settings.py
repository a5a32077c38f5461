"""How `steelyard up` runs on this machine."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """`port` and `admin_port` are the first service's; the next service gets the next ones; 0: any.

    `steelyard` is the command that starts this product, `vllm` that of vLLM if it is there. An
    engine that leaves gets `drain_s` to finish its requests; at the end of everything each process
    gets `stop_s` between SIGTERM and SIGKILL.
    """

    run_dir: Path
    steelyard: tuple[str, ...]
    vllm: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    admin_port: int = 9090
    decisions: int = 0
    drain_s: float = 120.0
    stop_s: float = 10.0
    look_s: float = 1.0
    """Between two looks at how the services do."""
    watch_s: float = 0.5
    """Between two looks at the manifest files."""

    @property
    def reach_host(self) -> str:
        """Where to reach what listens on `host`."""
        wildcard = {"0.0.0.0": "127.0.0.1", "::": "::1"}
        host = wildcard.get(self.host, self.host)
        return f"[{host}]" if ":" in host else host
