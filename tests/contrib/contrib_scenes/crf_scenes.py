"""Scenes of tf.contrib.crf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

B, T, V = 3, 4, 3


def chain(steps: int = T, known: bool = True, dtype: Any = np.int32) -> Callable[[Any, Any], Any]:
    """All functions on scores of some steps; known: whether their number is."""

    def build(tf: Any, contrib: Any) -> Any:
        crf = contrib("crf")
        scores = tf.get_variable("scores", [B, steps, V])
        inputs = scores
        if not known:
            inputs = tf.placeholder_with_default(scores * 1.0, [B, None, V])
        draw = np.random.RandomState(3)
        tags = tf.constant(draw.randint(0, V, (B, steps)).astype(dtype))
        given = tags if known else tf.placeholder_with_default(tags, [B, None])
        allowed = tf.constant(draw.uniform(0, 1, (B, steps, V)) < 0.7) | tf.one_hot(
            tags, V, on_value=True, off_value=False
        )
        lengths = tf.constant([steps, max(steps - 1, 1), 1])
        likelihood, transitions = crf.crf_log_likelihood(inputs, given, lengths)
        unary = crf.crf_unary_score(tags, lengths, inputs)
        binary = crf.crf_binary_score(tags, lengths, transitions)
        norm = crf.crf_log_norm(inputs, lengths, transitions)
        found, best = crf.crf_decode(inputs, transitions, lengths)
        inside = tf.sequence_mask(lengths, steps, tf.int32)
        return (
            likelihood, unary, binary, norm, best, found * inside,
            crf.crf_sequence_score(inputs, given, lengths, transitions),
            crf.crf_multitag_sequence_score(inputs, allowed, lengths, transitions),
        )  # fmt: skip

    return build


SCENES: dict[str, Callable[[Any, Any], Any]] = {
    "chain": chain(),
    "chain_int64": chain(dtype=np.int64),
    "chain_of_unknown_length": chain(known=False),
    "one_step": chain(steps=1),
    "one_step_of_unknown_length": chain(steps=1, known=False),
}


def empty(tf: Any, contrib: Any) -> Any:
    crf = contrib("crf")
    scores, transitions = tf.get_variable("scores", [B, T, V]), tf.get_variable("t", [V, V])
    lengths, tags = tf.constant([0, 2, 0]), tf.zeros([B, T], tf.int32)
    likelihood, _ = crf.crf_log_likelihood(scores, tags, lengths, transitions)
    return likelihood, crf.crf_log_norm(scores, lengths, transitions)


def arrays(tf: Any, contrib: Any) -> Any:
    found, score = contrib("crf").viterbi_decode(numbers("x", (6, V)), numbers("t", (V, V)))
    return tf.constant(np.int32(found)), tf.constant(score)


def cells(tf: Any, contrib: Any) -> Any:
    crf = contrib("crf")
    matrix, x, state = (tf.constant(numbers(n, s)) for n, s in
                        (("t", (V, V)), ("x", (B, V)), ("s", (B, V))))  # fmt: skip
    before = tf.constant([[0, 2, 1]] * B)
    return (
        crf.CrfForwardRnnCell(matrix)(x, state),
        crf.CrfDecodeForwardRnnCell(matrix)(x, state),
        crf.CrfDecodeBackwardRnnCell(V)(before, tf.constant([[1], [0], [2]])),
    )


SCENES |= {"empty": empty, "arrays": arrays, "cells": cells}
