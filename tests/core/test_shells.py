"""Which commands are just a shell that can tell its prompts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.core.shells import is_login, known

PROPERTY = settings(deadline=None, max_examples=100)
OPTIONS = ["-i", "-l", "--login", "-li", "-il"]

words = st.sampled_from([*OPTIONS, "-c", "--norc", "--posix", "-x", "script", "", "bash", "-"]) | st.text(max_size=5)


@PROPERTY
@given(st.text(st.characters(exclude_characters="\0"), max_size=12), st.lists(words, max_size=3))
def test_it_does_not_matter_where_a_shell_lies(folder: str, rest: list[str]) -> None:
    assert known([f"{folder}/bash", *rest]) == known(["bash", *rest])
    assert is_login([f"{folder}/bash", *rest]) == is_login(["bash", *rest])


@PROPERTY
@given(st.lists(words, min_size=1, max_size=4))
def test_a_shell_that_is_asked_for_more_than_a_prompt_is_a_plain_command(rest: list[str]) -> None:
    if known(["bash", *rest]):
        assert set(rest) <= set(OPTIONS)
        assert is_login(["bash", *rest]) == (rest != ["-i"])


@PROPERTY
@given(st.text(max_size=8).filter(lambda name: name.rpartition("/")[2] != "bash"), st.lists(words, max_size=2))
def test_nothing_else_is_known(name: str, rest: list[str]) -> None:
    assert known([name, *rest]) is None


@pytest.mark.parametrize("rest", [[], ["-i"], *([option] for option in OPTIONS[1:]), ["-l", "-i"], ["-i", "-l"]])
def test_bash_is_known_plain_and_as_a_login_shell(rest: list[str]) -> None:
    assert known(["bash", *rest]) == known(["/usr/bin/bash", *rest]) == "bash"
    assert is_login(["bash", *rest]) == any("l" in option for option in rest)


@pytest.mark.parametrize(
    "command", [[], [""], ["sh"], ["zsh", "-l"], ["rbash"], ["bash", "-c", "true"], ["bash", "--norc"], ["bash", "-x"]]
)
def test_other_commands_are_plain_ones(command: list[str]) -> None:
    assert known(command) is None
