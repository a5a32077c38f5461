"""What an engine's pods were made from, kept on their Deployment.

A newer operator may make another template from the same object: another default image, another
probe. That must not restart an engine that holds a model in its memory. So the Deployment carries
the template that was decided and a hash of the inputs that count; while the hash is the same, the
recorded template is applied again, word for word. A hash of the record itself is kept beside it, so
that a record that somebody edited is not believed.
"""

import hashlib
import json

from steelyard_operator.api.base import Model
from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import Object

from .manifest import annotations_of

RESTART_HASH = "steelyard.io/restart-hash"
ENGINE_TEMPLATE = "steelyard.io/engine-template"


def inputs(service: LLMService) -> Object:
    """What was asked for and needs a restart to become so. A default is the same as its absence."""
    spec, cache = service.spec, service.spec.cache
    return {
        "model": _said(spec.model),
        "engine": _said(spec.engine),
        "cache": None if cache is None else [cache.type, cache.claim_name],
        "restartToken": spec.restart_token,
    }


def decided(service: LLMService, live: Object | None, compiled: Object) -> Object:
    """The template to apply: the recorded one if it still answers to the inputs."""
    return _recorded(live, _digest(_compact(inputs(service)))) or compiled


def annotations(service: LLMService, template: Object) -> dict[str, str]:
    text = _compact(template)
    asked = _digest(_compact(inputs(service)))
    return {RESTART_HASH: f"{asked}-{_digest(text)}", ENGINE_TEMPLATE: text}


def _recorded(live: Object | None, asked: str) -> Object | None:
    kept = annotations_of(live)
    text = kept.get(ENGINE_TEMPLATE, "")
    if kept.get(RESTART_HASH) != f"{asked}-{_digest(text)}":
        return None
    template: Object = json.loads(text)
    return template


def _said(model: Model) -> Object:
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _compact(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
