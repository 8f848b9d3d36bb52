"""A recurrent net whose state is kept from run to run by an object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import nest, scopes
from graphio.layers.rnn import static_rnn
from graphio.ops.array import surface as array
from graphio.support import api_guard

__all__ = ["static_state_saving_rnn"]


@api_guard.makes_variables
def static_state_saving_rnn(
    cell: Any,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """tf.nn.static_rnn, whose first state an object gives and whose last state it saves.

    Args:
        cell: an RNNCell.
        inputs: list of tensors (batch, size).
        state_saver: has state(name), which gives a tensor, and save_state(name, value), which gives
            an operation. The last output and the state are computed after these.
        state_name: the name of the state; a structure of names as the cell's state_size.
        sequence_length: ints (batch); outputs are zeros past them, and the state stays.
        scope: variable scope of the cell; None: "rnn".

    Returns:
        (list of outputs, last state).

    Raises:
        TypeError: cell is not a cell, or inputs not a list.
        ValueError: inputs is empty, or the names are not as many as the parts of the state.
    """
    size = cell.state_size
    if nest.is_nested(size) != nest.is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  state_name: "
            f"{state_name}, cell.state_size: {size}"
        )
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(size)):
        raise ValueError(
            f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(nest.flatten(size))}"
        )
    start = nest.pack_sequence_as(size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=start, sequence_length=sequence_length, scope=scope
    )
    pairs = zip(names, nest.flatten(state), strict=True)
    saved = [state_saver.save_state(name, part) for name, part in pairs]
    with scopes.control_dependencies(saved):
        outputs[-1] = nest.map_structure(array.identity, outputs[-1])
        state = nest.map_structure(array.identity, state)
    return outputs, state
