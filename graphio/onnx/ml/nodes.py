"""Common functions for ai.onnx.ml: checked attributes, and inputs as matrices."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.operation_names import valid_name
from graphio.onnx.attributes import from_proto
from graphio.ops.base.primitive import cast, reshape
from graphio.ops.base.shapes import dims_of

__all__ = [
    "DOMAIN",
    "Array",
    "Lowered",
    "attributes",
    "computed",
    "entries",
    "matrix",
    "name_of",
    "numbers",
    "one_of",
    "row",
    "string_values",
]

DOMAIN = "ai.onnx.ml"
Array = np.ndarray[Any, Any]
Lowered = Sequence["Tensor | None"]
_Kind = onnx.AttributeProto.AttributeType
_VERSIONS = range(1, 6)


@functools.cache
def _specs(op: str) -> dict[str, Any]:
    """The attributes of an operator in any of its versions; of the newest that has each."""
    found: dict[str, Any] = {}
    for version in _VERSIONS:
        try:
            found |= onnx.defs.get_schema(op, version, DOMAIN).attributes
        except onnx.defs.SchemaError:
            continue
    return found


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node by name, those of the standard's defaults among them.

    Raises:
        ValueError: an attribute that the operator has not, of another kind or that is not UTF-8,
            and a required one that is missing; all at once.
    """
    specs, wrong, found = _specs(node.op_type), [], {}
    for attribute in node.attribute:
        spec = specs.get(attribute.name)
        kind = _Kind.Name(attribute.type)
        if spec is None:
            wrong.append(
                f"has no attribute '{attribute.name}'; the operator's are: {_listed(specs)}"
            )
        elif kind != spec.type.name:
            wrong.append(
                f"attribute '{attribute.name}' is of kind {kind.lower()}, expected "
                f"{spec.type.name.lower()}"
            )
        elif (at := _no_text(attribute)) is not None:
            wrong.append(f"attribute '{attribute.name}': {at!r} is not UTF-8")
        else:
            found[attribute.name] = from_proto(attribute)
    for name, spec in specs.items():
        if spec.required and name not in {a.name for a in node.attribute}:
            wrong.append(f"attribute '{name}' is missing")
        elif name not in found and spec.default_value.type != _Kind.UNDEFINED:
            found[name] = from_proto(spec.default_value)
    if wrong:
        raise ValueError("; ".join(wrong))
    return found


def _listed(specs: Mapping[str, Any]) -> str:
    return ", ".join(sorted(specs)) or "none"


def _no_text(attribute: onnx.AttributeProto) -> bytes | None:
    for text in (attribute.s, *attribute.strings):
        try:
            text.decode()
        except UnicodeDecodeError:
            return text
    return None


def name_of(node: onnx.NodeProto) -> str:
    """The name of the last operation that a node becomes."""
    return valid_name(node.name or node.output[0] or node.op_type)


def entries(attrs: Mapping[str, Any], name: str, *allowed: int) -> list[Any]:
    """A list, empty where it is absent.

    Raises:
        ValueError: it has another number of entries than allowed; 0 is always.
    """
    found = list(attrs.get(name) or ())
    if found and allowed and len(found) not in allowed:
        requested = " or ".join(str(n) for n in sorted(set(allowed)))
        raise ValueError(f"{name} has {len(found)} entries, expected {requested}")
    return found


def one_of(attrs: Mapping[str, Any], *names: str) -> tuple[str, Any]:
    """The one of several lists or tensors that has entries, and its name.

    Raises:
        ValueError: none has, or several have.
    """
    given = [n for n in names if attrs.get(n) is not None and np.size(attrs[n])]
    if len(given) != 1:
        raise ValueError(f"expected one of {', '.join(names)}, found {', '.join(given) or 'none'}")
    return given[0], attrs[given[0]]


def string_values(values: Sequence[Any]) -> Array:
    """A vector of strings or of int64."""
    made: Any = np.empty(
        len(values), object if values and isinstance(values[0], bytes) else np.int64
    )
    made[:] = list(values)
    return np.asarray(made)


def numbers(x: Tensor | None) -> Tensor:
    """The input, once it is known to have numbers.

    Raises:
        ValueError: it has others.
    """
    assert x is not None
    dtype = x.dtype.base_dtype
    if not (dtype.is_floating or dtype.is_integer or dtype == dtypes.bool):
        raise ValueError(f"X is {dtype.name}, expected numbers")
    return x


def computed(x: Tensor) -> DType:
    """The type to compute in: float32 for what float32 holds, else float64."""
    small = (dtypes.float32, dtypes.float16, dtypes.bfloat16)
    return dtypes.float32 if x.dtype.base_dtype in small else dtypes.float64


def matrix(x: Tensor | None, columns: int | None = None, dtype: DType | None = None) -> Tensor:
    """Numbers as (rows, columns) in the type to compute in; a vector is one row.

    Raises:
        ValueError: x has no numbers, another rank or other columns.
    """
    given = numbers(x)
    dims = dims_of(given)
    if dims is not None and len(dims) == 1:
        given = reshape(given, [1, -1], (1, dims[0]))
    elif dims is not None and len(dims) != 2:
        raise ValueError(f"X has rank {len(dims)}, expected 2")
    known = dims and dims[-1]
    if columns is not None and known is not None and known != columns:
        raise ValueError(f"X has {known} columns, and the attributes are for {columns}")
    return cast(given, dtype or computed(given))


def row(values: Any, dtype: DType) -> Tensor:
    """A constant vector of a floating type."""
    return constant(np.asarray(values, np.float64).astype(dtype.as_numpy_dtype))
