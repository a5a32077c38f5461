"""Distributions that router replicas can add up: log-bucket histograms, plain and over a window.

Bucket i holds (GROWTH^(i-1), GROWTH^i]; reporting 2 GROWTH^i / (GROWTH + 1) bounds the relative
error of every quantile by ACCURACY (the DDSketch mapping, VLDB 2019). Counts and the sum are
integers, so merging is exact: any order and any grouping of replicas gives the same histogram.
Values are clamped to [TINY, HUGE], which bounds the number of buckets by about 1,650.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Self

ACCURACY = 0.02
TINY = 1e-9
"""At most this, and everything negative, is recorded as zero."""
HUGE = 1e18

_ALPHA = ACCURACY * 0.999
"""Slightly finer than promised, so that rounding at a bucket's edge stays within the promise."""
_GROWTH = (1 + _ALPHA) / (1 - _ALPHA)
_PER_LOG = 1 / math.log(_GROWTH)
_MAX_INDEX = math.ceil(math.log(HUGE) * _PER_LOG)
_UNIT = 2.0**30
"""The sum is kept in units of 1 / _UNIT (a nanosecond of a second): floats are not exact."""


@dataclass(slots=True)
class Histogram:
    """Counts by log bucket. Recording takes about half a microsecond."""

    buckets: dict[int, int] = field(default_factory=dict)
    zeros: int = 0
    units: int = 0
    count: int = 0

    def record(self, value: float, count: int = 1) -> None:
        """Add `count` samples of `value`. Raises ValueError for NaN."""
        if value > TINY:
            value = min(value, HUGE)
            index = math.ceil(math.log(value) * _PER_LOG)
            buckets = self.buckets
            buckets[index] = buckets.get(index, 0) + count
            self.units += int(value * _UNIT + 0.5) * count
        elif math.isnan(value):
            raise ValueError("a histogram cannot record NaN")
        else:
            self.zeros += count
        self.count += count

    def merge(self, other: "Histogram") -> None:
        """Add all of `other` to this one; exact, so the order of merges does not matter."""
        buckets = self.buckets
        for index, count in other.buckets.items():
            buckets[index] = buckets.get(index, 0) + count
        self.zeros += other.zeros
        self.units += other.units
        self.count += other.count

    def quantile(self, q: float) -> float | None:
        """The value at rank ceil(q * count), within ACCURACY; None when nothing was recorded."""
        if not 0 <= q <= 1:
            raise ValueError(f"q must lie in [0, 1], not {q}")
        if not self.count:
            return None
        rank = max(1, math.ceil(q * self.count))
        if rank <= self.zeros:
            return 0.0
        order = sorted(self.buckets)
        seen = accumulate(self.buckets[index] for index in order)
        index = next(i for i, total in zip(order, seen, strict=True) if total >= rank - self.zeros)
        return float(2 * _GROWTH**index / (_GROWTH + 1))

    @property
    def sum(self) -> float:
        return self.units / _UNIT

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count else None

    def to_dict(self) -> dict[str, object]:
        """A form for JSON. The sum is a string because it can pass 64 bits."""
        return {
            "accuracy": ACCURACY,
            "zeros": self.zeros,
            "units": str(self.units),
            "buckets": {str(index): self.buckets[index] for index in sorted(self.buckets)},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_dict`. Raises ValueError for anything else, or another accuracy."""
        zeros, units, buckets = data.get("zeros"), data.get("units"), data.get("buckets")
        if (
            data.get("accuracy") != ACCURACY
            or not isinstance(zeros, int)
            or not isinstance(units, str)
            or not isinstance(buckets, Mapping)
            or not all(isinstance(count, int) and count > 0 for count in buckets.values())
            or not all(abs(int(index)) <= _MAX_INDEX for index in buckets)
        ):
            raise ValueError(f"not a histogram of accuracy {ACCURACY}")
        return cls(
            buckets={int(index): count for index, count in buckets.items()},
            zeros=zeros,
            units=int(units),
            count=zeros + sum(buckets.values()),
        )


class WindowedHistogram:
    """The distribution of the last `window_s` seconds, as a ring of `slices` histograms.

    A sample counts for at most `window_s` and for at least `window_s` less one slice. Nothing runs
    in between: a slice whose time has passed is overwritten by the next sample or skipped by a
    snapshot, so an idle hour costs nothing.
    """

    __slots__ = ("_ring", "_settled", "_settled_at", "_slice_s")

    def __init__(self, window_s: float, slices: int = 12) -> None:
        if window_s <= 0 or slices < 1:
            raise ValueError("a window needs a positive length and at least one slice")
        self._slice_s = window_s / slices
        self._ring: list[tuple[int, Histogram] | None] = [None] * slices
        self._settled = Histogram()
        self._settled_at = -1

    def record(self, value: float, now: float, count: int = 1) -> None:
        epoch = int(now // self._slice_s)
        place = epoch % len(self._ring)
        held = self._ring[place]
        if held is None or held[0] < epoch:
            held = self._ring[place] = (epoch, Histogram())
        if held[0] == epoch:  # else the sample is older than the window
            held[1].record(value, count)
        if epoch < self._settled_at:
            self._settled_at = -1

    def snapshot(self, now: float) -> Histogram:
        """A new histogram of what the window holds at `now`."""
        epoch = int(now // self._slice_s)
        if self._settled_at != epoch:  # full slices change no more: merged once per slice
            self._settled = self._merged(epoch - len(self._ring) + 1, epoch)
            self._settled_at = epoch
        merged = self._merged(epoch, None)
        merged.merge(self._settled)
        return merged

    def _merged(self, first: int, end: int | None) -> Histogram:
        """The slices from `first` on, those from `end` on left out."""
        merged = Histogram()
        for held in self._ring:
            if held is not None and first <= held[0] and (end is None or held[0] < end):
                merged.merge(held[1])
        return merged
