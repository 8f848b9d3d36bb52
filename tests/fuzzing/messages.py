"""Changes of protobuf messages that keep them messages: fields, lists, names, numbers."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

#: numbers at which sizes, counts and indices break
NUMBERS = (
    *(0, 1, -1, 2, 3, 4, 7, 8, 16, 17, 63, 64, 65, 127, 128, 255, 256, 65535, 65536),
    *(2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**53),
    *(2**61, 2**62, 2**62 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64 - 64),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, float("inf"), float("-inf"), float("nan"), 3.4e38, 1e-45)
STRINGS = (
    *("", "x", "a/b", "a:0", "a:1", "^a", ":0", ":", "/", "../x", "/etc/passwd", "\0", "%n%s%s"),
    *("\x1b[2J", "\r", "\n", "{}", "{0}", "ü", "\U0001f600", "x" * 300, "__class__", "None"),
)
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**32),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**64),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**32),
}
_SIGNED = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_ENUM,
)


class Mutator:
    """Changes messages.

    Args:
        rng: of all choices.
        words: strings that a field, by its full or short name, may well have: names of operators.
        mutate: changes bytes.
    """

    def __init__(
        self,
        rng: random.Random,
        words: Mapping[str, Sequence[str]] | None = None,
        mutate: Callable[[bytes, int], bytes] | None = None,
    ) -> None:
        self.rng = rng
        self.words = words or {}
        self.mutate = mutate or (lambda data, most: rng.randbytes(rng.randrange(most + 1)))

    def change(self, message: Message, times: int = 1) -> None:
        """Changes a message in some fields."""
        for _ in range(times):
            try:
                self._change_one(message)
            except (ValueError, TypeError):
                continue  # a closed enum, or bytes that are not UTF-8: nothing was changed

    def _change_one(self, root: Message) -> None:
        message = self._somewhere(root)
        fields = message.DESCRIPTOR.fields
        present = [field for field, _ in message.ListFields()]
        field = self.rng.choice(present if present and self.rng.random() < 0.7 else fields)
        if _is_map(field):
            self._change_map(message, field)
        elif field.is_repeated:
            self._change_list(root, message, field)
        elif self.rng.random() < 0.1:
            message.ClearField(field.name)
        elif field.message_type is not None:
            self._change_part(root, message, field)
        else:
            setattr(message, field.name, self.value(root, field, getattr(message, field.name)))

    def _somewhere(self, message: Message) -> Message:
        """A message inside another, or itself."""
        while self.rng.random() < 0.85:
            inner = list(_inner(message, self.rng))
            if not inner:
                break
            message = self.rng.choice(inner)
        return message

    def _change_part(self, root: Message, message: Message, field: FieldDescriptor) -> None:
        part = getattr(message, field.name)
        if self.rng.random() < 0.3:
            other = self._same_kind(root, part)
            if other is not None:
                copy = type(part).FromString(other.SerializeToString())
                part.CopyFrom(copy)
                return
        part.SetInParent()

    def _same_kind(self, root: Message, part: Message) -> Message | None:
        for _ in range(8):
            other = self._somewhere(root)
            if other.DESCRIPTOR is part.DESCRIPTOR and other is not part:
                return other
        return None

    def _change_map(self, message: Message, field: FieldDescriptor) -> None:
        entries, value = getattr(message, field.name), field.message_type.fields_by_name["value"]
        kind = field.message_type.fields_by_name["key"]
        keys = list(entries)
        match self.rng.randrange(3):
            case 0 if keys:
                del entries[self.rng.choice(keys)]
            case 1 if keys and value.message_type is not None:
                entries[self.value(message, kind)].CopyFrom(entries[self.rng.choice(keys)])
            case _ if value.message_type is None:
                entries[self.value(message, kind)] = self.value(message, value)
            case _:
                entries[self.value(message, kind)].SetInParent()

    def _change_list(self, root: Message, message: Message, field: FieldDescriptor) -> None:
        items, rng = getattr(message, field.name), self.rng
        at = rng.randrange(len(items)) if len(items) else -1
        action = rng.randrange(6)
        if at < 0 or action == 0:
            if field.message_type is not None:
                items.add()
            else:
                items.append(self.value(root, field))
        elif action == 1:
            del items[at]
        elif action == 2:
            copies = rng.choice((1, 1, 1, 2, 17, 70))
            if field.message_type is not None:
                for _ in range(copies):
                    items.add().CopyFrom(items[at])
            else:
                items.extend([items[at]] * copies)
        elif field.message_type is not None:
            other = rng.randrange(len(items))
            copy = type(items[at]).FromString(items[at].SerializeToString())
            items[at].CopyFrom(type(copy).FromString(items[other].SerializeToString()))
            items[other].CopyFrom(copy)
        elif action == 3:
            other = rng.randrange(len(items))
            items[at], items[other] = items[other], items[at]
        else:
            items[at] = self.value(root, field, items[at])

    def value(self, root: Message, field: FieldDescriptor, old: Any = None) -> Any:
        """A value for a field that is not a message."""
        rng, kind = self.rng, field.cpp_type
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return not old
        if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
            return rng.choice((*FLOATS, rng.uniform(-4, 4)))
        if kind == FieldDescriptor.CPPTYPE_STRING:
            if field.type == FieldDescriptor.TYPE_BYTES and rng.random() < 0.7:
                return self.mutate(bytes(old or b""), 256)
            text = self._text(root, field, old)
            if isinstance(text, bytes):  # invalid UTF-8 is replaced in a string
                text = text.decode(errors="replace")
            return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
        return self._number(field, old)

    def _number(self, field: FieldDescriptor, old: Any) -> int:
        kind = field.cpp_type
        low, span = _RANGES[kind]
        if field.enum_type is not None and self.rng.random() < 0.7:
            return self.rng.choice(field.enum_type.values).number
        near = (old or 0) + self.rng.choice((-1, 1, -8, 8)) if self.rng.random() < 0.4 else None
        number = self.rng.choice((*NUMBERS, self.rng.randrange(40))) if near is None else near
        size = span if kind not in _SIGNED else 2 * (span // 2)
        return (number - low) % size + low

    def _text(self, root: Message, field: FieldDescriptor, old: Any) -> str:
        words = self.words.get(field.full_name) or self.words.get(field.name)
        choice = self.rng.random()
        if words and choice < 0.6:
            return self.rng.choice(words)
        if choice < 0.8 and (found := self._a_name(root)):
            return found
        if choice < 0.9 and isinstance(old, str):
            return self.mutate(old.encode(), 40).decode(errors="replace")
        return self.rng.choice(STRINGS)

    def _a_name(self, root: Message) -> str:
        """A string that is somewhere in the message: it may refer to something."""
        for _ in range(8):
            strings: list[str] = []
            for field, value in self._somewhere(root).ListFields():
                if field.type == FieldDescriptor.TYPE_STRING:
                    strings += list(value) if field.is_repeated else [value]
            if strings:
                return self.rng.choice(strings)
        return ""


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _inner(message: Message, rng: random.Random) -> Sequence[Message]:
    """Some of the messages in another, of a list one."""
    found: list[Message] = []
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if _is_map(field):
            if field.message_type.fields_by_name["value"].message_type is not None and value:
                found.append(value[rng.choice(list(value))])
        elif field.is_repeated:
            found.append(value[rng.randrange(len(value))])
        else:
            found.append(value)
    return found


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """Bytes after one or a few changes: for where no fuzzer chooses."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(5):
            case 0 if at < len(made):
                made[at] = rng.randrange(256)
            case 1 if at < len(made):
                made[at] ^= 1 << rng.randrange(8)
            case 2:
                del made[at : at + rng.randrange(1, 9)]
            case 3:
                width = rng.choice("<H <I <Q >H >I >Q".split())
                size = struct.calcsize(width)
                made[at : at + size] = struct.pack(width, rng.choice(NUMBERS) % (1 << 8 * size))
            case _:
                made[at:at] = made[at : at + rng.randrange(1, 40)] or rng.randbytes(4)
    return bytes(made)
