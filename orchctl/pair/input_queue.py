"""Inputs on their way into a terminal, in memory that both processes of a pair share.

A mover may be killed in the middle of an input, or take the place of a killed keeper. The next mover finds here which
inputs wait and in which order, how many bytes of each are taken, and the receipts that were given.

    head     8 words: bytes of the unfinished line, what is staged (see `feed.py`): by which input, up to where; and
             the highest slot that was ever used, so that nobody touches memory that is not needed
    slots    8 words each: sequence number (0: free), name (2), epoch, length, where its bytes are, taken, state
    bytes    of the inputs that wait

`taken` is a number of bytes, doubled; odd while a write is under way that nobody can look up. A word is stored in one
piece, and a slot's sequence number last of all, so that a killed process leaves nothing half-written. An input that
finds no room for its bytes is typed all the same, but not handed on.
"""

from __future__ import annotations

import mmap
import struct
from collections import OrderedDict
from dataclasses import dataclass

from orchctl.pair import wire

SLOTS = 512
REMEMBERED = 256  # receipts kept for askers that lost theirs
DATA_BYTES = 2 << 20  # twice the longest frame
GIVEN_BACK_BYTES = 1 << 16  # so much memory is not kept for the next inputs
_WORDS = 8
_SEQUENCE, _NAME, _EPOCH, _LENGTH, _PLACE, _TAKEN, _STATE = 0, 1, 3, 4, 5, 6, 7
_LINE, _STAGED_BY, _STAGED_TO, _USED = range(4)
_WAITS, _END, _DONE = 0, 1, 2  # states: to be typed, to end the input, and the outcome plus this
_NOWHERE = (1 << 64) - 1
_NAMES = struct.Struct("=QQ")
_TABLE_BYTES = 8 * _WORDS * (1 + SLOTS)
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0)


@dataclass(slots=True)
class Input:
    """One request to type something."""

    asker: int
    once: bytes
    data: bytes
    epoch: int = 0
    end: bool = False  # nothing to type: the input ends here
    taken: int = 0
    slot: int = -1
    sequence: int = 0
    doubt: bool = False  # a write was under way when the mover before this one died


class Inputs:
    """Of one session."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _TABLE_BYTES + DATA_BYTES, flags=mmap.MAP_SHARED | _NO_RESERVE)
        self._words = memoryview(self._memory)[:_TABLE_BYTES].cast("Q")
        self._slots = dict[bytes, int]()
        self._free = list(range(SLOTS, 0, -1))  # the lowest last, which is used first
        self._next = 1
        self._waiting = 0
        self._end = 0  # of the bytes that are kept

    def restore(self) -> tuple[list[Input], OrderedDict[bytes, bytes]]:
        """What a mover finds when it starts: the inputs that wait and the receipts, each in order."""
        highest = self._words[_USED]
        used = sorted((self._words[_WORDS * slot], slot) for slot in range(1, highest + 1))
        used = [(sequence, slot) for sequence, slot in used if sequence]
        self._free = sorted({*range(1, SLOTS + 1)} - {slot for _, slot in used}, reverse=True)
        self._slots.clear()
        self._next = 1 + (used[-1][0] if used else 0)
        self._waiting = self._end = 0
        waiting, receipts = list[Input](), OrderedDict[bytes, bytes]()
        for _, slot in used:
            one = self._read(slot)
            self._slots[one.once] = slot
            state = self._words[_WORDS * slot + _STATE]
            place, length = self._words[_WORDS * slot + _PLACE], self._words[_WORDS * slot + _LENGTH]
            if state < _DONE and place != _NOWHERE:
                self._waiting += 1
                self._end = max(self._end, place + length)
                waiting.append(one)
            elif state < _DONE and not one.taken and not one.doubt:
                self.forget_receipt(one.once)  # whoever asks again has it typed
            elif state < _DONE:  # its bytes are gone; whoever asks again hears how many were typed
                self._words[_WORDS * slot + _STATE] = _DONE + wire.TYPED_MAYBE
                receipts[one.once] = wire.RECEIPT.pack(one.once, one.taken, wire.TYPED_MAYBE)
            else:
                receipts[one.once] = wire.RECEIPT.pack(one.once, one.taken, state - _DONE)
        return waiting, receipts

    def _read(self, slot: int) -> Input:
        words = self._words[_WORDS * slot : _WORDS * (slot + 1)]
        once, start, length = _NAMES.pack(*words[_NAME:_EPOCH]), words[_PLACE], words[_LENGTH]
        data = self._memory[_TABLE_BYTES + start : _TABLE_BYTES + start + length] if start != _NOWHERE else b""
        one = Input(-1, once, data, words[_EPOCH], end=words[_STATE] == _END, taken=words[_TAKEN] >> 1)
        one.slot, one.sequence, one.doubt = slot, words[_SEQUENCE], bool(words[_TAKEN] & 1)
        return one

    def begin(self, one: Input) -> None:
        """A new input, the last of those that wait."""
        if not self._free:
            return
        one.slot, one.sequence, self._next = self._free.pop(), self._next, self._next + 1
        self._slots[one.once] = one.slot
        self._words[_USED] = max(self._words[_USED], one.slot)
        self._waiting += 1
        base, start = _WORDS * one.slot, self._end
        if start + len(one.data) <= DATA_BYTES:
            self._memory[_TABLE_BYTES + start : _TABLE_BYTES + start + len(one.data)] = one.data
            self._end += len(one.data)
        else:
            start = _NOWHERE
        fields = (*_NAMES.unpack(one.once), one.epoch, len(one.data), start, 0, _END if one.end else _WAITS)
        for word, value in enumerate(fields, base + _NAME):
            self._words[word] = value
        self._words[base] = one.sequence

    def count(self, one: Input, *, doubt: bool = False) -> None:
        """So many of its bytes are taken; with `doubt` perhaps more, until it is counted again."""
        if one.slot >= 0:
            self._words[_WORDS * one.slot + _TAKEN] = one.taken << 1 | doubt

    def finish(self, one: Input, outcome: int) -> None:
        """It waits no more, and its receipt is kept."""
        if one.slot >= 0:
            self._words[_WORDS * one.slot + _STATE] = _DONE + outcome
            self._let_go()

    def forget(self, one: Input) -> None:
        """It waits no more, and may be asked for again."""
        if one.slot >= 0:
            self.forget_receipt(one.once)
            self._let_go()

    def forget_receipt(self, once: bytes) -> None:
        """The receipt of that name, if it is kept."""
        slot = self._slots.pop(once, 0)
        if slot:
            self._words[_WORDS * slot] = 0
            self._free.append(slot)

    def _let_go(self) -> None:
        """Once nobody waits, nobody needs their bytes."""
        self._waiting -= 1
        if self._waiting == 0:
            if self._end > GIVEN_BACK_BYTES and hasattr(mmap, "MADV_REMOVE"):
                first = -(-_TABLE_BYTES // mmap.PAGESIZE) * mmap.PAGESIZE
                self._memory.madvise(mmap.MADV_REMOVE, first)
            self._end = 0

    @property
    def line_bytes(self) -> int:
        """How long the line is that is being typed and has no end yet."""
        return self._words[_LINE]

    @line_bytes.setter
    def line_bytes(self, count: int) -> None:
        self._words[_LINE] = count

    def staging(self, one: Input) -> None:
        """A piece of this input is about to be staged."""
        self._words[_STAGED_BY] = one.sequence << 1

    def stage(self, one: Input, end: int) -> None:
        """Its bytes up to `end` that are not taken are staged."""
        self._words[_STAGED_TO] = end
        self._words[_STAGED_BY] = one.sequence << 1 | 1

    def unstage(self) -> None:
        """What is staged is to be thrown away."""
        self._words[_STAGED_BY] = 0

    def staged(self, one: Input) -> int | None:
        """Up to where its bytes were staged; None: nobody knows yet, -1: another's were."""
        by = self._words[_STAGED_BY]
        if by >> 1 != one.sequence or not one.sequence:
            return -1
        return self._words[_STAGED_TO] if by & 1 else None
