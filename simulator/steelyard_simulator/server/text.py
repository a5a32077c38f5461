"""What the simulated model says: words of four bytes, one a token, the same for the same seed.

They hold letters and spaces only, so that they go into JSON as they are.
"""

from random import Random

TOKEN_BYTES = 4
PERIOD = 4096
_CONSONANTS = "bdfghklmnprstvz"
_VOWELS = "aeiou"


class OutputText:
    """An endless text from which every answer reads on from an offset of its own."""

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        words = (
            rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + rng.choice(_CONSONANTS) + " "
            for _ in range(PERIOD)
        )
        self._text = "".join(words).encode()

    def read(self, offset: int, start: int, stop: int) -> bytes:
        """Tokens start..stop-1 of the answer that begins at token `offset`."""
        first = (offset + start) % PERIOD
        rounds = (first + stop - start - 1) // PERIOD + 1
        begin = first * TOKEN_BYTES
        return (self._text * rounds)[begin : begin + (stop - start) * TOKEN_BYTES]
