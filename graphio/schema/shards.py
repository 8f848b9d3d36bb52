"""The data files of a checkpoint: safetensors in one canonical form (schema/README.md).

Other tools open them; our readers go by the checkpoint's index and never parse the JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphio.schema import dtypes

ALIGN = 64

#: our element types to the format's. The others are stored as U8, one element a byte: the index
#: has their true type, and older versions of the safetensors package open the file.
STORED_AS = {
    "float32": "F32",
    "float64": "F64",
    "float16": "F16",
    "bfloat16": "BF16",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "bool": "BOOL",
}

_ESCAPED = re.compile(r'["\\\x00-\x1f]')


class Entry(NamedTuple):
    """A tensor to be stored: its bytes come later."""

    name: str
    dtype: int
    dims: tuple[int, ...]
    nbytes: int


def item_size(dtype: int) -> int:
    """Bytes an element, which the bytes should be aligned to; 1 for STRING and packed types."""
    return 1 if dtype == dtypes.STRING else max(dtypes.of_number(dtype).bits // 8, 1)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """The entries in the order of the file, without gaps.

    Those of a multiple of 64 bytes come first, so that they stay aligned to 64; the others then
    from the largest element down, so that they are aligned to their elements.
    """
    return sorted(
        entries, key=lambda e: (e.nbytes % ALIGN != 0, -item_size(e.dtype), e.name.encode())
    )


def header(entries: Sequence[Entry], save_id: int) -> bytes:
    """The bytes before the first tensor: length, JSON, spaces up to a multiple of 64.

    Args:
        entries: in their order in the file.
    """
    parts = [
        f'"__metadata__":{{"format":"graphio-shard","version":"1","save_id":"{save_id:016x}"}}'
    ]
    offset = 0
    for entry in entries:
        kind = STORED_AS.get(dtypes.name(entry.dtype))
        dims: Sequence[Any] = entry.dims if kind else (entry.nbytes,)
        shape = ",".join(map(str, dims))
        parts.append(
            f'{quoted(entry.name)}:{{"dtype":"{kind or "U8"}","shape":[{shape}],'
            f'"data_offsets":[{offset},{offset + entry.nbytes}]}}'
        )
        offset += entry.nbytes
    text = ("{" + ",".join(parts) + "}").encode()
    text += b" " * (-(8 + len(text)) % ALIGN)
    return len(text).to_bytes(8, "little") + text


def quoted(text: str) -> str:
    """A JSON string: only quotes, backslashes and control characters are escaped."""

    def escape(match: re.Match[str]) -> str:
        char = match.group()
        return "\\" + char if char in '"\\' else f"\\u{ord(char):04x}"

    return '"' + _ESCAPED.sub(escape, text) + '"'


def split(
    entries: Sequence[Entry], shard_bytes: int | None, parts: Mapping[str, str] | None = None
) -> list[list[Entry]]:
    """The entries of each file: in order of name, a new file before shard_bytes is passed.

    Args:
        parts: name to a string: entries of different strings are in different files, in order.
    """
    part_of = parts or {}
    groups: list[list[Entry]] = [[]]
    size, now = 0, ""
    for entry in sorted(entries, key=lambda e: (part_of.get(e.name, ""), e.name.encode())):
        part = part_of.get(entry.name, "")
        full = shard_bytes is not None and size + entry.nbytes > shard_bytes
        if groups[-1] and (full or part != now):
            groups.append([])
            size = 0
        now = part
        groups[-1].append(entry)
        size += entry.nbytes
    return groups
