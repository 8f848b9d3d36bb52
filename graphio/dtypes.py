"""Element types under TensorFlow's names: float32, int64, string and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphio.framework import dtypes as _dtypes
from graphio.framework.dtypes import (
    QUANTIZED_DTYPES,
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    holder,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint16,
    qint32,
    quint8,
    quint16,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)

__all__ = [
    "QUANTIZED_DTYPES",
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
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

if TYPE_CHECKING:
    from graphio.ops.complex.parts import complex as complex
    from graphio.ops.math.elementwise import cast as cast
    from graphio.ops.math.elementwise import saturate_cast as saturate_cast
    from graphio.ops.strings.numbers import as_string as as_string
else:

    def __getattr__(name: str) -> Any:
        """Functions, which need the builder; types of references."""
        if name == "complex":
            from graphio.ops.complex import parts

            return parts.complex
        if name in ("cast", "saturate_cast"):
            from graphio.ops.math import elementwise

            return getattr(elementwise, name)
        if name == "as_string":
            from graphio.ops.strings import numbers

            return numbers.as_string
        if name.endswith("_ref"):
            return getattr(_dtypes, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
