"""Text as man(7) takes it: escaped, with options and placeholders marked. ASCII whatever the text says."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

_CHARS = {
    "\\": r"\e",
    "-": r"\-",  # a minus: what is copied from the page must be what was meant
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
}
WIDTH = 76  # of the source; nobody sees it, but mandoc minds more than 80
_SENTENCE = re.compile(r"(?<=[.?!]) +(?=[A-Z'`\"(-])")
_QUOTED = r"'orchctl [^']+'|`[^`]+`"
_OPTION = r"(?<![\w\-./'])--?[a-zA-Z](?:[\w-]*\w)?"
_NAME = r"(?<![\w$-])[A-Z][A-Z-]*(?:x[A-Z]+)?(?![\w=])"
_ITEM = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<option>{_OPTION})|{_NAME}")


def escape(text: str) -> str:
    """One piece of text, anywhere in a line but for its begin."""
    return "".join(_CHARS.get(char) or (char if " " <= char <= "~" else f"\\[u{ord(char):04X}]") for char in text)


def bold(text: str) -> str:
    """To be typed as it is."""
    return rf"\fB{escape(text)}\fR"


def italic(text: str) -> str:
    """To be replaced."""
    return rf"\fI{escape(text)}\fR"


def line(text: str) -> str:
    """A line of text that is already escaped, safe from being taken for a request."""
    return rf"\&{text}" if text.startswith((".", "'")) else text


def prose(text: str, names: Iterable[str] = ()) -> list[str]:
    """A paragraph, each sentence on lines of its own; options and what was quoted are bold, `names` are italic."""
    known = set(names)
    sentences = [_marked(sentence, known) for sentence in _SENTENCE.split(" ".join(text.split()))]
    return [line(part) for sentence in sentences for part in _wrapped(sentence)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def _marked(text: str, names: set[str]) -> str:
    made, end = "", 0
    for found in _ITEM.finditer(text):
        made += escape(text[end : found.start()])
        word, end = found[0], found.end()
        if found["quoted"]:
            made += bold(word[1:-1])
        elif found["option"]:
            made += bold(word)
        else:
            made += italic(word) if word in names else escape(word)
    return made + escape(text[end:])


def paragraph(text: str, names: Iterable[str] = ()) -> list[str]:
    """The same, set apart."""
    return [".PP", *prose(text, names)]


def term(head: str, text: str, names: Iterable[str] = ()) -> list[str]:
    """A row of a list; its head is escaped already."""
    return [".TP", line(head), *prose(text, names)]


def example(lines: Sequence[str]) -> list[str]:
    """As it is, line by line."""
    return [".PP", ".EX", *(line(escape(one)) for one in lines), ".EE"]


def inset(lines: Sequence[str]) -> list[str]:
    """Further in than the paragraph before."""
    return [".RS 4", *lines, ".RE"]


def section(title: str) -> str:
    """The begin of a section."""
    return f".SH {_argument(title)}"


def subsection(title: str) -> str:
    """The begin of a part of a section."""
    return f".SS {_argument(title)}"


def title(name: str, date: str, version: str) -> str:
    """The first line of a page."""
    return f".TH {_argument(name.upper())} 1 {date} {_argument(version)}"


def _argument(text: str) -> str:
    return f'"{escape(text)}"' if " " in text or not text else escape(text)


def page(lines: Iterable[str]) -> str:
    """The text of a file; a paragraph that begins a section needs no space before it."""
    made: list[str] = []
    for one in lines:
        if one != ".PP" or not made[-1].startswith((".SH", ".SS")):
            made.append(one)
    return "\n".join(made) + "\n"
