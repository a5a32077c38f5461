from steelyard_router.kube.bucket import OBJECTS, TokenBuckets


class Tap:
    def __init__(self) -> None:
        self.now = 0.0
        self.buckets = TokenBuckets(clock=lambda: self.now, burst=3, refill_s=10.0)

    def drain(self, uid: str) -> int:
        taken = 0
        while self.buckets.take(uid):
            taken += 1
        return taken


def test_a_bucket_refills_up_to_its_burst() -> None:
    tap = Tap()
    assert tap.drain("a") == 3
    tap.now = 25.0
    assert tap.drain("a") == 2
    tap.now = 1e9
    assert tap.drain("a") == 3


def test_giving_back_never_makes_more_than_the_burst() -> None:
    tap = Tap()
    tap.buckets.give_back("a")

    assert tap.drain("a") == 3


def test_memory_is_bounded_and_the_empty_buckets_stay() -> None:
    tap = Tap()
    tap.drain("busy")
    for number in range(3 * OBJECTS):
        tap.buckets.take(f"calm-{number}")

    assert tap.drain("busy") == 0
    assert len(tap.buckets._buckets) <= OBJECTS
