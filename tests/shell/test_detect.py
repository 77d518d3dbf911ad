"""Which commands are just a shell that can tell its prompts, and which kind of shell that is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.shell.base import is_login, program
from orchctl.shell.detect import known, named
from orchctl.shell.options import Options, parse

PROPERTY = settings(deadline=None, max_examples=100)
OPTIONS = ["-i", "-l", "--login", "-li", "-il"]
NAMES = ["bash", "zsh", "fish", "dash", "ksh", "ksh93", "mksh", "ash"]

names = st.sampled_from(NAMES)
words = st.sampled_from([*OPTIONS, "-c", "--norc", "--posix", "-x", "script", "", "bash", "-"]) | st.text(max_size=5)


@PROPERTY
@given(names, st.text(st.characters(exclude_characters="\0"), max_size=12), st.lists(words, max_size=3))
def test_it_does_not_matter_where_a_shell_lies(name: str, folder: str, rest: list[str]) -> None:
    assert known([f"{folder}/{name}", *rest]) == known([name, *rest])
    assert is_login([f"{folder}/{name}", *rest]) == is_login([name, *rest])


@PROPERTY
@given(names, st.lists(words, min_size=1, max_size=4))
def test_a_shell_that_is_asked_for_more_than_a_prompt_is_a_plain_command(name: str, rest: list[str]) -> None:
    """It may have options, but nothing that is to be run."""
    if known([name, *rest]):
        assert not {"-c", "script", "bash", ""} & set(rest)
        assert all(word.startswith(("-", "+")) for word in rest if word not in ("x", "posix"))


@PROPERTY
@given(
    st.text(max_size=8).filter(lambda name: name.rpartition("/")[2].removeprefix("-") not in [*NAMES, "sh", "busybox"]),
    st.lists(words, max_size=2),
)
def test_nothing_else_is_known(name: str, rest: list[str]) -> None:
    assert known([name, *rest]) is None
    assert known([name, *rest], "bash") is None


@pytest.mark.parametrize("rest", [[], ["-i"], *([option] for option in OPTIONS[1:]), ["-l", "-i"], ["-i", "-l"]])
def test_every_shell_is_known_plain_and_as_a_login_shell(rest: list[str]) -> None:
    for name in NAMES:
        kind = known([name, *rest])
        assert kind is not None
        assert known([f"/usr/bin/{name}", *rest]) == kind == named(kind).name
        assert is_login([name, *rest]) == any("l" in option for option in rest)
    assert known(["busybox", "sh", *rest]) == known(["busybox", "ash", *rest]) == "busybox"
    assert is_login(["busybox", "sh", *rest]) == any("l" in option for option in rest)


@pytest.mark.parametrize(
    ("command", "real", "kind"),
    [
        (["sh"], "dash", "dash"),
        (["sh"], "bash", "bash"),
        (["/bin/sh"], "busybox", "busybox"),
        (["sh"], "sh", "dash"),
        (["sh"], "zsh", None),
        (["sh"], None, None),
        (["sh", "-l"], "mksh", "mksh"),
        (["ksh"], "mksh", "mksh"),
        (["ksh"], "ksh93", "ksh93"),
        (["zsh"], "zsh-5.9", "zsh"),
        (["-zsh"], "zsh", "zsh"),
        (["/bin/-bash"], "bash", "bash"),
    ],
)
def test_a_name_that_many_shells_have_is_what_the_file_really_is(
    command: list[str], real: str | None, kind: str | None
) -> None:
    assert known(command, real) == kind


@pytest.mark.parametrize(
    ("command", "real"),
    [
        ([], None),
        ([""], None),
        (["rbash"], "bash"),
        (["bash", "-c", "true"], "bash"),
        (["bash", "-ec", "true"], "bash"),
        (["bash", "-s"], "bash"),
        (["bash", "--norc", "script"], "bash"),
        (["bash", "-o"], "bash"),
        (["bash", "--rcfile"], "bash"),
        (["bash", "--", "script"], "bash"),
        (["bash", "-r"], "bash"),
        (["bash", "+i"], "bash"),
        (["bash", "--unheard-of"], "bash"),
        (["zsh", "-fc", "true"], "zsh"),
        (["zsh", "-o", "sh_instdin"], "zsh"),
        (["zsh", "--emulate", "sh"], "zsh"),
        (["fish", "-c", "true"], "fish"),
        (["fish", "-C"], "fish"),
        (["fish", "script"], "fish"),
        (["mksh", "-n"], "mksh"),
        (["busybox"], "busybox"),
        (["busybox", "ls"], "busybox"),
        (["dash", "script"], "dash"),
    ],
)
def test_other_commands_are_plain_ones(command: list[str], real: str | None) -> None:
    assert known(command, real) is None


def test_a_dash_in_front_of_a_name_asks_for_a_login_shell_and_is_no_part_of_the_name() -> None:
    assert (is_login(["-zsh"]), program(["-zsh"])) == (True, "zsh")
    assert (is_login(["/bin/-zsh"]), program(["/bin/-zsh"])) == (True, "/bin/zsh")
    assert (is_login(["/-a/zsh"]), program(["/-a/zsh"])) == (False, "/-a/zsh")


@pytest.mark.parametrize(
    ("kind", "words", "expected"),
    [
        ("bash", ["-eux", "-o", "pipefail"], Options(words=("-eu", "-o", "pipefail"), late="x")),
        (
            "bash",
            ["-x", "--norc", "--noediting", "-O", "extglob"],
            Options(words=("--noediting", "-O", "extglob"), late="x", no_rc=True),
        ),
        ("bash", ["--rcfile", "f", "-il"], Options(rc_file="f")),
        ("bash", ["--posix", "--noprofile", "+x", "--"], Options(words=("+x",), posix=True, no_profile=True)),
        ("zsh", ["-fo", "xtrace", "-ie"], Options(words=("-e",), late="x", no_rc=True)),
        ("zsh", ["-oauto_cd", "--no-rcs"], Options(words=("-o", "auto_cd"), no_rc=True)),
        ("dash", ["-lie"], Options(words=("-e",))),
        ("fish", ["-N", "-i", "--init-command=x", "-C", "y"], Options(words=("-N", "--init-command=x", "-C", "y"))),
    ],
)
def test_what_becomes_of_each_option(kind: str, words: list[str], expected: Options) -> None:
    assert parse(kind, words) == expected
