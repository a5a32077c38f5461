"""Makes HTTP/1.1 messages, mostly right, often subtly wrong: the ways that break proxies.

Everything comes from one `random.Random`, so a case is its seed.
"""

import itertools
import random

CRLF = b"\r\n"
METHODS = [
    b"GET",
    b"POST",
    b"POST",
    b"POST",
    b"PUT",
    b"HEAD",
    b"DELETE",
    b"OPTIONS",
    b"CONNECT",
    b"get",
    b"P\x00T",
]
TARGETS = [
    b"/",
    b"/v1/chat/completions",
    b"/v1/models",
    b"/a?b=c#d",
    b"http://h/p",
    b"http://h",
    b"*",
    b"h:80",
    b"//x",
    b"/\xc3\xa9",
    b"/a b",
    b"/\t",
    b"",
    b"/%00",
    b"/..//../x",
]
VERSIONS = [b"HTTP/1.1"] * 8 + [
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"HTTP/1.9",
    b"HTTP/1",
    b"http/1.1",
    b"ICY",
]
LENGTHS = [
    b"0",
    b"5",
    b"5",
    b"5",
    b"+5",
    b"-5",
    b"0x5",
    b"5 5",
    b"5, 5",
    b"5,6",
    b" 5",
    b"5 ",
    b"05",
    b"",
    b"a",
    b"99999999999999999999999",
    b"4294967296",
    b"5\x00",
]
CODINGS = [
    b"chunked",
    b"chunked",
    b"Chunked",
    b"identity",
    b"gzip, chunked",
    b"chunked, gzip",
    b"xchunked",
    b"chunked ",
    b"\tchunked",
    b"chunked\x0b",
    b"chunked, chunked",
    b"",
    b'"chunked"',
]
CONNECTIONS = [
    b"close",
    b"keep-alive",
    b"Upgrade",
    b"content-length",
    b"transfer-encoding, close",
    b"x, y",
    b"",
    b",",
]
OTHERS = [
    (b"X-A", b"b"), (b"X-A", b"b\xff"), (b"X-Empty", b""), (b"Expect", b"100-continue"),
    (b"Upgrade", b"h2c"), (b"Content-Type", b"application/json"), (b"Authorization", b"Bearer x"),
    (b"X-Request-Id", b"id\x7f"), (b"Trailer", b"X-T"), (b"TE", b"trailers"), (b"X\x00", b"y"),
    (b"X-Steelyard-Priority", b"many"), (b" X", b"y"), (b"X ", b"y"), (b"X-Long", b"z" * 3000),
    (b"Host", b"other"), (b"X-B", b"1\r2"), (b"X-C", b"1\n2"),
]  # fmt: skip
BODIES = [
    b"",
    b"hello",
    b"{}",
    b'{"model":"m","messages":[]}',
    b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
]


def _line_end(rng: random.Random) -> bytes:
    return CRLF if rng.random() < 0.97 else rng.choice([b"\n", b"\r", b"\r\r\n", b""])


def _chunk_size(rng: random.Random, size: int) -> bytes:
    plain = b"%x" % size
    return (
        plain
        if rng.random() < 0.9
        else rng.choice(
            [
                b"0" + plain,
                plain + b";ext=1",
                plain + b" ",
                b"0x" + plain,
                b"-1",
                b"ffffffffffffffffff",
                b"",
                b"g",
            ]
        )
    )


def chunked(rng: random.Random, body: bytes) -> bytes:
    out = b""
    while body:
        take = rng.randrange(1, len(body) + 1)
        out += _chunk_size(rng, take) + _line_end(rng) + body[:take] + _line_end(rng)
        body = body[take:]
    if rng.random() < 0.95:
        out += b"0" + _line_end(rng)
    if rng.random() < 0.1:
        out += rng.choice([b"X-T: v\r\n", b"Content-Length: 3\r\n", b"bad trailer\r\n"])
    return out + _line_end(rng)


def _headers(rng: random.Random, framing: list[tuple[bytes, bytes]]) -> bytes:
    headers = [*framing, *rng.sample(OTHERS, rng.randrange(3))]
    if rng.random() < 0.3:
        headers.append((b"Connection", rng.choice(CONNECTIONS)))
    rng.shuffle(headers)
    lines = b""
    for name, value in headers:
        lines += (
            name
            + (b": " if rng.random() < 0.95 else rng.choice([b":", b" : ", b":\t", b""]))
            + value
        )
        lines += b"\r\n folded\r\n" if rng.random() < 0.01 else _line_end(rng)
    return lines


def _framed(rng: random.Random, body: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Framing headers and the body they are (mostly) right about."""
    kind = rng.random()
    if kind < 0.45:
        return [(b"Content-Length", b"%d" % len(body))], body
    if kind < 0.75:
        return [(b"Transfer-Encoding", b"chunked")], chunked(rng, body)
    headers = [(b"Content-Length", rng.choice(LENGTHS))] if rng.random() < 0.7 else []
    headers += [(b"Transfer-Encoding", rng.choice(CODINGS))] if rng.random() < 0.6 else []
    headers += [(b"Content-Length", rng.choice(LENGTHS))] if rng.random() < 0.1 else []
    return headers, chunked(rng, body) if rng.random() < 0.5 else body


def request(rng: random.Random) -> bytes:
    framing, body = _framed(rng, rng.choice(BODIES))
    method = rng.choice(METHODS) if rng.random() < 0.4 else b"POST"
    target = rng.choice(TARGETS) if rng.random() < 0.4 else b"/v1/chat/completions"
    version = rng.choice(VERSIONS) if rng.random() < 0.2 else b"HTTP/1.1"
    host = [(b"Host", b"x")] if rng.random() < 0.9 else []
    first = method + b" " + target + b" " + version + _line_end(rng)
    return first + _headers(rng, host + framing) + _line_end(rng) + body


def response(rng: random.Random) -> bytes:
    body = rng.choice([*BODIES, b"data: {}\n\ndata: [DONE]\n\n"])
    framing, framed = _framed(rng, body)
    status = rng.choice(
        [b"200"] * 8
        + [b"100", b"101", b"204", b"304", b"400", b"500", b"99", b"1000", b"20", b"abc"]
    )
    version = rng.choice(VERSIONS) if rng.random() < 0.1 else b"HTTP/1.1"
    kind = (b"Content-Type", rng.choice([b"application/json", b"text/event-stream", b"\xff"]))
    first = version + b" " + status + rng.choice([b" OK", b"", b" "]) + _line_end(rng)
    return first + _headers(rng, [kind, *framing]) + _line_end(rng) + framed


def damaged(rng: random.Random, data: bytes) -> bytes:
    """A few bytes flipped, dropped, doubled or moved."""
    raw = bytearray(data)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        at = rng.randrange(len(raw) + 1)
        match rng.randrange(4):
            case 0:
                raw[at:at] = bytes([rng.randrange(256)])
            case 1:
                del raw[at : at + rng.randrange(1, 6)]
            case 2:
                raw[at : at + 1] = bytes([rng.randrange(256)])
            case _:
                start = rng.randrange(len(raw) + 1)
                raw[at:at] = raw[start : start + rng.randrange(1, 40)]
    return bytes(raw)


def pieces(rng: random.Random, data: bytes) -> list[bytes]:
    """The same bytes as a network might deliver them."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice([0, 0, 1, 2, 6])))
    edges = [0, *cuts, len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges) if a < b]
