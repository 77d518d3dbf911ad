from __future__ import annotations

import pytest

from orchctl.terminal.keys import DEFAULT, parse, spelled, taking


def test_the_keys_are_read_as_people_write_them() -> None:
    assert parse(DEFAULT) == (0x1C, 0x04)
    assert parse("ctrl-p,ctrl-q") == (0x10, 0x11)
    assert parse("C-a,d") == (0x01, ord("d"))
    assert parse("^]") == (0x1D,)
    assert spelled(parse(DEFAULT)) == r"ctrl-\ ctrl-d"
    assert spelled(parse("C-A,D")) == "ctrl-a D"


@pytest.mark.parametrize(
    "text", ["", "ctrl-", "ctrl-1", "ab", "é", "ctrl-a,,b", ",".join("abcdefghi"), "\x1b", "ctrl-é"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="key"):
        parse(text)


def test_another_last_key_takes_the_lease() -> None:
    taken = taking(parse(DEFAULT))
    assert taken is not None
    assert spelled(taken) == r"ctrl-\ ctrl-t"
    assert taking(parse("ctrl-]")) is None
