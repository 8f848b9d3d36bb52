"""The values in a pickle of data only: an interpreter of the harmless opcodes.

It makes strings, numbers, lists, tuples, dicts, and the objects that the caller's table has for
globals. It never imports and never calls anything else: GLOBAL looks a name up in the table, REDUCE
calls a function of the table, every other way to make an object is refused by name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from graphio.support import errors
from graphio.train.interop.reading import damaged, refused

LARGEST_INT = 16  # bytes of a whole number: sizes and seeds need no more
NEWEST = 5  # protocol


class Global:
    """A name that a pickle may mention.

    Args:
        name: "torch.Size".
        call: what REDUCE does, with the arguments of the pickle; None: it cannot be called.
    """

    def __init__(self, name: str, call: Callable[..., Any] | None = None) -> None:
        self.name, self.call = name, call


MARK = object()  # where the arguments of a later opcode start
#: opcodes that are not read, for messages
_REFUSED = {
    b"i": "INST",
    b"o": "OBJ",
    b"P": "PERSID",
    b"\x81": "NEWOBJ",
    b"\x82": "EXT1",
    b"\x83": "EXT2",
    b"\x84": "EXT4",
    b"\x8b": "LONG4",
    b"\x8f": "EMPTY_SET",
    b"\x90": "ADDITEMS",
    b"\x91": "FROZENSET",
    b"\x92": "NEWOBJ_EX",
    b"\x96": "BYTEARRAY8",
    b"\x97": "NEXT_BUFFER",
    b"\x98": "READONLY_BUFFER",
    **dict.fromkeys((b"0", b"1", b"2", b"d", b"l"), "that drops, doubles or collects values,"),
    **dict.fromkeys((b"F", b"I", b"L", b"S", b"V", b"g", b"p"), "of protocol 0"),
}
#: opcodes with a number after them: its format
_NUMBERS = {b"K": "<B", b"M": "<H", b"J": "<i", b"G": ">d"}
#: opcodes with a length, then UTF-8: the length's bytes
_STRINGS = {b"X": 4, b"\x8c": 1, b"\x8d": 8}
#: the same with bytes
_BYTES = {b"C": 1, b"B": 4, b"\x8e": 8, b"U": 1, b"T": 4}
_PUTS = {b"q": 1, b"r": 4}
_GETS = {b"h": 1, b"j": 4}
_TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}
_CONSTANTS: dict[bytes, Any] = {b"N": None, b"\x88": True, b"\x89": False, b"(": MARK, b")": ()}
_EMPTY: dict[bytes, Callable[[], Any]] = {b"}": dict, b"]": list}


class Reader:
    """One pickle.

    Args:
        data: its bytes.
        what: how messages call it.
        known: the globals, by "module.name".
        persistent: makes a value of what BINPERSID finds on the stack.
    """

    def __init__(
        self,
        data: bytes,
        what: str,
        known: Mapping[str, Global],
        persistent: Callable[[Any], Any],
    ) -> None:
        self._data, self.what, self._known, self._persistent = data, what, known, persistent
        self._at = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The value.

        Raises:
            DataLossError: it is not a pickle, or a broken one.
            InvalidArgumentError: it holds anything but data.
        """
        while (op := self._take(1)) != b".":
            self._step(op)
        if self._at != len(self._data):
            raise self._broken("bytes follow its end")
        value = self._pop()
        if self._stack:
            raise self._broken("values are left over")
        return value

    # ---- bytes and stack ----

    def _broken(self, text: str) -> errors.DataLossError:
        return damaged(self.what, f"at byte {self._at} of its pickle: {text}")

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise self._broken("it is cut off")
        self._at += count
        return self._data[self._at - count : self._at]

    def _length(self, nbytes: int) -> int:
        return int.from_bytes(self._take(nbytes), "little")

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at)
        if end < 0:
            raise self._broken("a name is cut off")
        line = self._text(self._take(end - self._at))
        self._at += 1
        return line

    def _text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self._broken("a string is not UTF-8") from None

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is MARK:
            raise self._broken("a value is missing")
        return self._stack.pop()

    def _marked(self) -> list[Any]:
        """The values above the last mark; both go."""
        for i in range(len(self._stack) - 1, -1, -1):
            if self._stack[i] is MARK:
                found = self._stack[i + 1 :]
                del self._stack[i:]
                return found
        raise self._broken("a mark is missing")

    def _top(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise self._broken(f"an opcode has no {kind.__name__} to work on")
        return self._stack[-1]

    # ---- opcodes ----

    def _step(self, op: bytes) -> None:
        push = self._stack.append
        if op in _NUMBERS:
            form = _NUMBERS[op]
            push(struct.unpack(form, self._take(struct.calcsize(form)))[0])
        elif op in _STRINGS:
            push(self._text(self._take(self._length(_STRINGS[op]))))
        elif op in _BYTES:
            push(self._take(self._length(_BYTES[op])))
        elif op in _PUTS:
            self._remember(self._length(_PUTS[op]))
        elif op in _GETS:
            push(self._recall(self._length(_GETS[op])))
        elif op in _CONSTANTS:
            push(_CONSTANTS[op])
        elif op in _EMPTY:
            push(_EMPTY[op]())
        elif op in _TUPLES:
            push(tuple(reversed([self._pop() for _ in range(_TUPLES[op])])))
        elif op in _ACTIONS:
            _ACTIONS[op](self)
        else:
            name = _REFUSED.get(op, f"{op!r}, which does not exist")
            raise refused(
                self.what, f"its pickle has the opcode {name} at byte {self._at - 1}; only plain "
                "data is read, nothing is executed"
            )  # fmt: skip

    def _protocol(self) -> None:
        version = self._length(1)
        if version > NEWEST:
            raise refused(self.what, f"its pickle has protocol {version}, at most {NEWEST} is read")

    def _frame(self) -> None:
        if self._length(8) > len(self._data) - self._at:
            raise self._broken("a frame is cut off")

    def _remember(self, index: int) -> None:
        if not self._stack or self._stack[-1] is MARK:
            raise self._broken("there is no value to remember")
        self._memo[index] = self._stack[-1]

    def _recall(self, index: int) -> Any:
        if index not in self._memo:
            raise self._broken(f"value {index} is not in the memo")
        return self._memo[index]

    def _long(self) -> None:
        nbytes = self._length(1)
        if nbytes > LARGEST_INT:
            raise refused(self.what, f"its pickle has a whole number of {nbytes} bytes")
        self._stack.append(int.from_bytes(self._take(nbytes), "little", signed=True))

    def _append(self) -> None:
        value = self._pop()
        self._top(list).append(value)

    def _appends(self) -> None:
        values = self._marked()
        self._top(list).extend(values)

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set(self._top(dict), key, value)

    def _set_items(self) -> None:
        values = self._marked()
        if len(values) % 2:
            raise self._broken("a key has no value")
        target = self._top(dict)
        for key, value in zip(values[::2], values[1::2], strict=True):
            self._set(target, key, value)

    def _set(self, target: dict[Any, Any], key: Any, value: Any) -> None:
        # Strings and machine integers: no other key's hash can be made to collide without end.
        if type(key) is not str and not (type(key) is int and -(1 << 63) <= key < 1 << 63):
            kind = type(key).__name__
            raise refused(
                self.what, f"a key is of type {kind}, expected a string or a machine integer"
            )
        target[key] = value

    def _global(self) -> None:
        self._named(self._line(), self._line())

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise self._broken("a global's name is not a string")
        self._named(module, name)

    def _named(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        if full not in self._known:
            raise refused(
                self.what, f"its pickle asks for {full!r}; nothing from a file is imported or "
                "executed. Save the state_dict() alone"
            )  # fmt: skip
        self._stack.append(self._known[full])

    def _reduce(self) -> None:
        arguments, function = self._pop(), self._pop()
        if type(function) is not Global or function.call is None or type(arguments) is not tuple:
            name = function.name if type(function) is Global else type(function).__name__
            raise refused(self.what, f"its pickle calls {name!r}; nothing from a file is executed")
        try:
            self._stack.append(function.call(*arguments))
        except TypeError:
            raise self._broken(f"{function.name!r} gets arguments that it does not have") from None

    def _build(self) -> None:
        """Attributes of a dict (state_dict's _metadata) are dropped; nothing else has any."""
        self._pop()
        if not self._stack or type(self._stack[-1]) is not dict:
            raise refused(self.what, "its pickle sets attributes of an object (BUILD)")

    def _persistent_id(self) -> None:
        self._stack.append(self._persistent(self._pop()))


_ACTIONS: dict[bytes, Callable[[Reader], None]] = {
    b"\x80": Reader._protocol,
    b"\x95": Reader._frame,
    b"\x94": lambda reader: reader._remember(len(reader._memo)),
    b"\x8a": Reader._long,
    b"a": Reader._append,
    b"e": Reader._appends,
    b"s": Reader._set_item,
    b"u": Reader._set_items,
    b"t": lambda reader: reader._stack.append(tuple(reader._marked())),
    b"c": Reader._global,
    b"\x93": Reader._stack_global,
    b"R": Reader._reduce,
    b"b": Reader._build,
    b"Q": Reader._persistent_id,
}
