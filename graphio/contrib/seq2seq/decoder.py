"""Decoders: what produces outputs step by step until it says that it is done."""

from __future__ import annotations

import abc
from typing import Any

from graphio.contrib.rnn.nets import transpose_batch_time
from graphio.framework import carrying, dtypes, nest
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.rnn import _chosen
from graphio.layers.rnn_cell import zeros_of
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import restoring
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.math import comparison, reduction
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = ["Decoder", "dynamic_decode", "projected_size"]


class Decoder(abc.ABC):
    """A decoder; subclasses give its sizes, its start and its step.

    dynamic_decode calls initialize once, and step until all sequences are finished.
    """

    @property
    def batch_size(self) -> Any:
        """The number of sequences, an int or a scalar tensor."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """A structure of the sizes of a step's outputs, without the batch."""
        raise NotImplementedError("Abstract method")

    @property
    def output_dtype(self) -> Any:
        """A structure of the dtypes of a step's outputs."""
        raise NotImplementedError("Abstract method")

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> Any:
        """(bools (batch): which sequences are finished, first inputs, first state)."""
        raise NotImplementedError("Abstract method")

    @abc.abstractmethod
    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """(outputs, next state, next inputs, bools: which sequences are finished)."""
        raise NotImplementedError("Abstract method")

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """(outputs, state) after the last step, from outputs (time, batch, ...)."""
        raise NotImplementedError("Abstract method")

    @property
    def tracks_own_finished(self) -> bool:
        """True: a finished sequence may be unfinished after the next step, as a beam's."""
        return False


@api_guard.makes_variables
def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
    **options: Any,
) -> Any:
    """The steps of a decoder, until all sequences are finished.

    Args:
        decoder: the decoder.
        output_time_major: whether time is the first dimension of the outputs; else the second.
        impute_finished: True: a finished sequence keeps its state, and its outputs are zeros.
        maximum_iterations: number of steps after which decoding ends; None: none.
        parallel_iterations, swap_memory: accepted.
        scope: variable scope; None: "decoder".
        options: refused; TensorFlow's are for decoders that are layers.

    Returns:
        (outputs, last state, lengths (batch) int32).

    Raises:
        TypeError: decoder is not a Decoder, or options are given.
        ValueError: maximum_iterations is not a scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    if options:
        raise TypeError(f"dynamic_decode: unexpected arguments {sorted(options)}")
    with restoring(), variable_scope(scope, "decoder"):
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtypes.int32)
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        outputs, state, lengths = _Steps(decoder, impute_finished).loop(maximum_iterations)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass  # most decoders have nothing to do after the last step
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


class _Steps:
    """The loop of a decoder.

    Args:
        decoder: the decoder.
        imputes: whether finished sequences keep their state and give zeros.
    """

    def __init__(self, decoder: Decoder, imputes: bool) -> None:
        self._decoder, self._imputes = decoder, imputes

    def loop(self, limit: Any) -> tuple[Any, Any, Any]:
        """Outputs (time, batch, ...), the last state and the lengths."""
        decoder = self._decoder
        finished, inputs, state = decoder.initialize()
        finished = convert_to_tensor(finished)
        if limit is not None:
            finished = comparison.logical_or(finished, comparison.greater_equal(0, limit))
        sizes, kinds = decoder.output_size, decoder.output_dtype
        arrays = nest.map_structure(self._array, sizes, kinds)
        lengths = array.zeros_like(finished, dtype=dtypes.int32)
        found = while_loop(
            lambda time, outputs, state, inputs, finished, lengths: comparison.logical_not(
                reduction.reduce_all(finished)
            ),
            self._step,
            (constant(0), arrays, state, inputs, finished, lengths),
            maximum_iterations=limit,
        )
        outputs = nest.map_structure(lambda one: one.stack(), found[1])
        return outputs, found[2], found[5]

    def _array(self, size: Any, dtype: Any) -> TensorArray:
        shape = None
        if isinstance(size, TensorShape) and size.ndims != 0:
            batch = constant_value(convert_to_tensor(self._decoder.batch_size))
            shape = TensorShape([None if batch is None else int(batch)]).concatenate(size)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

    def _step(
        self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> Any:
        outputs, following, next_inputs, done = self._decoder.step(time, inputs, state)
        if not self._decoder.tracks_own_finished:
            done = comparison.logical_or(done, finished)
        grown = array.fill(array.shape(lengths), time + 1)
        lengths = array.where(comparison.logical_not(finished), grown, lengths)
        nest.assert_same_structure(state, following)
        nest.assert_same_structure(arrays, outputs)
        nest.assert_same_structure(inputs, next_inputs)
        if self._imputes:
            alive = comparison.logical_not(finished)
            batch, sizes = self._decoder.batch_size, self._decoder.output_size
            kinds = self._decoder.output_dtype
            zeros = nest.map_structure(lambda s, d: zeros_of(batch, s, d), sizes, kinds)
            outputs = nest.map_structure(lambda y, zero: _chosen(alive, y, zero), outputs, zeros)
            following = nest.map_structure(
                lambda new, old: new if carrying.kind_of(old) else _chosen(alive, new, old),
                following,
                state,
            )
        arrays = nest.map_structure(lambda one, y: one.write(time, y), arrays, outputs)
        return time + 1, arrays, following, next_inputs, done, lengths


def projected_size(size: Any, layer: Any) -> Any:
    """The shape, without the batch, of a layer's output for an input of a cell's output size."""
    if layer is None:
        return size
    shape = TensorShape([None]).concatenate(TensorShape([size] if isinstance(size, int) else size))
    return layer.compute_output_shape(shape)[1:]
