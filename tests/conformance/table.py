"""Every case there is, theme by theme."""

from __future__ import annotations

from tests.conformance import (
    ends,
    forms,
    limits,
    mistakes,
    options,
    output,
    programs,
    redirection,
    scripts,
    state,
    terminal,
    text,
    traces,
    traps,
)

CASES = (
    *text.CASES,
    *mistakes.CASES,
    *state.CASES,
    *options.CASES,
    *traps.CASES,
    *output.CASES,
    *terminal.CASES,
    *ends.CASES,
    *redirection.CASES,
    *scripts.CASES,
    *programs.CASES,
    *forms.CASES,
    *limits.CASES,
    *traces.CASES,
)
CORE = tuple(case for case in CASES if case.core)
