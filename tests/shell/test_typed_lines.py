"""The line that `exec` types, as seven shells draw it, and the command's own text in its place."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.session.stream import Chunk
from orchctl.shell.marks import ANY_MARK
from orchctl.shell.typed_lines import STRETCH_BYTES, UNKNOWN, Typed, TypedLines, one_line

ID = "73c31a72f7fbc5e9"
FOLDER = "/tmp/state/sessions/057de33b-1beb-4925-ba42-0d14fcfc1157/shell"
FILE = f"{FOLDER}/x6973-{ID}"
DOT = f" \\. {FILE}"
MARK = b"\x1b]6973;fb45d535ea8bd7b9;%s\x07"
PROMPT = MARK % b"P;1;0"


def mark(kind: str) -> bytes:
    return MARK % f"{kind};{ID}".encode()


def rows(line: str, first: int, width: int, end: str) -> bytes:
    """A line that is wrapped by hand, as line editors do."""
    parts = [line[:first], *(line[at : at + width] for at in range(first, len(line), width))]
    return end.join(parts).encode()


def margin(line: str, first: int, width: int) -> bytes:
    """As zsh draws it: the first character of each further row comes twice."""
    parts = [line[:first], *(line[at : at + width] for at in range(first, len(line), width))]
    return b"".join([parts[0].encode(), *(f" \r\x1b[K{part[:1]}\r{part}".encode() for part in parts[1:])])


FISH_LINE = f" builtin source '{FILE}'"
FISH = (
    f"\r\x1b[24C \r\x1b[25Cbuiltin \r\x1b[33Csource \r\r\n\x1b[A\x1b[38Ce '{FILE}'\x1b[A\r\r\n\x1b[58C\x1b[A\x1b[33D"
    f"\x1b[34mbuiltin\x1b[30m\x1b(B\x1b[m \x1b[34msource\x1b[30m\x1b(B\x1b[m \x1b[33m'{FILE}'\x1b[A\r\r\n\x1b[58C"
    f"\x1b[30m\x1b(B\x1b[m\r\n\x1b[30m\x1b(B\x1b[m\x1b[?2004l\x1b]0; builtin source '/tm /t/w/h2\x07"
    "\x1b[30m\x1b(B\x1b[m\r"
).encode()
KSH_LINE = f" __oc_s=$?;\\. {FILE}"
MKSH = f" \\. {FILE[:60]}\r{FILE[20:60]}        <{chr(8) * 9}{FILE[60:]}\r\r\n".encode()
SHELLS = {
    "bash": (b"\x1b[?2004hme@host:~$ ", DOT, f"{DOT}\r\n\x1b[?2004l\r".encode()),
    "zsh": (
        b"\r\x1b[0m\x1b[27m\x1b[24m\x1b[Jhost% \x1b[K\x1b[?1h\x1b=\x1b[?2004h",
        DOT,
        b" \x08" + margin(DOT, 76, 80) + b"\x1b[?1l\x1b>\x1b[?2004l\r\r\n",
    ),
    "zsh, at the margin": (b"host% ", DOT, b" \x08" + margin(DOT, 3, 40) + b"\x1b[?2004l\r\r\n"),
    "fish": (b"\x1b]0;/t/w/h2\x07\x1b[92mroot\x1b(B\x1b[m@host# \x1b[K", FISH_LINE, FISH),
    "dash": (b"$ ", DOT, f"{DOT}\r\n".encode()),
    "ksh": (b"\x01# ", KSH_LINE, f"  \x08_ \x08_oc \x08_s=$?;\\. {FILE}\r\n".encode()),
    "mksh": (b"# ", DOT, MKSH),
    "busybox": (b"~ # \x1b[6n", DOT, rows(DOT, 30, 40, "\r\r\n") + b"\r\n"),
}


def shown(data: bytes, *known: Typed, places: tuple[int, ...] = (), first: int = 0, **options: bool) -> bytes:
    """What becomes of a log in pieces, without the marks; the offsets must stay in order."""
    lines = TypedLines(**options)
    for one in known:
        lines.know(one)
    cuts = sorted({0, len(data), *(place for place in places if place < len(data))})
    found = list[Chunk]()
    for start, end in itertools.pairwise(cuts):
        found += lines.feed(Chunk(first + start, data[start:end]))
    found += lines.end()
    offsets = [chunk.offset for chunk in found]
    assert offsets == sorted(offsets)
    return ANY_MARK.sub(b"", b"".join(chunk.data for chunk in found))


def seen(data: bytes) -> str:
    """What a person reads."""
    return re.sub(rb"\x1b\][^\x07]*\x07|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\(B|\x1b.|[\r\x00-\x08]", b"", data).decode()


def log_of(shell: str) -> tuple[bytes, int, int, str]:
    """A log with one command; the places after the prompt's mark and after the prompt, and the line."""
    prompt, line, echo = SHELLS[shell]
    head = b"before\r\n" + PROMPT
    data = head + prompt + echo + mark("B") + mark("C") + b"hi\r\n" + MARK % f"D;{ID};0".encode() + b"after"
    return data, len(head), len(head + prompt), line


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("drawn", [False, True])
def test_the_text_stands_where_the_line_was(shell: str, drawn: bool) -> None:
    data, before, after, line = log_of(shell)
    typed = Typed(ID, after if drawn else before, line, "make test")
    prompt = seen(SHELLS[shell][0])
    assert seen(shown(data, typed)) == f"before\n{prompt}make test\nhi\nafter"


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_the_same_however_the_log_was_cut(shell: str) -> None:
    data, before, _, line = log_of(shell)
    typed = Typed(ID, before, line, "make test")
    whole = shown(data, typed)
    assert shown(data, typed, places=tuple(range(len(data)))) == whole
    for place in range(len(data)):
        assert shown(data, typed, places=(place,)) == whole


@pytest.mark.parametrize("shell", SHELLS)
def test_a_log_that_begins_in_the_middle_of_the_line_shows_none_of_it(shell: str) -> None:
    data, before, after, line = log_of(shell)
    typed = Typed(ID, before, line, "make test")
    for start in range(after, data.index(mark("B"))):
        assert b"6973" not in shown(data[start:], typed, first=start)


def test_the_modes_that_the_editor_sets_are_kept() -> None:
    data, before, _, line = log_of("zsh")
    told = shown(data, Typed(ID, before, line, "make test"))
    assert b"\x1b[?1l\x1b>\x1b[?2004l" in told


def test_a_title_made_of_the_line_goes_with_it() -> None:
    data, before, _, line = log_of("fish")
    assert b"builtin source" not in shown(data, Typed(ID, before, line, "make test"))


def test_a_line_that_the_terminal_showed_before_the_prompt_came_goes_too() -> None:
    line = f"{DOT}\r\n".encode()
    data = PROMPT + line + b"\x1b[?2004h$ " + line + mark("C") + b"hi\r\n"
    assert seen(shown(data, Typed(ID, len(PROMPT), DOT, "make"))) == "$ make\nhi\n"


def test_the_first_mark_may_be_that_of_the_output() -> None:
    data, before, _, line = log_of("bash")
    assert b"x6973" not in shown(data.replace(mark("B"), b""), Typed(ID, before, line, "make"))


def test_a_line_that_was_thrown_away_and_typed_again_is_shown_twice_without_its_path() -> None:
    again = f"$ {DOT}^C\r\n".encode() + MARK % b"P;2;130" + f"$ {DOT}\r\n".encode()
    data = PROMPT + again + mark("B") + mark("C") + b"hi\r\n"
    assert seen(shown(data, Typed(ID, len(PROMPT), DOT, "make"))) == "$ make\n$ make\nhi\n"


def test_without_a_mark_the_line_goes_when_the_next_command_begins() -> None:
    data = PROMPT + f"$ {DOT}\r\nlost\r\n".encode()
    other = Typed("0123456789abcdef", len(data), " \\. /other", "second")
    data += b" \\. /other\r\n" + MARK % b"C;0123456789abcdef" + b"two\r\n"
    assert seen(shown(data, Typed(ID, len(PROMPT), DOT, "first"), other)) == "$ first\nlost\nsecond\ntwo\n"


def test_what_is_drawn_in_an_unknown_way_is_not_shown() -> None:
    data = PROMPT + b"$ " + f"{DOT[::-1]}\r\n".encode() + mark("B") + b"hi\r\n"
    assert seen(shown(data, Typed(ID, len(PROMPT) + 2, DOT, "make"))) == "$ make\nhi\n"


def test_without_an_echo_the_text_is_there_all_the_same() -> None:
    for echo in (b"", b"\x1b[?2004l\r\n"):
        data = PROMPT + b"$ " + echo + mark("B") + mark("C") + b"hi\r\n"
        assert seen(shown(data, Typed(ID, len(PROMPT) + 2, DOT, "make"))) == "$ make\nhi\n"
        assert seen(shown(data, Typed(ID, len(PROMPT), DOT, "make"))) == "$ make\nhi\n"


def test_a_command_that_is_not_on_record_is_a_neutral_word() -> None:
    data, before, _, line = log_of("bash")
    assert f"$ {UNKNOWN}\n" in seen(shown(data, Typed(ID, before, line, "")))


def test_whoever_looks_for_output_finds_neither_line_nor_text() -> None:
    data, before, _, line = log_of("bash")
    assert seen(shown(data, Typed(ID, before, line, "make"), silent=True)) == "before\nme@host:~$ hi\nafter"


def test_a_command_whose_output_began_before_the_log_does_is_passed_over() -> None:
    typed = Typed(ID, 10, DOT, "make", until=300)
    assert shown(b"x" * 2 * STRETCH_BYTES, typed, first=300) == b"x" * 2 * STRETCH_BYTES


def test_a_stretch_without_an_end_is_not_held_for_ever() -> None:
    lines = TypedLines()
    lines.know(Typed(ID, 0, DOT, "make"))
    given_out = b"".join(chunk.data for chunk in lines.feed(Chunk(0, b"y" * (STRETCH_BYTES + 1))))
    assert len(given_out) == STRETCH_BYTES + 1
    assert lines.held_bytes == 0


def test_a_question_to_the_terminal_is_not_held_back() -> None:
    lines = TypedLines()
    lines.know(Typed(ID, 0, DOT, "make"))
    assert [chunk.data for chunk in lines.feed(Chunk(0, b"~ # \x1b[6n"))] == [b"~ # \x1b[6n"]


def test_released_is_everything_but_what_may_be_the_line() -> None:
    lines = TypedLines()
    lines.know(Typed(ID, 0, DOT, "make"))
    assert lines.feed(Chunk(0, b"me@host$ ")) == []
    assert b"".join(chunk.data for chunk in lines.release()) == b"me@host$"
    assert b"".join(chunk.data for chunk in lines.feed(Chunk(9, b"what a person types"))) == b" what a person types"
    assert lines.feed(Chunk(28, DOT.encode()[:6])) == []
    rest = lines.feed(Chunk(34, DOT.encode()[6:] + b"\r\n" + mark("C") + b"hi"))
    assert ANY_MARK.sub(b"", b"".join(chunk.data for chunk in rest)) == b"make\r\nhi"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("make test", 200, "make test"),
        ("  make test  ", 200, "make test"),
        ("for x in 1 2\ndo echo $x\ndone", 200, "for x in 1 2 …"),
        ("\n\nmake\n", 200, "make"),
        ("a" * 300, 200, "a" * 199 + "…"),
        ("a\tb", 200, "a b"),
        ("printf '\x1b]52;c;eA==\x07'", 200, "printf '\ufffd]52;c;eA==\ufffd'"),
        ("echo \u202egnp.exe", 200, "echo \ufffdgnp.exe"),
        ("\x9b31m", 200, "\ufffd31m"),
        ("", 200, ""),
    ],
)
def test_a_command_is_one_line(text: str, limit: int, expected: str) -> None:
    assert one_line(text, limit) == expected


@given(st.text(), st.integers(3, 40))
def test_a_command_in_one_line_is_printable_and_short(text: str, limit: int) -> None:
    told = one_line(text, limit)
    assert len(told) <= limit
    assert all(char.isprintable() for char in told)


@given(st.binary(max_size=60), st.lists(st.integers(0, 200)), st.sampled_from(sorted(SHELLS)))
def test_whatever_is_around_it_every_other_byte_stays(noise: bytes, places: list[int], shell: str) -> None:
    """What comes before the command and after its mark is as it was; and nothing of the path is there."""
    _, line, echo = SHELLS[shell]
    noise = noise.replace(b"\x1b", b"?")
    data = noise + echo + mark("B") + noise
    told = shown(data, Typed(ID, len(noise), line, "make"), places=tuple(places))
    assert told.startswith(noise + b"make\r\n" if shell != "fish" else noise)
    assert told.endswith(noise)
    assert b"6973-" not in told


def test_what_follows_the_line_keeps_its_address() -> None:
    """A line that is found after it begins at a mark, where whoever reads from there is told nothing twice."""
    data, before, _, line = log_of("bash")
    lines, typed = TypedLines(), Typed(ID, before, line, "make")
    lines.know(typed)
    found = lines.feed(Chunk(0, data))
    start = data.index(mark("B"))
    assert [chunk.offset for chunk in found if chunk.data.startswith((b"\x1b[?2004l", mark("B")))] == [start, start]
    assert shown(data[start:], typed, first=start) == b"hi\r\nafter"
