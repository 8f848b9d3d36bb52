"""Attention that only moves forward over the memory (Raffel et al., 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.seq2seq.attention import (
    BaseAttention,
    bahdanau_score,
    dense,
    scaled_luong_score,
)
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.control_flow.functional import scan
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import cumprod
from graphio.ops.random import core as random
from graphio.support import api_guard
from graphio.variables import initializers
from graphio.variables.variable_scope import get_variable, variable_scope

__all__ = [
    "BahdanauMonotonicAttention",
    "LuongMonotonicAttention",
    "monotonic_attention",
    "monotonic_probability_fn",
    "safe_cumprod",
]


@api_guard.operator
def safe_cumprod(x: Any, *arguments: Any, **options: Any) -> Any:
    """tf.cumprod of values in [0, 1], as the exponential of a sum of logarithms.

    Args:
        x: floating tensor; values are limited to [the smallest number, 1].
        arguments, options: as tf.cumsum's after its first.
    """
    with scopes.name_scope("SafeCumprod"):
        x = convert_to_tensor(x, name="x")
        least = float(np.finfo(x.dtype.as_numpy_dtype).tiny)
        logs = elementwise.log(elementwise.clip_by_value(x, least, 1.0))
        return elementwise.exp(reduction.cumsum(logs, *arguments, **options))


@api_guard.operator
def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """The weights of a memory's rows where each step begins at the row of the step before.

    Args:
        p_choose_i: (batch, time): the probability to stop at each row.
        previous_attention: (batch, time): the weights of the step before.
        mode: "recursive" computes them row by row; "parallel" at once, less exactly for
            probabilities near 1; "hard" is for probabilities and weights of 0 and 1.

    Raises:
        ValueError: mode is another word.
    """
    p = convert_to_tensor(p_choose_i, name="p_choose_i")
    before = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        return p * _recursive(p, before)
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        limited = elementwise.clip_by_value(passed, 1e-10, 1.0)
        return p * passed * reduction.cumsum(before / limited, axis=1)
    if mode == "hard":
        p = p * reduction.cumsum(before, axis=1)
        return p * cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _recursive(p: Any, before: Any) -> Any:
    """q[t] = (1 - p[t - 1]) q[t - 1] + before[t], of each row."""
    start = array.ones_like(p[:, :1])
    passed = array.transpose(array.concat([start, 1 - p[:, :-1]], 1))
    made = scan(
        lambda q, now: now[0] * q + now[1],
        (passed, array.transpose(before)),
        initializer=array.zeros_like(p[:, 0]),
    )
    return array.transpose(made)


@api_guard.operator
def monotonic_probability_fn(
    score: Any, previous_alignments: Any, sigmoid_noise: float, mode: str, seed: int | None = None
) -> Any:
    """The weights of monotonic attention from scores: monotonic_attention of their sigmoid.

    Args:
        score: floats (batch, time).
        previous_alignments: weights (batch, time) of the step before.
        sigmoid_noise: standard deviation of noise that is added to scores; 0: none.
        mode: as monotonic_attention's; "hard" chooses where a score is above 0.
        seed: of the noise.

    Raises:
        ValueError: there is no such mode.
    """
    given = convert_to_tensor(score)
    if sigmoid_noise > 0:
        drawn = random.random_normal(array.shape(given), dtype=given.dtype, seed=seed)
        given = given + sigmoid_noise * drawn
    if mode == "hard":
        p = elementwise.cast(comparison.greater(given, 0.0), given.dtype)
    else:
        p = elementwise.sigmoid(given)
    return monotonic_attention(p, previous_alignments, mode)


class _Monotonic(BaseAttention):
    """A mechanism whose first weights are those of the first row."""

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        noise: tuple[float, int | None],
        mode: str,
        **options: Any,
    ) -> None:
        self._noise, self._mode = noise, mode
        super().__init__(query_layer, memory, self._moved, **options)

    def _moved(self, score: Any, state: Any) -> Any:
        noise, seed = self._noise
        return monotonic_probability_fn(score, state, noise, self._mode, seed)

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """1 for the first row of the memory, 0 for the others."""
        first = array.zeros([batch_size], dtypes.int32)
        return one_hot(first, self._alignments_size, dtype=dtype)

    def _biased(self, score: Any, first: float) -> Any:
        start = initializers.constant_initializer(first)
        return score + get_variable(
            "attention_score_bias", [], dtype=score.dtype, initializer=start
        )


class BahdanauMonotonicAttention(_Monotonic):
    """Monotonic attention with Bahdanau's score.

    Args:
        num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype, name: as
            BahdanauAttention's.
        sigmoid_noise: standard deviation of noise that is added to scores, also outside of
            training.
        sigmoid_noise_seed: of the noise.
        score_bias_init: first value of the scores' bias.
        mode: as monotonic_attention's.

    Variables: as BahdanauAttention's, in bahdanau_monotonic_attention, and attention_score_bias.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            dense(num_units, "query_layer", dtype), memory, (sigmoid_noise, sigmoid_noise_seed),
            mode, memory_sequence_length=memory_sequence_length,
            memory_layer=dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units, self._normalize, self._name = num_units, normalize, name
        self._first_bias = score_bias_init

    def __call__(self, query: Any, state: Any) -> Any:
        """(weights (batch, time), next state).

        Args:
            query: (batch, depth).
            state: the weights of the step before.
        """
        with variable_scope(None, "bahdanau_monotonic_attention"):
            made = self.query_layer(query) if self.query_layer else query
            score = bahdanau_score(made, self._keys, self._num_units, self._normalize)
            score = self._biased(score, self._first_bias)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class LuongMonotonicAttention(_Monotonic):
    """Monotonic attention with Luong's score.

    Args:
        num_units, memory, memory_sequence_length, scale, score_mask_value, dtype, name: as
            LuongAttention's.
        sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode: as BahdanauMonotonicAttention's.

    Variables: as LuongAttention's, in luong_monotonic_attention, and attention_score_bias.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            None, memory, (sigmoid_noise, sigmoid_noise_seed), mode,
            memory_sequence_length=memory_sequence_length,
            memory_layer=dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units, self._scale, self._name = num_units, scale, name
        self._first_bias = score_bias_init

    def __call__(self, query: Any, state: Any) -> Any:
        """(weights (batch, time), next state).

        Args:
            query: (batch, num_units).
            state: the weights of the step before.
        """
        with variable_scope(None, "luong_monotonic_attention"):
            score = scaled_luong_score(query, self._keys, self._scale)
            score = self._biased(score, self._first_bias)
        alignments = self._probability_fn(score, state)
        return alignments, alignments
