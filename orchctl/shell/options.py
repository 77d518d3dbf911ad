"""The options of a shell that is started for a prompt: which of them it may have, and what becomes of each. Pure.

Most are handed to the shell as they stand. Those that say which start-up files it reads are taken over by ours, which
run the user's files or not. Those that would show or export what our files do are set once they have run. With an
option that makes it no interactive shell (a script, a command, a restricted shell), or that nobody here knows, it is
a program like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchctl.lazy_dataclass import dataclass

# Option letters that a shell may have at its prompt. Not among them: c, s, n, r, p, t and D.
_LETTERS = {
    "bash": "abefhkmuvxBCEHPT",
    "dash": "abefmuvxCEVI",
    "busybox": "abefmuvxCEV",
    "ksh93": "abefhkmuvxBCEGH",
    "mksh": "abefghkmuvxCUX",
    "zsh": "0123456789aefghkmuvwxyBCDEFGHIJKLMNOPQRSTUVXYZ",
}
_LATE = "avx"  # they would export, or show, what our files do
_LATE_NAMES = {"allexport": "a", "verbose": "v", "xtrace": "x"}
_REFUSED_NAMES = {
    "exec", "interactive", "login", "noexec", "onecmd", "privileged", "restricted", "shinstdin", "singlecommand",
    "stdin",
}  # fmt: skip
_FISH_FLAGS = {"-N", "--no-config", "-P", "--private"}
_FISH_VALUED = {"-C": "--init-command", "-f": "--features", "-d": "--debug", "-o": "--debug-output"}
_BASH_FLAGS = {"--norc", "--noprofile", "--posix", "--noediting", "--verbose"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a shell was asked for besides a prompt, and whether as a login shell."""

    words: tuple[str, ...] = ()  # handed to it as they stand; long ones first
    late: str = ""  # letters that are set after our start-up files
    rc_file: str | None = None  # run in the place of the user's own
    no_rc: bool = False
    no_profile: bool = False
    posix: bool = False


class _Refused(Exception):
    """Not a shell at a prompt."""


def parse(kind: str, words: Sequence[str]) -> Options | None:
    """What the words after a shell's name ask for; None where it would be no shell at a prompt."""
    try:
        return Options(words=tuple(_fish(list(words)))) if kind == "fish" else _Bourne(kind).read(list(words))
    except _Refused:
        return None


def of(kind: str, command: Sequence[str]) -> Options:
    """The same of a command that is known to be a shell."""
    rest = command[1:]
    if rest and not rest[0].startswith(("-", "+")):  # an applet's name
        rest = rest[1:]
    return parse(kind, rest) or Options()


def _fish(rest: list[str]) -> list[str]:
    kept = []
    while rest:
        word = rest.pop(0)
        name, _, _ = word.partition("=")
        if word in _FISH_VALUED or word in _FISH_VALUED.values():
            if not rest:
                raise _Refused
            kept += [word, rest.pop(0)]
        elif word in _FISH_FLAGS or (name != word and name in _FISH_VALUED.values()):
            kept.append(word)
        elif word not in ("-i", "-l", "-li", "-il", "--interactive", "--login"):
            raise _Refused
    return kept


class _Bourne:
    """All others: letters, alone or together, and names after `-o`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._long: list[str] = []
        self._short: list[str] = []
        self._late = ""
        self._rc_file: str | None = None
        self._flags: set[str] = set()

    def read(self, rest: list[str]) -> Options:
        """Word by word."""
        while rest:
            word = rest.pop(0)
            if word in ("-", "--") and not rest:
                continue
            if word.startswith("--") and len(word) > 2:
                self._long_option(word, rest)
            elif word[:1] in ("-", "+") and word.strip("-+"):
                self._letters(word, rest)
            else:
                raise _Refused  # a script, and its arguments
        return Options(
            words=(*self._long, *self._short),
            late=self._late,
            rc_file=self._rc_file,
            no_rc="no-rc" in self._flags,
            no_profile="no-profile" in self._flags,
            posix="posix" in self._flags,
        )

    def _long_option(self, word: str, rest: list[str]) -> None:
        if word == "--login":
            return
        if self._kind == "bash" and word in ("--rcfile", "--init-file") and rest:
            self._rc_file = rest.pop(0)
        elif self._kind == "bash" and word in _BASH_FLAGS:
            self._flags |= {"--norc": {"no-rc"}, "--noprofile": {"no-profile"}, "--posix": {"posix"}}.get(word, set())
            self._late += "v" if word == "--verbose" else ""
            self._long += [word] if word == "--noediting" else []
        elif self._kind == "zsh" and word != "--emulate":
            self._named("-", word[2:].replace("-", "_"))
        else:
            raise _Refused

    def _letters(self, word: str, rest: list[str]) -> None:
        sign, letters = word[0], word[1:]
        kept = ""
        for at, letter in enumerate(letters):
            if letter == "o" and self._kind == "zsh" and letters[at + 1 :]:
                self._named(sign, letters[at + 1 :])
                break
            if letter in ("o", "O") and (letter == "o" or self._kind == "bash"):
                if not rest:
                    raise _Refused
                value = rest.pop(0)
                if letter == "O":
                    self._short += [f"{sign}O", value]
                else:
                    self._named(sign, value)
            elif self._kind == "zsh" and letter == "f":
                self._flags |= {"no-rc"} if sign == "-" else set()
            elif letter in _LATE and sign == "-":
                self._late += letter
            elif letter in _LETTERS[self._kind]:
                kept += letter
            elif letter not in ("i", "l") or sign == "+":
                raise _Refused
        self._short += [f"{sign}{kept}"] if kept else []

    def _named(self, sign: str, name: str) -> None:
        plain = name.lower().replace("_", "").replace("-", "") if self._kind == "zsh" else name
        if plain in _REFUSED_NAMES or plain.removeprefix("no") in _REFUSED_NAMES:
            raise _Refused
        if sign == "-" and plain in _LATE_NAMES:
            self._late += _LATE_NAMES[plain]
        elif self._kind == "bash" and sign == "-" and plain == "posix":
            self._flags.add("posix")
        elif self._kind == "zsh" and (sign, plain) in (("-", "norcs"), ("+", "rcs")):
            self._flags.add("no-rc")
        else:
            self._short += [f"{sign}o", name]
