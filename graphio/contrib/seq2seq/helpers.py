"""Helpers: the next inputs of a decoder are given, chosen, drawn, or made by functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.contrib.rnn.nets import transpose_batch_time
from graphio.contrib.seq2seq.basic_decoder import (
    Helper,
    _Ids,
    embedding_function,
    inputs_unless_finished,
    start_and_end,
)
from graphio.framework import dtypes, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.random import core as random

__all__ = [
    "CustomHelper",
    "GreedyEmbeddingHelper",
    "InferenceHelper",
    "SampleEmbeddingHelper",
    "TrainingHelper",
    "drawn_ids",
]


def drawn_ids(logits: Any, seed: int | None) -> Any:
    """An id for each row of logits, int32."""
    draws = random.multinomial(logits, 1, seed=seed, output_dtype=dtypes.int32)
    return array.squeeze(draws, [1])


class CustomHelper(Helper):
    """A helper of three functions.

    Args:
        initialize_fn: gives (finished, first inputs).
        sample_fn: from time, outputs and state, by these names, to ids.
        next_inputs_fn: from time, outputs, state and sample_ids, by these names, to (finished, next
            inputs, next state).
        sample_ids_shape: of an id, without the batch; None: a scalar.
        sample_ids_dtype: of ids; None: int32.
    """

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self._batch_size: Any = None
        self._shape = TensorShape(sample_ids_shape or [])
        self._dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Any:
        """A scalar tensor. Raises ValueError before initialize was called."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """TensorShape of an id."""
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of ids."""
        return self._dtype

    def initialize(self, name: str | None = None) -> Any:
        """The result of initialize_fn."""
        with scopes.name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize()
            if self._batch_size is None:
                self._batch_size = array.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The result of sample_fn."""
        with scopes.name_scope(name, f"{type(self).__name__}Sample"):
            return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """The result of next_inputs_fn."""
        with scopes.name_scope(name, f"{type(self).__name__}NextInputs"):
            return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(_Ids):
    """A helper whose inputs are given.

    Args:
        inputs: tensor (batch, time, ...) or a structure of such; (time, batch, ...) if time_major.
        sequence_length: int32 (batch).
        time_major: whether time is the first dimension of inputs.
        name: of the operations.

    Raises:
        ValueError: sequence_length is not a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with scopes.name_scope(name, "TrainingHelper"):
            self._inputs = nest.map_structure(convert_to_tensor, inputs)
            self._steps = self._inputs
            if not time_major:
                self._steps = nest.map_structure(transpose_batch_time, self._steps)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.shape}"
                )
            zeros = lambda x: array.zeros_like(x[0])  # noqa: E731
            self._zero_inputs = nest.map_structure(zeros, self._steps)
            self._batch_size = array.size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The inputs as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The lengths (batch)."""
        return self._sequence_length

    @property
    def batch_size(self) -> Any:
        """The number of lengths, a scalar tensor."""
        return self._batch_size

    def initialize(self, name: str | None = None) -> Any:
        """The first step's inputs; zeros where all sequences are empty."""
        with scopes.name_scope(name, "TrainingHelperInitialize"):
            finished = comparison.equal(0, self._sequence_length)
            return finished, self._inputs_of(0, finished)

    def _inputs_of(self, time: Any, finished: Any) -> Any:
        return inputs_unless_finished(
            finished,
            lambda: self._zero_inputs,
            lambda: nest.map_structure(lambda x: gather(x, time), self._steps),
        )

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """The most likely ids."""
        with scopes.name_scope(name, "TrainingHelperSample"):
            return elementwise.cast(reduction.argmax(outputs, -1), dtypes.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> Any:
        """The inputs of the next step."""
        with scopes.name_scope(name, "TrainingHelperNextInputs"):
            following = time + 1
            finished = comparison.greater_equal(following, self._sequence_length)
            return finished, self._inputs_of(following, finished), state


class GreedyEmbeddingHelper(_Ids):
    """A helper whose next inputs are the vectors of the most likely ids.

    Args:
        embedding: from ids to vectors: a function, or a tensor for tf.nn.embedding_lookup.
        start_tokens: int32 (batch).
        end_token: int32 scalar, the id that finishes a sequence.

    Raises:
        ValueError: start_tokens is not a vector, or end_token not a scalar.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding = embedding_function(embedding)
        start, self._end_token, self._batch_size = start_and_end(start_tokens, end_token)
        self._start_inputs = self._embedding(start)

    @property
    def batch_size(self) -> Any:
        """The number of start tokens, a scalar tensor."""
        return self._batch_size

    def initialize(self, name: str | None = None) -> Any:
        """The vectors of the start tokens; no sequence is finished."""
        return array.tile(convert_to_tensor([False]), [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The most likely ids."""
        return reduction.argmax(_one(outputs), -1, output_type=dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """The vectors of the ids."""
        finished = comparison.equal(sample_ids, self._end_token)
        following = inputs_unless_finished(
            finished, lambda: self._start_inputs, lambda: self._embedding(sample_ids)
        )
        return finished, following, state


def _one(outputs: Any) -> Tensor:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return outputs


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper whose next inputs are the vectors of ids that are drawn.

    Args:
        embedding, start_tokens, end_token: as GreedyEmbeddingHelper's.
        softmax_temperature: by which the logits are divided; None: 1.
        seed: of the random numbers.

    Raises:
        ValueError: as GreedyEmbeddingHelper.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Ids that are drawn."""
        logits = _one(outputs)
        return drawn_ids(
            logits if self._temperature is None else logits / self._temperature, self._seed
        )


class InferenceHelper(Helper):
    """A helper whose next inputs are made of what it chose, by functions.

    Args:
        sample_fn: from outputs to what is chosen.
        sample_shape: of that, without the batch.
        sample_dtype: of that.
        start_inputs: (batch, ...).
        end_fn: from what was chosen to bools (batch): which sequences are finished.
        next_inputs_fn: from what was chosen to the next inputs; None: itself.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample, self._end, self._next = sample_fn, end_fn, next_inputs_fn
        self._shape, self._dtype = TensorShape(sample_shape), sample_dtype
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = array.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        """That of the start inputs, a scalar tensor."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """sample_shape."""
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        """sample_dtype."""
        return self._dtype

    def initialize(self, name: str | None = None) -> Any:
        """The start inputs; no sequence is finished."""
        return array.tile(convert_to_tensor([False]), [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The result of sample_fn."""
        return self._sample(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """The result of next_inputs_fn."""
        following = sample_ids if self._next is None else self._next(sample_ids)
        return self._end(sample_ids), following, state
