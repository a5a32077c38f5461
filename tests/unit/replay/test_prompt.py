"""Block hashes of a trace's prompts."""

from support.fleet_case import request

from steelyard_simulator.replay.prompt import chained, packed


def test_equal_beginnings_have_equal_hashes_and_others_do_not() -> None:
    one = chained(request(0, 2048, blocks=[1, 2, 3, 4]), 512)
    other = chained(request(0, 2048, blocks=[1, 2, 9, 4]), 512)

    assert one[:2] == other[:2]
    assert len({*one, *other}) == 6


def test_scopes_share_nothing() -> None:
    one = chained(request(0, 1024, blocks=[1, 2], scope="a"), 512)
    other = chained(request(0, 1024, blocks=[1, 2], scope="b"), 512)

    assert not {*one} & {*other}


def test_a_block_that_is_not_full_has_no_hash() -> None:
    assert len(chained(request(0, 1300, blocks=[1, 2, 3]), 512)) == 2
    assert len(chained(request(0, 511, blocks=[1]), 512)) == 0


def test_routers_get_eight_bytes_each_little_endian() -> None:
    hashes = chained(request(0, 1024, blocks=[1, 2]), 512)

    assert packed(hashes) == b"".join(each.to_bytes(8, "little") for each in hashes)
