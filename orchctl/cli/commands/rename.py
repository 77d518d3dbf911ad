"""`rename` and `label`: what a session is called, and what is noted about it."""

from __future__ import annotations

import click

from orchctl.cli.app import App, pass_app, refuse_if
from orchctl.cli.options import sessions_argument
from orchctl.cli.output import Form, forms
from orchctl.client.calls.sessions import selection_of
from orchctl.session.model import Selection, Session
from orchctl.terminal import one_line


@click.command("rename")
@click.option("--none", "unnamed", is_flag=True, help="Take its name away.")
@click.argument("session")
@click.argument("name", required=False)
@forms
@pass_app
def rename_command(app: App, session: str, name: str | None, unnamed: bool, form: Form) -> None:
    """Give the live SESSION another NAME. The name it had is free from then on.

    \b
    orchctl rename @last db
    orchctl rename db --none

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 5 name taken;
    8 no supervisor answers.
    """
    refuse_if((name is None) != unnamed, "Give a NAME, or --none.")
    with app.client() as client:
        found = client.rename(session, name)
    form.one(found)


@click.command("label")
@click.option("--remove", "gone", multiple=True, metavar="KEY", help="Take this label away; repeatable.")
@click.option("--set", "given", multiple=True, metavar="K=V", help="The same as a word K=V.")
@sessions_argument(required=False)
@forms
@pass_app
def label_command(app: App, selection: Selection, gone: tuple[str, ...], given: tuple[str, ...], form: Form) -> None:
    """Set labels of live SESSIONS, given as words KEY=VALUE; without any, show them.

    \b
    orchctl label db team=storage tier=1
    orchctl label --remove tier db
    orchctl label -m orchestrator:coordinator-001 phase=test
    orchctl list -l team=storage

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    words = [word for word in selection.sessions if "=" in word]
    labels = dict(word.split("=", 1) for word in (*words, *_checked(given)))
    chosen = _without(selection, words)
    refuse_if(chosen.empty, "Name sessions, or choose them with @MANAGER, -m, -l, --repo or --all.")
    with app.client() as client:
        found = list(client.select(chosen, ended_too=not (labels or gone)))
        if labels or gone:
            found = [client.label(session.id, labels, remove=gone) for session in found]
    form.results(found, single=chosen.single, words=None if labels or gone else lambda: _show(found))


def _checked(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        refuse_if("=" not in word, f"{word!r} is not KEY=VALUE.")
    return words


def _without(selection: Selection, words: list[str]) -> Selection:
    return selection_of(
        [word for word in selection.sessions if word not in words],
        managers=selection.managers,
        labels=selection.labels,
        repo=selection.repo,
        everything=selection.everything,
    )


def _show(sessions: list[Session]) -> None:
    for session in sessions:
        for key, value in sorted(session.labels.items()):
            name = session.name or session.id[:8]
            click.echo(one_line(f"{key}={value}" if len(sessions) == 1 else f"{name}  {key}={value}"))
