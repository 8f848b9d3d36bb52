"""Linear models and recurrent networks as functions of x and y, with their losses."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from graphio.contrib.learn.ops import losses_ops
from graphio.contrib.rnn.wrappers import AttentionCellWrapper
from graphio.framework import api_boundary, dtypes, refusals, scopes
from graphio.framework.graph import Tensor
from graphio.layers.rnn import static_rnn
from graphio.layers.rnn_cell import (
    BasicLSTMCell,
    BasicRNNCell,
    GRUCell,
    MultiRNNCell,
    RNNCell,
)
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import reverse_sequence
from graphio.summary.ops import histogram
from graphio.support import api_guard
from graphio.variables.initializers import random_normal_initializer
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "bidirectional_rnn",
    "get_rnn_model",
    "linear_regression",
    "linear_regression_zero_init",
    "logistic_regression",
    "logistic_regression_zero_init",
    "losses_ops",
]

_CELLS: dict[str, Callable[[int], Any]] = {
    "rnn": BasicRNNCell,
    "gru": GRUCell,
    "lstm": functools.partial(BasicLSTMCell, state_is_tuple=False),
}


@api_guard.makes_variables
def linear_regression_zero_init(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """linear_regression whose variables begin with zeros."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


@api_guard.makes_variables
def logistic_regression_zero_init(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """logistic_regression whose variables begin with zeros."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


@api_guard.makes_variables
def linear_regression(
    x: Tensor, y: Tensor, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Predictions x weights + bias, and their mean squared error.

    Args:
        x: [batch, features].
        y: [batch, outputs], or [batch].
        init_mean, init_stddev: of the normal distribution of first values; without init_mean they
            are those of get_variable.

    Returns:
        predictions, in the shape of y, and the loss. The variables are weights and bias of the
        scope linear_regression.
    """
    with variable_scope("linear_regression"):
        outputs = 1 if y.shape.ndims == 1 else y.shape.as_list()[1]
        weights, bias = _layer(x, y, outputs, init_mean, init_stddev)
        return losses_ops.mean_squared_error_regressor(x, y, weights, bias)


@api_guard.makes_variables
def logistic_regression(
    x: Tensor, y: Tensor, class_weight: Any = None, init_mean: float | None = None,
    init_stddev: float = 1.0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Probabilities of classes, and the mean cross-entropy.

    Args:
        x: [batch, features].
        y: [batch, classes] of 0 and 1.
        class_weight: [classes], factors of the scores; None: the graph's tensor class_weight:0,
            else none.
        init_mean, init_stddev: as linear_regression's.

    Returns:
        probabilities [batch, classes], and the loss. The variables are weights and bias of the
        scope logistic_regression.
    """
    with variable_scope("logistic_regression"):
        weights, bias = _layer(x, y, y.shape.as_list()[-1], init_mean, init_stddev)
        if class_weight is None:
            try:
                class_weight = scopes.get_default_graph().get_tensor_by_name("class_weight:0")
            except KeyError:
                class_weight = None
        return losses_ops.softmax_classifier(x, y, weights, bias, class_weight=class_weight)


def _layer(
    x: Tensor, y: Tensor, outputs: int | None, mean: float | None, deviation: float
) -> tuple[Any, Any]:
    """The variables of a linear layer, with summaries of all."""
    scope, dtype = get_variable_scope().name, x.dtype.base_dtype
    histogram(f"{scope}.x", x)
    histogram(f"{scope}.y", y)
    start = None if mean is None else random_normal_initializer(mean, deviation, dtype=dtype)
    shape = [x.shape.as_list()[1], outputs]
    weights = get_variable("weights", shape, dtype=dtype, initializer=start)
    bias = get_variable("bias", [outputs], dtype=dtype, initializer=start)
    histogram(f"{scope}.weights", weights)
    histogram(f"{scope}.bias", bias)
    return weights, bias


@api_guard.makes_variables
def bidirectional_rnn(
    cell_fw: RNNCell, cell_bw: RNNCell, inputs: list[Any], initial_state_fw: Any = None,
    initial_state_bw: Any = None, dtype: Any = None, sequence_length: Any = None,
    scope: str | None = None,
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    """Two cells over a list of inputs, one of them from the end.

    Args:
        cell_fw, cell_bw: whose states are tensors, not tuples.
        inputs: list of [batch, features].
        initial_state_fw, initial_state_bw: None: zeros of dtype.
        sequence_length: [batch], the steps of each row; None: all.
        scope: the scopes are <scope>_FW and <scope>_BW; None: BiRNN.

    Returns:
        the outputs of each step, those of both cells joined, and the last states, joined.

    Raises:
        TypeError: a cell is not an RNNCell, or inputs is not a list.
        ValueError: inputs is empty.
    """
    for name, cell in (("cell_fw", cell_fw), ("cell_bw", cell_bw)):
        if not isinstance(cell, RNNCell):
            raise TypeError(f"{name} must be an instance of RNNCell")
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list")
    if not inputs:
        raise ValueError("inputs must not be empty")
    name = scope or "BiRNN"
    with variable_scope(f"{name}_FW"):
        forth, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length)
    with variable_scope(f"{name}_BW"):
        from_end = _reversed(inputs, sequence_length)
        back, state_bw = static_rnn(cell_bw, from_end, initial_state_bw, dtype, sequence_length)
    pairs = zip(forth, _reversed(back, sequence_length), strict=True)
    outputs = [array.concat(list(pair), 1) for pair in pairs]
    return outputs, array.concat([state_fw, state_bw], 1)


def _reversed(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """A list of steps from the end, each row up to its length."""
    if lengths is None:
        return list(reversed(steps))
    reverse = reverse_sequence(array.stack(steps), lengths, seq_axis=0, batch_axis=1)
    return list(array.unstack(reverse))


@api_guard.unguarded
def get_rnn_model(
    rnn_size: int, cell_type: str, num_layers: int, input_op_fn: Callable[[Any], Any],
    bidirectional: bool, target_predictor_fn: Callable[[Any, Any], Any], sequence_length: Any,
    initial_state: Any, attn_length: int | None, attn_size: int | None,
    attn_vec_size: int | None,
) -> Callable[[Any, Any], Any]:  # fmt: skip
    """A function of x and y that runs a recurrent network over x, and a model over its last state.

    Args:
        rnn_size: units of a cell.
        cell_type: "rnn", "gru" or "lstm".
        num_layers: cells on top of each other.
        input_op_fn: from x to the list of the cells' inputs.
        bidirectional: whether a second network runs from the end.
        target_predictor_fn: from the last state and y to predictions and a loss.
        sequence_length: [batch], the steps of each row; None: all.
        initial_state: None: zeros.
        attn_length: steps that an AttentionCellWrapper sees; None: there is none.
        attn_size, attn_vec_size: its sizes.

    Raises:
        ValueError: of the function: cell_type is another.
    """

    def network() -> Any:
        def cell() -> Any:
            made = _CELLS[cell_type](rnn_size)
            if attn_length is None:
                return made
            return AttentionCellWrapper(
                made, attn_length=attn_length, attn_size=attn_size, attn_vec_size=attn_vec_size,
                state_is_tuple=False,
            )  # fmt: skip

        return MultiRNNCell([cell() for _ in range(num_layers)], state_is_tuple=False)

    def model(x: Any, y: Any) -> Any:
        steps = input_op_fn(x)
        if cell_type not in _CELLS:
            raise ValueError(f"cell_type {cell_type} is not supported. ")
        if bidirectional:
            _, state = bidirectional_rnn(
                network(), network(), steps, initial_state, initial_state, dtypes.float32,
                sequence_length,
            )  # fmt: skip
        else:
            _, state = static_rnn(network(), steps, initial_state, dtypes.float32, sequence_length)
        return target_predictor_fn(state, y)

    return model


api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
