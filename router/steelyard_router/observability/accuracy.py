"""How far predictions were off what then was measured, of one workload.

The error is |actual / predicted - 1|: of TTFT from the choice of the instance to the first token,
of TPOT over the whole reply. Requests whose instance was not known well enough have none.
"""

from collections.abc import Iterator
from typing import Final

from steelyard_router.alerts.window import STATUS_WINDOW_S
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.series import Bounds, Buckets
from steelyard_router.scheduling.histogram import Histogram, WindowedHistogram

ERROR_BOUNDS: Final[Bounds] = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0)


class Accuracy:
    """All errors by kind, and those of TPOT in the status window; those of TTFT are in the windows
    of alerts already, as PredictionError.
    """

    __slots__ = ("recent_tpot", "tpot", "ttft")

    def __init__(self) -> None:
        self.ttft = Buckets(ERROR_BOUNDS)
        self.tpot = Buckets(ERROR_BOUNDS)
        self.recent_tpot = WindowedHistogram(STATUS_WINDOW_S)

    def add(self, outcome: Outcome, now: float) -> None:
        if (error := outcome.ttft_error) is not None:
            self.ttft.add(error)
        if (error := outcome.tpot_error) is not None:
            self.tpot.add(error)
            self.recent_tpot.record(error, now)

    def kinds(self) -> Iterator[tuple[str, Buckets]]:
        """With their names in metrics."""
        yield "ttft", self.ttft
        yield "tpot", self.tpot


def digest(errors: Histogram) -> dict[str, float | int | None]:
    """For people."""
    mean, middle = errors.mean, errors.quantile(0.5)
    return {
        "count": errors.count,
        "mape_percent": None if mean is None else round(100 * mean, 1),
        "median_percent": None if middle is None else round(100 * middle, 1),
    }
