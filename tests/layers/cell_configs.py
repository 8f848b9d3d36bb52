"""Cells whose configurations TensorFlow recorded, and layers in Keras' style.

python cell_configs.py    with TensorFlow 2.21 and tf_keras installed: writes cell_configs.json
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_suffix(".json")


def cells(tf: Any) -> list[Any]:
    """One cell of each kind, with and without arguments."""
    kinds, init = tf.nn.rnn_cell, tf.initializers
    basic = kinds.BasicRNNCell(4, activation="linear", name="b")
    return [
        basic,
        kinds.BasicLSTMCell(3, activation=tf.nn.softsign, forget_bias=2.0, name="l"),
        kinds.BasicLSTMCell(3, state_is_tuple=False, dtype=tf.float64, trainable=False, name="t"),
        kinds.GRUCell(3, kernel_initializer=init.orthogonal(2.0), name="g"),
        kinds.GRUCell(2, tf.nn.relu, bias_initializer=init.constant(2.5), name="h"),
        kinds.LSTMCell(3, True, 1.5, tf.random_uniform_initializer(-1, 2, seed=3), 2, name="p"),
        kinds.LSTMCell(3, initializer=init.truncated_normal(stddev=0.5), proj_clip=3.0, name="q"),
        kinds.LSTMCell(3, initializer=init.he_uniform(4), num_unit_shards=2, name="r"),
        kinds.MultiRNNCell([basic]),
        kinds.DropoutWrapper(basic, 0.5, state_keep_prob=0.25, seed=3, name="d"),
        kinds.DropoutWrapper(basic, 1.0, 0.5, 1.0, True, 3, tf.float32, name="v"),
        kinds.ResidualWrapper(basic, name="r"),
        kinds.DeviceWrapper(basic, "/cpu:0", name="d"),
    ]


def configs(tf: Any) -> list[Any]:
    """Their configurations; not the modules and registered names that Keras adds later."""
    with tf.Graph().as_default():
        return [_plain(cell.get_config()) for cell in cells(tf)]


def _plain(config: Any) -> Any:
    if not isinstance(config, dict):
        return config
    added = ("module", "registered_name")
    return {key: _plain(value) for key, value in config.items() if key not in added}


def styled(tf: Any) -> list[Any]:
    """Names and collections of variables in Keras' style, inside of scopes that share."""
    with tf.Graph().as_default():
        x, state = tf.zeros([2, 3]), tf.zeros([2, 4])
        with tf.layers.experimental.keras_style_scope(), tf.variable_scope("outer", reuse=True):
            dense = [tf.layers.Dense(4, name="d") for _ in range(2)]
            _ = [layer(x) for layer in (*dense, dense[0])]
            basic = tf.nn.rnn_cell.GRUCell(4, name="g")
            basic(x, state)
            tf.layers.batch_normalization(x, training=True)
            tf.layers.dense(x, 2, kernel_regularizer=tf.nn.l2_loss)
        after = tf.layers.Dense(4, name="d")
        with contextlib.suppress(ValueError), tf.variable_scope("outer"):
            after(x)
        keys = tf.GraphKeys
        return [
            [v.op.name for v in tf.global_variables()],
            [v.op.name for v in tf.trainable_variables()],
            [v.op.name for v in dense[1].variables],
            [len(tf.get_collection(key)) for key in (keys.REGULARIZATION_LOSSES, keys.UPDATE_OPS)],
            tf.layers.Dense(3, name="e").name,
        ]


def main() -> None:
    """Writes the values of TensorFlow."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    tf.disable_resource_variables()
    rows = {"configs": configs(tf), "styled": styled(tf)}
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
