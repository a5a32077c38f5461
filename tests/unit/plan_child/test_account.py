"""Routers are replaced when their ServiceAccount is another one, and at no other time."""

from typing import Any

from support.children import children, stored

ROUTER = ("Deployment", "chat-router")
ACCOUNT = ("ServiceAccount", "chat-router")

Live = dict[tuple[str, str], dict[str, Any]]


def account(uid: str) -> dict[str, Any]:
    return {"metadata": {"name": "chat-router", "uid": uid}}


def passes(*accounts: str | None) -> list[dict[str, Any]]:
    """The router's Deployment as each pass makes it, with what the pass before left."""
    live: Live = {}
    made = []
    for uid in accounts:
        live.pop(ACCOUNT, None)
        if uid is not None:
            live[ACCOUNT] = account(uid)
        live[ROUTER] = children(stored(), live=live)[ROUTER]
        made.append(live[ROUTER])
    return made


def templates(*accounts: str | None) -> list[dict[str, Any]]:
    return [made["spec"]["template"] for made in passes(*accounts)]


def test_the_first_passes_roll_nothing() -> None:
    first, second, third = templates(None, "a", "a")
    assert first == second == third


def test_another_account_replaces_the_routers_once() -> None:
    _, before, after, later = templates(None, "a", "b", "b")
    assert before != after
    assert after == later


def test_an_account_that_is_missing_for_a_moment_changes_nothing() -> None:
    before, gone, again = templates("a", None, "a")
    assert before == gone == again


def test_an_account_that_was_made_anew_between_two_passes_is_noticed() -> None:
    before, gone, after = templates("a", None, "b")
    assert before == gone
    assert after != before


def test_each_new_account_counts() -> None:
    made = [str(template) for template in templates("a", "b", "c", "c")]
    assert len(set(made)) == 3


def test_a_users_own_annotations_stay() -> None:
    service = stored(router={"podTemplate": {"metadata": {"annotations": {"mine": "1"}}}})
    live: Live = {ROUTER: children(service)[ROUTER], ACCOUNT: account("a")}
    live[ROUTER] = children(service, live=live)[ROUTER]
    live[ACCOUNT] = account("b")
    made = children(service, live=live)[ROUTER]["spec"]["template"]["metadata"]["annotations"]
    assert made["mine"] == "1"
    assert "b" in made.values()
