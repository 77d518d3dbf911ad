"""A host for one opencode server without a supervisor: the process, the raw log in memory, and what was told."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from orchctl.agents.interface import Opening, Profile, Prompt, Server
from orchctl.agents.opencode import HARNESS
from orchctl.agents.opencode.http import Patience
from orchctl.agents.opencode.server import OpencodeServer
from orchctl.session.events import AgentEvent, NotOpened, Opened, Text, TurnEnded

T = TypeVar("T")
PATIENCE_S = 60.0
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchctl" / "harnesses"


def program() -> str | None:
    """The real one, where `.ci/harnesses` puts it."""
    folder = CACHE / "opencode-ai@1.18.33" / "node_modules"
    every = [folder / ".bin", *sorted(folder.glob("opencode-*/bin"))]  # npm may have been told to run no scripts
    return shutil.which("opencode", path=os.pathsep.join(map(str, every)))


def environment(home: str, model_url: str, **config: Any) -> dict[str, str]:
    """Nothing of the machine's user, and no address but the model's."""
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "lsp": False,
        "formatter": False,
        "enabled_providers": ["fake"],
        "model": "fake/fake-1",
        "small_model": "fake/fake-1",
        "provider": {
            "fake": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Fake",
                "options": {"baseURL": model_url, "apiKey": "x"},
                "models": {
                    name: {
                        "name": name,
                        "reasoning": True,
                        "tool_call": True,
                        "limit": {"context": 128000, "output": 8192},
                    }
                    for name in ("fake-1", "fake-2")
                },
            }
        },
        **config,
    }
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        **{f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "STATE", "CACHE")},
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "npm_config_registry": "http://127.0.0.1:9/",
    }


class MemoryHost:
    """The host's side of the interface."""

    def __init__(
        self, notes: Mapping[str, str], printed: Callable[[], bytes], patience: Patience | None = None
    ) -> None:
        self.raw: list[bytes] = []
        self.told: list[tuple[str, AgentEvent]] = []
        self.versions: list[str | None] = []
        self.why: list[str] = []
        self.replaying = False
        self._printed = printed
        self._news = asyncio.Event()
        self.server: Server = OpencodeServer(self, notes, patience)

    def ready(self, version: str | None) -> None:
        """It takes conversations."""
        self.versions.append(version)
        self._tell()

    def emit(self, session: str, *happenings: AgentEvent) -> None:
        """In order."""
        self.told += [(session, one) for one in happenings]
        self._tell()

    def write(self, line: bytes, session: str | None = None) -> None:
        """Nothing is on its stdin."""
        raise AssertionError(line)

    def keep_raw(self, payload: bytes) -> None:
        """Kept, then heard."""
        assert b"\n" not in payload
        self.raw.append(payload)
        self.server.hear(payload)

    def stdout(self) -> bytes:
        """What the process printed."""
        return self._printed()

    def broken(self, why: str) -> None:
        """Of no more use."""
        self.why.append(why)
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def until(self, holds: Callable[[], T | None]) -> T:
        """Wait for something to be told."""
        async with asyncio.timeout(PATIENCE_S):
            while (found := holds()) is None or found is False:
                await self._news.wait()
        return found

    def of(self, kind: type[T], session: str) -> list[T]:
        """What a session was told, of one kind."""
        return [one for whose, one in self.told if whose == session and isinstance(one, kind)]

    def text(self, session: str) -> str:
        """What the agent said to it."""
        return "".join(one.text for one in self.of(Text, session))

    async def opened(self, session: str, cwd: str, **more: Any) -> Opened | NotOpened:
        """Open one, whether it comes to that or not."""
        before = len(self.of(Opened, session)) + len(self.of(NotOpened, session))
        self.server.open(Opening(session=session, cwd=cwd, **more))

        def found() -> Opened | NotOpened | None:
            every = [one for who, one in self.told if who == session and isinstance(one, Opened | NotOpened)]
            return every[-1] if len(every) > before else None

        return await self.until(found)

    async def turn(self, session: str, text: str, once: str = "p1") -> TurnEnded:
        """One prompt, to the end of its turn."""
        self.server.send(session, Prompt(text=text, once=once))
        return await self.ended(session)

    async def ended(self, session: str, turns: int | None = None) -> TurnEnded:
        """The end of the turn that is open, or of that many turns."""
        wanted = turns or len(self.of(TurnEnded, session)) + 1
        return await self.until(lambda: next(iter(self.of(TurnEnded, session)[wanted - 1 :]), None))


@asynccontextmanager
async def attended(host: MemoryHost) -> AsyncIterator[MemoryHost]:
    """While this lasts, the backend does its own I/O."""
    task = asyncio.create_task(host.server.attend())
    task.add_done_callback(lambda _: host._tell())
    try:
        yield host
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Process:
    """A server's process, in a group of its own."""

    def __init__(self, process: asyncio.subprocess.Process, printed: Path, notes: Mapping[str, str]) -> None:
        self._process = process
        self._printed = printed
        self.notes = notes

    def host(self) -> MemoryHost:
        """A new one, as of a new supervisor."""
        return MemoryHost(self.notes, self._printed.read_bytes)

    @property
    def pid(self) -> int:
        """Of the server."""
        return self._process.pid

    async def kill(self) -> None:
        """At once."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()


@asynccontextmanager
async def process(found: str, env: Mapping[str, str], where: Path) -> AsyncIterator[Process]:
    """One that was started as the harness says."""
    profile = Profile(name="opencode", harness="opencode", env=env)
    launch = HARNESS.launch(profile, found, Opening(session="", cwd="/"))
    printed = where / f"printed-{launch.notes['port']}"
    with printed.open("wb") as out:
        started = await asyncio.create_subprocess_exec(
            *launch.argv,
            env={**env, **launch.env},
            cwd=where,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    one = Process(started, printed, launch.notes)
    try:
        yield one
    finally:
        await one.kill()
