"""tf.contrib.cudnn_rnn: first values, dropout, and what is refused. Values: the recorded scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

cudnn = tf.contrib.cudnn_rnn


def started(layer: Any, depth: int = 6) -> dict[str, Any]:
    """The first values of a layer's variables."""
    with tf.Session() as session:
        layer(tf.zeros([2, 3, depth]))
        session.run(tf.global_variables_initializer())
        return {v.op.name: session.run(v) for v in tf.trainable_variables()}


def test_matrices_begin_as_those_of_cudnn_and_biases_with_zeros() -> None:
    with tf.Graph().as_default():
        layer = cudnn.CudnnLSTM(1, 5, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
        values = started(layer)
    kernel, bias = values.values()
    assert kernel.shape == (11, 20) and not bias.any()
    limits = {"inputs": np.sqrt(6 / 11), "state": np.sqrt(6 / 10)}
    for rows, limit in ((kernel[:6], limits["inputs"]), (kernel[6:], limits["state"])):
        assert 0.8 * limit < np.abs(rows).max() <= limit


def test_two_biases_of_cudnn_are_one_variable() -> None:
    with tf.Graph().as_default():
        ones = tf.constant_initializer(1.0)
        values = started(cudnn.CudnnGRU(1, 5, bias_initializer=ones))
    biases = {name.rsplit("cell/")[-1]: v for name, v in values.items() if v.ndim == 1}
    assert (biases["gates/bias"] == 2).all()
    assert (biases["candidate/input_projection/bias"] == 1).all()
    assert (biases["candidate/hidden_projection/bias"] == 1).all()


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_dropout_is_between_layers_and_while_training(target: str) -> None:
    x = np.random.RandomState(0).uniform(-1, 1, (4, 2, 6)).astype(np.float32)
    with tf.Graph().as_default():
        one = cudnn.CudnnLSTM(1, 8, dropout=0.5, seed=3, name="one")
        two = cudnn.CudnnLSTM(2, 8, dropout=0.5, seed=3, name="two")
        same = [one(x, training=flag)[0] for flag in (True, False)]
        other = [two(x, training=flag)[0] for flag in (True, False)]
        with tf.Session(target=target) as session:
            session.run(tf.global_variables_initializer())
            (a, b), (c, d) = session.run([same, other])
    assert (a == b).all() and (c != d).any()


def test_a_layer_describes_itself() -> None:
    with tf.Graph().as_default():
        layer = cudnn.CudnnLSTM(2, 3, direction="bidirectional")
        with pytest.raises(ValueError, match="'input_size' is unknown"):
            _ = layer.input_size
        layer(tf.zeros([4, 2, 5]))
        assert (layer.input_size, layer.num_dirs, layer.num_layers) == (5, 2, 2)
        assert layer.state_shape(7) == ([4, 7, 3], [4, 7, 3])
        assert len(layer.trainable_variables) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "both"}, "Invalid direction: both"),
        ({"input_mode": "other"}, "Invalid input_mode: other"),
        ({"input_mode": "skip_input"}, "input_mode='skip_input'"),
        ({"dtype": tf.int32}, "Only support float16, float32, float64"),
    ],
)
def test_another_value_of_an_argument_is_refused(options: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        cudnn.CudnnGRU(1, 3, **options)


def test_a_state_that_is_not_a_tuple_is_refused() -> None:
    with tf.Graph().as_default():
        layer = cudnn.CudnnGRU(1, 3, input_mode="auto_select")
        with pytest.raises(TypeError, match="expecting tuple"):
            layer(tf.zeros([4, 2, 5]), tf.zeros([1, 2, 3]))
        with pytest.raises(ValueError, match="auto_select"):
            layer(tf.zeros([4, 2, 3]))
