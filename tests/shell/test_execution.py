"""A command followed by its marks: its own end counts, then the next prompt, and nothing else does."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.shell.execution import INTERRUPTED, End, Execution
from orchctl.shell.marks import Mark

PROPERTY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
OWN, OTHER = "0badcafe", "deadbeef"
PROMPTS = 7  # there had been so many when it was typed
Told = tuple[str, tuple[str, ...]]

BEGIN: Told = ("B", (OWN,))
OUTPUT: Told = ("C", (OWN,))
statuses = st.integers(0, 255)
ends = st.builds(lambda status: ("D", (OWN, str(status))), statuses)
prompts = st.builds(lambda k, status: ("P", (str(k), str(status))), st.integers(PROMPTS + 1, PROMPTS + 4), statuses)
old_prompts = st.builds(lambda k, status: ("P", (str(k), str(status))), st.integers(0, PROMPTS), statuses)
others = st.tuples(st.sampled_from("BCD"), st.builds(lambda status: (OTHER, str(status)), statuses))
unknown = st.tuples(st.sampled_from(["", "Z", "b", "PP", OWN]), st.just((OWN, "0")) | st.just(("99", "0")))
broken = st.sampled_from([("B", ()), ("C", ()), ("D", ()), ("P", ()), ("P", ("",)), ("P", ("x", "0"))])
noise = st.lists(old_prompts | others | unknown | broken, max_size=4)
parts = st.lists(st.sampled_from([BEGIN, OUTPUT]) | ends | prompts | old_prompts | others | broken, max_size=5)
stories = st.builds(lambda before, begin, after: before + begin + after, parts, st.just([BEGIN]) | st.just([]), parts)


def laid_out(story: list[Told]) -> list[Mark]:
    """The marks one after another in a log, ten bytes each."""
    return [Mark(kind, args, 10 * at, 10 * at + 10) for at, (kind, args) in enumerate(story, 1)]


def told(execution: Execution, story: list[Told]) -> End | None:
    """How the command ended, by the first mark that says so."""
    return next((end for mark in laid_out(story) if (end := execution.take(mark)) is not None), None)


def expected(story: list[Told]) -> End | None:
    """The same, by looking at the whole story at once."""
    begun = next((at for at, told in enumerate(story) if told in (BEGIN, OUTPUT)), None)
    if begun is None:
        return None
    newest = max([PROMPTS, *(number(args) for kind, args in story[:begun] if kind == "P")])
    for at in range(begun + 1, len(story)):
        kind, args = story[at]
        own_end, new_prompt = kind == "D" and args[:1] == (OWN,), kind == "P" and number(args) > newest
        if own_end or new_prompt:
            first_output = next((place for place in range(at) if story[place] == OUTPUT), None)
            start = 10 * ((begun if first_output is None else first_output) + 2)
            code = int(args[1]) if own_end else int(args[1]) or INTERRUPTED
            completion = "marks" if own_end else "prompt"
            return End(code, completion, start, 10 * (at + 1), first_output is not None)
    return None


def number(args: tuple[str, ...]) -> int:
    return int(args[0]) if args and args[0].isdigit() else 0


@PROPERTY
@given(stories)
def test_any_story_ends_as_it_does_when_seen_as_a_whole(story: list[Told]) -> None:
    assert told(Execution(OWN, PROMPTS), story) == expected(story)


@PROPERTY
@given(stories, st.data())
def test_marks_of_others_and_old_or_unknown_or_broken_ones_mean_nothing_anywhere(
    story: list[Told], data: st.DataObject
) -> None:
    plain, noisy = Execution(OWN, PROMPTS), Execution(OWN, PROMPTS)
    for mark in laid_out(story):
        for kind, args in data.draw(noise):
            assert noisy.take(Mark(kind, args, mark.start, mark.start)) is None
        end = plain.take(mark)
        assert noisy.take(mark) == end
        assert (noisy.began_at, noisy.output_at, noisy.dropped) == (plain.began_at, plain.output_at, plain.dropped)
        if end is not None:
            return


@PROPERTY
@given(stories)
def test_a_command_that_did_not_begin_does_not_end(story: list[Told]) -> None:
    assert told(Execution(OWN, PROMPTS), [one for one in story if one not in (BEGIN, OUTPUT)]) is None


@PROPERTY
@given(statuses, st.lists(prompts, min_size=1))
def test_its_own_end_wins_over_the_prompts_that_follow(status: int, after: list[Told]) -> None:
    story: list[Told] = [BEGIN, OUTPUT, ("D", (OWN, str(status))), *after]
    assert told(Execution(OWN, PROMPTS), story) == End(status, "marks", 30, 30, ran=True)


@PROPERTY
@given(statuses)
def test_a_prompt_before_its_own_end_means_that_it_was_cancelled(status: int) -> None:
    end = told(Execution(OWN, PROMPTS), [BEGIN, OUTPUT, ("P", ("8", str(status)))])
    assert end == End(status if status else 130, "prompt", 30, 30, ran=True)


@PROPERTY
@given(st.lists(prompts, min_size=1))
def test_a_prompt_before_the_begin_means_that_the_line_was_dropped(before: list[Told]) -> None:
    execution = Execution(OWN, PROMPTS)
    assert told(execution, before) is None
    assert execution.dropped
    assert told(execution, [BEGIN, *before]) is None  # those prompts are old by now
    assert execution.take(Mark("P", ("99", "3"), 500, 530)) == End(3, "prompt", 20, 500, ran=False)


@PROPERTY
@given(old_prompts)
def test_a_prompt_that_was_shown_before_is_no_news(old: Told) -> None:
    execution = Execution(OWN, PROMPTS)
    assert told(execution, [old, BEGIN, old, OUTPUT, old]) is None
    assert not execution.dropped


def test_text_that_did_not_parse_never_ran_and_ends_all_the_same() -> None:
    assert told(Execution(OWN, PROMPTS), [BEGIN, ("D", (OWN, "2"))]) == End(2, "marks", 20, 20, ran=False)


def test_a_command_that_shows_its_own_first_marks_again_changes_nothing() -> None:
    story = [BEGIN, OUTPUT, BEGIN, OUTPUT, ("D", (OWN, "0"))]
    assert told(Execution(OWN, PROMPTS), story) == End(0, "marks", 30, 50, ran=True)


def test_output_lies_from_the_end_of_the_one_mark_to_the_start_of_the_other() -> None:
    execution = Execution(OWN, 0)
    assert execution.take(Mark("B", (OWN,), 100, 130)) is None
    assert (execution.began_at, execution.output_at) == (130, None)
    assert execution.take(Mark("C", (OWN,), 133, 160)) is None
    assert execution.output_at == 160
    assert execution.take(Mark("D", (OWN, "3"), 200, 230)) == End(3, "marks", 160, 200, ran=True)


@pytest.mark.parametrize("order", list(itertools.permutations([BEGIN, OUTPUT, ("P", ("8", "0")), ("D", (OWN, "4"))])))
def test_every_order_of_the_four_marks_ends_as_the_whole_story_says(order: tuple[Told, ...]) -> None:
    assert told(Execution(OWN, PROMPTS), list(order)) == expected(list(order))


def test_what_the_prompt_prints_is_not_the_commands() -> None:
    cancelled = told(Execution(OWN, PROMPTS), [BEGIN, OUTPUT, ("A", (OWN,)), ("P", (str(PROMPTS + 1), "130"))])
    assert cancelled == End(130, "prompt", 30, 30, ran=True)
    others = told(Execution(OWN, PROMPTS), [BEGIN, OUTPUT, ("A", (OTHER,)), ("P", (str(PROMPTS + 1), "130"))])
    assert others == End(130, "prompt", 30, 40, ran=True)
    ended = told(Execution(OWN, PROMPTS), [BEGIN, OUTPUT, ("A", (OWN,)), ("D", (OWN, "0"))])
    assert ended == End(0, "marks", 30, 40, ran=True)


@given(statuses, statuses)
def test_a_prompt_may_tell_the_end_of_a_command_that_could_not(status: int, end: int) -> None:
    execution = Execution(OWN, PROMPTS)
    told = laid_out([BEGIN, OUTPUT, ("P", (str(PROMPTS + 1), str(status), "ims", str(end), OWN))])
    assert [execution.take(mark) for mark in told][-1] == End(end, "marks", 30, 30, ran=True)


@given(statuses)
def test_a_prompt_that_tells_no_end_means_that_it_was_cancelled(status: int) -> None:
    execution = Execution(OWN, PROMPTS)
    told = laid_out([BEGIN, OUTPUT, ("P", (str(PROMPTS + 1), str(status), "ims", "", OWN))])
    assert [execution.take(mark) for mark in told][-1] == End(status or INTERRUPTED, "prompt", 30, 30, ran=True)


def test_a_line_that_was_run_without_marks_is_not_to_be_typed_again() -> None:
    execution = Execution(OWN, PROMPTS)
    (prompt,) = laid_out([("P", (str(PROMPTS + 1), "0", "ims", "0", OWN))])
    assert execution.take(prompt) is None
    assert (execution.unheard, execution.dropped) == (True, False)
    execution = Execution(OWN, PROMPTS)
    (prompt,) = laid_out([("P", (str(PROMPTS + 1), "0", "ims", "0", OTHER))])
    assert execution.take(prompt) is None
    assert (execution.unheard, execution.dropped) == (False, True)


def test_a_shell_may_have_statuses_of_its_own() -> None:
    execution = Execution(OWN, PROMPTS, lambda status: status - 128)
    told = laid_out([BEGIN, OUTPUT, ("D", (OWN, "271"))])
    assert [execution.take(mark) for mark in told][-1] == End(143, "marks", 30, 30, ran=True)
