"""A file of torch.save: the tensors in it, without torch and without unpickling.

It is a zip archive: `data.pkl` describes the values, `data/0`, `data/1` ... hold the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.schema import dtypes
from graphio.train.interop.pickle_reader import Global, Reader
from graphio.train.interop.reading import Array, check_dims, damaged, decode, find, refused, stem
from graphio.train.interop.source import Entry, Resource
from graphio.train.interop.zip_file import ZipFile

DEEPEST = 64  # dicts and lists in each other
#: the memory that a byte of the pickle may take when values are named: a value costs half of it and
#: its name's length. More than that is a value that is shared again and again.
MAX_EXPANSION = 128

#: torch's dtypes, and the classes of its storages, to our element types
DTYPES = {
    **{name: name for name in ("float32", "float64", "float16", "bfloat16", "bool")},
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "complex64": "complex64",
    "complex128": "complex128",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0",
}
STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}


class _Storage:
    """Bytes that tensors are views of; of a row's elements, or of bytes alone (None)."""

    def __init__(self, row: dtypes.ElementType | None, key: str, count: int) -> None:
        self.row, self.key, self.count = row, key, count


class _Tensor:
    """A view of a storage: of its elements from begin to end."""

    def __init__(
        self,
        row: dtypes.ElementType,
        storage: _Storage,
        begin: int,
        end: int,
        dims: tuple[int, ...],
        strides: tuple[int, ...],
        flags: Mapping[str, Any],
    ) -> None:
        self.row, self.storage, self.begin, self.end = row, storage, begin, end
        self.dims, self.strides, self.flags = dims, strides, flags


class TorchSource:
    """The tensors of a state dict, or of dicts and lists of these: names are joined by ".".

    Values other than tensors are left out and listed in `skipped`.

    Args:
        path: of the file, for messages.
        archive: what it is.

    Raises:
        DataLossError: it is damaged.
        InvalidArgumentError: its pickle is more than data, or it is a TorchScript program.
    """

    resources: Mapping[str, Resource] = {}

    def __init__(self, path: str, archive: ZipFile) -> None:
        self.what = archive.what = f"PyTorch file {path!r}"
        self._zip = archive
        self._root = self._find_root()
        self._big = self._byte_order() == b"big"
        data = bytes(self._zip.read(self._root + "data.pkl"))
        value = Reader(data, self.what, self._globals(), self._storage).load()
        self._tensors: dict[str, _Tensor] = {}
        self.skipped: dict[str, str] = {}
        self._bytes_left = len(data) * MAX_EXPANSION
        self._flatten(value, "", stem(path), 0)
        self._entries = {name: Entry(t.row.number, t.dims) for name, t in self._tensors.items()}

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """A read-only array, its bytes checked against the archive's CRC-32.

        Raises:
            NotFoundError: there is none of this name.
            DataLossError: its bytes are damaged.
        """
        tensor = find(self._tensors, name, self.what)
        row, width = tensor.row, tensor.row.bits // 8
        data = self._zip.read(f"{self._root}data/{tensor.storage.key}")
        data = data[tensor.begin * width : tensor.end * width]
        count = tensor.end - tensor.begin
        flat = decode(row.number, (count,), data, self.what, name, big=self._big)
        strides = [stride * width for stride in tensor.strides]
        view: Array = np.ndarray(tensor.dims, flat.dtype, flat.view(np.uint8).data, 0, strides)
        if tensor.flags.get("conj"):
            view = np.conj(view)
        if tensor.flags.get("neg"):
            view = np.negative(view)
        view.flags.writeable = False
        return view

    # ---- the archive ----

    def _find_root(self) -> str:
        roots = [n.removesuffix("data.pkl") for n in self._zip.members if n.endswith("/data.pkl")]
        if len(roots) != 1:
            raise refused(self.what, "it is a zip archive, but not one of torch.save's")
        if roots[0] + "constants.pkl" in self._zip.members:
            raise refused(
                self.what, "it is a TorchScript program; save the module's state_dict() instead"
            )
        return roots[0]

    def _byte_order(self) -> bytes:
        if self._root + "byteorder" not in self._zip.members:
            return b"little"  # older than the entry
        order = bytes(self._zip.read(self._root + "byteorder"))
        if order not in (b"little", b"big"):
            raise damaged(self.what, "its byte order is neither little nor big")
        return order

    # ---- objects of the pickle ----

    def _globals(self) -> dict[str, Global]:
        makers: dict[str, Callable[..., Any]] = {
            "collections.OrderedDict": _dict,
            "collections.Counter": _counter,
            "torch.Size": _size,
            "torch.device": _device,
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_tensor_v3": self._tensor_of_dtype,
            "torch._utils._rebuild_parameter": self._parameter,
            "torch._utils._rebuild_parameter_with_state": self._parameter,
        }
        names = [f"torch.{name}" for name in (*DTYPES, *STORAGES)]
        plain = ["torch.storage.UntypedStorage", *names]
        return {
            **{name: Global(name) for name in plain},
            **{name: Global(name, call) for name, call in makers.items()},
        }

    def _storage(self, found: Any) -> _Storage:
        """Resolves a persistent id: ("storage", class, key, location, elements)."""
        if type(found) is not tuple or len(found) != 5 or found[0] != "storage":
            raise refused(self.what, "its pickle refers to something other than a storage")
        _, kind, key, _, count = found
        name = kind.name.rpartition(".")[2] if type(kind) is Global else ""
        if type(key) is not str or type(count) is not int or not name.endswith("Storage"):
            raise damaged(self.what, "a storage is described by other things than its own")
        member = self._zip.members.get(f"{self._root}data/{key}")
        if member is None:
            raise damaged(self.what, f"the bytes of the storage {key!r} are missing")
        row = dtypes.BY_NAME[STORAGES[name]] if name in STORAGES else None
        if member.size != count * (row.bits // 8 if row else 1):
            raise damaged(
                self.what, f"the storage {key!r} of {count} elements has {member.size} bytes"
            )
        return _Storage(row, key, count)

    def _tensor(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        metadata: Any = None,
    ) -> _Tensor:
        if type(storage) is not _Storage or storage.row is None:
            raise damaged(self.what, "a tensor is a view of no storage")
        return self._view(storage.row, storage, storage.count, offset, size, stride, metadata)

    def _tensor_of_dtype(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> _Tensor:
        name = dtype.name.removeprefix("torch.") if type(dtype) is Global else ""
        if type(storage) is not _Storage or storage.row is not None or name not in DTYPES:
            raise damaged(self.what, "a tensor is a view of no storage, or has no dtype")
        row = dtypes.BY_NAME[DTYPES[name]]
        count = storage.count * 8 // row.bits
        return self._view(row, storage, count, offset, size, stride, metadata)

    def _view(
        self,
        row: dtypes.ElementType,
        storage: _Storage,
        count: int,
        offset: Any,
        size: Any,
        stride: Any,
        metadata: Any,
    ) -> _Tensor:
        """A tensor of which every element is in its storage."""
        what = f"a tensor of storage {storage.key!r}"
        if not (_naturals(size) and _naturals(stride) and _naturals((offset,))):
            raise damaged(self.what, f"{what} has no sizes or strides")
        if len(size) != len(stride) or not isinstance(metadata, dict | None):
            raise damaged(self.what, f"{what} has {len(size)} sizes and {len(stride)} strides")
        dims = check_dims(size, self.what, what)
        elements = 1
        for dim in dims:
            elements *= dim
        last = offset + sum((d - 1) * s for d, s in zip(dims, stride, strict=True))
        if offset > count or (elements and last >= count):
            raise damaged(self.what, f"{what} reaches beyond its {count} elements")
        if elements > count:
            raise refused(
                self.what, f"{what} repeats its {count} elements to {elements} (expand); "
                "save it after .contiguous()"
            )  # fmt: skip
        strides = stride if elements else (0,) * len(dims)
        end = last + 1 if elements else offset
        return _Tensor(row, storage, offset, end, dims, strides, metadata or {})

    def _parameter(self, data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> _Tensor:
        if type(data) is not _Tensor:
            raise damaged(self.what, "a parameter has no tensor")
        return data

    # ---- names ----

    def _flatten(self, value: Any, name: str, alone: str, depth: int) -> None:
        """Files the tensors in a value under their names; `alone`: of a lone tensor."""
        self._bytes_left -= MAX_EXPANSION // 2 + len(name)
        if depth > DEEPEST or self._bytes_left < 0:
            raise refused(
                self.what, f"its dicts and lists are nested deeper than {DEEPEST} times, or "
                "again and again"
            )  # fmt: skip
        if type(value) is dict or type(value) is list or type(value) is tuple:
            items = value.items() if type(value) is dict else enumerate(value)
            for key, item in items:
                self._flatten(item, f"{name}.{key}" if name else str(key), "", depth + 1)
            return
        full = name or alone
        if full in self._tensors or full in self.skipped:
            raise refused(self.what, f"two values have the name {full!r}")
        if type(value) is _Tensor:
            self._tensors[full] = value
        else:
            kind = type(value).__name__.lstrip("_")
            self.skipped[full] = value.name if type(value) is Global else kind


def _naturals(found: Any) -> bool:
    return type(found) is tuple and all(type(n) is int and n >= 0 for n in found)


def _dict() -> dict[Any, Any]:
    return {}


def _counter(items: Any = None) -> Any:
    return items if type(items) is dict else {}


def _size(dims: Any = ()) -> Any:
    return dims if type(dims) is tuple else ()


def _device(kind: Any, index: Any = 0) -> str:
    return "device"
