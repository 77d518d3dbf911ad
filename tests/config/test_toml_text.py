"""Where keys stand in TOML: whatever can be written, the scanner finds the same keys as the standard library."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.config.toml_text import scan

TEXT = '''# first
a = 1 # one
"b c" . d = 'x # y' # two

[t]   # a table
x = [
  1, # ]
  "]",
]
y = { p = { q = 1 }, "r.s" = "}" }
z = """
[no]
k = 1
"""
[ t . "u:v" ]
when = 1979-05-27 07:32:00
f = -1.5e3
[[many]]
n = \'\'\'it's\'\'\'
'''


def _leaves(data: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if not isinstance(data, dict):
        return {path}
    return {leaf for name, value in data.items() for leaf in _leaves(value, (*path, name))} | (
        {path} if path else set()
    )


def test_keys_values_and_tables_are_found_with_their_lines() -> None:
    entries, headers = scan(TEXT)
    found = {entry.path: (entry.line, TEXT[entry.value : entry.end]) for entry in entries}
    assert found == {
        ("a",): (2, "1"),
        ("b c", "d"): (3, "'x # y'"),
        ("t", "x"): (6, '[\n  1, # ]\n  "]",\n]'),
        ("t", "y"): (10, '{ p = { q = 1 }, "r.s" = "}" }'),
        ("t", "y", "p"): (10, "{ q = 1 }"),
        ("t", "y", "p", "q"): (10, "1"),
        ("t", "y", "r.s"): (10, '"}"'),
        ("t", "z"): (11, '"""\n[no]\nk = 1\n"""'),
        ("t", "u:v", "when"): (16, "1979-05-27 07:32:00"),
        ("t", "u:v", "f"): (17, "-1.5e3"),
        ("many", "n"): (19, "'''it's'''"),
    }
    assert [(one.path, one.line, one.many) for one in headers] == [
        (("t",), 5, False),
        (("t", "u:v"), 15, False),
        (("many",), 18, True),
    ]
    assert [TEXT[one.start : one.end].strip() for one in headers] == ["[t]   # a table", '[ t . "u:v" ]', "[[many]]"]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only", "a=1", "a = 1\r\nb = 2\r\n", 'a = """"""', 'a = """x""""', "a = ''"]
)
def test_small_files_are_scanned_whole(text: str) -> None:
    assert {entry.path for entry in scan(text)[0]} == _leaves(tomllib.loads(text))


scalars = st.sampled_from(['"a"', "1", "-0.5", "true", "'[x]'", '"""\na = 1\n"""', '[1, "]", # }\n 2]', '"#"', '"\\""'])
keys = st.sampled_from(["a", "b", "c-d", '"e f"', '"g:h"', "'i.j'", "a.b", 'c . "d"'])
inline = st.lists(st.tuples(keys, scalars), max_size=3).map(
    lambda pairs: "{ " + ", ".join(f"{key} = {value}" for key, value in pairs) + " }"
)
lines = st.one_of(
    st.tuples(keys, scalars | inline).map(lambda pair: f"{pair[0]} = {pair[1]} # c"),
    keys.map(lambda key: f"[{key}]"),
    st.sampled_from(["", "# [x]", "  # a = 1"]),
)


@settings(max_examples=400)
@given(st.lists(lines, max_size=8))
def test_it_finds_the_keys_that_the_standard_library_finds(parts: list[str]) -> None:
    text = "\n".join(parts)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    entries, headers = scan(text)
    paths = {entry.path for entry in entries} | {header.path for header in headers}
    above = {path[:size] for path in paths for size in range(1, len(path))}
    assert paths | above == _leaves(data)
    for entry in entries:
        value: Any = data
        for name in entry.path:
            value = value[name]
        assert tomllib.loads(f"v = {text[entry.value : entry.end]}")["v"] == value
        assert entry.line == text.count("\n", 0, entry.start) + 1
