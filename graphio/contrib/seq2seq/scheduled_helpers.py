"""Helpers that replace some of the given inputs by outputs of the decoder (Bengio et al., 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.contrib.rnn.nets import transpose_batch_time
from graphio.contrib.seq2seq.basic_decoder import embedding_function, inputs_unless_finished
from graphio.contrib.seq2seq.helpers import TrainingHelper, drawn_ids
from graphio.framework import dtypes, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather, gather_nd, scatter_nd
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.random import core as random

__all__ = ["ScheduledEmbeddingTrainingHelper", "ScheduledOutputTrainingHelper"]


def _probability(value: Any) -> Any:
    made = convert_to_tensor(value, name="sampling_probability")
    if made.shape.ndims not in (0, 1):
        raise ValueError(
            f"sampling_probability must be either a scalar or a vector. saw shape: {made.shape}"
        )
    return made


def _drawn(probability: Any, batch_size: Any, seed: int | None) -> Any:
    """Bools (batch), true with the probability."""
    size = array.expand_dims(batch_size, 0)
    return comparison.less(
        random.random_uniform(size, seed=seed, dtype=probability.dtype), probability
    )


def _mixed(chosen: Any, base: Any, following: Callable[[Any], Any]) -> Any:
    """Rows of following(their indices (n, 1)) where chosen, else of base."""
    ours, theirs = (
        elementwise.cast(array.where(which), dtypes.int32)
        for which in (chosen, comparison.logical_not(chosen))
    )
    shape = array.shape(base)
    kept = scatter_nd(theirs, gather_nd(base, theirs), shape)
    return scatter_nd(ours, following(ours), shape) + kept


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A TrainingHelper that replaces inputs, with a probability, by the vectors of drawn ids.

    Args:
        inputs, sequence_length, time_major, name: as TrainingHelper's.
        embedding: from ids to vectors: a function, or a tensor for tf.nn.embedding_lookup.
        sampling_probability: of each replacement; float32 scalar, or (batch).
        seed: of the drawn ids.
        scheduling_seed: of the choice of inputs.

    The ids are -1 where an input is not replaced.

    Raises:
        ValueError: as TrainingHelper, or the probability is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        with scopes.name_scope(name, "ScheduledEmbeddingSamplingWrapper"):
            self._embedding = embedding_function(embedding)
            self._probability = _probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Drawn ids, or -1."""
        with scopes.name_scope(name, "ScheduledEmbeddingTrainingHelperSample"):
            chosen = _drawn(self._probability, self.batch_size, self._scheduling_seed)
            ids = drawn_ids(outputs, self._seed)
            return array.where(chosen, ids, array.fill(array.shape(ids), -1))

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> Any:
        """The inputs of the next step, or the ids' vectors."""
        with scopes.name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs"):
            finished, base, state = super().next_inputs(time, outputs, state)
            replaced = inputs_unless_finished(
                finished,
                lambda: base,
                lambda: _mixed(
                    comparison.greater(sample_ids, -1),
                    base,
                    lambda rows: self._embedding(gather_nd(sample_ids, rows)),
                ),
            )
            return finished, replaced, state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A TrainingHelper that replaces inputs, with a probability, by the decoder's outputs.

    Args:
        inputs, sequence_length, time_major, name: as TrainingHelper's.
        sampling_probability: of each replacement; float32 scalar, or (batch).
        seed: of the choice of inputs.
        next_inputs_fn: from outputs to inputs; None: the outputs themselves.
        auxiliary_inputs: tensor that is joined to the inputs and to what replaces them.

    The ids are 1 where an input is replaced, else 0.

    Raises:
        ValueError: as TrainingHelper, or the probability is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        with scopes.name_scope(name, "ScheduledOutputTrainingHelper"):
            self._probability = _probability(sampling_probability)
            self._seed, self._next = seed, next_inputs_fn
            self._auxiliary = None
            if auxiliary_inputs is not None:
                more = convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = nest.map_structure(
                    lambda x: array.concat([convert_to_tensor(x), more], -1), inputs
                )
                self._auxiliary = more if time_major else transpose_batch_time(more)
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """1 where an input is to be replaced."""
        with scopes.name_scope(name, "ScheduledOutputTrainingHelperSample"):
            chosen = _drawn(self._probability, self.batch_size, self._seed)
            return elementwise.cast(chosen, dtypes.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> Any:
        """The inputs of the next step, or what replaces them."""
        with scopes.name_scope(name, "ScheduledOutputTrainingHelperNextInputs"):
            finished, base, state = super().next_inputs(time, outputs, state)
            chosen = elementwise.cast(sample_ids, dtypes.bool)
            none = comparison.logical_not(reduction.reduce_any(chosen))
            done = comparison.logical_or(reduction.reduce_all(finished), none)
            replaced = inputs_unless_finished(
                done, lambda: base, lambda: self._replaced(time, outputs, chosen, base)
            )
            return finished, replaced, state

    def _replaced(self, time: Any, outputs: Any, chosen: Any, base: Any) -> Any:
        if self._next is None:
            return array.where(chosen, self._joined(outputs, time), base)
        function = self._next
        return _mixed(
            chosen, base, lambda rows: self._joined(function(gather_nd(outputs, rows)), time, rows)
        )

    def _joined(self, outputs: Any, time: Any, rows: Any = None) -> Any:
        """The outputs with the auxiliary inputs of the next step."""
        if self._auxiliary is None:
            return outputs
        more = gather(self._auxiliary, time + 1)
        return array.concat([outputs, more if rows is None else gather_nd(more, rows)], -1)
