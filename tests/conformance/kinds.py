"""The shells that the table is run in, and where each finds its user's start-up file. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of shell."""

    name: str  # as a session tells it
    command: tuple[str, ...]
    file: str  # of its user, below HOME
    env: tuple[tuple[str, str], ...] = ()  # without which it would not read that file; "~" stands for HOME


BASH = Kind("bash", ("bash",), ".bashrc")
ZSH = Kind("zsh", ("zsh",), ".zshrc")
FISH = Kind("fish", ("fish",), ".config/fish/config.fish")
DASH = Kind("dash", ("dash",), ".shrc", (("ENV", "~/.shrc"),))
BUSYBOX = Kind("busybox", ("busybox", "ash"), ".shrc", (("ENV", "~/.shrc"),))
KSH93 = Kind("ksh93", ("ksh93",), ".kshrc")
MKSH = Kind("mksh", ("mksh",), ".mkshrc")
BOURNE = (ZSH, DASH, BUSYBOX, KSH93, MKSH)
KINDS = (BASH, ZSH, FISH, DASH, BUSYBOX, KSH93, MKSH)
