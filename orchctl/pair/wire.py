"""What a pair and a supervisor say to each other. FROZEN: pairs live on through upgrades, so
old pairs must understand new supervisors and the other way round.

    u8 kind | u32 length | payload

Truth is on disk (`run.jnl` and the segments); what a pair sends is a nudge to look there, or the
receipt for an input. A pair greets every connection with HELLO.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

# supervisor → pair
INPUT = ord("I")  # 16 bytes naming this input, then the bytes to type
WATCH = ord("W")  # u64 offset: nudge me once the log is longer than this
RESIZE = ord("R")  # u16 columns, u16 rows
SIGNAL = ord("S")  # u32 signal number, for the terminal's foreground group
KILL = ord("K")  # f64 seconds of grace, then by force
LOOK = ord("L")  # tell me what the terminal and its foreground are like
SWEEP = ord("X")  # u64 clock ticks since boot, u32 signal: to what the program started since then; 0 only counts
HOLD = ord("H")  # u64 offset: somebody still reads from here on; NOBODY takes it back
TRIM = ord("T")  # u64: keep no more than so many bytes of output, whoever reads
ROLL = ord("N")  # begin a new segment
PAUSE = ord("P")  # u32: 1 stops all its processes, 0 lets them go on
SIGNAL_PROGRAM = ord("Z")  # u32 signal number, for the program itself
WHO_IS_LEFT = ord("Q")  # tell me which processes run besides the program
KEEP_ENVIRONMENT = ord("E")  # another run will follow: write down the environment that this one was started with
DOES_IT_WAIT = ord("A")  # u64 of the asker's choice: tell me whether anybody in it sleeps until there is input
ECHO = ord("O")  # u32: 1 has the terminal show what is typed, 0 not
FENCE = ord(
    "F"
)  # u64 epoch: from now on type nothing that was allowed under an earlier one; a pair with FENCING knows it
INPUT_AT = ord("U")  # u64 epoch it was allowed under, then as INPUT; the same
PIPES = ord("V")  # a command's id, then a NUL: open its two FIFOs and drain them; a pair with PIPING knows it
DRAIN = ord("D")  # u8, a command's id, a NUL: it is over, store what is in its FIFOs (0), or drop it (1); the same
END_INPUT = ord("C")  # u64 epoch, 16 bytes naming it: what is typed ends here; a pair with ENDING knows it

# pair → supervisor
HELLO = ord("h")  # JSON: protocol, keeper, mover, child, stalled, features
GREW = ord("g")  # the log grew past what WATCH named
JOURNAL = ord("j")  # run.jnl grew
SEEN = ord("s")  # JSON: foreground group, its name, terminal modes, what was typed, its directory, whom SIGNAL reached
SWEPT = ord("x")  # u32: how many processes that was
STALLED = ord("b")  # UTF-8: why the log takes no more bytes, or nothing once it does
LEFT = ord("q")  # JSON: their numbers
KEPT = ord("k")  # the environment is written down
WAITS = ord("a")  # that u64, then JSON: what the kernel says, whether of the program itself, the terminal's local modes
PIPED = ord("v")  # that id, a NUL, and then UTF-8: why they cannot be opened, or nothing once both processes hold them
DRAINED = ord("d")  # what DRAIN said: nothing more is stored of them
TYPED = ord("t")  # 16 bytes of the input's name, u32 bytes taken, u8 outcome

TYPED_ALL = 0
TYPED_BLOCKED = 1  # the program does not read; the rest was dropped
TYPED_TOO_LONG = 2  # a line longer than the terminal takes; nothing was typed
TYPED_STALE = 3  # the epoch is over; what of it was not typed yet never is
TYPED_MAYBE = 4  # the mover died while it typed: perhaps more was typed than is told; the rest was dropped

FENCING = "fence"  # a feature: what is typed carries its epoch
PIPING = "pipes"  # a feature: the mover drains the FIFOs of commands whose stdout and stderr come apart
ENDING = "eof"  # a feature: the input of a program on pipes can be ended; answered by TYPED, of no bytes
TAKEN = "taken"  # a feature: the next mover knows each input by its name, and how much of it was typed

LIMIT_BYTES = 1 << 20
HEAD = struct.Struct(">BI")
OFFSET = struct.Struct(">Q")
SIZE = struct.Struct(">HH")
NUMBER = struct.Struct(">I")
FLAG = struct.Struct(">B")
SECONDS = struct.Struct(">d")
SWEEPING = struct.Struct(">QI")
RECEIPT = struct.Struct(">16sIB")
ONCE_BYTES = 16
ANSWER = b"\0answer\0"  # how an input is named that nobody typed: a terminal's answer to what its program asked
NOBODY = (1 << 64) - 1


def frame(kind: int, payload: bytes = b"") -> bytes:
    """The bytes of one frame."""
    return HEAD.pack(kind, len(payload)) + payload


class Broken(Exception):
    """The other end does not speak this language."""


class Decoder:
    """Gives whole frames back, however the bytes were cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Each frame that `data` completes, as its kind and payload."""
        self._buffer += data
        while len(self._buffer) >= HEAD.size:
            kind, length = HEAD.unpack_from(self._buffer)
            if length > LIMIT_BYTES:
                raise Broken(f"a frame of {length} bytes")
            end = HEAD.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[HEAD.size : end])
            del self._buffer[:end]
            yield kind, payload
