"""The classic two-layer net, 500 steps of gradient descent from fresh random weights.

The band is that of 60 numpy runs: mean and deviation of log10(loss) by step, within six deviations.
"""

from __future__ import annotations

import numpy as np
import pytest

import graphio as tf

BAND = {
    0: (7.508, 0.068),
    20: (5.354, 0.052),
    50: (4.119, 0.105),
    100: (2.689, 0.223),
    200: (0.401, 0.488),
}
FALLS_BELOW = {1e6: (7, 20), 1e4: (40, 75), 1.0: (130, 400)}


def train(target: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(seed)
    data = rng.randn(64, 1000), rng.randn(64, 10)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, y = tf.placeholder(tf.float32, [None, 1000]), tf.placeholder(tf.float32, [None, 10])
        w1 = tf.Variable(tf.random_normal((1000, 100)))
        w2 = tf.Variable(tf.random_normal((100, 10)))
        h = tf.maximum(tf.matmul(x, w1), tf.zeros(1))
        loss = tf.reduce_sum((y - tf.matmul(h, w2)) ** 2.0)
        g1, g2 = tf.gradients(loss, [w1, w2])
        step = [w1.assign(w1 - 1e-6 * g1), w2.assign(w2 - 1e-6 * g2)]
        session.run(tf.global_variables_initializer())
        start = session.run(w1)
        losses = [session.run([loss, *step], {x: data[0], y: data[1]})[0] for _ in range(500)]
    return np.array(losses, np.float64), start


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_the_loss_stays_in_the_band_of_numpy_runs(target: str) -> None:
    runs = [train(target, seed) for seed in range(3)]
    for losses, start in runs:
        assert np.all(np.isfinite(losses))
        for step, (mean, deviation) in BAND.items():
            assert abs(np.log10(losses[step]) - mean) < 6 * deviation, step
        for level, (least, most) in FALLS_BELOW.items():
            assert least <= int(np.argmax(losses < level)) <= most, level
        assert np.all(np.diff(losses[6:250]) < 0)
        assert 1e-6 < losses[499] < 0.1
        assert abs(start.std() - 1) < 0.1
    assert np.any(runs[0][1] != runs[1][1]), "unseeded weights differ from session to session"
