"""Which object each key last stood for: a name may come back for another one, unheard.

What is remembered of an object, for speed alone, is remembered by its uid; here is which uid to
forget, and when.
"""

from .key import ObjectKey


class Uids:
    """One for each kind of reconcile."""

    def __init__(self) -> None:
        self._uids: dict[ObjectKey, str] = {}

    def meet(self, key: ObjectKey, uid: str) -> str | None:
        """The uid of the object that this one has replaced; None if it is the same or the first."""
        before = self._uids.get(key, uid)
        self._uids[key] = uid
        return None if before == uid else before

    def part(self, key: ObjectKey) -> str | None:
        """The uid of the object that is gone; None if it was never met."""
        return self._uids.pop(key, None)
