"""Routers go with their ServiceAccount: one that was deleted and made again has new tokens only.

A token names the account's uid. When the account is made anew, every running router holds a token
that the API server refuses from then on, and the kubelet does not fetch another one for the better
part of an hour. So the Deployment records the uid that its pods were made for; once another account
is seen, that uid goes into the pod template, and the routers are replaced, one by one.
"""

from steelyard_router.kube.resource import Object

from .manifest import annotations_of

ACCOUNT_UID = "steelyard.io/service-account-uid"


def followed(deployment: Object, live: Object | None, account: Object | None) -> Object:
    """The router's Deployment with its record, out of those that are there (None: not yet)."""
    before = annotations_of(live)
    recorded = before.get(ACCOUNT_UID)
    mark = annotations_of(((live or {}).get("spec") or {}).get("template")).get(ACCOUNT_UID)
    uid = None if account is None else account["metadata"].get("uid")
    if recorded is not None and uid is not None and uid != recorded:
        mark = uid
    result = _annotated(deployment, uid or recorded)
    template = _annotated(deployment["spec"]["template"], mark)
    return {**result, "spec": {**deployment["spec"], "template": template}}


def _annotated(item: Object, uid: str | None) -> Object:
    if uid is None:
        return item
    annotations = {**annotations_of(item), ACCOUNT_UID: uid}
    return {**item, "metadata": {**item.get("metadata", {}), "annotations": annotations}}
