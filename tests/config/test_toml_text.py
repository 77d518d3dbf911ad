"""Where keys stand in TOML: whatever can be written, the locator finds the same keys as the standard library."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.config.table import locate

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
    assert locate(TEXT) == {
        ("a",): 2,
        ("b c", "d"): 3,
        ("t",): 5,
        ("t", "x"): 6,
        ("t", "y"): 10,
        ("t", "y", "p"): 10,
        ("t", "y", "p", "q"): 10,
        ("t", "y", "r.s"): 10,
        ("t", "z"): 11,
        ("t", "u:v"): 15,
        ("t", "u:v", "when"): 16,
        ("t", "u:v", "f"): 17,
        ("many",): 18,
        ("many", "n"): 19,
    }


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only", "a=1", "a = 1\r\nb = 2\r\n", 'a = """"""', 'a = """x""""', "a = ''"]
)
def test_small_files_are_scanned_whole(text: str) -> None:
    assert set(locate(text)) == _leaves(tomllib.loads(text))


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
    paths = locate(text)
    above = {path[:size] for path in paths for size in range(1, len(path))}
    assert set(paths) | above == _leaves(data)
    for path, line in paths.items():
        assert f"{path[-1]}" in text.splitlines()[line - 1]
