"""When a measured value is worth a write.

Figures move all the time and a stored status is read by everyone who watches it: a figure is
replaced when it moved by a tenth and the last write of figures is a minute old. A change of state
is written at once, and takes the figures along.
"""

from datetime import datetime, timedelta

PAUSE = timedelta(seconds=60)
SHARE = 0.1


def moved(old: float, new: float) -> bool:
    """By a tenth of the old value."""
    return abs(new - old) >= SHARE * abs(old) and new != old


def rested(written_at: datetime | None, now: datetime) -> bool:
    """Whether figures may be written again; a time in the future is no reason to wait for it."""
    return written_at is None or not timedelta(0) <= now - written_at < PAUSE
