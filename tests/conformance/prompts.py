"""Texts that make a prompt's marks by hand, in each shell's own way: none of them ends by that. Data only."""

from __future__ import annotations

from tests.conformance.case import Case, Step, one

AFTER = rb"(?s).*after\n"


def _by_hand(text: str, *, nested: str, three: str = "(exit 3)") -> tuple[Case, ...]:
    """The hook once, again and again with pauses, before work that is silent, in a nested shell, and past its time."""
    return (
        one("a prompt by hand", f"{text}; echo after; {three}", exit=3, match=AFTER),
        one(
            "a prompt by hand and a pause",
            f"{text}; sleep 0.3; {text}; sleep 0.3; echo after; {three}",
            exit=3,
            match=AFTER,
        ),
        one(
            "a prompt by hand before silent work",
            f"{text}; sh -c 'sleep 2.5'; echo after; {three}",
            exit=3,
            match=AFTER,
        ),
        one("prompts of a nested shell", f"{nested}; echo after; {three}", exit=3, match=AFTER),
        Case(
            "a prompt by hand and a time-out",
            (Step(f"{text}; echo after; sleep 1000; echo never", 124, match=AFTER, timeout_s=1.5),),
        ),
    )


_PS1 = 'eval "echo \\"$PS1\\""'
CASES: dict[str, tuple[Case, ...]] = {
    "bash": (
        *_by_hand(
            'for c in "${PROMPT_COMMAND[@]}"; do eval "$c"; done',
            nested='echo "echo in" | PS1=$PS1 PROMPT_COMMAND=$PROMPT_COMMAND bash --norc -i',
        ),
        one("the first of the prompt's commands", 'eval "$PROMPT_COMMAND"; echo after; (exit 3)', exit=3, match=AFTER),
        one(
            "a prompt that is printed",
            'printf "%s\\n" "${PS1@P}"; sleep 0.3; echo after; (exit 3)',
            exit=3,
            match=AFTER,
        ),
    ),
    "zsh": (
        *_by_hand('for f in $precmd_functions; do "$f"; done', nested="PS1=$PS1 zsh -f -i -c 'print -P -- \"$PS1\"'"),
        one("a prompt that is printed", 'print -P -- "$PS1"; sleep 0.3; echo after; (exit 3)', exit=3, match=AFTER),
    ),
    "fish": (
        *_by_hand("emit fish_prompt", nested="echo 'emit fish_prompt' | fish --no-config", three="sh -c 'exit 3'"),
        one("another event by hand", "emit fish_cancel; sleep 0.3; echo after; sh -c 'exit 3'", exit=3, match=AFTER),
        one("the event after a command by hand", "emit fish_postexec; echo after; sh -c 'exit 3'", exit=3, match=AFTER),
    ),
    "dash": _by_hand(_PS1, nested='export PS1; echo "echo in" | dash -i'),
    "busybox": _by_hand(_PS1, nested='export PS1; echo "echo in" | busybox ash -i'),
    "ksh93": _by_hand(_PS1, nested='export PS1; echo "echo in" | ksh93 -i'),
    "mksh": _by_hand(_PS1, nested='export PS1; echo "echo in" | mksh -i'),
}
