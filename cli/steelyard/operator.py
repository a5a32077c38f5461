"""`steelyard operator`: makes LLMService and SLOPolicy objects of a cluster come true."""

import asyncio
import logging
import os
import random
import signal
import socket

import click
import uvloop

from steelyard.parameter import Port
from steelyard_operator.cluster.controller import Controller, Options
from steelyard_operator.errors import ClusterError
from steelyard_operator.plan.child import Settings
from steelyard_router.kube.client import Kube
from steelyard_router.kube.error import KubeError

DEFAULTS = Settings()


@click.command(context_settings={"auto_envvar_prefix": "STEELYARD_OPERATOR"})
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME",
    help="Work in this namespace only; may be repeated. Without it: in all of them.",
)  # fmt: skip
@click.option(
    "--image", default=DEFAULTS.image, show_default=True,
    help="Steelyard's image, for routers and simulated engines.",
)  # fmt: skip
@click.option(
    "--image-pull-policy",
    type=click.Choice(["Always", "IfNotPresent", "Never"]),
    help="For that image; without it the cluster's default.",
)
@click.option(
    "--vllm-image", default=DEFAULTS.vllm_image, show_default=True,
    help="For engine type VLLM without an image of its own.",
)  # fmt: skip
@click.option(
    "--sglang-image", default=DEFAULTS.sglang_image, show_default=True,
    help="For engine type SGLang without an image of its own.",
)  # fmt: skip
@click.option(
    "--router-cluster-role", default=DEFAULTS.router_cluster_role, show_default=True,
    help="The ClusterRole that every router is bound to, in its own namespace.",
)  # fmt: skip
@click.option("--host", default="0.0.0.0", show_default=True, help="Where it serves --port.")
@click.option(
    "--port", type=Port, default=9091, show_default=True,
    # Kubernetes itself sets STEELYARD_OPERATOR_PORT where a Service steelyard-operator exists.
    allow_from_autoenv=False,
    help="For /healthz and /metrics; 0: any.",
)  # fmt: skip
@click.option(
    "--resync-seconds", type=click.FloatRange(min=0.1), default=600.0, show_default=True,
    help="About how often every object is looked at without a cause.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True,
    help="Objects that are worked on at the same time.",
)  # fmt: skip
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False),
    help="Outside a cluster; without it the pod's service account, else KUBECONFIG.",
)
@click.option(
    "--log-level", default="info", show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Least severity to log to stderr.",
)  # fmt: skip
def command(
    *,
    namespaces: tuple[str, ...],
    image: str,
    image_pull_policy: str | None,
    vllm_image: str,
    sglang_image: str,
    router_cluster_role: str,
    host: str,
    port: int,
    resync_seconds: float,
    workers: int,
    kubeconfig: str | None,
    log_level: str,
) -> None:
    """Run the operator: the controller of LLMService and SLOPolicy in a Kubernetes cluster.

    Each option but --port can be given in the environment too: --vllm-image as
    STEELYARD_OPERATOR_VLLM_IMAGE.
    """
    _log(log_level)
    options = Options(
        settings=Settings(
            image=image,
            image_pull_policy=image_pull_policy,
            vllm_image=vllm_image,
            sglang_image=sglang_image,
            router_cluster_role=router_cluster_role,
        ),
        namespaces=namespaces,
        kubeconfig=kubeconfig,
        host=host,
        port=port,
        resync_s=resync_seconds,
        workers=workers,
        instance=os.environ.get("POD_NAME") or socket.gethostname(),
    )
    try:
        uvloop.run(_run(options))
    except (ClusterError, KubeError) as error:
        raise click.ClickException(str(error)) from error


async def _run(options: Options) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with await Kube.connect(
        user_agent="steelyard-operator", kubeconfig=options.kubeconfig
    ) as kube:
        await Controller(kube, options, rng=random.Random()).run(stop)


def _log(level: str) -> None:
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    if level != "debug":  # kopf tells of each event that it hears
        logging.getLogger("kopf").setLevel(logging.WARNING)
        # It runs on a thread of its own on purpose, where signals do not reach it, and says so.
        logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)
        # While the API server is away it tells so of each try of each watch; the resync does too.
        logging.getLogger("kopf._cogs.clients").setLevel(logging.CRITICAL)
