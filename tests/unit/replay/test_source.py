"""When requests come."""

from support.fleet_case import request

from steelyard_simulator.replay.source import ClosedLoop, OpenLoop

SESSIONS = [
    request(0.0),
    request(1.0, follows=0, think_s=5.0),
    request(7.0),
    request(8.0, follows=2, think_s=1.0),
    request(9.0, follows=2, think_s=2.0),
    request(20.0),
]


def test_an_open_loop_takes_times_as_they_are() -> None:
    source = OpenLoop(SESSIONS)

    assert list(source.first()) == [(r.at_s, n) for n, r in enumerate(SESSIONS)]
    assert not list(source.after(0, 3.0))


def test_a_closed_loop_begins_sessions_at_their_times() -> None:
    source = ClosedLoop(SESSIONS)

    assert list(source.first()) == [(0.0, 0), (7.0, 2), (20.0, 5)]
    assert list(source.after(0, 3.0)) == [(8.0, 1)]
    assert list(source.after(2, 10.0)) == [(11.0, 3), (12.0, 4)]
    assert not list(source.after(1, 11.0))


def test_a_user_takes_the_next_session_when_the_last_one_is_over() -> None:
    source = ClosedLoop(SESSIONS, users=1)

    assert list(source.first()) == [(0.0, 0)]
    assert list(source.after(0, 3.0)) == [(8.0, 1)]
    assert list(source.after(1, 9.0)) == [(9.0, 2)]
    assert list(source.after(2, 10.0)) == [(11.0, 3), (12.0, 4)]
    assert not list(source.after(4, 13.0))
    assert list(source.after(3, 14.0)) == [(14.0, 5)]
    assert not list(source.after(5, 15.0))
