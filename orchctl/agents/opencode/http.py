"""HTTP and server-sent events to one opencode server. The only module that knows httpx.

It speaks to 127.0.0.1 and nowhere else, through no proxy, with the password that this server was started with.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

import httpx
import httpx_sse

from orchctl.lazy_dataclass import dataclass

USER = "opencode"
logging.getLogger("httpx").setLevel(logging.WARNING)  # it would log every request
_GLANCE_S = 0.2
_ANSWER_LIMIT = 256 << 20  # bytes; a hundred messages with large outputs are far below


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited for what."""

    answer_s: float = 60.0  # mostly well under one; the first in a directory takes ten on a busy machine
    silence_s: float = 30.0  # on a stream the server says something every 10 s
    tries: int = 8  # to have a stream, about 10 s; then the server is of no use, though its process is there
    silences: int = 2  # in a row
    look_again_s: float = 1.0  # the end of a turn comes a third of a second after it is announced, on a slow machine
    looks: int = 5


class NoAnswer(Exception):
    """The server did not answer, or not so that it can be understood. `hangs`: it took the request and was silent."""

    def __init__(self, why: str, *, hangs: bool = False) -> None:
        super().__init__(why)
        self.hangs = hangs


@contextmanager
def understood() -> Iterator[None]:
    """JSON of another form than any version that was tried is no answer."""
    try:
        yield
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise NoAnswer(f"an answer is not understood ({type(error).__name__}: {error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back. `value` is None where there is nothing to read."""

    status: int
    value: Any = None
    next: str | None = None  # where the page before this one begins

    @property
    def ok(self) -> bool:
        """Whether it did what it was asked."""
        return 200 <= self.status < 300

    @property
    def said(self) -> str:
        """Why not, in the server's words: it has three ways to say it."""
        value = self.value if isinstance(self.value, dict) else {}
        data = value.get("data")
        message = data.get("message") if isinstance(data, dict) else value.get("message")
        return str(message or value.get("name") or value.get("_tag") or f"status {self.status}").partition("\n")[0]


class Door:
    """The way to one server."""

    def __init__(self, port: int, password: str, patience: Patience) -> None:
        self.patience = patience
        self._client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            auth=(USER, password),
            timeout=httpx.Timeout(patience.answer_s, connect=5.0, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=8),
            trust_env=False,
        )

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, **params: str) -> Answer:
        """One request, with the directory that it is about among its parameters."""
        try:
            async with self._client.stream(method, path, params=params, json=body) as response:
                data = await _limited(response)
        except httpx.TimeoutException as error:
            raise NoAnswer(f"no answer to {method} {path} ({type(error).__name__})", hangs=True) from None
        except httpx.HTTPError as error:
            raise NoAnswer(f"no answer to {method} {path} ({type(error).__name__})") from None
        try:
            value = json.loads(data) if data else None
        except ValueError:
            if response.status_code < 300:
                raise NoAnswer(f"the answer to {method} {path} is not JSON") from None
            value = None
        return Answer(status=response.status_code, value=value, next=response.headers.get("x-next-cursor"))

    async def is_a_strangers(self, path: str) -> bool:
        """Whether somebody answers there who is not opencode; whoever does not answer at once may be."""
        try:
            answer = await self._client.get(path, auth=_nobody, timeout=_GLANCE_S)
        except httpx.HTTPError:
            return False
        return answer.status_code not in (200, 401)

    async def status_without_password(self, path: str) -> int:
        """What somebody gets who does not know it."""
        try:
            answer = await self._client.get(path, auth=_nobody)
        except httpx.HTTPError as error:
            raise NoAnswer(f"no answer to GET {path} ({type(error).__name__})") from None
        return answer.status_code

    async def events(self, directory: str) -> AsyncGenerator[bytes, None]:
        """The payloads of a directory's stream, until it ends."""
        limits = httpx.Timeout(self.patience.answer_s, connect=5.0, read=self.patience.silence_s, pool=None)
        params = {"directory": directory}
        try:
            async with httpx_sse.aconnect_sse(self._client, "GET", "/event", params=params, timeout=limits) as source:
                if source.response.status_code != 200:
                    raise NoAnswer(f"the stream of events was refused (status {source.response.status_code})")
                async with aclosing(source.aiter_sse()) as events:
                    async for event in events:
                        # JSON in one line, whatever a server makes of it: the log has one payload in a line
                        yield event.data.replace("\n", " ").encode("utf-8", "replace")
        except httpx_sse.SSEError:
            raise NoAnswer("the stream of events is none") from None
        except httpx.HTTPError as error:
            hangs = isinstance(error, httpx.TimeoutException)
            raise NoAnswer(f"the stream of events broke ({type(error).__name__})", hangs=hangs) from None


def _nobody(request: httpx.Request) -> httpx.Request:
    return request


async def _limited(response: httpx.Response) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > _ANSWER_LIMIT:
            raise NoAnswer("an answer was too long")
    return bytes(data)
