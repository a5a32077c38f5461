"""TCP ports of this machine."""

import socket

from steelyard_operator.errors import LocalError


def free_port(host: str) -> int:
    """A port that nobody listens on now. Somebody else may take it first: then its user dies and
    is started again on another."""
    with _socket(host) as probe:
        probe.bind((host, 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def require_free(host: str, port: int, option: str) -> None:
    """Raises LocalError when `port` cannot be listened on."""
    with _socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise LocalError(
                f"port {port} on {host} cannot be used ({error.strerror}); choose another: {option}"
            ) from error


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
