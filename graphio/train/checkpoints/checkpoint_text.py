"""Parser and writer of the text file `checkpoint`: text protobuf, as TensorFlow writes and reads
it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphio.schema.crc32c import crc32c

__all__ = ["CheckpointState", "parsed", "sealed"]

_TEXT = r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\''
_LINE = re.compile(rf"\s*(\w+)\s*:\s*(?:{_TEXT}|([-+.\w]+))\s*[,;]?\s*(?:#.*)?")
#: a comment to others: what a crash may have kept from being deleted
_EXPIRED = re.compile(r'# to be deleted: "((?:[^"\\]|\\.)*)"')
_SEAL = re.compile(rb"(.*\n)# crc32c: ([0-9a-f]{8})\n", re.DOTALL)
_KINDS = {
    "model_checkpoint_path": str,
    "all_model_checkpoint_paths": str,
    "all_model_checkpoint_timestamps": float,
    "last_preserved_timestamp": float,
}
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
#: characters that are written as escapes: those of text protobuf, and bytes that are not UTF-8
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\\udc80-\udcff]')


@dataclass
class CheckpointState:
    """The contents of the file.

    Attributes:
        model_checkpoint_path: the prefix of the newest checkpoint.
        all_model_checkpoint_paths: those that exist, oldest first, the newest last.
        all_model_checkpoint_timestamps: when each was written, in seconds since 1970.
        last_preserved_timestamp: from when the hours count until one is kept for good the next
            time; 0: not known.
        expired: those that were about to be deleted.
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0
    expired: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in _lines(self))


def _lines(state: CheckpointState) -> Iterator[str]:
    yield f"model_checkpoint_path: {_quoted(state.model_checkpoint_path)}"
    for path in state.all_model_checkpoint_paths:
        yield f"all_model_checkpoint_paths: {_quoted(path)}"
    for moment in state.all_model_checkpoint_timestamps:
        yield f"all_model_checkpoint_timestamps: {moment!r}"
    if state.last_preserved_timestamp:
        yield f"last_preserved_timestamp: {state.last_preserved_timestamp!r}"
    for path in state.expired:
        yield f"# to be deleted: {_quoted(path)}"


def _quoted(text: str) -> str:
    def escape(found: re.Match[str]) -> str:
        char = found.group()
        if char in '"\\':
            return "\\" + char
        return "\\n" if char == "\n" else f"\\{os.fsencode(char)[0]:03o}"

    return f'"{_ESCAPED.sub(escape, text)}"'


def _unquoted(text: str) -> str:
    """Escapes stand for bytes, in octal or hexadecimal digits or as in C."""

    def byte(found: re.Match[bytes]) -> bytes:
        octal, digits, char = found.groups()
        if octal or digits:
            return bytes([int(octal, 8) & 0xFF if octal else int(digits, 16)])
        return bytes([_ESCAPES.get(char[0], char[0])])

    return os.fsdecode(_ESCAPE.sub(byte, text.encode()))


def sealed(state: CheckpointState) -> bytes:
    """The file's bytes: the lines, then their checksum, a comment to other readers."""
    text = str(state).encode()
    return text + b"# crc32c: %08x\n" % crc32c(text)


def parsed(data: bytes) -> CheckpointState:
    """Parses the file's bytes; a file of another writer has no checksum.

    Raises:
        ValueError: the checksum is wrong, or a line is none of the file's: where the checksum is
            right, a newer graphio wrote it.
    """
    match = _SEAL.fullmatch(data)
    if match is not None and crc32c(match[1]) != int(match[2], 16):
        raise ValueError(
            "its checksum does not match; if you edited it by hand, delete the line '# crc32c: ...'"
        )
    state = CheckpointState()
    for line in filter(str.strip, data.decode().split("\n")):
        if line.lstrip().startswith("#"):
            state.expired += map(_unquoted, _EXPIRED.findall(line))
        else:
            _take(state, line, sealed=match is not None)
    return state


def _take(state: CheckpointState, line: str, sealed: bool) -> None:
    match = _LINE.fullmatch(line)
    if match is None:
        newer = ", which a newer graphio wrote: upgrade graphio" if sealed else ""
        raise ValueError(f"cannot read the line {line!r}{newer}")
    key, double, single, number = match.groups()
    value: Any = float(number) if number is not None else _unquoted(double or single or "")
    if key in _KINDS and not isinstance(value, _KINDS[key]):
        raise ValueError(f"{key} is {value!r}")
    if key in ("all_model_checkpoint_paths", "all_model_checkpoint_timestamps"):
        getattr(state, key).append(value)
    elif key in ("model_checkpoint_path", "last_preserved_timestamp"):
        setattr(state, key, value)
