"""The decoder that a helper feeds, and the base of helpers."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from graphio.contrib.seq2seq.decoder import Decoder, projected_size
from graphio.framework import dtypes, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer
from graphio.layers.rnn_cell import _check_cell
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import cond
from graphio.ops.math import reduction
from graphio.ops.nn.core import embedding_lookup

__all__ = [
    "BasicDecoder",
    "BasicDecoderOutput",
    "Helper",
    "embedding_function",
    "inputs_unless_finished",
    "start_and_end",
]


class BasicDecoderOutput(NamedTuple):
    """The outputs of a BasicDecoder: the cell's, projected, and the ids that were chosen."""

    rnn_output: Any
    sample_id: Any


class Helper(abc.ABC):
    """The choice of ids from a decoder's outputs, and of its next inputs."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """The number of sequences: an int or a scalar tensor."""

    @property
    @abc.abstractmethod
    def sample_ids_shape(self) -> Any:
        """TensorShape of an id, without the batch."""

    @property
    @abc.abstractmethod
    def sample_ids_dtype(self) -> Any:
        """The dtype of ids."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> Any:
        """(bools (batch): which sequences are finished, first inputs)."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The ids of a step."""

    @abc.abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """(bools: which sequences are finished, next inputs, next state)."""


class _Ids(Helper):
    """A helper whose ids are int32 scalars."""

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a scalar."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """int32."""
        return dtypes.int32


class BasicDecoder(Decoder):
    """A decoder of a cell, an optional layer after it, and a helper.

    Args:
        cell: an RNNCell.
        helper: a Helper.
        initial_state: the cell's first state.
        output_layer: a layer such as tf.layers.Dense, applied to the cell's outputs before an id is
            chosen; None: none.

    Raises:
        TypeError: cell, helper or output_layer is of another class.
    """

    def __init__(
        self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None
    ) -> None:
        _check_cell(cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        """The helper's."""
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        """BasicDecoderOutput of sizes."""
        size = self._cell.output_size
        several = nest.is_nested(size) and not isinstance(size, TensorShape)
        if several and self._output_layer is not None:
            raise ValueError(f"output_layer takes one tensor, but the cell's output size is {size}")
        made = size if several else projected_size(size, self._output_layer)
        return BasicDecoderOutput(made, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        """BasicDecoderOutput of dtypes."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        kinds = nest.map_structure(lambda _: dtype, self.output_size.rnn_output)
        return BasicDecoderOutput(kinds, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> Any:
        """The helper's start and the first state."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """A step of the cell, and what the helper makes of it."""
        with scopes.name_scope(name, "BasicDecoderStep"):
            outputs, following = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=following)
            finished, next_inputs, following = self._helper.next_inputs(
                time=time, outputs=outputs, state=following, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), following, next_inputs, finished


def embedding_function(embedding: Any) -> Any:
    """From ids to vectors: embedding itself if it is a function, else a look-up in it."""
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def inputs_unless_finished(finished: Any, otherwise: Any, following: Any) -> Any:
    """The inputs that following() gives; those of otherwise() where all sequences are finished."""
    return cond(reduction.reduce_all(finished), otherwise, following)


def start_and_end(start_tokens: Any, end_token: Any) -> tuple[Any, Any, Any]:
    """The tokens as int32 tensors, and the number of sequences.

    Raises:
        ValueError: start_tokens is not a vector, or end_token not a scalar.
    """
    start = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
    end = convert_to_tensor(end_token, dtypes.int32, name="end_token")
    if start.shape.ndims != 1:
        raise ValueError("start_tokens must be a vector")
    if end.shape.ndims != 0:
        raise ValueError("end_token must be a scalar")
    return start, end, array.size(start)
