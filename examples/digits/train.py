"""Trains the digits network, going on from the newest checkpoint of its folder.

    python train.py FOLDER [--engine runtime] [--steps 330] [--save-every 60]

Prints a line a step that can be read by another program ("step 7 loss 1.23"), and at the end
the SHA-256 of all state; history.jsonl has the losses.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from model import Digits, Network, build, data, state_digest

import graphio as tf

STEPS = 330
SAVE_EVERY = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--engine", default="", choices=["", "runtime", "cinfer"])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--save-every", type=int, default=SAVE_EVERY)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    digits, network = data(), build()
    with tf.Session(arguments.engine, graph=network.graph) as session:
        train(session, network, digits, arguments)
        accuracy = test_accuracy(session, network, digits)
        print(f"accuracy {accuracy:.4f}", flush=True)
        print(f"digest {state_digest(session.state)}", flush=True)
        tf.saved_model.save(
            os.path.join(arguments.folder, "digits.gio"), session, signatures(network)
        )


def train(
    session: tf.Session, network: Network, digits: Digits, arguments: argparse.Namespace
) -> None:
    with network.graph.as_default():
        saver = tf.train.Saver(max_to_keep=2)
        initializer = tf.global_variables_initializer()
    newest = tf.train.latest_checkpoint(arguments.folder)
    if newest is None:
        session.run(initializer)
    else:
        saver.restore(session, newest)
    history = tf.train.History(os.path.join(arguments.folder, "history.jsonl"))
    for step in range(int(session.run(network.step)), arguments.steps):
        x, y = digits.batch(step)
        loss, _ = session.run([network.loss, network.train], {network.x: x, network.y: y})
        history.add(step, loss=loss)
        print(f"step {step} loss {loss:.6f}", flush=True)
        if (step + 1) % arguments.save_every == 0:
            saver.save(session, os.path.join(arguments.folder, "model"), global_step=step + 1)
            print(f"saved {step + 1}", flush=True)


def test_accuracy(session: tf.Session, network: Network, digits: Digits) -> float:
    classes = session.run(network.classes, {network.x: digits.test_x})
    return float(np.mean(classes == digits.test_y))


def signatures(network: Network) -> dict[str, tuple]:
    """name: (inputs, outputs, operations run for their effect)"""
    return {
        "predict": (
            {"x": network.x},
            {"probabilities": network.probabilities, "classes": network.classes},
        ),
        "train": ({"x": network.x, "y": network.y}, {"loss": network.loss}, [network.train]),
    }


if __name__ == "__main__":
    main()
