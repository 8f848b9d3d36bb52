"""A cell that attends to memories in every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphio.contrib.seq2seq.attention import AttentionMechanism
from graphio.contrib.seq2seq.decoder import projected_size
from graphio.framework import dtypes, nest, scopes
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.core import Dense
from graphio.layers.rnn_cell import RNNCell, _check_cell, zeros_of
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_equal
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.linalg import matmul

__all__ = ["AttentionWrapper", "AttentionWrapperState", "attended"]


class AttentionWrapperState(NamedTuple):
    """The state of an AttentionWrapper.

    cell_state is the cell's, attention what the last step saw, time the number of steps,
    alignments the last weights, alignment_history a TensorArray of all weights or (), and
    attention_state the mechanism's state. The last three are tuples where there are several
    mechanisms.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **fields: Any) -> AttentionWrapperState:
        """A copy with other values of some fields, of the same structure and shapes.

        Raises:
            ValueError: a shape is another one.
        """
        made: AttentionWrapperState = nest.map_structure(
            _of_same_shape, self, self._replace(**fields)
        )
        return made


def _of_same_shape(old: Any, new: Any) -> Any:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        if not new.shape.is_compatible_with(old.shape):
            raise ValueError(
                "The shape of the AttentionWrapperState is expected to be same as the one to "
                f"clone. self.shape: {old.shape}, input.shape: {new.shape}"
            )
        if not new.shape.is_fully_defined():
            new = array.identity(new)
            new.set_shape(old.shape)
    return new


def attended(mechanism: Any, output: Any, state: Any, layer: Any) -> tuple[Any, Any, Any]:
    """The part of the memory that the output sees, the weights and the mechanism's next state."""
    alignments, following = mechanism(output, state=state)
    seen = matmul.matmul(array.expand_dims(alignments, 1), mechanism.values)
    seen = array.squeeze(seen, [1])
    if layer is not None:
        seen = layer(array.concat([output, seen], 1))
    return seen, alignments, following


def _joined(inputs: Any, attention: Any) -> Any:
    return array.concat([inputs, attention], -1)


class AttentionWrapper(RNNCell):
    """A cell whose inputs are joined to what the step before saw of a memory.

    Args:
        cell: the cell.
        attention_mechanism: an AttentionMechanism, or a list of such.
        attention_layer_size: size of a projection of the output and what is seen; a list where
            there are several mechanisms. None: none, the attention is what is seen.
        alignment_history: whether all weights are kept, in a TensorArray.
        cell_input_fn: from inputs and attention to the cell's inputs; None: both joined.
        output_attention: whether the attention is the output; False: the cell's output is.
        initial_cell_state: the cell's first state that zero_state gives; None: zeros.
        name, dtype: as RNNCell's.
        attention_layer: a layer in place of attention_layer_size, or a list of such.
        attention_fn: from the mechanism, the cell's output, the mechanism's state and the layer to
            (attention, weights, next state).

    Raises:
        TypeError: a mechanism or cell_input_fn is of another class.
        ValueError: both attention_layer_size and attention_layer are given, or not one for each
            mechanism.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        _check_cell(cell)
        self._several = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = _mechanisms(attention_mechanism)
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell, self._cell_input = cell, cell_input_fn or _joined
        self._attend = attention_fn or attended
        self._keeps, self._output_attention = alignment_history, output_attention
        self._layers: Sequence[Any] = [None] * len(self._mechanisms)
        self._make_layers(attention_layer_size, attention_layer)
        with scopes.name_scope(name, "AttentionWrapperInit"):
            self._first = initial_cell_state
            if initial_cell_state is not None:
                batch = _batch_size(nest.flatten(initial_cell_state)[-1])
                with scopes.control_dependencies(self._checks(batch, "constructing", "initial")):
                    self._first = nest.map_structure(array.identity, initial_cell_state)

    def _make_layers(self, sizes: Any, layers: Any) -> None:
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if sizes is not None:
            known = _one_for_each(sizes, self._mechanisms, "attention_layer_size", "integer")
            pairs = zip(known, self._mechanisms, strict=True)
            self._layers = [
                Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in pairs
            ]
            self._attention_size = sum(known)
            return
        depths = [mechanism.values.shape[-1].value for mechanism in self._mechanisms]
        if layers is not None:
            self._layers = _one_for_each(layers, self._mechanisms, "attention_layer", "layer")
            inputs = [self._cell.output_size + depth for depth in depths]
            pairs = zip(inputs, self._layers, strict=True)
            depths = [projected_size(size, layer)[-1].value for size, layer in pairs]
        self._attention_size = sum(depths)

    def _checks(self, batch_size: Any, doing: str, what: str) -> list[Any]:
        message = (
            f"When {doing} AttentionWrapper {self.name}: Non-matching batch sizes between the "
            f"memory (encoder output) and {_BATCHES[what]}  Are you using the BeamSearchDecoder?  "
            "You may need to tile with tf.contrib.seq2seq.tile_batch, multiple=beam_width."
        )
        checks = [
            assert_equal(batch_size, mechanism.batch_size, message=message)
            for mechanism in self._mechanisms
        ]
        return [check for check in checks if check is not None]

    def _one_or_all(self, parts: Any) -> Any:
        return tuple(parts) if self._several else next(iter(parts))

    @property
    def output_size(self) -> Any:
        """The size of the attention, or of the cell's output."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        """AttentionWrapperState of sizes."""
        sizes = [mechanism.alignments_size for mechanism in self._mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            attention=self._attention_size,
            time=TensorShape([]),
            alignments=self._one_or_all(sizes),
            alignment_history=self._one_or_all(s if self._keeps else () for s in sizes),
            attention_state=self._one_or_all(m.state_size for m in self._mechanisms),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step; the cell's is initial_cell_state where that is given.

        Args:
            batch_size: an int or scalar tensor; that of the memory.
            dtype: of the state.
        """
        with scopes.name_scope(type(self).__name__ + "ZeroState"):
            first = self._first
            if first is None:
                first = self._cell.zero_state(batch_size, dtype)
            with scopes.control_dependencies(self._checks(batch_size, "calling", "requested")):
                first = nest.map_structure(array.identity, first)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            return AttentionWrapperState(
                cell_state=first,
                attention=zeros_of(batch_size, self._attention_size, dtype),
                time=array.zeros([], dtypes.int32),
                alignments=self._one_or_all(alignments),
                alignment_history=self._one_or_all(self._history(a, dtype) for a in alignments),
                attention_state=self._one_or_all(
                    m.initial_state(batch_size, dtype) for m in self._mechanisms
                ),
            )

    def _history(self, alignments: Any, dtype: Any) -> Any:
        if not self._keeps:
            return ()
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignments.shape)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        output, following = self._cell(self._cell_input(inputs, state.attention), state.cell_state)
        with scopes.control_dependencies(self._checks(_batch_size(output), "applying", "query")):
            output = array.identity(output)
        before, histories = state.attention_state, state.alignment_history
        if not self._several:
            before, histories = [before], [histories]
        found = [
            self._attend(*parts)
            for parts in zip(
                self._mechanisms, [output] * len(self._mechanisms), before, self._layers,
                strict=True,
            )
        ]  # fmt: skip
        attentions, alignments, states = zip(*found, strict=True)
        if self._keeps:
            pairs = zip(histories, alignments, strict=True)
            histories = [history.write(state.time, one) for history, one in pairs]
        attention = attentions[0] if len(attentions) == 1 else array.concat(attentions, 1)
        after = AttentionWrapperState(
            cell_state=following,
            attention=attention,
            time=state.time + 1,
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(histories),
            attention_state=self._one_or_all(states),
        )
        return (attention if self._output_attention else output), after


#: in messages: the other side of a comparison with a memory's batch size
_BATCHES = {
    "initial": "initial_cell_state.",
    "requested": "the requested batch size.",
    "query": "the query (decoder output).",
}


def _mechanisms(given: Any) -> tuple[Any, ...]:
    found = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    for mechanism in found:
        if not isinstance(mechanism, AttentionMechanism):
            raise TypeError(
                "attention_mechanism must be an AttentionMechanism or list of multiple "
                f"AttentionMechanism instances, saw type: {type(mechanism).__name__}"
            )
    return found


def _one_for_each(given: Any, mechanisms: Sequence[Any], name: str, what: str) -> tuple[Any, ...]:
    found = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if len(found) != len(mechanisms):
        raise ValueError(
            f"If provided, {name} must contain exactly one {what} per attention_mechanism, saw: "
            f"{len(found)} vs {len(mechanisms)}"
        )
    return found


def _batch_size(x: Any) -> Any:
    known = x.shape[0].value
    return array.shape(x)[0] if known is None else known
