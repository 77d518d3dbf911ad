"""The environment of a session's program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.session.environment import compose, of_tools

PROPERTY = settings(deadline=None, max_examples=100)
STALE = ["COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOW"]
OURS = {"ORCHCTL_SESSION": "0badcafe", "ORCHCTL_MANAGER": "boss"}

names = st.sampled_from([*STALE, *OURS, "TERM", "PWD", "LANG", "LC_ALL", "LC_CTYPE", "PATH"]) | st.text(max_size=4)
environments = st.dictionaries(names, st.text(max_size=4), max_size=8)


def composed(asker: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    return compose(asker, given, "0badcafe", "boss", "/srv")


@PROPERTY
@given(environments, environments)
def test_what_the_user_gave_wins_except_over_the_session_and_its_manager(
    asker: dict[str, str], given: dict[str, str]
) -> None:
    env = composed(asker, given)
    assert env.items() >= (given | OURS).items()


@PROPERTY
@given(environments, environments)
def test_everything_else_of_the_askers_environment_stays_and_nothing_is_invented(
    asker: dict[str, str], given: dict[str, str]
) -> None:
    env = composed(asker, given)
    made = {"TERM", "PWD", "LANG", *OURS}
    assert set(env) - made == (set(asker) - set(STALE) | set(given)) - made
    for name in set(asker) - set(given) - set(STALE) - made:
        assert env[name] == asker[name]


@PROPERTY
@given(environments)
def test_the_program_always_knows_its_terminal_its_place_and_a_locale(asker: dict[str, str]) -> None:
    env = composed(asker, {})
    assert (env["TERM"], env["PWD"]) == ("xterm-256color", "/srv")
    assert any(env.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))


@pytest.mark.parametrize("name", STALE)
def test_what_speaks_of_the_clients_terminal_is_dropped_unless_it_was_given(name: str) -> None:
    assert name not in composed({name: "7"}, {})
    assert composed({name: "7"}, {name: "8"})[name] == "8"


def test_a_locale_is_added_only_where_there_is_none() -> None:
    assert composed({}, {})["LANG"] == "C.UTF-8"
    assert composed({"LC_ALL": ""}, {})["LANG"] == "C.UTF-8"
    assert composed({"LANG": "de_DE.UTF-8"}, {})["LANG"] == "de_DE.UTF-8"
    assert "LANG" not in composed({"LC_CTYPE": "de_DE.UTF-8"}, {})
    assert composed({}, {"LANG": "C"})["LANG"] == "C"


def test_a_session_started_from_a_session_does_not_pass_for_its_parent() -> None:
    env = composed({"ORCHCTL_SESSION": "parent", "ORCHCTL_MANAGER": "else"}, {"ORCHCTL_SESSION": "given"})
    assert env.items() >= OURS.items()


def test_the_askers_own_environment_is_left_alone() -> None:
    asker = {"TMUX": "x", "TERM": "dumb"}
    composed(asker, {})
    assert asker == {"TMUX": "x", "TERM": "dumb"}


def test_commands_of_an_agent_are_told_whose_they_are_and_where_we_are() -> None:
    assert of_tools("0badcafe", "boss", "/state") == {**OURS, "ORCHCTL_STATE_DIR": "/state"}
