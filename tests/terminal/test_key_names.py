"""Keys by name: what a terminal sends for them."""

from __future__ import annotations

import pytest

from orchctl.terminal.keys import key_bytes
from tests.world import World


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("C-c", b"\x03"),
        ("c-C", b"\x03"),
        ("^-d", b"\x04"),
        ("C-[", b"\x1b"),
        ("C-Space", b"\0"),
        ("C-?", b"\x7f"),
        ("M-x", b"\x1bx"),
        ("M-C-a", b"\x1b\x01"),
        ("Enter", b"\r"),
        ("tab", b"\t"),
        ("Up", b"\x1b[A"),
        ("F1", b"\x1bOP"),
        ("F12", b"\x1b[24~"),
        ("PageDown", b"\x1b[6~"),
        ("q", b"q"),
        ("é", "é".encode()),
        ("-", b"-"),
    ],
)
def test_a_key_is_what_a_terminal_sends(name: str, sent: bytes) -> None:
    assert key_bytes(name) == sent


@pytest.mark.parametrize("name", ["", "C-", "C-é", "C-Up", "nokey", "F13", "X-a", "M-nokey"])
def test_what_is_no_key_is_none(name: str) -> None:
    assert key_bytes(name) is None


def test_keys_bytes_and_stdin_are_typed_and_enter_only_after_text(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "stty raw -echo; echo ready; head -c 22 | od -An -tx1 -v")
    world.ok("wait", session, "--for", "output=ready")
    world.ok("send", session, "--key", "C-c", "--key", "Up")
    world.ok("send", session, "--hex", "00 ff", "7f")
    world.ok("send", session, "--stdin", input=b"in\n", stdin=None)
    world.ok("send", session, "--no-enter", "no")
    world.ok("send", session, "text", "two", "--key", "Escape")
    world.ok("wait", session)
    typed = bytes.fromhex("".join(world.ok("tail", "-n", "all", session).split()[1:]))
    assert typed == b"\x03\x1b[A\x00\xff\x7fin\nnotext two\r\x1b"


def test_the_same_once_is_typed_once(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "stty -echo; echo ready; cat")
    world.ok("wait", session, "--for", "output=ready")
    for _ in range(3):
        world.ok("send", session, "--once", "job-7", "one")
    world.ok("send", session, "two")
    world.ok("wait", session, "--for", "output=two")
    assert world.ok("tail", "-n", "all", session).split() == ["ready", "one", "two"]


def test_a_paste_is_marked_when_the_program_asked_for_it(world: World) -> None:
    reads = "stty raw -echo; {mode}; echo ready; head -c {count} | od -An -tx1 -v"
    marked = world.ok("spawn", "sh", "-c", reads.format(mode=r"printf '\033[?2004h'", count=14))
    plain = world.ok("spawn", "sh", "-c", reads.format(mode=r"printf '\033[?2004h\033[?2004l'", count=2))
    for session in (marked, plain):
        world.ok("wait", session, "--for", "output=ready")
        world.ok("send", session, "--paste", "--no-enter", "a\x1b[201~b")
    world.ok("wait", marked)
    shown = bytes.fromhex("".join(world.ok("tail", "-n", "all", marked).partition("ready")[2].split()))
    assert shown == b"\x1b[200~ab\x1b[201~"[:14]


@pytest.mark.parametrize(
    "words", [["--key", "nokey"], ["--hex", "zz"], ["--hex"], [], ["--stdin", "text"], ["--paste"]]
)
def test_what_cannot_be_typed_is_refused(world: World, words: list[str]) -> None:
    session = world.ok("spawn", "cat")
    done = world.run("send", session, *words)
    assert (done.returncode, done.stdout) == (2, b"")
