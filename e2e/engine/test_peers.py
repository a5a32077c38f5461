"""Ours beside two well-known routers, before the same engines, under the same conversations."""

from collections.abc import Callable

import pytest
from rig import comparison
from rig.conversation import Shape
from rig.peer import peers
from rig.stack import Site, Stack

OURS = "steelyard"
ROUNDS = 3


@pytest.mark.timeout(900)
async def test_ours_hits_the_caches_most_and_fails_no_request(
    site: Site, steelyard: Stack, note: Callable[[str], None]
) -> None:
    engines, shape = steelyard.engines(), Shape()
    async with peers(site.peers, engines, site.run) as urls:
        runs = await comparison.compare(
            {OURS: steelyard.url, **urls}, engines, shape, rounds=ROUNDS, folder=site.run
        )
    comparison.write(site.build / "engine" / "peers.json", shape, runs)
    found = list(comparison.figures(runs))
    note(comparison.table(found))

    ours = next(row for row in found if row.router == OURS)
    assert ours.errors == 0
    assert ours.hit_ratio == max(row.hit_ratio for row in found)
