"""Nets of several bidirectional layers, and the layout of their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.layers.rnn import bidirectional_dynamic_rnn, static_bidirectional_rnn
from graphio.ops.array import surface as array
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "best_effort_input_batch_size",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "transpose_batch_time",
]


def _check(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    for way, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise ValueError(f"Must specify at least one {way} cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"cells_{way} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for way, states in (("fw", states_fw), ("bw", states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(
                f"initial_states_{way} must be a list of state tensors (one per layer)."
            )


def _layer_by_layer(
    build: Callable[..., Any], cells: Any, inputs: Any, states: Any, scope: Any
) -> Any:
    """The outputs of the last layer, and both directions' states of all.

    Args:
        build: from both cells, inputs, both first states and the scope to outputs and states.
        cells, states: lists of both directions.
        inputs: of the first layer.
        scope: around the layers' scopes.
    """
    _check(*cells, *states)
    firsts = [given or [None] * len(cells[0]) for given in states]
    outputs, ends = inputs, []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw, start_fw, start_bw) in enumerate(zip(*cells, *firsts, strict=True)):
            with variable_scope(f"cell_{i}") as opened:
                outputs, *both = build(fw, bw, outputs, start_fw, start_bw, opened)
            ends.append(both)
    there, back = zip(*ends, strict=True)
    return outputs, there, back


@api_guard.makes_variables
def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Sequence[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Several layers of tf.nn.static_bidirectional_rnn, each of which reads the outputs before it.

    Args:
        cells_fw, cells_bw: lists of cells, one a layer.
        inputs: list of (batch, depth), one a step.
        initial_states_fw, initial_states_bw: lists of the first states; None: zeros.
        dtype: of the first states; only where they are None.
        sequence_length: ints (batch); None: all have the length of the inputs.
        scope: variable scope; None: "stack_bidirectional_rnn".

    Returns:
        (list of the last layer's outputs, tuple of the forward states, of the backward states).

    Raises:
        ValueError: the lists are empty, are none, or differ in length.
    """

    def build(fw: Any, bw: Any, x: Any, start_fw: Any, start_bw: Any, opened: Any) -> Any:
        return static_bidirectional_rnn(
            fw, bw, x, start_fw, start_bw, dtype, sequence_length, opened
        )

    states = (initial_states_fw, initial_states_bw)
    return _layer_by_layer(build, (cells_fw, cells_bw), inputs, states, scope)


@api_guard.makes_variables
def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> Any:
    """Several layers of tf.nn.bidirectional_dynamic_rnn, each of which reads the outputs before it.

    Args:
        cells_fw, cells_bw: lists of cells, one a layer.
        inputs: (batch, time, depth); (time, batch, depth) if time_major.
        initial_states_fw, initial_states_bw: lists of the first states; None: zeros.
        dtype: of the first states; only where they are None.
        sequence_length: ints (batch); None: all have the length of the inputs.
        parallel_iterations, swap_memory: accepted.
        time_major: whether time is the first dimension of inputs and outputs.
        scope: variable scope; None: "stack_bidirectional_rnn".

    Returns:
        (the last layer's outputs, both directions joined along the last axis; tuple of the forward
        states; tuple of the backward states).

    Raises:
        ValueError: the lists are empty, are none, or differ in length.
    """

    def build(fw: Any, bw: Any, x: Any, start_fw: Any, start_bw: Any, opened: Any) -> Any:
        outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
            fw, bw, x, sequence_length, start_fw, start_bw, dtype, time_major=time_major
        )
        return array.concat(outputs, 2), state_fw, state_bw

    states = (initial_states_fw, initial_states_bw)
    return _layer_by_layer(build, (cells_fw, cells_bw), inputs, states, scope)


@api_guard.operator
def transpose_batch_time(x: Any) -> Any:
    """(time, batch, ...) for (batch, time, ...), and the other way round; below rank 2, x.

    Args:
        x: tensor.
    """
    x = convert_to_tensor(x)
    rank = x.shape.ndims
    if rank is None:
        raise ValueError(f"transpose_batch_time: '{x.name}' has no known rank")
    return x if rank < 2 else array.transpose(x, [1, 0, *range(2, rank)])


@api_guard.operator
def best_effort_input_batch_size(flat_input: Iterable[Any]) -> Any:
    """The batch size of tensors (time, batch, ...): a number where one of them knows it, else a
    scalar tensor.

    Args:
        flat_input: tensors.

    Raises:
        ValueError: a tensor has less than two dimensions.
    """
    tensors = list(flat_input)
    for x in tensors:
        if x.shape.ndims is None:
            continue
        if x.shape.ndims < 2:
            raise ValueError(f"Expected input tensor {x} to have rank at least 2")
        if x.shape[1].value is not None:
            return x.shape[1].value
    return array.shape(tensors[0])[1]
