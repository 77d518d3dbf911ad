"""Which session is meant: never a guess, and the same one in whatever order the sessions are known."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput, NoSuchSession, OrchctlError
from orchctl.session.model import Session, State
from orchctl.session.selection import LAST, check_id, check_name, find

PROPERTY = settings(deadline=None, max_examples=100)
STATES = list(State)


def session(
    uid: str, name: str | None = None, *, at: float = 0, state: State = State.LIVE, by: str = "user"
) -> Session:
    return Session(id=uid, name=name, created_at=at, state=state, managed_by=by)


@st.composite
def _sessions(draw: st.DrawFn) -> list[Session]:
    ids = draw(st.lists(st.text("0a", min_size=8, max_size=10), unique=True, max_size=6))
    return [
        session(
            uid,
            draw(st.sampled_from([None, "web", "db", "00000000", "aaaaaaaa0"])),
            at=at,
            state=draw(st.sampled_from(STATES)),
            by=draw(st.sampled_from(["user", "boss"])),
        )
        for at, uid in enumerate(ids)
    ]


some_sessions = _sessions()
texts = st.sampled_from(["web", "db", LAST, "00000000", "aaaaaaaa", "0000000a", "aaaaaaaa0"])


def _outcome(text: str, sessions: list[Session], *, ended_too: bool) -> Session | tuple[type[OrchctlError], str]:
    try:
        return find(text, sessions, own_manager="user", ended_too=ended_too)
    except OrchctlError as error:
        return type(error), error.code


@PROPERTY
@given(some_sessions, texts, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_in_which_sessions_are_known_does_not_matter(
    sessions: list[Session], text: str, ended_too: bool, rnd: random.Random
) -> None:
    shuffled = list(sessions)
    rnd.shuffle(shuffled)
    assert _outcome(text, shuffled, ended_too=ended_too) == _outcome(text, sessions, ended_too=ended_too)


@PROPERTY
@given(some_sessions, st.booleans())
def test_a_whole_id_means_its_session_whatever_others_are_called(sessions: list[Session], ended_too: bool) -> None:
    for one in sessions:
        assert find(one.id, sessions, own_manager="user", ended_too=ended_too) is one


@PROPERTY
@given(some_sessions, texts, st.booleans())
def test_whatever_is_found_goes_by_the_text(sessions: list[Session], text: str, ended_too: bool) -> None:
    found = _outcome(text, sessions, ended_too=ended_too)
    if isinstance(found, Session) and text == LAST:
        assert found.managed_by == "user"
    elif isinstance(found, Session):
        assert found.name == text or found.id.startswith(text)


def test_a_name_means_the_live_session_before_any_ended_one() -> None:
    live = session("1" * 8, "web", at=1)
    ended = session("2" * 8, "web", at=2, state=State.CLOSED)
    assert find("web", [live, ended], own_manager="user") is live


def test_a_name_nobody_has_any_more_means_the_newest_ended_session() -> None:
    old, new = (session(str(at) * 8, "web", at=at, state=State.CLOSED) for at in (1, 2))
    assert find("web", [new, old], own_manager="user") is new


def test_a_command_that_acts_is_told_that_the_session_has_ended() -> None:
    ended = session("1" * 8, "web", state=State.CLOSED)
    with pytest.raises(NoSuchSession, match="has ended") as caught:
        find("web", [ended], own_manager="user", ended_too=False)
    assert caught.value.code == "session-ended"


def test_a_command_that_acts_is_told_so_even_if_the_name_looks_like_the_beginning_of_an_id() -> None:
    ended = session("1" * 8, "deadbeef", state=State.CLOSED)
    with pytest.raises(NoSuchSession) as caught:
        find("deadbeef", [ended], own_manager="user", ended_too=False)
    assert caught.value.code == "session-ended"


def test_a_name_comes_before_a_prefix() -> None:
    named, other = session("1" * 36, "0badcafe"), session("0badcafe" + "0" * 28)
    assert find("0badcafe", [named, other], own_manager="user") is named


def test_a_prefix_of_one_id_means_that_session() -> None:
    one, other = session("0badcafe-1"), session("0badcafe-2")
    assert find("0badcafe-2", [one, other], own_manager="user") is other
    assert find("0badcafe-", [one], own_manager="user") is one


def test_a_prefix_of_several_ids_is_refused() -> None:
    with pytest.raises(BadInput, match="2 sessions begin with 0badcafe") as caught:
        find("0badcafe", [session("0badcafe-1"), session("0badcafe-2")], own_manager="user")
    assert caught.value.code == "ambiguous-session"


@pytest.mark.parametrize("text", ["0badcafe0", "0BADCAFE", "", "nobody", "-bad", "x" * 8])
def test_what_no_session_goes_by_is_an_error(text: str) -> None:
    with pytest.raises(NoSuchSession, match="orchctl list") as caught:
        find(text, [session("0badcafe-1")], own_manager="user")
    assert caught.value.code == "no-such-session"


def test_last_means_the_newest_session_of_the_callers_own_manager() -> None:
    own = [session("1" * 8, at=1, by="boss"), session("2" * 8, at=2, by="boss", state=State.CLOSED)]
    others = [session("3" * 8, at=3, by="boss:worker"), session("4" * 8, at=4)]
    assert find("@last", [*own, *others], own_manager="boss") is own[1]
    with pytest.raises(NoSuchSession, match="nobody has no session"):
        find(LAST, [*own, *others], own_manager="nobody")


@PROPERTY
@given(st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}", fullmatch=True))
def test_a_good_name_stays_as_it_is(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".a", "-a", "_a", "a b", "a\n", "ä", "@last", "a/b", "a:b", "a" * 65])
def test_a_session_may_not_be_called_just_anything(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_name(name)
    assert caught.value.code == "bad-name"


def test_an_id_is_what_clients_make() -> None:
    assert check_id("0badcafe-0000-4000-8000-00000000000f") == "0badcafe-0000-4000-8000-00000000000f"


@pytest.mark.parametrize("text", ["", ".", "..", "0badcafe", "0BADCAFE-0000-4000-8000-00000000000f", "a/b", "\n"])
def test_whatever_else_is_no_id(text: str) -> None:
    with pytest.raises(BadInput, match="is not a session id") as caught:
        check_id(text)
    assert caught.value.code == "bad-id"
