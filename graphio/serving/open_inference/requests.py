"""A request of the Open Inference Protocol: JSON, and after it tensors as bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio.engine.interface import TensorSpec
from graphio.serving import json_arrays
from graphio.serving.failures import invalid
from graphio.serving.json_arrays import shown
from graphio.serving.open_inference import datatypes
from graphio.serving.servable import Entry, Servable

__all__ = ["Request", "read"]

Array = np.ndarray[Any, Any]
_MOST_RANK = 64
_MOST_SIZE = 1 << 62


@dataclass
class Request:
    """An inference.

    Attributes:
        entry: the signature.
        inputs: arrays by name.
        id: of the request; None: it has none.
        outputs: whether each requested output is answered as bytes, by name.
    """

    entry: Entry
    inputs: dict[str, Array] = field(default_factory=dict)
    id: str | None = None
    outputs: dict[str, bool] = field(default_factory=dict)


def read(body: bytes, header: str | None, servable: Servable) -> Request:
    """The request in a body.

    Args:
        body: JSON, then the bytes of tensors.
        header: Inference-Header-Content-Length, the length of the JSON; None: all is JSON; "0":
            all is one tensor.
        servable: the version that runs it.

    Raises:
        InvalidArgumentError: it is not of the form that the protocol has, or its tensors are not
            the signature's: names, types, sizes.
        UnimplementedError: a type that has no form in JSON.
    """
    size = len(body) if header is None else _length(header, len(body))
    if header is not None and size == 0:
        return _raw(body, servable.entry())
    message = json_arrays.parse(memoryview(body)[:size])
    rest = memoryview(body)[size:]
    parameters = _parameters(message)
    entry = servable.entry(_string(parameters, "signature_name") or "")
    found = Request(entry, id=_string(message, "id"))
    for tensor in _objects(message, "inputs"):
        name, array, used = _input(tensor, entry, rest)
        if name in found.inputs:
            raise invalid(f"input '{name}' is given twice")
        found.inputs[name] = array
        rest = rest[used:]
    if rest:
        raise invalid(f"{len(rest)} bytes follow those of the inputs")
    found.outputs = _outputs(message, entry, _flag(parameters, "binary_data_output"))
    return found


def _length(header: str, most: int) -> int:
    is_number = header.isascii() and header.isdecimal() and len(header) < 19
    if not is_number or int(header) > most:
        raise invalid(
            f"Inference-Header-Content-Length is {json_arrays.shown(header)}, expected a number up "
            f"to {most}, the size of the body"
        )
    return int(header)


def _raw(body: bytes, entry: Entry) -> Request:
    """A request that is the bytes of the only input, a batch of one row."""
    if len(entry.inputs) != 1:
        raise invalid(
            f"a raw binary request needs one input, signature '{entry.name}' has "
            f"{', '.join(entry.inputs) or 'none'}"
        )
    key = next(iter(entry.inputs))
    spec = entry.tensor(key)
    shape = _raw_shape(spec, len(body))
    array = datatypes.from_bytes(_counted(spec, body), spec.dtype, shape, f"input '{key}'")
    return Request(entry, {key: array}, outputs=dict.fromkeys(entry.outputs, True))


def _counted(spec: TensorSpec, body: bytes) -> bytes:
    """The bytes of a tensor; a string, which comes bare, with its length."""
    return len(body).to_bytes(4, "little") + body if spec.dtype == object else body


def _raw_shape(spec: TensorSpec, size: int) -> Sequence[int]:
    """The shape that a number of bytes tells."""
    if spec.dtype == object:
        return (1,) * (1 if spec.shape is None else len(spec.shape))
    shape = spec.shape or ()
    open_axes = [axis for axis, length in enumerate(shape) if length is None]
    if spec.shape is None or len(open_axes) > 1:
        raise invalid(
            f"input '{spec.name}' has several dimensions of unknown size: give its shape in JSON"
        )
    row = spec.dtype.itemsize * math.prod(length for length in shape if length is not None)
    rows = size // row if row else 0
    return [rows if length is None else length for length in shape]


def _input(tensor: Mapping[str, Any], entry: Entry, rest: memoryview) -> tuple[str, Array, int]:
    """Name and value of an input, and how many of the bytes after the JSON it took."""
    name = _string(tensor, "name")
    if name is None:
        raise invalid(f"an input has no 'name': {shown(tensor)}")
    spec, what = entry.tensor(name), f"input '{name}'"
    expected = datatypes.name_of(spec.dtype)
    if tensor.get("datatype") != expected:
        raise invalid(f"{what} has datatype {shown(tensor.get('datatype'))}, expected {expected}")
    shape = _shape(tensor, what)
    size = _parameters(tensor).get("binary_data_size")
    if size is None:
        return name, _from_json(tensor, spec, shape, what), 0
    if type(size) is not int or not 0 <= size <= len(rest):
        raise invalid(
            f"{what}: binary_data_size is {shown(size)}, {len(rest)} bytes are there; is "
            "Inference-Header-Content-Length right?"
        )
    if "data" in tensor:
        raise invalid(f"{what} has both 'data' and 'binary_data_size'")
    return name, datatypes.from_bytes(rest[:size], spec.dtype, shape, what), size


def _from_json(
    tensor: Mapping[str, Any], spec: TensorSpec, shape: tuple[int, ...], what: str
) -> Array:
    if type(tensor.get("data")) is not list:
        raise invalid(f"{what} has no list 'data' and no parameter 'binary_data_size'")
    nested, values = json_arrays.leaves(tensor["data"], what)
    if len(values) != math.prod(shape) or (len(nested) > 1 and 0 not in shape and nested != shape):
        raise invalid(f"{what}: 'data' has shape {list(nested)}, expected {list(shape)} or flat")
    return json_arrays.array(shape, values, spec.dtype, what)


def _shape(tensor: Mapping[str, Any], what: str) -> tuple[int, ...]:
    shape: Any = tensor.get("shape")
    is_shape = type(shape) is list and all(type(d) is int and d >= 0 for d in shape)
    if not is_shape or len(shape) > _MOST_RANK:
        raise invalid(f"{what}: 'shape' is {shown(shape)}, expected a list of sizes")
    # An empty tensor may have large sizes, too, whose number of elements counts nowhere.
    if math.prod(size for size in shape if size) > _MOST_SIZE:
        raise invalid(f"{what}: 'shape' is {shown(shape)}, which no tensor has")
    return tuple(shape)


def _outputs(message: Mapping[str, Any], entry: Entry, binary: bool) -> dict[str, bool]:
    if not message.get("outputs"):
        return dict.fromkeys(entry.outputs, binary)
    found: dict[str, bool] = {}
    for output in _objects(message, "outputs"):
        name = _string(output, "name")
        if name is None or name not in entry.outputs:
            raise invalid(
                f"signature '{entry.name}' has no output {shown(name)}; its outputs are "
                f"{', '.join(entry.outputs) or 'none'}"
            )
        parameters = _parameters(output)
        if "classification" in parameters:
            raise invalid(f"output '{name}': the extension 'classification' is not there")
        chosen = _flag(parameters, "binary_data") if "binary_data" in parameters else binary
        found[name] = chosen
    return found


def _objects(message: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = message.get(key)
    if type(found) is not list or not all(type(item) is dict for item in found):
        raise invalid(f"'{key}' is {shown(found)}, expected a list of objects")
    return found


def _parameters(owner: Mapping[str, Any]) -> Mapping[str, Any]:
    found = owner.get("parameters", {})
    if type(found) is not dict:
        raise invalid(f"'parameters' is {shown(found)}, expected an object")
    return found


def _string(owner: Mapping[str, Any], key: str) -> str | None:
    found = owner.get(key)
    if found is not None and type(found) is not str:
        raise invalid(f"'{key}' is {shown(found)}, expected a string")
    return found


def _flag(owner: Mapping[str, Any], key: str) -> bool:
    found = owner.get(key, False)
    if type(found) is not bool:
        raise invalid(f"'{key}' is {shown(found)}, expected true or false")
    return found
