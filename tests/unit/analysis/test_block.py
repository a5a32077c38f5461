from array import array

import xxhash
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.analysis.block import BLOCK_BYTES, chain
from steelyard_router.scheduling.request import HASH_BYTES


@given(st.binary(max_size=3000), st.binary(max_size=3000))
def test_a_longer_text_starts_with_the_hashes_of_its_beginning(start: bytes, rest: bytes) -> None:
    hashes = chain(start)

    assert len(hashes) == len(start) // BLOCK_BYTES * HASH_BYTES
    assert chain(start + rest)[: len(hashes)] == hashes


@given(st.integers(0, 9), st.integers(0, BLOCK_BYTES - 1))
def test_a_changed_byte_changes_its_block_and_every_later_one(block: int, offset: int) -> None:
    text = bytes(range(256)) * 10
    changed = bytearray(text)
    changed[block * BLOCK_BYTES + offset] ^= 1

    before, after = array("Q", chain(text)), array("Q", chain(bytes(changed)))

    assert [a == b for a, b in zip(before, after, strict=True)] == [i < block for i in range(10)]


def test_each_hash_is_the_seed_of_the_next() -> None:
    text = b"x" * BLOCK_BYTES + b"y" * BLOCK_BYTES
    first = xxhash.xxh3_64_intdigest(text[:BLOCK_BYTES], 7)
    second = xxhash.xxh3_64_intdigest(text[BLOCK_BYTES:], first)

    assert chain(text, 7) == first.to_bytes(8, "little") + second.to_bytes(8, "little")


def test_another_seed_gives_other_hashes_throughout() -> None:
    one, other = array("Q", chain(b"x" * 1024, 1)), array("Q", chain(b"x" * 1024, 2))

    assert not set(one) & set(other)


def test_a_partial_last_block_is_not_hashed() -> None:
    assert chain(b"x" * (BLOCK_BYTES - 1)) == b""
    assert chain(b"") == b""
