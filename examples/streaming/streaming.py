"""A recurrent network that listens: its state stays in the session between the calls.

    python examples/streaming/streaming.py [stream.gio]

The file has two signatures. `listen` takes any number of time steps, answers each, and assigns the
LSTM's state; `reset` sets it to zero. However a sequence is cut, cinfer gives the same bits, from
Python and in stream.c; the Python runtime rounds as numpy's matmul does, by its sizes.
"""

from __future__ import annotations

import sys

import numpy as np

import graphio as tf
import graphio.cinfer
import graphio.runtime

CHANNELS, UNITS, STEPS = 3, 20, 100


def build(path: str) -> None:
    """Writes the model, with weights as they come: training one is another matter."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, CHANNELS], name="x")
        cell = tf.nn.rnn_cell.LSTMCell(UNITS)
        c = tf.get_variable("c", initializer=tf.zeros([1, UNITS]), trainable=False)
        h = tf.get_variable("h", initializer=tf.zeros([1, UNITS]), trainable=False)
        before = tf.nn.rnn_cell.LSTMStateTuple(c, h)
        outputs, after = tf.nn.dynamic_rnn(cell, x[None], initial_state=before)
        y = tf.layers.dense(outputs[0], 1)[:, 0]
        keep = [c.assign(after.c), h.assign(after.h)]
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(
            path,
            session,
            {
                "listen": ({"x": x}, {"y": y}, keep),
                "reset": ({}, {}, [c.initializer, h.initializer]),
            },
        )


def signal() -> np.ndarray:
    """Simulates a sensor, [STEPS, CHANNELS]; stream.c makes the same numbers."""
    return np.float32([[(7 * t + 3 * i) % 16 / 16 for i in range(CHANNELS)] for t in range(STEPS)])


def listened(model: graphio.runtime.Model, length: int) -> np.ndarray:
    """The answers to the signal, given in pieces of a length."""
    model.signature("reset").run([])
    listen, x = model.signature("listen"), signal()
    pieces = [listen(x=x[i : i + length])["y"] for i in range(0, STEPS, length)]
    return np.concatenate(pieces)


def main(path: str = "stream.gio") -> int:
    build(path)
    gaps = {}
    for engine in (graphio.runtime, graphio.cinfer):
        model, name = engine.load(path), engine.__name__
        once = listened(model, STEPS)
        for length in (1, 7, 64):
            gaps[name] = float(np.abs(listened(model, length) - once).max())
            print(f"{name}: pieces of {length}: at most {gaps[name]:.1e} from one piece")
        print(f"{name}: the last answer is {once[-1]:.9g}")
    return 0 if gaps["graphio.cinfer"] == 0 and gaps["graphio.runtime"] < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
