"""Positions in pipelines as bytes: nested dicts, lists, numbers and arrays, nothing that runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphio.schema import tensors
from graphio.schema.model_pb2 import Tensor
from graphio.support import errors

Array = np.ndarray[Any, Any]


def encode(saved_position: Any) -> bytes:
    """A position as bytes: JSON, whose arrays follow it."""
    arrays: list[Array] = []
    text = json.dumps(_plain(saved_position, arrays), separators=(",", ":")).encode()
    parts = [text, *(tensors.from_array(a).SerializeToString() for a in arrays)]
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def decode(data: bytes) -> Any:
    """The position that encode wrote.

    Raises:
        DataLossError: the bytes are something else.
    """
    parts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        at += 8
        if len(data) - at < size:
            raise errors.DataLossError(message="the position of an iterator is cut short")
        parts.append(data[at : at + size])
        at += size
    try:
        arrays = [tensors.to_array(Tensor.FromString(part)) for part in parts[1:]]
        return _restored(json.loads(parts[0]), arrays)
    except _DAMAGED as error:
        raise errors.DataLossError(
            message=f"the position of an iterator is damaged: {error}"
        ) from None


#: raised by strings that encode did not write
_DAMAGED = AttributeError, DecodeError, LookupError, RecursionError, TypeError, ValueError


def encoded(component: Any) -> Array:
    """A component of an element as an array: the elements of a dataset as a scalar string."""
    if not isinstance(component, list):
        array: Array = component
        return array
    found = np.empty((), object)
    found[()] = encode(component)
    return found


def _plain(value: Any, arrays: list[Array]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"$": len(arrays) - 1}
    if isinstance(value, bytes):
        return {"b": value.hex()}
    if isinstance(value, dict):
        return {"d": {key: _plain(inner, arrays) for key, inner in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, arrays) for inner in value]
    if isinstance(value, np.integer):
        return int(value)
    return value


def _restored(value: Any, arrays: list[Array]) -> Any:
    if isinstance(value, list):
        return [_restored(inner, arrays) for inner in value]
    if not isinstance(value, dict):
        return value
    if "$" in value:
        return arrays[value["$"]]
    if "b" in value:
        return bytes.fromhex(value["b"])
    return {key: _restored(inner, arrays) for key, inner in value["d"].items()}
