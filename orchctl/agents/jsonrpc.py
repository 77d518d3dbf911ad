"""The client's end of a line-wise JSON-RPC conversation, as codex and ACP agents have it. No I/O.

Ids are texts that tell what was asked: `orchctl:WHAT:SESSION:MORE`. So an answer is understood by whoever reads it,
also by a supervisor that did not ask. A server can take only so many requests at once: the others wait here.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from orchctl.lazy_dataclass import dataclass

AT_ONCE = 32  # codex leaves some of several hundred without any answer
OVERLOADED = -32001
UNKNOWN_METHOD = -32601
_OURS = "orchctl"
Params = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a request of ours is about. `more` makes it unique: a prompt's own id, a count, a nonce."""

    what: str
    session: str = ""
    more: str = ""

    @property
    def id(self) -> str:
        """As it travels."""
        return ":".join((_OURS, self.what, self.session, self.more))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The server asks. `id` is to be given back as it is; 0 is one."""

    id: int | str
    method: str
    params: Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The server tells; nobody answers."""

    method: str
    params: Params
    message: Params  # all of it: some put fields beside `params`


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """To a request of ours: a result, or an error."""

    name: Name
    result: Any = None
    code: int | None = None  # of the error; None is success
    message: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """A line that is no message."""

    line: bytes


Heard = Asked | Told | Answer | Garbage


def name_of(found: object) -> Name | None:
    """The request of ours that goes by this id."""
    if not isinstance(found, str) or not found.startswith(f"{_OURS}:"):
        return None
    parts = found.split(":", 3)
    return Name(what=parts[1], session=parts[2], more=parts[3]) if len(parts) == 4 else None


def read(line: bytes) -> Heard:
    """What a line says; told apart by the keys, in this order, because ids of both sides may be the same."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Garbage(line=line)
    if not isinstance(found, dict):
        return Garbage(line=line)
    method, number, params = found.get("method"), found.get("id"), found.get("params")
    if isinstance(method, str):
        given = params if isinstance(params, dict) else {}
        if isinstance(number, int | str):
            return Asked(id=number, method=method, params=given)
        return Told(method=method, params=given, message=found)
    return _answer(name_of(number), found) or Garbage(line=line)


def _answer(name: Name | None, found: Params) -> Answer | None:
    error = found.get("error")
    if name is not None and isinstance(error, dict):
        code = error.get("code")
        return Answer(
            name=name,
            code=code if isinstance(code, int) else 0,
            message=str(error.get("message", "")),
            data=error.get("data"),
        )
    return Answer(name=name, result=found["result"]) if name is not None and "result" in found else None


class Peer:
    """Asks and answers. `write` takes lines; `members` are put into every message (`{"jsonrpc": "2.0"}` for ACP)."""

    def __init__(self, write: Callable[[bytes], None], members: Params | None = None) -> None:
        self._write = write
        self._members = members or {}
        self._open: dict[str, Params] = {}  # requests that are under way
        self._waiting: deque[tuple[str, Params]] = deque()

    @property
    def owed(self) -> bool:
        """Whether an answer is due."""
        return bool(self._open)

    def ask(self, name: Name, method: str, params: Params | None = None) -> None:
        """Send a request, or keep it until others are answered."""
        message = {**self._members, "id": name.id, "method": method, "params": params or {}}
        if len(self._open) >= AT_ONCE:
            self._waiting.append((name.id, message))
        else:
            self._open[name.id] = message
            self._say(message)

    def tell(self, method: str, params: Params | None = None) -> None:
        """Send a notification."""
        self._say({**self._members, "method": method, **({"params": params} if params is not None else {})})

    def result(self, number: int | str, result: Any) -> None:
        """Answer a request of the server's."""
        self._say({**self._members, "id": number, "result": result})

    def refuse(self, number: int | str, message: str, code: int = UNKNOWN_METHOD) -> None:
        """Say no to a request of the server's."""
        self._say({**self._members, "id": number, "error": {"code": code, "message": message}})

    def take(self, answer: Answer) -> bool:
        """An answer has come, and makes room; False when the server was too busy and is asked again."""
        message = self._open.pop(answer.name.id, None)
        again = answer.code == OVERLOADED and message is not None
        if again and message is not None:
            self._waiting.append((answer.name.id, message))
        if self._waiting and (len(self._open) < AT_ONCE and not (again and len(self._waiting) == 1 and self._open)):
            name, message = self._waiting.popleft()
            self._open[name] = message
            self._say(message)
        return not again

    def _say(self, message: Params) -> None:
        self._write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
