"""Where the API server is and how to be let in: in a pod by its service account, else by a file."""

import os
from pathlib import Path

from kubernetes.aio import config
from kubernetes.aio.client.configuration import Configuration

from .error import UNREACHABLE, KubeError

SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def configuration(kubeconfig: str | None) -> tuple[Configuration, str | None]:
    """With the namespace of the service account, if it is one. Makes no request.

    A given file goes first, then the pod's service account (its token is read again each minute),
    then KUBECONFIG or ~/.kube/config. Raises KubeError that says what is missing.
    """
    found = Configuration()
    namespace = None
    try:
        if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config(client_configuration=found)  # type: ignore[no-untyped-call]
            namespace = (SERVICE_ACCOUNT_DIR / "namespace").read_text().strip()
        else:
            await config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=kubeconfig or os.environ.get("KUBECONFIG"), client_configuration=found
            )
    except (config.ConfigException, OSError) as error:
        raise KubeError(
            UNREACHABLE,
            "NoCredentials",
            f"no way to the API server: {error}; run in a pod, or set KUBECONFIG",
        ) from error
    return found, namespace
