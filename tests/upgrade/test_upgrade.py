"""An upgrade in place, from each version whose wheel is kept: nothing that was there before is lost or changes.

The earlier version is installed and at work; the present tree is installed over it by pip, while its supervisor,
zygote, pairs and clients run on; then the supervisor is replaced, in each of the ways in which that happens. At every
stage all reading verbs are asked, and what they say is compared with what they said before.

Processes of the earlier version load from the present tree what they load late: modules that they import when these
are first needed, and programs that they start by module name. So this fails, too, when one of these is renamed.
"""

from __future__ import annotations

import os
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchctl.cli.commands.completion import SCRIPTS
from orchctl.version import VERSION
from tests.upgrade import wheel
from tests.upgrade.installation import UpgradedWorld
from tests.upgrade.readings import Answers, check_all, read_all
from tests.upgrade.work import Work, work_under_way
from tests.world import World, until

Step = Callable[[Work], None]


def restart(work: Work) -> None:
    """As the manual says."""
    work.world.ok("supervisor", "restart")
    assert work.status()["version"] == VERSION


def kill_supervisor(work: Work) -> None:
    """The zygote starts another, by the name that its version knows."""
    pid = work.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: work.status()["pid"] not in (None, pid), "nobody has taken its place")
    assert work.status()["version"] == VERSION


def kill_zygote(work: Work) -> None:
    """The supervisor, if it was not replaced yet, starts another, by the name that its version knows."""
    os.kill(work.zygote, signal.SIGKILL)
    until(lambda: work.status()["zygote"] not in (None, work.zygote), "nobody has taken its place")


def kill_both(work: Work) -> None:
    """Whoever comes next begins anew."""
    for pid in (work.zygote, work.status()["pid"]):
        os.kill(pid, signal.SIGKILL)
    work.world.ok("supervisor", "start")


@pytest.fixture(scope="session")
def present(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the present tree."""
    return wheel.build_present(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(params=wheel.kept(), ids=wheel.version_of)
def work(request: pytest.FixtureRequest, world: World) -> Iterator[Work]:
    """An earlier version, installed and at work."""
    upgraded = UpgradedWorld(world.folder)
    upgraded.installed.install(request.param)
    assert upgraded.installed.version() == wheel.version_of(request.param) != VERSION
    with work_under_way(upgraded) as begun:
        assert begun.status()["version"] == wheel.version_of(request.param)
        yield begun


def test_an_upgrade_loses_nothing(work: Work, present: Path) -> None:
    _upgrade(work, present, restart)


@pytest.mark.long
@pytest.mark.parametrize(
    "steps",
    [(kill_supervisor, restart), (kill_zygote, restart), (kill_both, restart), (restart, kill_zygote)],
    ids=["supervisor", "zygote", "both", "retired-zygote"],
)
def test_an_upgrade_loses_nothing_when_processes_are_killed(work: Work, present: Path, steps: tuple[Step, ...]) -> None:
    _upgrade(work, present, *steps)


@pytest.mark.parametrize("earlier", wheel.kept(), ids=wheel.version_of)
def test_what_running_processes_start_by_name_is_there(earlier: Path, present: Path) -> None:
    started = wheel.started_by_name(earlier)
    assert "orchctl.supervisor" in started
    assert started - wheel.programs(present) == set()


def _upgrade(work: Work, present: Path, *steps: Step) -> None:
    world, before = work.world, read_all(work.world)
    earlier = work.status()
    world.installed.install(present)
    assert world.installed.version() == VERSION
    before = _stage(work, before, "installed")
    work.load_late()
    assert {name: work.status()[name] for name in ("pid", "zygote", "version")}.items() <= earlier.items()
    for step in steps:
        step(work)
        before = _stage(work, before, step.__name__)
    work.finish()
    work.end()


def _stage(work: Work, before: Answers, step: str) -> Answers:
    """After a step everything is as it was, and goes on."""
    now = read_all(work.world)
    check_all(before, now)
    work.go_on(step)
    return now


def test_a_wheel_has_the_scripts_that_completion_prints(present: Path) -> None:
    with zipfile.ZipFile(present) as archive:
        for name in SCRIPTS.values():
            assert archive.read(f"orchctl/cli/scripts/{name}") == (wheel.TOP / "completions" / name).read_bytes()
