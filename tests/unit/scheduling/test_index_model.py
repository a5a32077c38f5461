"""The index against what it stands for: per instance, blocks with the time of their last use."""

import hashlib
from itertools import pairwise
from math import inf
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from steelyard_router.scheduling.index import ENTRY_BYTES, NODE_BYTES, PrefixIndex, Trail
from steelyard_router.scheduling.request import HASH_BYTES
from steelyard_router.scheduling.shelf import Node, Shelf

SLOTS = 3
PARENTS: dict[bytes, bytes] = {}


def chained(tokens: list[int]) -> list[bytes]:
    """One hash per token, each over all before it."""
    hashes: list[bytes] = []
    for token in tokens:
        parent = hashes[-1] if hashes else b""
        hashes.append(hashlib.blake2b(parent + bytes([token]), digest_size=HASH_BYTES).digest())
        PARENTS[hashes[-1]] = parent
    return hashes


class Cache:
    """An engine's cache, block by block."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used: dict[
            bytes, tuple[int, int]
        ] = {}  # block -> (stamp, -position): least goes first

    def hit(self, hashes: list[bytes]) -> int:
        return next((n for n, block in enumerate(hashes) if block not in self.used), len(hashes))

    def insert(self, hashes: list[bytes], stamp: int) -> None:
        for position, block in enumerate(hashes[: self.capacity]):
            self.used[block] = (stamp, -position)
        for block in sorted(self.used, key=self.used.__getitem__)[: -self.capacity]:
            del self.used[block]

    def keep(self, blocks: set[bytes]) -> None:
        self.used = {block: use for block, use in self.used.items() if block in blocks}


class Placed:
    """One insert, as the model saw it."""

    def __init__(self, trail: Trail, cache: Cache, hashes: list[bytes]) -> None:
        self.trail = trail
        self.cache = cache
        self.hashes = hashes[: cache.capacity]
        self.hit = cache.hit(self.hashes)
        self.previous = [cache.used[block][0] for block in self.hashes[: self.hit]]


prompts = st.lists(st.integers(0, 2), max_size=14)


class IndexModel(RuleBasedStateMachine):
    placed: Bundle[Placed] = Bundle("placed")

    @initialize(capacities=st.lists(st.integers(1, 30), min_size=SLOTS, max_size=SLOTS))
    def start(self, capacities: list[int]) -> None:
        self.index = PrefixIndex(10**9)
        self.caches = [Cache(capacity) for capacity in capacities]
        self.shelves = [self.index.open(slot) for slot in range(SLOTS)]
        self.stamp = 0
        self.seen: list[list[bytes]] = []

    @rule(target=placed, slot=st.integers(0, SLOTS - 1), tokens=prompts, settled=st.booleans())
    def place(self, slot: int, tokens: list[int], settled: bool) -> Placed:
        return self.insert(slot, tokens, settled)

    def insert(self, slot: int, tokens: list[int], settled: bool) -> Placed:
        hashes, cache = chained(tokens), self.caches[slot]
        self.seen.append(hashes)
        unsettled = inf if settled else max(1, self.stamp - 2)
        trail = self.index.insert(
            self.shelves[slot], self.index.lookup(b"".join(hashes)), cache.capacity, unsettled
        )
        placed = Placed(trail, cache, hashes)
        self.stamp += 1
        cache.insert(hashes, self.stamp)
        assert trail.hit == placed.hit
        assert trail.stamp == self.stamp
        return placed

    @rule(placed=placed)
    def retract(self, placed: Placed) -> None:
        self.index.retract(placed.trail)
        added = placed.hashes[placed.hit :]
        untouched = {
            block
            for block in added
            if placed.cache.used.get(block, (0, 0))[0] == placed.trail.stamp
        }
        placed.cache.keep(set(placed.cache.used) - untouched)

    @rule(placed=placed, blocks=st.integers(0, 14))
    def disprove(self, placed: Placed, blocks: int) -> None:
        self.index.disprove(placed.trail, blocks)
        evidence = placed.previous[blocks] if blocks < placed.hit else 0
        if evidence < placed.trail.unsettled:
            used = placed.cache.used
            placed.cache.keep({block for block, use in used.items() if use[0] >= evidence})

    @rule(slot=st.integers(0, SLOTS - 1))
    def purge(self, slot: int) -> None:
        self.index.purge(self.shelves[slot])
        self.caches[slot].used.clear()

    @rule(slot=st.integers(0, SLOTS - 1), capacity=st.integers(1, 30))
    def replace_instance(self, slot: int, capacity: int) -> None:
        self.index.close(self.shelves[slot])
        self.shelves[slot] = self.index.open(slot)
        self.caches[slot] = Cache(capacity)

    @rule(slot=st.integers(0, SLOTS - 1), capacity=st.integers(1, 30))
    def resize_cache(self, slot: int, capacity: int) -> None:
        self.caches[slot].capacity = capacity

    @rule(tokens=prompts)
    def look_up_anything(self, tokens: list[int]) -> None:
        hashes = chained(tokens)
        hits = self.index.lookup(b"".join(hashes)).hits
        assert hits == [cache.hit(hashes) for cache in self.caches]

    @invariant()
    def every_prompt_hits_as_in_the_model(self) -> None:
        for hashes in self.seen:
            hits = self.index.lookup(b"".join(hashes)).hits
            assert hits == [cache.hit(hashes) for cache in self.caches]

    @invariant()
    def shelves_hold_what_the_model_holds(self) -> None:
        for shelf, cache in zip(self.shelves, self.caches, strict=True):
            assert held_blocks(shelf) == sorted(cache.used, key=cache.used.__getitem__)

    @invariant()
    def the_tree_is_sound(self) -> None:
        check(self.index)


def blocks_of(run: bytes) -> list[bytes]:
    return [run[i : i + HASH_BYTES] for i in range(0, len(run), HASH_BYTES)]


def held_blocks(shelf: Shelf) -> list[bytes]:
    """The shelf's blocks, the next to be evicted first."""
    return [block for entry in shelf for block in reversed(blocks_of(entry.node.run)[: entry.held])]


def check(index: PrefixIndex) -> None:
    """All that the index's docstrings promise about its structure."""
    nodes = list(index._tree._nodes.values())
    ends: dict[bytes, Node] = {node.run[-HASH_BYTES:]: node for node in nodes}
    shelves = {shelf.slot: shelf for shelf in index._shelves if shelf}
    entries = [(slot, entry) for node in nodes for slot, entry in node.holders.items()]

    for key, node in index._tree._nodes.items():
        blocks = blocks_of(node.run)
        assert key == blocks[0]
        assert node.holders
        assert all(PARENTS[b] == a for a, b in pairwise(blocks))
        assert all(entry.node is node for entry in node.holders.values())
        assert all(0 < entry.held <= node.length for entry in node.holders.values())
        if node.start:
            parent = ends[PARENTS[blocks[0]]]
            assert parent.start + parent.length == node.start
            assert not parent.leaf
            assert all(parent.holders[slot].held == parent.length for slot in node.holders)
        else:
            assert PARENTS[blocks[0]] == b""
    for shelf in shelves.values():
        listed = list(shelf)
        assert {id(entry) for entry in listed} == {
            id(e) for slot, e in entries if slot == shelf.slot
        }
        assert shelf.blocks == sum(entry.held for entry in listed)
        assert all(entry.newer.older is entry and entry.older.newer is entry for entry in listed)
        order = [(entry.stamp, -entry.node.start) for entry in listed]
        assert order == sorted(order)
    assert {slot for slot, _ in entries} <= set(shelves)
    assert index._entries == len(entries)
    assert index.block_count == sum(node.length for node in nodes)
    assert index.holder_count == sum(entry.held for _, entry in entries)


TestIndexModel = IndexModel.TestCase
TestIndexModel.settings = settings(
    max_examples=50,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("seed", range(6))
def test_a_long_history_of_related_prompts_ends_as_in_the_model(seed: int) -> None:
    """Random steps seldom build on each other; here most prompts continue, cut or fork another."""
    rng = Random(seed)
    model = IndexModel()
    model.start([rng.randint(6, 60) for _ in range(SLOTS)])
    prompts: list[list[int]] = [[]]
    placed: list[Placed] = []
    for step in range(400):
        base = rng.choice(prompts[-12:])
        tokens = base[: rng.choice([len(base), rng.randint(0, len(base))])]
        tokens = tokens + [rng.randint(0, 2) for _ in range(rng.choice([0, 1, 4, 12]))]
        prompts.append(tokens[:24])
        placed.append(model.insert(rng.randrange(SLOTS), tokens[:24], rng.random() < 0.7))
        chance, recent = rng.random(), rng.choice(placed[-4:])
        if chance < 0.15:
            model.retract(recent)
        elif chance < 0.3:
            model.disprove(recent, rng.randint(0, recent.hit))
        elif chance < 0.32:
            model.purge(rng.randrange(SLOTS))
        elif chance < 0.34:
            model.replace_instance(rng.randrange(SLOTS), rng.randint(6, 60))
        elif chance < 0.37:
            model.resize_cache(rng.randrange(SLOTS), rng.randint(6, 60))
        model.shelves_hold_what_the_model_holds()
        model.the_tree_is_sound()
        if step % 20 == 0:
            del model.seen[:-30]
            model.every_prompt_hits_as_in_the_model()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    inserts=st.lists(st.tuples(st.integers(0, SLOTS - 1), prompts), max_size=40),
    budget=st.integers(0, 6000),
)
def test_a_byte_budget_holds_after_every_insert_and_only_forgets(
    inserts: list[tuple[int, list[int]]], budget: int
) -> None:
    index, caches = PrefixIndex(budget), [Cache(30) for _ in range(SLOTS)]
    shelves = [index.open(slot) for slot in range(SLOTS)]
    for stamp, (slot, tokens) in enumerate(inserts, start=1):
        hashes = chained(tokens)
        index.insert(shelves[slot], index.lookup(b"".join(hashes)), 30)
        caches[slot].insert(hashes, stamp)

        assert index.bytes <= budget
        check(index)
        for shelf, cache in zip(shelves, caches, strict=True):
            assert set(held_blocks(shelf)) <= set(cache.used)
    if not index.budget_evictions:
        held = [held_blocks(shelf) for shelf in shelves]
        assert held == [sorted(c.used, key=c.used.__getitem__) for c in caches]


@pytest.mark.parametrize("slots", [2, 8, 9, 30])
def test_instances_that_each_hold_a_different_part_of_one_prompt_are_told_apart(slots: int) -> None:
    index, prompt = PrefixIndex(10**9), chained([0] * 60)
    shelves = [index.open(slot) for slot in range(slots)]
    for length in range(1, 40):  # a fork at every block
        fork = chained([0] * length + [1])
        index.insert(shelves[length % slots], index.lookup(b"".join(fork)), 100)
    for shelf in shelves:
        index.purge(shelf)
        index.insert(shelf, index.lookup(b"".join(prompt)), 60 - shelf.slot)

    assert index.lookup(b"".join(prompt)).hits == [60 - slot for slot in range(slots)]
    short = index.lookup(b"".join(prompt[:45])).hits
    assert short == [min(45, 60 - slot) for slot in range(slots)]


def test_the_byte_budget_takes_what_nobody_has_used_for_longest() -> None:
    index = PrefixIndex(6 * (NODE_BYTES + ENTRY_BYTES + HASH_BYTES))
    shelves = [index.open(slot) for slot in range(3)]
    singles = [chained([token])[0] for token in range(10)]
    for place, single in enumerate(singles):
        index.insert(shelves[place % 3], index.lookup(single), 100)

    kept = [any(index.lookup(single).hits) for single in singles]
    assert kept == [False] * 4 + [True] * 6
    assert index.budget_evictions == 4


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    prompts=st.lists(st.lists(st.integers(0, 5), max_size=12), max_size=30),
    capacity=st.integers(1, 20),
    seed=st.integers(0, 2**32),
)
def test_hashes_that_do_not_chain_never_upset_the_accounts(
    prompts: list[list[int]], capacity: int, seed: int
) -> None:
    """Somebody may forge collisions: matches may then be wrong, but nothing else."""
    rng, index = Random(seed), PrefixIndex(10**9)
    shelves = [index.open(slot) for slot in range(SLOTS)]
    trails: list[Trail] = []
    for prompt in prompts:
        blocks = b"".join(bytes([block]) * HASH_BYTES for block in prompt)
        trails.append(index.insert(rng.choice(shelves), index.lookup(blocks), capacity))
        if rng.random() < 0.2:
            index.retract(rng.choice(trails))
        if rng.random() < 0.2:
            index.disprove(rng.choice(trails), rng.randrange(12))

        for shelf in shelves:
            assert shelf.blocks == sum(entry.held for entry in shelf) <= capacity
            assert all(0 < entry.held <= entry.node.length for entry in shelf)
        assert index.holder_count == sum(shelf.blocks for shelf in shelves)
        assert index._entries == sum(len(list(shelf)) for shelf in shelves)
        nodes = {id(entry.node): entry.node for shelf in shelves for entry in shelf}
        assert {id(node) for node in index._tree._nodes.values()} == set(nodes)
        assert index.block_count == sum(node.length for node in nodes.values())
    for shelf in shelves:
        index.close(shelf)
    assert index.bytes == index.holder_count == 0
