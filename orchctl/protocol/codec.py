"""Messages to and from control frames. The only place that knows the serialiser.

A message is one JSON object: its fields, its `kind`, and the `id` of the request it is or answers.
Text that is not UTF-8 (paths, arguments, environment) travels as surrogate escapes, so that every
byte string of the operating system survives; any other lone surrogate is refused.

An object is at most 16 deep and has at most 64 keys, none of them twice. Only a map of text to text,
such as an environment, may have more: the frame's size bounds it.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, get_args

from orchctl.errors import BadInput, Conflict, LimitReached, OrchctlError, PeerBroke, ProtocolMismatch, from_wire
from orchctl.lazy_dataclass import dataclass
from orchctl.plain import from_plain, to_plain
from orchctl.protocol import messages
from orchctl.protocol.frames import REQUEST_LIMIT_BYTES, Control, Frame, control_frame

DEPTH_LIMIT = 16
KEY_LIMIT = 64
_INTEGERS = range(-(1 << 63), 1 << 64)  # what any field of ours can mean
_DIGITS_LIMIT = 20
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # perhaps half a pair, perhaps after another backslash
_NOT_A_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # U+DC80 to U+DCFF stand for bytes
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_KINDS: dict[str, type[Any]] = {}  # those that came; subjects are imported when one of their messages comes


def encode(number: int, message: messages.Message) -> bytes:
    """The frame that carries `message` for request `number`."""
    return control_frame(_dump({"id": number, "kind": message.kind, **to_plain(message)}))


def encode_request(number: int, message: messages.Request) -> bytes:
    """The frame that carries a request; one that would be refused is never sent."""
    payload = _dump({"id": number, "kind": message.kind, **to_plain(message)})
    check_request(payload)
    return control_frame(payload)


def check_request(payload: bytes) -> None:
    """Refuse what no request may be, whatever it asks for."""
    if len(payload) > REQUEST_LIMIT_BYTES:
        what = f"a request of {len(payload)} bytes, with its command, environment and prompt"
        raise LimitReached(f"{what}; at most {REQUEST_LIMIT_BYTES}", code="too-large")
    if _NUL.search(payload):
        raise BadInput("a NUL byte in a name, a command, a prompt, a directory or the environment", code="nul-byte")


def size_of(value: object) -> int:
    """How many bytes a value takes in a message."""
    return len(_dump(to_plain(value)))


def decode(frame: Frame) -> tuple[int, messages.Message]:
    """The request number and the message in a control frame."""
    data = _load(frame)
    number, kind = data.get("id"), data.get("kind")
    if type(number) is not int or number < 0 or number >= 1 << 32:
        raise PeerBroke("a message without a request number")
    if isinstance(kind, str) and kind not in _KINDS:
        _learn(kind)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise UnknownKind(f"unknown verb {kind!r}", number)
    message: messages.Message = from_plain(_KINDS[kind], data)
    return number, message


def _learn(kind: str) -> None:
    _KINDS.update({message.kind: message for message in messages.imported()})
    if kind not in _KINDS:
        _KINDS.update({message.kind: message for message in get_args(messages.Message)})


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


def _dump(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")


def _load(frame: Frame) -> dict[str, Any]:
    if not isinstance(frame, Control):
        raise _bad("a data frame came where a message was due")
    try:
        data = _JSON.decode(frame.payload.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _bad("a control frame that is not JSON") from None
    if not isinstance(data, dict) or _too_deep(data, DEPTH_LIMIT):
        raise _bad(f"a control frame is one JSON object, at most {DEPTH_LIMIT} deep")
    if _SURROGATE.search(frame.payload) and _has_half_characters(data):
        raise _bad("a message with half a character in it")
    return data


def _bad(why: str) -> PeerBroke:
    return PeerBroke(why, code="bad-frame")


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS_LIMIT or (number := int(digits)) not in _INTEGERS:
        raise _bad("a number of more than 64 bits")
    return number


def _fraction(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise _bad("a number that is too large")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _bad("an object that has a key twice")
    if len(found) > KEY_LIMIT and not all(isinstance(value, str) for value in found.values()):
        raise _bad(f"an object of {len(found)} keys; at most {KEY_LIMIT}, unless it maps text to text")
    return found


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_refuse)


def _too_deep(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_too_deep(item, left - 1) for item in items)


def _has_half_characters(value: Any) -> bool:
    if isinstance(value, str):
        return _NOT_A_BYTE.search(value) is not None
    if isinstance(value, dict):
        return any(map(_has_half_characters, value)) or any(map(_has_half_characters, value.values()))
    return isinstance(value, list) and any(map(_has_half_characters, value))


PROTOCOL = 1
# What was added since the first release, and a client may have to know.
FEATURES = ("credit", "snapshot", "leases", "stdin", "commands")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Who speaks: the protocol number, the build's version, its features and its process."""

    protocol: int
    version: str = ""
    features: tuple[str, ...] = ()
    pid: int = 0


def check(theirs: Hello) -> None:
    """Refuse a supervisor whose protocol is not ours; features, not versions, say what it can do."""
    if theirs.protocol != PROTOCOL:
        raise ProtocolMismatch(
            f"the supervisor (pid {theirs.pid}, version {theirs.version or 'unknown'}) speaks protocol "
            f"{theirs.protocol}, this orchctl speaks {PROTOCOL}; 'orchctl supervisor stop' still works"
        )


def require(theirs: Hello, feature: str) -> None:
    """Refuse to ask for what a supervisor of an older version would pass over without a word."""
    if feature and feature not in theirs.features:
        raise Conflict(
            f"the running supervisor is of version {theirs.version or 'unknown'}, which cannot do this ({feature}); "
            "'orchctl supervisor restart' replaces it and ends no session",
            code="older-version",
        )
