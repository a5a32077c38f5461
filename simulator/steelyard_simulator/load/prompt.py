"""Prompts rebuilt from block ids: equal ids give equal text, different ids different text.

The text is made of three-letter English words with a space behind each: 4 bytes, and with the
tokenizers of common models one token, so that a prompt of n tokens is exactly 4 n bytes here and
about n tokens there. Which words stand in a block is decided by a hash of (seed, scope, id): the
same command sends the same bytes on every machine, and nothing but a bounded cache of recent blocks
is held in memory.
"""

import hashlib
from functools import lru_cache

import numpy as np

from steelyard_simulator.load.trace import TraceRequest

TOKEN_BYTES = 4
CACHED_BLOCKS = 2048

WORDS = """
act add age ago aid aim air all and ant any ape arc are ark arm art ash ask ate axe bad bag ban bar
bat bay bed bee beg bet bid big bin bit bow box boy bud bug bus but buy cab can cap car cat cod cop
cot cow cry cub cue cup cut dad dam day den dew did die dig dim dip dog dot dry due dug ear eat egg
ego elf elk elm end era eve eye fan far fat fee few fig fin fir fit fix fly foe fog for fox fun fur
gap gas gel gem get gin got gum gun gut guy gym had ham has hat hay hen her hid him hip his hit hop
hot how hub hug hut ice ill ink inn ion ivy jam jar jaw jet job jog joy jug key kid kin kit lab lad
lap law lay led leg let lid lie lip lit log lot low mad man map mat may men met mix mob mom mud mug
nap net new nod nor not now nun nut oak oar oat odd off oil old one opt orb ore our out owe owl own
pad pan paw pay pea pen pet pie pig pin pit pot pry pub put rag ram ran rat raw ray red rib rid rim
rip rob rod row rub rug run sad sat saw say sea see set she shy sin sip sit six sky son the tie tip
ton too two way why you
"""
"""256 of them: one for each value of a byte of a hash."""


class PromptWriter:
    """Writes the prompt of a request. One writer per replay: its cache is its only state."""

    def __init__(self, *, seed: int = 0, block_tokens: int) -> None:
        self._seed = seed
        self._block_tokens = block_tokens
        units = "".join(f"{word} " for word in WORDS.split()).encode()
        self._units = np.frombuffer(units, dtype="<u4")
        self._block = lru_cache(maxsize=CACHED_BLOCKS)(self._words)

    def write(self, request: TraceRequest, number: int) -> bytes:
        """Exactly `input_tokens` * 4 bytes of ASCII. `number` makes the part without ids unique."""
        size = request.input_tokens * TOKEN_BYTES
        parts = [
            self._block(f"{request.scope}/{block_id}", self._block_tokens)
            for block_id in request.block_ids()
        ]
        missing = request.input_tokens - self._block_tokens * len(parts)
        if missing > 0:
            parts.append(self._words(f"{request.scope}#{number}", missing))
        return b"".join(parts)[:size]

    def _words(self, key: str, tokens: int) -> bytes:
        digest = hashlib.shake_128(f"{self._seed}:{key}".encode()).digest(tokens)
        return self._units[np.frombuffer(digest, dtype=np.uint8)].tobytes()
