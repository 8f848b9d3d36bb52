"""The parts of complex numbers: three operators with kernels, and their builders.

Gradients are TensorFlow's: dL/dre + i dL/dim. They follow from those of the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import describe, node, operands, operation, scope
from graphio.ops.base.primitive import unary
from graphio.ops.base.shapes import Dims, dims_of
from graphio.support import api_guard

__all__ = [
    "Parts",
    "complex",
    "conj",
    "conjugate",
    "given",
    "imag",
    "imag_of",
    "joined",
    "numbers",
    "of_parts",
    "parts_of",
    "real",
    "real_of",
]

Gradients = Sequence["Tensor | None"]

#: the complex dtype of the dtype of the parts
COMPLEX_OF = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


class Parts(NamedTuple):
    """The real and the imaginary parts of a tensor."""

    re: Tensor
    im: Tensor


def real_of(z: Tensor, name: str | None = None) -> Tensor:
    """The real parts of a complex tensor."""
    return node("Real", [z], z.dtype.real_dtype, dims_of(z), name=name, domain="graphio")


def imag_of(z: Tensor, name: str | None = None) -> Tensor:
    """The imaginary parts of a complex tensor."""
    return node("Imag", [z], z.dtype.real_dtype, dims_of(z), name=name, domain="graphio")


def parts_of(z: Tensor) -> Parts:
    """Both parts of a complex tensor."""
    return Parts(real_of(z), imag_of(z))


def joined(re: Tensor, im: Tensor, name: str | None = None, dims: Dims = None) -> Tensor:
    """The complex tensor of parts of one shape; dims: that, where the caller knows more."""
    known = dims_of(re) if dims is None else dims
    return node(
        "Complex", [re, im], COMPLEX_OF[re.dtype.base_dtype], known, name=name, domain="graphio"
    )


def given(request: Request, index: int) -> Tensor:
    """An input that the operator must have."""
    tensor = request.inputs[index]
    assert tensor is not None
    return tensor


def of_parts(request: Request, inputs: Sequence[Tensor | None]) -> Tensor:
    """The requested operator, of real inputs."""
    outputs = [(request.dtype.real_dtype, request.dims)]
    made = operation(
        request.op, inputs, outputs, domain=request.domain, attrs=request.attrs
    ).outputs[0]
    return made


@gradient("Real", domain="graphio")
def _real_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy + 0i."""
    return [joined(dy, primitive.fill_like(dy, 0))]


@gradient("Imag", domain="graphio")
def _imag_gradient(op: Operation, dy: Tensor) -> Gradients:
    """0 + dy i."""
    return [joined(primitive.fill_like(dy, 0), dy)]


@gradient("Complex", domain="graphio")
def _complex_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The parts of dy."""
    return [real_of(dy), imag_of(dy)]


# ---- public functions ----


@api_guard.operator
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of their real and imaginary parts, with broadcasting.

    Args:
        real: float32 or float64 tensor.
        imag: tensor of the same dtype.
        name: of the operation.

    Returns:
        A complex64 tensor of parts of float32, complex128 of float64.

    Raises:
        TypeError: the dtypes differ, or are others.
        ValueError: the shapes do not broadcast.

    Example:
        >>> tf.Session().run(tf.complex([1.0, 2.0], [0.5, -1.0]))
        array([1.+0.5j, 2.-1.j ], dtype=complex64)
    """
    with scope(name, "Complex") as at:
        re, im = operands(real, imag, "Complex", ("real", "imag"))
        if re.dtype.base_dtype not in COMPLEX_OF:
            raise TypeError(
                f"Value passed to parameter 'real' of 'Complex' has DataType {re.dtype.name}, "
                "expected float32 or float64; cast it"
            )
        dims = shapes.broadcast(dims_of(re), dims_of(im), describe(at, "Complex"))
        if dims is None or None in dims or not dims_of(re) == dims_of(im) == dims:
            re, im = _spread(re, im, dims), _spread(im, re, dims)
        return joined(re, im, at, dims)


def _spread(x: Tensor, other: Tensor, dims: Dims) -> Tensor:
    """x broadcast to the shape that it has with another tensor."""
    if dims is not None and None not in dims:
        return primitive.expand(x, primitive.int_vector([d or 0 for d in dims]), dims)
    return node("Expand", [x, primitive.shape_of(other)], x.dtype, dims)


def numbers(value: Any, function: str, name: str = "input") -> Tensor:
    """A tensor of numbers. Raises TypeError where it holds others."""
    x = convert_to_tensor(value, name=name)
    if not (x.dtype.is_floating or x.dtype.is_integer or x.dtype.is_complex):
        raise TypeError(f"{function}: '{x.name}' is {x.dtype.name}, expected numbers")
    return x


@api_guard.operator
def real(input: Any, name: str | None = None) -> Tensor:
    """The real part: float32 of complex64, float64 of complex128; of a real tensor itself.

    Args:
        input: tensor of numbers.
        name: of the operation.

    Raises:
        TypeError: input holds no numbers.
    """
    with scope(name, "Real") as at:
        x = numbers(input, "real")
        return real_of(x, at) if x.dtype.is_complex else x


@api_guard.operator
def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part, as real gives the real one; of a real tensor zeros."""
    with scope(name, "Imag") as at:
        x = numbers(input, "imag")
        return imag_of(x, at) if x.dtype.is_complex else array.zeros_like(x, name=at)


@api_guard.operator
def conj(x: Any, name: str | None = None) -> Tensor:
    """The conjugate, x with the imaginary part negated; a real tensor itself."""
    with scope(name, "Conj") as at:
        tensor = numbers(x, "conj", "x")
        return conjugate(tensor, at) if tensor.dtype.is_complex else tensor


def conjugate(z: Tensor, name: str | None = None) -> Tensor:
    """The conjugate of a complex tensor."""
    re, im = parts_of(z)
    return joined(re, unary("Neg", im), name)
