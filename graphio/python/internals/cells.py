"""Parts of recurrent cells: of ops.rnn_cell_impl and ops.rnn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import int32
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface
from graphio.ops.array.static_values import get_static_value
from graphio.ops.array.surface import expand_dims
from graphio.ops.linalg.matmul import matmul
from graphio.ops.nn import core
from graphio.support import api_guard
from graphio.variables.initializers import constant_initializer
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "BIAS_NAME",
    "KERNEL_NAME",
    "Linear",
    "assert_like_rnncell",
    "concat",
    "like_rnncell",
    "linear",
]

KERNEL_NAME, BIAS_NAME = "kernel", "bias"


class Linear:
    """Inputs, joined, times a variable `kernel`, plus a variable `bias`, of the variable scope
    where it is made.

    Args:
        args: a tensor of shape [batch, n], or a list of them.
        output_size: columns of the kernel.
        build_bias: whether a bias is added.
        bias_initializer: None: zeros.
        kernel_initializer: None: that of the variable scope.

    Raises:
        ValueError: there is no input, or one is not a matrix of known width.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        inputs = _listed(args)
        if args is None or not inputs:
            raise ValueError("`args` must be specified")
        dtype, width = inputs[0].dtype, _width(inputs)
        with variable_scope(get_variable_scope()) as outer:
            self._kernel = get_variable(
                KERNEL_NAME, [width, output_size], dtype=dtype, initializer=kernel_initializer
            )
            self._bias = None
            if build_bias:
                start = bias_initializer
                if start is None:
                    start = constant_initializer(0.0, dtype=dtype)
                with variable_scope(outer) as inner:
                    inner.set_partitioner(None)
                    self._bias = get_variable(
                        BIAS_NAME, [output_size], dtype=dtype, initializer=start
                    )

    def __call__(self, args: Any) -> Tensor:
        """The result for inputs of the same widths, shape [batch, output_size]."""
        inputs = _listed(args)
        y = matmul(inputs[0] if len(inputs) == 1 else surface.concat(inputs, 1), self._kernel)
        return y if self._bias is None else core.bias_add(y, self._bias)


def _listed(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (list, tuple)) else [args]


def _width(inputs: list[Any]) -> int:
    """The columns of matrices that are joined."""
    shapes = [value.get_shape() for value in inputs]
    for shape in shapes:
        if shape.ndims != 2:
            raise ValueError(f"linear is expecting 2D arguments: {shapes}")
        if shape[1].value is None:
            raise ValueError(f"linear expects shape[1] to be provided for shape {shape}")
    return sum(shape[1].value for shape in shapes)


@api_guard.makes_variables
def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Tensor:
    """Linear(args, ...)(args): see there.

    Raises:
        ValueError: there is no input, or one is not a matrix of known width.
    """
    return Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)


@api_guard.operator
def concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Sizes of a state: a number, vector or TensorShape before another.

    Args:
        static: whether they are joined as sizes known before a run; they give a TensorShape then,
            else an int32 vector.

    Raises:
        ValueError: one is not a scalar or vector.
    """
    if static:
        return TensorShape(_known(prefix)).concatenate(_known(suffix))
    return surface.concat([_vector(prefix), _vector(suffix)], 0)


def _known(sizes: Any) -> TensorShape:
    value = get_static_value(sizes) if isinstance(sizes, Tensor) else sizes
    if value is None:
        return TensorShape(None)
    if isinstance(value, TensorShape):
        return value
    return TensorShape(list(value) if hasattr(value, "__len__") else [value])


def _vector(sizes: Any) -> Tensor:
    value = sizes
    if isinstance(value, TensorShape):
        value = value.as_list()
    made = convert_to_tensor(value, dtype=int32)
    if made.shape.ndims == 0:
        return expand_dims(made, 0)
    if made.shape.ndims != 1:
        raise ValueError(f"expected a scalar or a vector of sizes, got {made}")
    return made


@api_guard.unguarded
def like_rnncell(cell: Any) -> bool:
    """Whether an object has what cells have; copies of TensorFlow 1.4's rnn.py ask it."""
    return callable(cell) and all(
        hasattr(cell, name) for name in ("output_size", "state_size", "zero_state")
    )


@api_guard.unguarded
def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raises TypeError if an object lacks what cells have.

    Args:
        cell_name: for the message.
        cell: anything.
    """
    tests: Sequence[tuple[str, bool]] = (
        ("'output_size' property is missing", hasattr(cell, "output_size")),
        ("'state_size' property is missing", hasattr(cell, "state_size")),
        (
            "either 'zero_state' or 'get_initial_state' method is required",
            hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state"),
        ),
        ("is not callable", callable(cell)),
    )
    wrong = [text for text, fits in tests if not fits]
    if wrong:
        raise TypeError(
            f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(wrong)}."
        )
