"""Which program a profile means, with which environment, and what it says of itself."""

from __future__ import annotations

import asyncio
import fnmatch
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace

from orchctl.agents import registry
from orchctl.agents.interface import Harness, Opening, Profile
from orchctl.config import Config
from orchctl.errors import BadInput, CommandNotFound
from orchctl.log.session_files import Spec
from orchctl.protocol.messages import SpawnSession
from orchctl.session.agent import Agent, Permission

USUAL = (  # what any program needs, and nothing that tells of the terminal of whoever asks
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSL_CERT_*",
    "*_proxy",
    "*_PROXY",
    "ORCHCTL_STATE_DIR",
)
VERSION_S = 10.0
AGENT = "agent"  # what clients say in place of a command
_NUMBERS = re.compile(r"\d+")


def resolved(config: Config, asked: SpawnSession) -> SpawnSession:
    """The same with its backend: where only a profile is given, that says which."""
    if asked.backend:
        return asked
    profile = config.profiles.get(asked.profile or "")
    if profile is None:
        raise unknown_profile(config, asked.profile or "")
    return replace(asked, backend=profile.harness)


def checked(config: Config, asked: SpawnSession) -> tuple[Agent, dict[str, str]]:
    """What is asked for, if it can be; and what its server gets of the environment. Nothing is started."""
    harness = find(asked.backend)
    profile = profile_of(config, harness.name, asked.profile)
    if asked.command not in ((), (AGENT,)):
        raise BadInput(f"a session with {harness.name} has no command; a prompt goes with --prompt", code="usage")
    if asked.permission is not None and asked.permission not in list(Permission):
        raise BadInput(f"{asked.permission!r} is none of ask, allow and deny", code="bad-permission")
    if asked.restart != "no":
        raise BadInput(f"{harness.name} sessions are resumed by themselves; --restart is not for them", code="usage")
    permission = Permission(asked.permission) if asked.permission else profile.permission or Permission.ASK
    env = _startable(harness, profile, asked.cwd, None, asked.env, asked.given)
    agent = Agent(profile=profile.name, model=asked.model or profile.model, permission=permission, resume=asked.resume)
    opening = Opening(session=asked.session_id, cwd=asked.cwd, permission=permission, model=agent.model)
    harness.check(profile, opening)
    return agent, env


def check_again(
    config: Config, spec: Spec, agent: Agent, asker: dict[str, str], kept: dict[str, str] | None
) -> dict[str, str]:
    """What its server gets of the environment in another run, if there can be one. Nothing is started."""
    harness = find(spec.backend)
    profile = profile_of(config, harness.name, agent.profile)
    return _startable(harness, profile, spec.cwd, kept, asker, {})


def _startable(
    harness: Harness,
    profile: Profile,
    cwd: str,
    kept: dict[str, str] | None,
    asker: Mapping[str, str],
    given: Mapping[str, str],
) -> dict[str, str]:
    """The environment of a server for a conversation there, if it can be started."""
    if not os.path.isdir(cwd):
        raise BadInput(f"cannot start in {cwd!r}: no such directory", code="bad-cwd")
    env = kept or environment(harness, profile, asker, given)
    installed(harness, profile, env.get("PATH", os.defpath))
    return env


def profile_of(config: Config, backend: str, name: str | None) -> Profile:
    """The profile that is meant: of that name, else of the harness's own name, else the harness as it is."""
    found = config.profiles.get(name or backend)
    if found is None and name is not None and name != backend:
        raise unknown_profile(config, name)
    if found is None:
        return Profile(name=backend, harness=backend)
    if found.harness != backend:
        message = f"the profile {found.name!r} is for {found.harness}, not for {backend}"
        raise BadInput(message, code="unknown-profile")
    return found


def unknown_profile(config: Config, name: str) -> BadInput:
    """With those that there are."""
    known = ", ".join(sorted(config.profiles)) or "none"
    return BadInput(f"there is no profile {name!r} in config.toml; there are: {known}", code="unknown-profile")


def installed(harness: Harness, profile: Profile, path: str) -> str:
    """The program, or how to get it."""
    found = harness.program(profile, path)
    if found is None:
        what = f"{profile.argv[0]!r} of the profile {profile.name!r}" if profile.argv else harness.name
        raise CommandNotFound(f"{what} is not installed; {harness.install}", code="harness-not-installed")
    return found


def environment(
    harness: Harness, profile: Profile, asker: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """What a server gets of the environment of whoever asks, and what the profile and the asker add."""
    names = (*USUAL, *harness.passes)
    passed = {name: value for name, value in asker.items() if any(fnmatch.fnmatchcase(name, one) for one in names)}
    env = {**passed, **profile.env, **given}
    return env if any(env.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")) else {**env, "LANG": "C.UTF-8"}


def key_of(harness: Harness, profile: Profile, env: Mapping[str, str], session: str) -> str:
    """Conversations with the same key share a server; a digest, because an environment holds secrets."""
    what = [harness.name, profile.name, list(profile.argv), sorted(env.items()), "" if harness.shared else session]
    return hashlib.blake2b(json.dumps(what).encode(), digest_size=16).hexdigest()


def is_tested(harness: Harness, version: str | None) -> bool:
    """Whether the contract suite has passed on versions like it."""
    lowest, highest = map(_parts, harness.tested)
    return (
        version is not None and lowest <= _parts(version)[: len(lowest)] and _parts(version)[: len(highest)] <= highest
    )


def untested(harness: Harness, version: str | None) -> tuple[str, ...]:
    """The warning about it."""
    if is_tested(harness, version):
        return ()
    lowest, highest = harness.tested
    return (f"{harness.name} {version or 'of an unknown version'} is not tested; tested are {lowest} to {highest}",)


async def version_of(harness: Harness, program: str) -> str | None:
    """What it prints when asked."""
    process = await asyncio.create_subprocess_exec(
        program,
        "--version",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(VERSION_S):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    return harness.version_of(printed.decode("utf-8", "replace"))


def find(backend: str) -> Harness:
    """The harness behind `spawn -b`."""
    return registry.find(backend)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(version)[:4])
