"""The manual: a page a command, and an overview. What `--help` says, in the sections that a manual page has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchctl.lazy_dataclass import dataclass
from orchctl.version import VERSION
from tests.generate import overview, roff
from tests.generate.tree import Argument, Node, Option

DATE = "2026-11-17"  # when these pages took their form; fixed, so that the same commands give the same bytes
_CODES = re.compile(r"(\d+(?:, \d+)*)(?:,? (.*))?", re.DOTALL)
_MENTIONED = re.compile(r"orchctl ([a-z][a-z-]*)")
_BETWEEN = re.compile(r";(?![^(]*\))")
_EXITS = "Exit codes:"


@dataclass(frozen=True, slots=True)
class Help:
    """A docstring, taken apart."""

    paragraphs: tuple[str, ...]
    examples: tuple[str, ...]
    exits: str


def manual(root: Node) -> dict[str, str]:
    """Every page by its file name."""
    made = {f"orchctl-{node.name}.1": page(node) for node in root.nodes}
    return {"orchctl.1": _overview(root), **made}


def take_apart(text: str) -> Help:
    """Click's blocks that begin with a backspace are examples, tables and the exit codes; the rest is prose."""
    paragraphs, examples, exits = list[str](), list[str](), ""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() if "\b" in line else line for line in block.splitlines()]
        fixed = bool(lines) and lines[0].startswith("\b")
        lines = [line for line in lines[1:] if line.strip()] if fixed else lines
        joined = " ".join(line.strip() for line in lines)
        if joined.startswith(_EXITS):
            exits = joined.removeprefix(_EXITS).strip()
        elif fixed and "orchctl " in joined:
            examples += lines
        else:
            paragraphs.append("\b" + "\n".join(lines) if fixed else joined)
    return Help(tuple(paragraphs), tuple(examples), exits)


def page(node: Node) -> str:
    """The page of a command, with those below it if it is a group."""
    about, parts = take_apart(node.text), node.nodes
    helps = [take_apart(below.text) for below in parts]
    lines = [
        ".\\\" made by 'python -m tests.generate', not by hand",
        roff.title(f"orchctl-{node.name}", DATE, f"orchctl {VERSION}"),
        roff.section("NAME"),
        f"{roff.escape('orchctl-' + node.name)} \\- {roff.escape(_lowered(node.line))}",
        roff.section("SYNOPSIS"),
        *_synopses(parts or (node,)),
        roff.section("DESCRIPTION"),
        *_description(node, about),
    ]
    if parts:
        lines.append(roff.section("COMMANDS"))
        for below, told in zip(parts, helps, strict=True):
            lines += [roff.subsection(f"orchctl {below.name}"), *_description(below, told), *_options(below)]
    lines += [roff.section("OPTIONS"), *_options(node)]
    lines += [roff.section("EXIT STATUS"), *_exits(node, about, parts, helps)]
    examples = [*about.examples, *(line for told in helps for line in told.examples)]
    if examples:
        lines += [roff.section("EXAMPLES"), *roff.example(examples)]
    lines += [roff.section("SEE ALSO"), *_see_also(node)]
    return roff.page(lines)


def _synopses(nodes: Iterable[Node]) -> Iterator[str]:
    """Each command with all its options; nothing is hyphenated or broken inside brackets."""
    yield ".nh"
    for number, node in enumerate(nodes):
        if number:
            yield ".br"
        yield roff.bold(f"orchctl {node.name}")
        for option in node.options:
            if "--help" not in option.names:
                dots = " ...\\&" if option.repeatable else ""
                yield f"[{_spelled(option, '|', space=chr(92) + ' ')}]{dots}"
        for argument in node.arguments:
            yield _placeholder(argument)
    yield ".hy"


def _placeholder(argument: Argument) -> str:
    text = roff.italic(argument.metavar) + (" ..." if argument.many else "")
    return text if argument.required else f"[{text}]"


def _description(node: Node, told: Help) -> Iterator[str]:
    names = _names(node)
    for number, text in enumerate(told.paragraphs):
        if text.startswith("\b"):
            yield from roff.example(text[1:].splitlines())
        else:
            yield from roff.paragraph(text, names) if number else roff.prose(text, names)
    if node.aliases:
        also = ", ".join(f"'orchctl {alias}'" for alias in node.aliases)
        yield from roff.paragraph(f"It can be typed as {also} too.")


def _options(node: Node) -> Iterator[str]:
    for option in node.options:
        yield from roff.term(_spelled(option, ", "), option.help, _names(node))


def _spelled(option: Option, between: str, *, space: str = " ") -> str:
    names = between.join(roff.bold(name) for name in option.names)
    return f"{names}{space}{roff.italic(option.metavar)}" if option.value is not None else names


def _exits(node: Node, about: Help, parts: tuple[Node, ...], helps: list[Help]) -> Iterator[str]:
    if about.exits:
        yield from exit_status(about.exits, _names(node))
    for below, told in zip(parts, helps, strict=True):
        if told.exits:
            yield from roff.term(roff.bold(below.path[-1]), told.exits, _names(below))


def exit_status(text: str, names: Iterable[str] = ()) -> Iterator[str]:
    """A list of the codes, where most parts between semicolons begin with one; all else is prose."""
    first, _, rest = text.partition(". ")
    parts = [part.strip() for part in _BETWEEN.split(first.rstrip("."))]
    found = [_CODES.fullmatch(part) for part in parts]
    if 2 * sum(map(bool, found)) <= len(parts):
        yield from roff.prose(text[:1].upper() + text[1:], names)
        return
    for part, codes in zip(parts, found, strict=True):
        if codes is None:
            yield from roff.paragraph(_sentence(part), names)
        else:
            yield from roff.term(roff.bold(codes[1]), _sentence(codes[2] or "done"), names)
    if rest:
        yield from roff.paragraph(rest, names)


def _see_also(node: Node) -> Iterator[str]:
    text = " ".join([node.text, *(below.text for below in node.nodes), *(one.help for one in node.options)])
    known = {top for top in overview.commands() if top != node.name}
    pages = ["orchctl", *(f"orchctl-{name}" for name in sorted(set(_MENTIONED.findall(text)) & known))]
    for number, name in enumerate(pages):
        yield f".BR {roff.escape(name)} (1){',' if number + 1 < len(pages) else ''}"


def _overview(root: Node) -> str:
    about = take_apart(root.text)
    lines = [
        ".\\\" made by 'python -m tests.generate', not by hand",
        roff.title("orchctl", DATE, f"orchctl {VERSION}"),
        roff.section("NAME"),
        f"orchctl \\- {roff.escape(_lowered(root.line))}",
        roff.section("SYNOPSIS"),
        rf"\fBorchctl\fR [{roff.italic('OPTION')} ...] {roff.italic('COMMAND')} [{roff.italic('WORD')} ...]",
        roff.section("DESCRIPTION"),
        *overview.description(),
        *(line for text in about.paragraphs[1:] for line in roff.paragraph(text)),
        roff.section("COMMANDS"),
    ]
    for node in root.nodes:
        name = ", ".join(roff.bold(one) for one in (node.name, *node.aliases))
        below = ", ".join(one.path[-1] for one in node.nodes)
        lines += roff.term(name, node.line + (f" Its commands: {below}." if below else ""))
    lines += [roff.section("OPTIONS"), *roff.prose("These stand before the command:"), *_options(root)]
    lines += overview.sections()
    lines += [roff.section("EXAMPLES"), *roff.example(about.examples), *overview.examples()]
    lines += [roff.section("SEE ALSO")]
    pages = [f"orchctl-{node.name}" for node in root.nodes]
    lines += [f".BR {roff.escape(name)} (1){',' if name != pages[-1] else ''}" for name in pages]
    return roff.page(lines)


def _names(node: Node) -> set[str]:
    """What stands for something in this command's texts."""
    own = {one.metavar for one in node.arguments} | {one.metavar for one in node.options if one.value is not None}
    return own | {"SESSION", "SESSIONS"}


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
