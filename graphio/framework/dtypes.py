"""Element types under TensorFlow's names: float32, int64, string and the others."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from graphio.schema import dtypes as table
from graphio.schema import small_types
from graphio.support import api_guard, errors

#: TensorFlow's numbers (DataType of types.proto) by name, which as_datatype_enum gives
_TENSORFLOW = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
    "float8e5m2": 24,
    "float8e4m3fn": 25,
    "float8e4m3fnuz": 26,
    "float8e5m2fnuz": 28,
    "int4": 29,
    "uint4": 30,
    "int2": 31,
    "uint2": 32,
    "float4e2m1": 33,
}
#: TensorFlow's dtypes that no tensor here has: number and numpy's dtype by name
_NAMED_ONLY: dict[str, tuple[int, Any]] = {
    "qint8": (11, np.int8),
    "quint8": (12, np.uint8),
    "qint32": (13, np.int32),
    "qint16": (15, np.int16),
    "quint16": (16, np.uint16),
    "resource": (20, None),
    "variant": (21, None),
}
_REF = 100  # TensorFlow's number of a reference type less that of its base
_FLOATING = {"float16", "bfloat16", "float32", "float64"}
#: their names in TensorFlow's error messages
_PROTO_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


class DType:
    """An element type, or what holds values of one; there is one object for each.

    `DType(number)` gives the one of TensorFlow's number, as `as_dtype(number)` does.

    Attributes:
        name: "float32"; "sequence(float32)", "optional(float32)" for what holds values;
            "float32_ref" for the reference type.
        number: ONNX's number of the element type, which files hold; 0 for the quantized types,
            resource and variant, which have a name and no tensors.
        kind: "tensor", or "sequence" or "optional" of values of the type `inside`, "ref" for the
            reference type of it, or "named" for a type without tensors.
        inside: the dtype of the values held or referred to; None for tensors.
    """

    __slots__ = ("_row", "inside", "kind", "name", "number")

    _row: table.ElementType
    inside: DType | None
    kind: str
    name: str
    number: int

    def __new__(cls, type_enum: int) -> DType:
        return as_dtype(int(type_enum))

    @classmethod
    def _of(
        cls, row: table.ElementType, kind: str = "tensor", inside: DType | None = None
    ) -> DType:
        made = object.__new__(cls)
        made._row = row
        made.kind = kind
        made.inside = inside
        made.name = row.name if inside is None else f"{kind}({inside.name})"
        if kind == "ref":
            made.name = f"{row.name}_ref"
        made.number = row.number
        return made

    @property
    def as_numpy_dtype(self) -> Any:
        """numpy's scalar type of the elements, or that of ml_dtypes; object for string.

        Raises:
            TypeError: ml_dtypes is needed and not installed, or there is none: resource, variant.
        """
        if self.is_quantized:
            return self._row.numpy
        if not self.number:
            raise TypeError(f"{self.base_dtype.name} has no numpy dtype")
        try:
            return small_types.numpy_dtype(self._row).type
        except errors.UnimplementedError as error:
            raise TypeError(error.message) from None

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number, 0 where it has none."""
        if self.kind == "ref":
            return _REF + self.base_dtype.as_datatype_enum
        if self.name in _NAMED_ONLY:
            return _NAMED_ONLY[self.name][0]
        return _TENSORFLOW.get(self.name, 0)

    @property
    def base_dtype(self) -> DType:
        """The dtype itself; of a reference type what it refers to. Tensors have base dtypes."""
        return self.inside if self.kind == "ref" and self.inside is not None else self

    @property
    def _as_ref(self) -> DType:
        return self if self.kind == "ref" else as_dtype(f"{self.name}_ref")

    @property
    def _is_ref_dtype(self) -> builtins.bool:
        return self.kind == "ref"

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.base_dtype.name, self)

    @property
    def is_floating(self) -> builtins.bool:
        """Whether it is a real floating-point type."""
        return self.base_dtype.name in _FLOATING

    @property
    def is_integer(self) -> builtins.bool:
        """Whether it is an integer type; bool is none."""
        return self.name.startswith(("int", "uint"))

    @property
    def is_complex(self) -> builtins.bool:
        """Whether it is a complex type."""
        return self.name.startswith("complex")

    @property
    def is_bool(self) -> builtins.bool:
        """Whether it is bool."""
        return self.base_dtype.name == "bool"

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether it is an unsigned integer type."""
        return self.name.startswith("uint")

    @property
    def is_quantized(self) -> builtins.bool:
        """Whether it is qint8, quint8, qint16, quint16 or qint32, which no tensor has."""
        return self._row.numpy is not None and not self.number

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether numpy has it."""
        return self._row.numpy is not None

    @property
    def min(self) -> Any:
        """The minimum finite value.

        Raises:
            TypeError: it is not a number type.
        """
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest finite value.

        Raises:
            TypeError: it is not a number type.
        """
        return self._limits().max

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of an image of the dtype: (0, 1) for floats, else the minimum and maximum."""
        return (0, 1) if self.is_floating else (self.min, self.max)

    def _limits(self) -> Any:
        if not self.is_floating and not self.is_integer and self.number not in table.ML_DTYPES:
            raise TypeError(f"{self.name} has no least or largest value")
        source: Any = np
        kind = self.as_numpy_dtype
        if self.number in table.ML_DTYPES:
            import ml_dtypes as source
        return source.iinfo(kind) if self.is_integer else source.finfo(kind)

    @property
    def size(self) -> int:
        """Bytes an element in memory."""
        return -(-self._row.bits // 8)

    @property
    def proto_name(self) -> str:
        """TensorFlow's word in error messages: "float" for float32."""
        return _PROTO_NAMES.get(self.name, self.name)

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Whether it is the same type, or the base of other's reference type."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return self is other
        if other is None or other is int:  # TensorFlow takes int for no dtype
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return self.number

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __reduce__(self) -> tuple[Any, ...]:
        if self.inside is not None:
            return holder, (self.kind, self.inside)
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"


def carries_gradient(dtype: DType) -> builtins.bool:
    """Whether gradients arrive at tensors of the dtype: floating and complex ones."""
    return dtype.is_floating or dtype.base_dtype.is_complex


_BY_NUMBER = {row.number: DType._of(row) for row in table.TABLE}
_BY_NAME = {dtype.name: dtype for dtype in _BY_NUMBER.values()}

float16 = half = _BY_NAME["float16"]
float32 = _BY_NAME["float32"]
float64 = double = _BY_NAME["float64"]
bfloat16 = _BY_NAME["bfloat16"]
int8 = _BY_NAME["int8"]
int16 = _BY_NAME["int16"]
int32 = _BY_NAME["int32"]
int64 = _BY_NAME["int64"]
uint8 = _BY_NAME["uint8"]
uint16 = _BY_NAME["uint16"]
uint32 = _BY_NAME["uint32"]
uint64 = _BY_NAME["uint64"]
bool = _BY_NAME["bool"]
string = _BY_NAME["string"]
complex64 = _BY_NAME["complex64"]
complex128 = _BY_NAME["complex128"]


def _named_only(name: str, numpy_type: Any) -> DType:
    """Of a type without tensors; numpy's is a record of one field, as TensorFlow's."""
    if numpy_type is None:
        return DType._of(table.ElementType(0, name, None, 0), "named")
    numpy_dtype = np.dtype([(name, numpy_type)])
    return DType._of(table.ElementType(0, name, numpy_dtype, numpy_dtype.itemsize * 8), "named")


_WITHOUT_TENSORS = {name: _named_only(name, row[1]) for name, row in _NAMED_ONLY.items()}
qint8 = _WITHOUT_TENSORS["qint8"]
qint16 = _WITHOUT_TENSORS["qint16"]
qint32 = _WITHOUT_TENSORS["qint32"]
quint8 = _WITHOUT_TENSORS["quint8"]
quint16 = _WITHOUT_TENSORS["quint16"]
resource = _WITHOUT_TENSORS["resource"]
variant = _WITHOUT_TENSORS["variant"]

__all__ = [
    "QUANTIZED_DTYPES",
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "carries_gradient",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "holder",
    "int8",
    "int16",
    "int32",
    "int64",
    "qint8",
    "qint16",
    "qint32",
    "quint8",
    "quint16",
    "resource",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "variant",
]

_NAMES = {
    **_BY_NAME,
    **_WITHOUT_TENSORS,
    **{theirs: _BY_NUMBER[number] for number, theirs in table.ML_DTYPES.items()},
    "float": float32,
    "double": float64,
    "half": float16,
}
_BY_NUMPY = {
    dtype._row.numpy: dtype
    for dtype in (*_BY_NUMBER.values(), *_WITHOUT_TENSORS.values())
    if dtype._row.numpy is not None
}
_BY_TENSORFLOW = {number: _BY_NAME[name] for name, number in _TENSORFLOW.items()}
_BY_TENSORFLOW |= {dtype.as_datatype_enum: dtype for dtype in _WITHOUT_TENSORS.values()}
_REFS = {dtype: DType._of(dtype._row, "ref", dtype) for dtype in _BY_TENSORFLOW.values()}
_NAMES |= {f"{name}_ref": _REFS[dtype] for name, dtype in _NAMES.items() if dtype in _REFS}
#: the types of integers that stand for real numbers, and of references to them
QUANTIZED_DTYPES = frozenset(
    dtype for name, dtype in _NAMES.items() if name.startswith(("qint", "quint"))
)
_BY_TENSORFLOW |= {_REF + number: _REFS[dtype] for number, dtype in _BY_TENSORFLOW.items()}
_PYTHON = {float: float32, int: int32, complex: complex128, str: string, bytes: string}
_PYTHON[builtins.bool] = bool


def of_number(number: int) -> DType:
    """The dtype of ONNX's number, as files hold it."""
    return _BY_NUMBER[table.of_number(number).number]


_holders: dict[tuple[str, DType], DType] = {}


def holder(kind: str, inside: DType) -> DType:
    """The dtype of a "sequence" of values of a dtype, or of an "optional" one."""
    key = kind, inside
    if key not in _holders:
        _holders[key] = DType._of(inside._row, kind, inside)
    return _holders[key]


@api_guard.guarded
def as_dtype(type_value: Any) -> DType:
    """The dtype of a DType, a name, TensorFlow's number, a numpy or Python type.

    "float32_ref" and 101 give the reference type of float32; a tensor made with it has the base
    dtype. Quantized types, resource and variant have names, sizes and numbers and no tensors: an
    operation refuses them.

    Raises:
        TypeError: nothing corresponds to it.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, np.dtype) and type_value in _BY_NUMPY:
        return _BY_NUMPY[type_value]
    if type_value is None:
        raise TypeError("Cannot convert value None to a TensorFlow DType.")
    if isinstance(type_value, str) and type_value in _NAMES:
        return _NAMES[type_value]
    if isinstance(type_value, type) and type_value in _PYTHON:
        return _PYTHON[type_value]
    if isinstance(type_value, int) and type_value in _BY_TENSORFLOW:
        return _BY_TENSORFLOW[type_value]
    try:
        return of_number(table.of_numpy(type_value).number)
    except (TypeError, ValueError):
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.") from None


def __getattr__(name: str) -> Any:
    """The dtypes of references, such as float32_ref."""
    if name.endswith("_ref") and name in _NAMES:
        return _NAMES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
