"""How a query attends to a memory: Luong's and Bahdanau's scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.layers.base import Layer
from graphio.layers.core import Dense
from graphio.layers.rnn_cell import zeros_of
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import sequence_mask
from graphio.ops.array.index import one_hot
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables import initializers
from graphio.variables.variable_scope import get_variable, variable_scope

__all__ = [
    "AttentionMechanism",
    "BahdanauAttention",
    "BaseAttention",
    "LuongAttention",
    "bahdanau_score",
    "dense",
    "hardmax",
    "luong_score",
    "scaled_luong_score",
]


class AttentionMechanism:
    """The weights of a memory's rows for a query; subclasses compute them."""

    @property
    def alignments_size(self) -> Any:
        """The number of rows of the memory."""
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The size of the state that goes from step to step."""
        raise NotImplementedError("Abstract method")


class BaseAttention(AttentionMechanism):
    """A mechanism that scores keys, which are a projection of the memory.

    Args:
        query_layer: a layer that is applied to queries, or None.
        memory: (batch, time, depth).
        probability_fn: from scores and the state to weights.
        memory_sequence_length: ints (batch); rows past them are zeros and get no weight. None: all
            rows count.
        memory_layer: a layer that is applied to the memory.
        check_inner_dims_defined: whether the memory's depth must be known.
        score_mask_value: score of rows past the length; None: minus infinity.
        custom_key_value_fn: from keys and values to others; None: none.
        name: of the operations.

    Raises:
        TypeError: a layer is none, or probability_fn not callable.
        ValueError: the memory's depth is unknown.
    """

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        for what, layer in {"query_layer": query_layer, "memory_layer": memory_layer}.items():
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{what} is not a Layer: {type(layer).__name__}")
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype
        self._probability, self._lengths = probability_fn, memory_sequence_length
        self._masked_score = -np.inf if score_mask_value is None else score_mask_value
        with scopes.name_scope(name, "BaseAttentionMechanismInit"):
            self._values = _masked_memory(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = memory_layer(self._values) if memory_layer else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size, self._alignments_size = (_size(self._keys, k) for k in range(2))

    @property
    def memory_layer(self) -> Any:
        """The layer that is applied to the memory."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """The layer that is applied to queries, or None."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """The rows that are averaged with the weights."""
        return self._values

    @property
    def keys(self) -> Any:
        """The rows that are compared with queries."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """The memory's: an int, or a scalar tensor."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """The number of rows of the memory: an int, or a scalar tensor."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """As alignments_size."""
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """The weights before the first step: zeros."""
        if isinstance(self._alignments_size, int):
            return zeros_of(batch_size, self._alignments_size, dtype)
        return array.zeros([batch_size, self._alignments_size], dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step: the first weights."""
        return self.initial_alignments(batch_size, dtype)

    def _probability_fn(self, score: Any, state: Any) -> Any:
        """The weights that belong to scores (batch, time); subclasses in programs call it."""
        return self._probability(self._masked(score), state)

    def _masked(self, score: Any) -> Any:
        if self._lengths is None:
            return score
        message = "All values in memory_sequence_length must be greater than zero."
        with scopes.control_dependencies([assert_positive(self._lengths, message=message)]):
            inside = sequence_mask(self._lengths, array.shape(score)[1])
        masked = array.ones_like(score) * convert_to_tensor(self._masked_score, score.dtype)
        return array.where(inside, score, masked)


def _size(x: Any, axis: int) -> Any:
    known = x.shape[axis].value
    return array.shape(x)[axis] if known is None else known


def _masked_memory(memory: Any, lengths: Any, checks: bool) -> Any:
    """The memory with zeros past the lengths."""
    memory = nest.map_structure(lambda m: convert_to_tensor(m, name="memory"), memory)
    for m in nest.flatten(memory):
        if checks and not m.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {m.name} to have fully defined inner dims, but saw shape: "
                f"{m.shape}"
            )
    if lengths is None:
        return memory
    first = nest.flatten(memory)[0]
    mask = sequence_mask(convert_to_tensor(lengths), array.shape(first)[1], first.dtype)

    def masked(m: Any) -> Any:
        wide = mask
        for _ in range(m.shape.ndims - 2):
            wide = array.expand_dims(wide, -1)
        return m * wide

    return nest.map_structure(masked, memory)


def luong_score(query: Any, keys: Any, scale: Any = None) -> Any:
    """A query (batch, depth) times keys (batch, time, depth), times scale.

    Raises:
        ValueError: the depths differ.
    """
    depth, units = query.shape[-1].value, keys.shape[-1].value
    if depth != units or depth is None:
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys.  Query ({query}) "
            f"has units: {depth}.  Keys ({keys}) have units: {units}.  Perhaps you need to set "
            f"num_units to the keys' dimension ({units})?"
        )
    score = matmul.matmul(array.expand_dims(query, 1), keys, transpose_b=True)
    score = array.squeeze(score, [1])
    return score if scale is None else scale * score


def bahdanau_score(query: Any, keys: Any, units: int, normalizes: bool) -> Any:
    """v tanh(keys + query), with variables of the current scope.

    Args:
        query: (batch, units).
        keys: (batch, time, units).
        units: size of v.
        normalizes: whether v is normalized, with a scale and a bias.
    """
    v = get_variable("attention_v", [units], dtype=query.dtype)
    total = keys + array.expand_dims(query, 1)
    if normalizes:
        first = initializers.constant_initializer(math.sqrt(1.0 / units))
        zeros = initializers.zeros_initializer()
        g = get_variable("attention_g", [], dtype=query.dtype, initializer=first)
        bias = get_variable("attention_b", [units], dtype=query.dtype, initializer=zeros)
        v = g * v * elementwise.rsqrt(reduction.reduce_sum(elementwise.square(v)))
        total = total + bias
    return reduction.reduce_sum(v * elementwise.tanh(total), [2])


def scaled_luong_score(query: Any, keys: Any, scales: bool) -> Any:
    """luong_score, times a variable of the current scope where scales is True."""
    ones = initializers.ones_initializer()
    scale = get_variable("attention_g", [], dtype=query.dtype, initializer=ones) if scales else None
    return luong_score(query, keys, scale)


def dense(units: int, name: str, dtype: Any) -> Dense:
    """A layer without a bias."""
    return Dense(units, name=name, use_bias=False, dtype=dtype or dtypes.float32)


class LuongAttention(BaseAttention):
    """The score of Luong et al. (2015): query times key.

    Args:
        num_units: of the keys, and of the queries.
        memory: (batch, time, depth), usually the outputs of an encoder.
        memory_sequence_length: ints (batch); rows past them get no weight. None: all rows count.
        scale: whether the score is multiplied by a variable.
        probability_fn: from scores to weights; None: tf.nn.softmax.
        score_mask_value: score of rows past the length; None: minus infinity.
        dtype: of the memory's layer; None: float32.
        custom_key_value_fn: from keys and values to others; None: none.
        name: of the operations.

    Variables: memory_layer/kernel; luong_attention/attention_g.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        function = probability_fn or nn.softmax
        super().__init__(
            None, memory, lambda score, _: function(score), memory_sequence_length,
            dense(num_units, "memory_layer", dtype), score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn, name=name,
        )  # fmt: skip
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query: Any, state: Any) -> Any:
        """(weights (batch, time), next state).

        Args:
            query: (batch, num_units).
            state: what the step before gave.
        """
        with variable_scope(None, "luong_attention"):
            score = scaled_luong_score(query, self._keys, self._scale)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class BahdanauAttention(BaseAttention):
    """The score of Bahdanau et al. (2015): v tanh(query + key).

    Args:
        num_units: of the keys, and of the layer that is applied to queries.
        memory: (batch, time, depth), usually the outputs of an encoder.
        memory_sequence_length: ints (batch); rows past them get no weight. None: all rows count.
        normalize: whether v is normalized, with a scale and a bias.
        probability_fn: from scores to weights; None: tf.nn.softmax.
        score_mask_value: score of rows past the length; None: minus infinity.
        dtype: of the layers; None: float32.
        custom_key_value_fn: from keys and values to others; None: none.
        name: of the operations.

    Variables: memory_layer/kernel; bahdanau_attention/query_layer/kernel, attention_v, attention_g
    and attention_b.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        function = probability_fn or nn.softmax
        super().__init__(
            dense(num_units, "query_layer", dtype), memory, lambda score, _: function(score),
            memory_sequence_length, dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value, custom_key_value_fn=custom_key_value_fn, name=name,
        )  # fmt: skip
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Any, state: Any) -> Any:
        """(weights (batch, time), next state).

        Args:
            query: (batch, depth).
            state: what the step before gave.
        """
        with variable_scope(None, "bahdanau_attention"):
            made = self.query_layer(query) if self.query_layer else query
            score = bahdanau_score(made, self._keys, self._num_units, self._normalize)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@api_guard.operator
def hardmax(logits: Any, name: str | None = None) -> Any:
    """1 at the largest of the last axis, else 0.

    Args:
        logits: floating tensor (..., n).
        name: of the operations.
    """
    with scopes.name_scope(name, "Hardmax"):
        x = convert_to_tensor(logits, name="logits")
        depth = x.shape[-1].value
        depth = array.shape(x)[-1] if depth is None else depth
        return one_hot(reduction.argmax(x, -1), depth, dtype=x.dtype)
