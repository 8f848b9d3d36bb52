"""Losses over sampled classes, and the samplers."""

from __future__ import annotations

import engines
import numpy as np
import pytest
from gradient_check import away, check
from tf_names import compare

import graphio as tf

R = np.random.RandomState(4)
WEIGHTS, BIASES, INPUTS = R.randn(9, 4), R.randn(9), R.randn(3, 4)
LABELS, SAMPLED = np.int64([[1, 2], [0, 8], [5, 5]]), np.int64([3, 0, 7])
OF_TRUE, OF_SAMPLED = R.rand(3, 2) + 0.1, R.rand(3) + 0.1
VALUES = (SAMPLED, OF_TRUE, OF_SAMPLED)


def logits(hits: bool) -> np.ndarray:
    near = (INPUTS[:, None] * WEIGHTS[LABELS]).sum(2) + BIASES[LABELS] - np.log(OF_TRUE)
    far = INPUTS @ WEIGHTS[SAMPLED].T + BIASES[SAMPLED] - np.log(OF_SAMPLED)
    if hits:
        far[(LABELS[:, :, None] == SAMPLED).any(1)] = -np.inf
    return np.concatenate([near, far], 1)


def nce() -> np.ndarray:
    z = logits(False)
    answers = np.broadcast_to([0.5, 0.5, 0, 0, 0], z.shape)
    return (np.log1p(np.exp(z)) - answers * z).sum(1)


def softmax() -> np.ndarray:
    z = logits(True)
    return np.log(np.exp(z).sum(1)) - z[:, :2].mean(1)


@engines.BOTH
def test_losses(engine: str) -> None:
    given = [WEIGHTS, BIASES, LABELS, INPUTS]
    compare(engine, lambda w, b, y, x: tf.nn.nce_loss(w, b, y, x, 3, 9, 2, VALUES), given, nce())
    compare(
        engine,
        lambda w, b, y, x: tf.nn.sampled_softmax_loss(w, b, y, x, 3, 9, 2, VALUES),
        given,
        softmax(),
    )


def test_gradients() -> None:
    check(
        lambda w, b, x: tf.nn.nce_loss(w, b, LABELS, x, 3, 9, 2, VALUES),
        [away(9, 4), away(9), away(3, 4)],
    )


@engines.BOTH
@pytest.mark.parametrize("name", ["log_uniform_candidate_sampler", "uniform_candidate_sampler"])
def test_samplers(engine: str, name: str) -> None:
    engines.module(engine)
    build = getattr(tf.nn, name)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        repeated = build(LABELS, 2, 4000, False, 9, seed=2)
        alone = build(LABELS, 2, 9, True, 9, seed=2)
        (found, of_true, of_found), (every, true, _) = session.run([repeated, alone])
    c = np.arange(9)
    chances = np.full(9, 1 / 9) if name[0] == "u" else np.log((c + 2) / (c + 1)) / np.log(10)
    np.testing.assert_allclose(np.bincount(found, minlength=9) / 4000, chances, atol=0.03)
    np.testing.assert_allclose(of_true, 4000 * chances[LABELS], rtol=1e-5)
    np.testing.assert_allclose(of_found, 4000 * chances[found], rtol=1e-5)
    np.testing.assert_array_equal(np.sort(every), c)
    assert ((true > 0) & (true <= 1)).all()


def test_a_sample_larger_than_the_range_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="unique"):
        tf.nn.uniform_candidate_sampler(LABELS, 2, 10, True, 9)


@engines.BOTH
@pytest.mark.parametrize("name", ["log_uniform_candidate_sampler", "uniform_candidate_sampler"])
@pytest.mark.parametrize("fed", [False, True])
def test_classes_out_of_range_are_errors_of_the_run(engine: str, name: str, fed: bool) -> None:
    engines.module(engine)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        given = tf.placeholder(tf.int64, [1, 2])
        sampled, _, _ = getattr(tf.nn, name)(given if fed else [[0, 10]], 2, 3, False, 4)
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(sampled, {given: [[0, 10]]} if fed else {})


@engines.BOTH
def test_learned_chances_are_how_often_classes_were_true(engine: str) -> None:
    sampler = tf.nn.learned_unigram_candidate_sampler
    assert sampler is tf.random.learned_unigram_candidate_sampler
    batches = [[[0, 1], [1, 1]], [[4, 1]], [[2, 3]]]
    # the counts that TensorFlow expects of 4 draws in three runs after one another
    expected = [[[0.8, 0.8], [0.8, 0.8]], [[0.44444445, 1.7777778]], [[0.36363637, 0.36363637]]]
    with tf.Graph().as_default():
        true = tf.placeholder(tf.int64, [None, 2])
        made = sampler(true, 2, 4, False, 5, seed=3)
        for _ in range(2):  # each session starts its counts at 1 again
            counts = np.ones(5)
            with tf.Session(engine) as session:
                for batch, theirs in zip(batches, expected, strict=True):
                    drawn, of_true, of_drawn = session.run(made, {true: batch})
                    np.testing.assert_allclose(of_true, theirs, rtol=1e-6)
                    np.testing.assert_allclose(of_drawn, 4 * (counts / counts.sum())[drawn], 1e-6)
                    np.add.at(counts, np.ravel(batch), 1)


@engines.BOTH
def test_learned_classes_are_drawn_as_often_as_they_were_true(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        true = tf.placeholder(tf.int64, [None, 1])
        made = tf.nn.learned_unigram_candidate_sampler(true, 1, 4000, False, 4, seed=3)[0]
        unique = tf.nn.learned_unigram_candidate_sampler(true, 1, 4, True, 4)[0]
        session.run(made, {true: [[2]] * 15 + [[0]]})
        drawn, once = session.run([made, unique], {true: [[0]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="a class is out of range"):
            session.run(made, {true: [[4]]})
    np.testing.assert_allclose(
        np.bincount(drawn, minlength=4) / 4000, [0.1, 0.05, 0.8, 0.05], atol=0.03
    )
    assert sorted(once) == [0, 1, 2, 3]
