"""What is remembered of ended sessions is forgotten when they have changed."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from orchctl.log import segments
from orchctl.log.session_files import SessionStore
from orchctl.protocol.messages import Prune, Pruned
from orchctl.session import layout
from orchctl.supervisor.prune import Pruning

DAY_S = 86400.0


def would_go(keeper: Pruning, **asked: Any) -> Pruned:
    return asyncio.run(keeper.prune(Prune(dry_run=True, **asked)))


def test_a_session_that_ended_again_is_as_old_as_its_last_end(tmp_path: Path) -> None:
    out = tmp_path / "one" / layout.OUTPUT
    out.mkdir(parents=True)
    (out / segments.name(0)).write_bytes(b"x" * 100)
    (tmp_path / "one" / layout.ENDED).write_text("{}")
    os.utime(tmp_path / "one" / layout.ENDED, (1, 1))
    registry = SimpleNamespace(archive=SimpleNamespace(ids=lambda: ["one"]))
    house = SimpleNamespace(store=SessionStore(str(tmp_path)), clock=SimpleNamespace(now=time.time))
    app = SimpleNamespace(house=house, registry=registry)
    keeper = Pruning(cast(Any, app))
    assert would_go(keeper, older_than_s=7 * DAY_S).sessions == ("one",)
    (out / segments.name(100)).write_bytes(b"y" * 50)  # another run
    os.utime(tmp_path / "one" / layout.ENDED)
    assert would_go(keeper, older_than_s=7 * DAY_S).sessions == ()
    assert would_go(keeper, keep_bytes=0).output_bytes == 150
