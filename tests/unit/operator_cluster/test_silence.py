"""Silent routers cost nobody's time but once."""

import asyncio

import pytest
from support.virtual import in_virtual_time

from steelyard_operator.cluster.silence import AGAIN_S, REMEMBERED, TRIES, PatientFetch

URL = "http://10.0.0.1:9090/status"
TIMEOUT_S = 2.0


def now() -> float:
    return asyncio.get_running_loop().time()


class Network:
    """Every router answers at once, or, while it is `down`, not in time."""

    def __init__(self) -> None:
        self.down = True
        self.error: Exception | None = None
        self.asked = 0
        self.at_once = 0
        self.most = 0

    async def __call__(self, url: str) -> bytes:
        self.asked += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            if self.error is not None:
                raise self.error
            if self.down:
                await asyncio.sleep(TIMEOUT_S)
                raise TimeoutError
        finally:
            self.at_once -= 1
        return url.encode()


async def waited_s(fetch: PatientFetch, url: str = URL) -> float:
    """How long one asked who got nothing."""
    began = now()
    with pytest.raises(TimeoutError):
        await fetch(url)
    return now() - began


def test_only_the_first_who_asks_waits() -> None:
    async def scenario() -> tuple[list[float], int]:
        network = Network()
        fetch = PatientFetch(network, now)
        waits = []
        for _ in range(50):
            waits.append(await waited_s(fetch))
            await asyncio.sleep(1)
        return waits, network.asked

    waits, asked = in_virtual_time(scenario())

    assert (waits[0], set(waits[1:])) == (TIMEOUT_S, {0.0})
    assert 5 < asked < 60 / AGAIN_S


def test_one_that_answers_again_is_heard_soon() -> None:
    async def scenario() -> bytes:
        network = Network()
        fetch = PatientFetch(network, now)
        await waited_s(fetch)
        network.down = False
        await asyncio.sleep(AGAIN_S)
        await waited_s(fetch)
        await asyncio.sleep(0.1)
        return await fetch(URL)

    assert in_virtual_time(scenario()) == URL.encode()


def test_a_quick_refusal_is_told_as_it_is() -> None:
    async def scenario() -> None:
        network = Network()
        fetch = PatientFetch(network, now)
        await waited_s(fetch)
        network.error = ConnectionRefusedError("refused")
        await asyncio.sleep(AGAIN_S)
        await waited_s(fetch)
        await asyncio.sleep(0.1)
        with pytest.raises(ConnectionRefusedError):
            await fetch(URL)

    in_virtual_time(scenario())


def test_of_many_a_few_are_tried_at_once_and_each_has_its_turn() -> None:
    async def scenario() -> tuple[int, set[bytes]]:
        network = Network()
        fetch = PatientFetch(network, now)
        urls = [f"http://10.0.1.{number}:9090/status" for number in range(100)]
        await asyncio.gather(*(waited_s(fetch, url) for url in urls))
        network.most = 0
        for _ in range(20):
            await asyncio.gather(*(waited_s(fetch, url) for url in urls))
            await asyncio.sleep(1)
        most, network.down = network.most, False
        heard: set[bytes] = set()
        for _ in range(60):
            answers = await asyncio.gather(*map(fetch, urls), return_exceptions=True)
            heard |= {answer for answer in answers if isinstance(answer, bytes)}
            await asyncio.sleep(1)
        return most, heard

    most, heard = in_virtual_time(scenario())

    assert most <= TRIES
    assert len(heard) == 100


def test_memory_of_silence_is_bounded() -> None:
    async def scenario() -> list[float]:
        fetch = PatientFetch(Network(), now)
        urls = [f"http://router-{number}:9090/status" for number in range(REMEMBERED + 1)]
        await asyncio.gather(*(waited_s(fetch, url) for url in urls))
        return [await waited_s(fetch, url) for url in (urls[0], urls[-1])]

    assert in_virtual_time(scenario()) == [TIMEOUT_S, 0.0]
