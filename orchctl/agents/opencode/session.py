"""What is asked of the server for one session; each to its end before the next. The answers go into the raw log."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from orchctl.agents.interface import Opening, Prompt, Reply
from orchctl.agents.opencode import records, requests
from orchctl.agents.opencode.http import Answer, NoAnswer
from orchctl.agents.opencode.link import Line, Streams
from orchctl.agents.opencode.records import message_id, part_id, time_after
from orchctl.session.events import Need

METADATA = "orchctl"  # under which a conversation bears our id
_ABORTS, _ABORT_AGAIN_S = 30, 1.0
_POSTS, _POST_AGAIN_S = 3, 0.5
_LISTED = "200"
_ID = re.compile(r"ses_\w+", re.ASCII)


class _NotOpened(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Rooms:
    """Directories: a conversation is not begun in one that is just being cleared."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}

    def __getitem__(self, directory: str) -> asyncio.Lock:
        return self._locks.setdefault(directory, asyncio.Lock())


class Asking:
    """For one session."""

    def __init__(self, session: str, line: Line, streams: Streams, rooms: Rooms) -> None:
        self.session = session
        self.model: str | None = None
        self._line = line
        self._streams = streams
        self._rooms = rooms

    # -- a conversation

    async def open(self, opening: Opening) -> None:
        """Begin or resume one, unless the directory or the model is not what was asked for."""
        self.model = opening.model
        directory = os.path.realpath(opening.cwd)  # as the server names it, in its events too
        async with self._rooms[directory]:
            await self._streams.connected(directory)
            try:
                model = await self._model(opening.model, directory)
                native = opening.native.get("id")
                marks = {METADATA: self.session, records.KEPT: dict(opening.tools_env)}
                info = await (self._resumed(native, directory, marks) if native else self._begun(directory, marks))
            except _NotOpened as error:
                self._line.note(records.NOT_OPENED, session=self.session, code=error.code, message=str(error))
                return
            self._line.note(
                records.OPENED,
                session=self.session,
                native=str(info["id"]),
                directory=directory,
                model=model or None,
                version=info.get("version"),
            )

    async def _model(self, wanted: str | None, directory: str) -> str:
        """That will be used: the one asked for, if there is such a one, else the server's own choice."""
        answer = await self._ask("GET", "/config/providers", directory=directory)
        value: Mapping[str, Any] = answer.value if answer.ok and isinstance(answer.value, dict) else {}
        known = {f"{one['id']}/{model}" for one in value.get("providers", ()) for model in one.get("models", ())}
        if not answer.ok:
            raise _NotOpened("bad-config", f"the configuration is not usable: {answer.said}")
        if not known:
            raise _NotOpened("no-model", "no provider of models is configured; 'opencode auth login' adds one")
        if wanted is None:
            own = await self._ask("GET", "/config", directory=directory)
            chosen = own.value.get("model") if own.ok and isinstance(own.value, dict) else None
            return str(chosen or "")
        if wanted not in known:
            some = ", ".join(sorted(known)[:8])
            raise _NotOpened("unknown-model", f"there is no model {wanted!r}; there are {some}")
        return wanted

    async def _resumed(self, native: str, directory: str, marks: Mapping[str, Any]) -> Mapping[str, Any]:
        if not _ID.fullmatch(native):
            raise _NotOpened("no-conversation", f"{native!r} is no conversation; opencode calls them ses_…")
        answer = await self._ask("GET", f"/session/{native}", directory=directory)
        if not answer.ok or not isinstance(answer.value, dict):
            raise _NotOpened("no-conversation", f"there is no conversation {native!r}: {answer.said}")
        info: Mapping[str, Any] = answer.value
        if info.get("directory") != directory:
            where = f"the conversation {native} is in {info.get('directory')}, not in {directory}"
            raise _NotOpened("wrong-directory", where)
        if self._line.translator.session_of(native) not in (None, self.session):
            raise _NotOpened("conversation-in-use", f"another session holds the conversation {native}")
        metadata = {**(info.get("metadata") or {}), **marks}
        await self._ask("PATCH", f"/session/{native}", {"metadata": metadata}, directory=directory)
        return info

    async def _begun(self, directory: str, marks: Mapping[str, Any]) -> Mapping[str, Any]:
        """A supervisor may have been killed before it heard that it was begun: then it is there."""
        listed = await self._ask("GET", "/session", None, directory=directory, roots="true", limit=_LISTED)
        for one in listed.value if listed.ok and isinstance(listed.value, list) else ():
            if (one.get("metadata") or {}).get(METADATA) == self.session and one.get("directory") == directory:
                found: Mapping[str, Any] = one
                return found
        # with a title of its own it does not ask the model for one
        body = {"title": f"orchctl {self.session[:8]}", "metadata": marks}
        answer = await self._ask("POST", "/session", body, directory=directory)
        if not answer.ok or not isinstance(answer.value, dict):
            raise _NotOpened("not-opened", f"the conversation was not begun: {answer.said}")
        if answer.value.get("directory") != directory:
            where = f"the conversation was begun in {answer.value.get('directory')}, not in {directory}"
            raise _NotOpened("wrong-directory", where)
        info: Mapping[str, Any] = answer.value
        return info

    async def close(self) -> None:
        """Stop what runs; the last one in a directory has the server let it go, with everything that runs there."""
        conversation, directory = self._line.conversation(self.session), self._line.translator.directory(self.session)
        if conversation is not None and directory is not None:
            await self.interrupt()
            await self._ask("POST", f"/session/{conversation.native}/abort", directory=directory)
            async with self._rooms[directory]:
                if self._line.translator.sessions_in(directory) == [self.session]:
                    self._streams.leave(directory)
                    await self._ask("POST", "/instance/dispose", directory=directory)
                self._line.note(records.CLOSED, session=self.session)
        else:
            self._line.note(records.CLOSED, session=self.session)

    # -- a turn

    async def send(self, prompt: Prompt) -> None:
        """Under an id of our own: said again, it is the same prompt."""
        conversation, directory = self._line.conversation(self.session), self._line.translator.directory(self.session)
        if conversation is None or directory is None:
            return
        await self._streams.connected(directory)
        newest = await self._newest(conversation.native, directory)
        now_ms = time_after(int(time.time() * 1000), newest)
        seed = f"{self.session}:{prompt.once}"
        message = message_id(now_ms, seed)
        body: dict[str, Any] = {
            "messageID": message,
            "parts": [{"type": "text", "id": part_id(now_ms, seed), "text": prompt.text}],
        }
        if self.model is not None:
            provider, _, model = self.model.partition("/")
            body["model"] = {"providerID": provider, "modelID": model}
        self._line.note(records.POSTING, session=self.session, once=prompt.once, message=message)
        answer = await self._ask("POST", f"/session/{conversation.native}/prompt_async", body, directory=directory)
        if answer.ok:
            self._line.note(records.POSTED, session=self.session, once=prompt.once)
        elif answer.status < 500 or not await self._has(message, directory):
            code = "conversation-gone" if answer.status == 404 else "bad-prompt"
            self._refused(prompt.once, code, answer.said)

    async def _newest(self, native: str, directory: str) -> str | None:
        answer = await self._ask("GET", f"/session/{native}/message", None, directory=directory, limit="1")
        found = answer.value if answer.ok and isinstance(answer.value, list) else []
        return str(found[-1]["info"]["id"]) if found else None

    async def settle(self) -> None:
        """Whether a prompt that the last supervisor was about to post has arrived. Nobody posts it any more."""
        turn, directory = self._line.turn(self.session), self._line.translator.directory(self.session)
        if turn is None or turn.delivered or directory is None:
            return
        if await self._has(turn.message, directory):
            self._line.note(records.POSTED, session=self.session, once=turn.once)
        else:
            self._refused(turn.once, "not-delivered", "the prompt did not reach the server")

    async def _has(self, message: str, directory: str) -> bool:
        conversation = self._line.conversation(self.session)
        native = conversation.native if conversation is not None else ""
        return (await self._ask("GET", f"/session/{native}/message/{message}", directory=directory)).ok

    def _refused(self, once: str, code: str, text: str) -> None:
        self._line.note(records.REFUSED, session=self.session, once=once, code=code, text=text)

    async def interrupt(self) -> None:
        """Until the turn has ended: an abort before it has really begun is lost."""
        turn, directory = self._line.turn(self.session), self._line.translator.directory(self.session)
        conversation = self._line.conversation(self.session)
        if turn is None or directory is None or conversation is None:
            return
        self._line.note(records.STOPPING, session=self.session)
        await self._line.until(lambda: turn.busy or self._line.turn(self.session) is not turn, _ABORT_AGAIN_S)
        for _ in range(_ABORTS):
            if self._line.turn(self.session) is not turn:
                return
            await self._ask("POST", f"/session/{conversation.native}/abort", directory=directory)
            await self._line.until(lambda: self._line.turn(self.session) is not turn, _ABORT_AGAIN_S)
        self._line.host.broken("the agent's server does not stop working on a turn")

    async def reply(self, request: str, reply: Reply) -> None:
        """Once; where somebody else was faster it is not open any more."""
        conversation, directory = self._line.conversation(self.session), self._line.translator.directory(self.session)
        need = conversation.requests.get(request) if conversation is not None else None
        if need is None or directory is None:
            return
        body: Mapping[str, Any]
        if need.need is Need.PERMISSION:
            body, place = requests.permission_body(reply), "permission"
            said = str(body["reply"])
        else:
            body, place = requests.question_body(reply, len(need.details["questions"])), "question"
            said = reply.text or reply.choice or ""
        path = f"/{place}/{request}/reply"
        answer = await self._ask("POST", path, body, directory=directory)
        if answer.status == 404:
            said = requests.WITHDRAWN
        if answer.ok or answer.status == 404:
            self._line.note(records.ANSWERED, session=self.session, request=request, reply=said)

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, **params: str) -> Answer:
        """Everything here does no harm when it is asked twice; a server that hangs is not asked again."""
        for attempt in range(1, _POSTS + 1):
            try:
                return await self._line.door.ask(method, path, body, **params)
            except NoAnswer as error:
                if error.hangs or attempt == _POSTS:
                    raise
                await asyncio.sleep(_POST_AGAIN_S)
        raise AssertionError("never")
