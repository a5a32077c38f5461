"""A trace's block ids as chained hashes: the same ones for the routers and for the engines."""

import sys
from array import array

from xxhash import xxh3_64_intdigest

from steelyard_simulator.load.trace import TraceRequest

ID_BYTES = 8


def chained(request: TraceRequest, block_tokens: int) -> "array[int]":
    """One hash per whole block of the prompt, each over all blocks before it and the scope.

    A last block that the prompt does not fill is left out: no engine can reuse it.
    """
    seed = xxh3_64_intdigest(request.scope.encode()) if request.scope else 0
    hashes = array("Q")
    append, digest = hashes.append, xxh3_64_intdigest
    room = request.input_tokens // block_tokens
    for run in request.blocks:
        for block in run[:room]:
            seed = digest(block.to_bytes(ID_BYTES, "little", signed=True), seed)
            append(seed)
        room -= len(run)
        if room <= 0:
            break
    return hashes


def packed(hashes: "array[int]") -> bytes:
    """As RequestView has them: 8 bytes each, little endian."""
    if sys.byteorder == "big":
        hashes = array("Q", hashes)
        hashes.byteswap()
    return hashes.tobytes()
