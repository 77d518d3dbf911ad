"""orchctl and the rows that are each shell's own; and what a result tells of a pipe."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case
from tests.conformance.kinds import BASH, BOURNE, BUSYBOX, DASH, FISH, KSH93, MKSH, ZSH, Kind
from tests.conformance.own_traces import ALLEXPORT, LAST_WORD, LAST_WORDS, SHADOWED, ZSH_JOBS, ZSH_TYPED
from tests.conformance.own_traces import FISH as FISH_CASES
from tests.conformance.own_traces import ZSH as ZSH_CASES
from tests.conformance.runner import run
from tests.conformance.table import CASES
from tests.needs import marks
from tests.world import World

# rows of the table that are to hold here in every run
ALWAYS = {
    "a here-document without its end": (DASH, BUSYBOX),
    "small letters are turned into capitals": (*BOURNE, FISH),
    "tabs are turned into blanks": (*BOURNE,),
    "very few open files": (ZSH, DASH, FISH),
    "an ERR trap and a here-document": (ZSH, BUSYBOX, KSH93, MKSH),
    "a function over command, and a variable of its own": (ZSH, MKSH),
    "a function over command, and a directory of its own": (ZSH, MKSH),
}
ROWS = (
    *((kind, case) for case in CASES for kind in ALWAYS.get(case.name, ())),
    *((kind, case) for kind in (BASH, ZSH, DASH, BUSYBOX, MKSH) for case in LAST_WORD),
    *((kind, case) for kind in (ZSH, DASH, BUSYBOX, MKSH) for case in LAST_WORDS),
    *((ZSH, case) for case in (*ZSH_CASES, *ZSH_JOBS, *ZSH_TYPED)),
    *((FISH, case) for case in FISH_CASES),
    *((kind, case) for kind in (BASH, *BOURNE) for case in ALLEXPORT),
    *((kind, case) for kind in (ZSH, DASH, BUSYBOX, KSH93) for case in SHADOWED),
)


@pytest.mark.parametrize(
    ("kind", "case"), [pytest.param(*row, id=f"{row[0].name}: {row[1].name}", marks=marks(row[0].name)) for row in ROWS]
)
def test_a_text_finds_no_trace_in_its_own_words(shared_world: World, kind: Kind, case: Case) -> None:
    faults = run(shared_world, case, kind=kind)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in (BASH, ZSH, FISH)]
)
def test_a_result_tells_the_status_of_each_part_of_a_pipe(shared_world: World, kind: Kind) -> None:
    with shared_world.client() as client:
        shell = client.spawn(kind.command)
        try:
            assert shell.exec("false | true | sh -c 'exit 3'").pipestatus == (1, 0, 3)
            assert shell.exec("sh -c 'exit 4' | true").pipestatus == (4, 0)
            assert shell.exec("false").pipestatus == (1,)
            long = shell.exec(" | ".join(["true"] * 90))
            assert (long.exit_code, long.pipestatus) == (0, None)
        finally:
            shell.kill(grace_s=0)


def test_a_shell_that_does_not_know_tells_none(shared_world: World) -> None:
    with shared_world.client() as client:
        shell = client.spawn(DASH.command)
        try:
            assert shell.exec("false | true").pipestatus is None
        finally:
            shell.kill(grace_s=0)
