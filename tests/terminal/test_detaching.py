from __future__ import annotations

from orchctl.terminal.keys import DEFAULT, DetachKeys, Meant, parse


def given_back(keys: str, *typed: bytes) -> list[bytes | Meant]:
    detach = DetachKeys(parse(keys))
    found = [one for raw in typed for one in detach.feed(raw)]
    return [*found, *([held] if (held := detach.give_back()) else [])]


def test_the_whole_sequence_detaches() -> None:
    assert given_back(DEFAULT, b"a", b"\x1c", b"\x04") == [b"a", Meant.DETACH]


def test_another_last_key_takes_the_lease() -> None:
    assert given_back(DEFAULT, b"\x1c", b"\x14") == [Meant.TAKE]
    assert given_back("ctrl-]", b"\x14") == [b"\x14"]  # one key alone has none before its last


def test_a_first_key_that_is_not_followed_is_the_programs() -> None:
    assert given_back(DEFAULT, b"\x1c", b"x") == [b"\x1c", b"x"]
    assert given_back(DEFAULT, b"\x1c") == [b"\x1c"]


def test_a_sequence_may_begin_inside_one_that_came_to_nothing() -> None:
    assert given_back(DEFAULT, b"\x1c", b"\x1c", b"\x04") == [b"\x1c", Meant.DETACH]
    assert given_back("a,a,b", b"a", b"a", b"a", b"b") == [b"a", Meant.DETACH]


def test_keys_are_known_in_the_forms_of_newer_terminals_too() -> None:
    assert given_back(DEFAULT, b"\x1b[92;5u", b"\x1b[92;5:3u", b"\x1b[100;5u") == [Meant.DETACH]
    assert given_back(DEFAULT, b"\x1b[27;5;92~", b"\x1b[27;5;100~") == [Meant.DETACH]
    assert given_back(DEFAULT, b"\x1b[92;69u", b"\x1b[100;133u") == [Meant.DETACH]  # with caps and number lock
    assert given_back("C-a,d", b"\x1b[97;5u", b"\x1b[100u") == [Meant.DETACH]


def test_the_same_keys_with_another_modifier_are_not_them() -> None:
    assert given_back(DEFAULT, b"\x1b[92;6u", b"\x04") == [b"\x1b[92;6u", b"\x04"]
    assert given_back(DEFAULT, b"\x1c", b"\x1b[100;3u") == [b"\x1c", b"\x1b[100;3u"]
    assert given_back(DEFAULT, b"\x1c", b"\x1b[A") == [b"\x1c", b"\x1b[A"]
