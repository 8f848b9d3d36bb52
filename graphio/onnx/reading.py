"""Reading ONNX files from anywhere: the message, its weights, external data inside its folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper

from graphio.schema import dtypes, foreign
from graphio.schema.verify_graph import MAX_RANK
from graphio.storage import stores
from graphio.support import errors

__all__ = ["Source", "read"]

Array = np.ndarray[Any, Any]
_LIMIT = 1 << 62  # bytes of one tensor
SHARED = 16  # how often the bytes of an external file may be those of a tensor


class Source:
    """A model and the folder of its external data.

    Attributes:
        model: the message; external tensors are not loaded.
        name: for messages.
        folder: of external data; None: there can be none.
    """

    def __init__(self, model: onnx.ModelProto, name: str, folder: Path | None) -> None:
        self.model = model
        self.name = name
        self.folder = folder
        self._taken: dict[Path, int] = {}  # bytes of external files that tensors have taken

    def array(self, tensor: onnx.TensorProto) -> Array:
        """A tensor's elements; strings are bytes in an object array.

        Raises:
            ValueError: dims, type, data or the external file contradict each other.
        """
        dims = list(tensor.dims)
        if any(d < 0 for d in dims) or len(dims) > MAX_RANK:
            raise ValueError(f"tensor '{tensor.name}' has dimensions {dims}")
        try:
            kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        except KeyError:
            raise ValueError(
                f"tensor '{tensor.name}' has element type {tensor.data_type}, which ONNX lacks"
            ) from None
        if tensor.data_type not in dtypes.BY_NUMBER:
            raise ValueError(
                f"tensor '{tensor.name}' has element type "
                f"{helper.tensor_dtype_to_string(tensor.data_type)}, which graphio lacks"
            )
        count = 1
        for d in dims:
            count *= d
        if count * kind.itemsize > _LIMIT:
            raise ValueError(f"tensor '{tensor.name}' of shape {dims} is too large")
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(tensor, kind, count)
        return self._inline(tensor, dims)

    def _inline(self, tensor: onnx.TensorProto, dims: list[int]) -> Array:
        try:
            array = numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"tensor '{tensor.name}' of shape {dims}: {error}") from None
        if array.dtype.kind in "OUS":
            return _as_bytes(array)
        if not array.flags.writeable or not array.flags.c_contiguous:
            array = np.array(array, order="C")
        return array

    def _external(self, tensor: onnx.TensorProto, kind: np.dtype[Any], count: int) -> Array:
        entries = {e.key: e.value for e in tensor.external_data}
        path = self._inside(tensor.name, entries.get("location", ""))
        size = path.stat().st_size
        bits = _BITS.get(tensor.data_type, kind.itemsize * 8)
        expected = (count * bits + 7) // 8
        offset = _number(tensor.name, entries.get("offset", "0"), "offset")
        length = _number(tensor.name, entries.get("length", str(expected)), "length")
        if length != expected or offset > size or length > size - offset:
            raise ValueError(
                f"tensor '{tensor.name}' of {expected} bytes is at {offset} with length {length} "
                f"in '{path.name}' of {size} bytes"
            )
        if kind.kind == "O":
            raise ValueError(f"tensor '{tensor.name}': strings cannot be external data")
        self._take(path, size, length)
        if bits < 8:
            with path.open("rb") as file:
                file.seek(offset)
                raw = file.read(length)
            return numpy_helper.to_array(
                onnx.TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=raw)
            )
        array = np.fromfile(path, kind.newbyteorder("<"), count, offset=offset)
        return array.astype(kind, copy=False).reshape(tuple(tensor.dims))

    def _take(self, path: Path, size: int, length: int) -> None:
        """Tensors may share bytes of a file, but not make a hundred large arrays of one."""
        self._taken[path] = taken = self._taken.get(path, 0) + length
        if taken > SHARED * size:
            raise ValueError(
                f"the tensors whose data are in '{path.name}' of {size} bytes have more than "
                f"{SHARED} times as many; save the model with the data of each tensor for itself"
            )

    def _inside(self, name: str, location: str) -> Path:
        """The file of external data, which must be in the model's folder."""
        if self.folder is None:
            raise ValueError(
                f"tensor '{name}' is external data ('{location}'), but the model came as bytes; "
                "give the path of its file"
            )
        if not location or "\0" in location or os.path.isabs(location) or ":" in location[:3]:
            raise ValueError(f"tensor '{name}' has its data at '{location}', expected a file name")
        base = self.folder.resolve()
        path = (self.folder / location).resolve()
        if not path.is_relative_to(base):
            raise ValueError(
                f"tensor '{name}' has its data at '{location}', outside the model's folder"
            )
        try:
            status = path.stat()
        except OSError as error:
            raise ValueError(f"tensor '{name}': '{location}': {error.strerror}") from None
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise ValueError(f"tensor '{name}': '{location}' is not a plain file without links")
        return path


#: element types of less than a byte
_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}


def _number(name: str, text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(f"tensor '{name}': {what} of its external data is '{text}'")
    return int(text)


def _as_bytes(array: Array) -> Array:
    made = np.empty(array.shape, object)
    flat = [e.encode("utf-8", "surrogateescape") if isinstance(e, str) else bytes(e)
            for e in array.ravel().tolist()]  # fmt: skip
    made.ravel()[:] = flat if flat else []
    return made


def read(source: Any) -> Source:
    """A model from a path, from bytes or from a ModelProto, whose weights are not loaded yet.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is not an ONNX model.
    """
    if isinstance(source, onnx.ModelProto):
        return Source(source, f"ONNX model '{source.graph.name}'", None)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Source(_parse(bytes(source), "the given value"), "the ONNX model", None)
    if stores.is_remote(source):
        where = os.fspath(source)
        return Source(_parse(stores.loadable(where), f"'{where}'"), f"'{where}'", None)
    path = Path(stores.plain(source))
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise errors.NotFoundError(message=f"there is no file '{path}'") from None
    except IsADirectoryError:
        raise errors.InvalidArgumentError(message=f"'{path}' is a folder, not a file") from None
    return Source(_parse(data, f"'{path}'"), f"'{path}'", path.parent)


def _parse(data: bytes, name: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RecursionError) as error:
        raise _no_model(data, name, str(error)) from None
    if not model.HasField("graph"):
        raise _no_model(data, name, "it has no graph")
    try:
        zeros = any(b"\0" in text.encode() for text in _strings(model))
    except (AttributeError, UnicodeError):  # protobuf gives such strings as bytes or surrogates
        raise errors.DataLossError(
            message=f"{name} is not an ONNX model: a name is not UTF-8"
        ) from None
    if zeros:
        raise errors.DataLossError(message=f"{name} is not an ONNX model: a name has a zero byte")
    return model


def _no_model(data: bytes, name: str, why: str) -> errors.OpError:
    kind = foreign.kind_of(data)
    text = f": {why}" if kind is None else f", but {kind}"
    return errors.DataLossError(message=f"{name} is not an ONNX model{text}")


def _strings(model: onnx.ModelProto) -> Iterator[str]:
    """Names in a model, its subgraphs and functions."""
    waiting: list[Any] = [model.graph, *model.functions]
    while waiting:
        owner = waiting.pop()
        yield owner.name
        if isinstance(owner, onnx.FunctionProto):
            yield from (owner.domain, owner.overload, *owner.input, *owner.output)
        else:
            for value in (*owner.input, *owner.output, *owner.initializer, *owner.value_info):
                yield value.name
            for value in (*owner.input, *owner.output):
                yield from (d.dim_param for d in value.type.tensor_type.shape.dim)
            yield from (t.values.name for t in owner.sparse_initializer)
        for node in owner.node:
            yield from (node.name, node.op_type, node.domain, node.overload)
            yield from node.input
            yield from node.output
            for attribute in node.attribute:
                yield attribute.name
                waiting += [attribute.g] if attribute.HasField("g") else []
                waiting += attribute.graphs
    for entry in model.metadata_props:
        yield from (entry.key, entry.value)
