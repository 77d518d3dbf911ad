"""What programs ask of their terminal, and what a plain one answers. Pure."""

from __future__ import annotations

import re

_ANSWERS = {
    b"c": b"\x1b[?62;22c",  # what it is: a VT220 with colour
    b"0c": b"\x1b[?62;22c",
    b"5n": b"\x1b[0n",  # whether all is well
    b"6n": b"\x1b[1;1R",  # where the cursor is: whoever asks at a prompt wants to hear that the line is empty
}
_QUESTION = re.compile(rb"\x1b\[(0?c|[56]n)")


def answers(output: bytes, offset: int) -> list[tuple[int, bytes]]:
    """Each question in `output`, which begins at `offset`: where it ends, and its answer."""
    return [(offset + asked.end(), _ANSWERS[asked[1]]) for asked in _QUESTION.finditer(output)]
