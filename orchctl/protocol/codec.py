"""Messages to and from control frames. The only place that knows the serialiser.

A message is one JSON object: its fields, its `kind`, and the `id` of the request it is or answers.
Text that is not UTF-8 (paths, arguments, environment) travels as surrogate escapes, so that every
byte string of the operating system survives.
"""

from __future__ import annotations

import json
from typing import Any, get_args

from orchctl.errors import OrchctlError, PeerBroke, from_wire
from orchctl.model.values import from_plain, to_plain
from orchctl.protocol import messages
from orchctl.protocol.framing import Control, Frame, control_frame
from orchctl.protocol.hello import Hello

DEPTH_LIMIT = 16
_KINDS: dict[str, type[Any]] = {message.kind: message for message in get_args(messages.Message)}


def encode(number: int, message: messages.Message) -> bytes:
    """The frame that carries `message` for request `number`."""
    return control_frame(_dump({"id": number, "kind": message.kind, **to_plain(message)}))


def decode(frame: Frame) -> tuple[int, messages.Message]:
    """The request number and the message in a control frame."""
    data = _load(frame)
    number, kind = data.get("id"), data.get("kind")
    if type(number) is not int or number < 0 or number >= 1 << 32:
        raise PeerBroke("a message without a request number")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise UnknownKind(f"unknown verb {kind!r}", number)
    message: messages.Message = from_plain(_KINDS[kind], data)
    return number, message


class UnknownKind(PeerBroke):
    """A verb that is not in the table; it is answered, and the connection goes on."""

    code = "unknown-verb"

    def __init__(self, message: str, number: int = 0, *, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.number = number


def encode_hello(hello: Hello) -> bytes:
    """The frame that opens a connection."""
    return control_frame(_dump(to_plain(hello)))


def decode_hello(frame: Frame) -> Hello:
    """The other end's first words."""
    return from_plain(Hello, _load(frame))


def failed(error: OrchctlError) -> messages.Failed:
    """An error on its way to the other end."""
    return messages.Failed(error=type(error).__name__, code=error.code, message=error.message)


def error_of(message: messages.Failed) -> OrchctlError:
    """The error that arrived."""
    return from_wire(message.error, message.code, message.message)


def _dump(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")


def _load(frame: Frame) -> dict[str, Any]:
    if not isinstance(frame, Control):
        raise PeerBroke("a data frame came where a message was due", code="bad-frame")
    try:
        data = json.loads(frame.payload.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise PeerBroke("a control frame that is not JSON", code="bad-frame") from None
    if not isinstance(data, dict) or _too_deep(data, DEPTH_LIMIT):
        raise PeerBroke(f"a control frame is one JSON object, at most {DEPTH_LIMIT} deep", code="bad-frame")
    return data


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _too_deep(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_too_deep(item, left - 1) for item in items)
