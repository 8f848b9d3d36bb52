"""Trains a network on that comes as ONNX, and writes it as ONNX again.

    python examples/finetune/finetune.py [--engine runtime] [--out finetuned.onnx]

digits.onnx knows the digits 0 to 4; three epochs with all ten make it read all. Where ONNX
Runtime is installed, it has to predict what the engine predicts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from data import Digits, digits

import graphio as tf
import graphio.onnx

HERE = Path(__file__).resolve().parent
BATCH, EPOCHS = 32, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", default="", choices=["", "runtime", "cinfer"])
    parser.add_argument("--out", default="finetuned.onnx")
    arguments = parser.parse_args()

    model = graphio.onnx.import_model(HERE / "digits.onnx", trainable=True)
    image, logits = model.inputs["image"], model.outputs["logits"]
    label = tf.placeholder(tf.int64, [None], name="label")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
    )
    step = tf.train.AdamOptimizer(3e-3).minimize(loss)
    probabilities = tf.nn.softmax(logits)

    found = digits()
    with tf.Session(arguments.engine) as session:
        session.run(tf.global_variables_initializer())
        print(f"accuracy before {accuracy(session.run(logits, {image: found.test_x}), found):.4f}")
        for epoch in range(EPOCHS):
            order = np.random.RandomState(epoch).permutation(len(found.train_x))
            losses = []
            for rows in np.split(order, range(BATCH, len(order), BATCH)):
                feeds = {image: found.train_x[rows], label: found.train_y[rows]}
                losses.append(session.run([loss, step], feeds)[0])
            print(f"epoch {epoch + 1} loss {np.mean(losses):.4f}")
        expected = session.run(probabilities, {image: found.test_x})
        print(f"accuracy after {accuracy(expected, found):.4f}")
        graphio.onnx.export(
            arguments.out, session, {"image": image}, {"probabilities": probabilities}
        )
    print(f"wrote {arguments.out}")
    return check(arguments.out, found.test_x, expected)


def accuracy(scores: np.ndarray, found: Digits) -> float:
    """The part of the test images whose largest score is that of their label."""
    return float(np.mean(scores.argmax(1) == found.test_y))


def check(path: str, images: np.ndarray, expected: np.ndarray) -> int:
    """Whether ONNX Runtime predicts the same: an exit code."""
    try:
        import onnxruntime
    except ImportError:
        print("onnxruntime is not installed; the file is not checked")
        return 0
    session = onnxruntime.InferenceSession(path)
    (got,) = session.run(["probabilities"], {"image": images})
    equal = int(np.sum(got.argmax(1) == expected.argmax(1)))
    largest = float(np.abs(got - expected).max())
    print(f"onnxruntime {equal} of {len(images)} classes equal, largest difference {largest:.1e}")
    return 0 if equal == len(images) and largest < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
