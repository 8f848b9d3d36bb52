"""A generative adversarial network learns a distribution with eight peaks, with slim.

    python examples/gan/gan.py FOLDER [--engine runtime] [--steps 3000]

The data are points in the plane, made here: eight small clouds on a circle. A generator makes
points from noise, a discriminator learns to tell them from the data, and the generator learns to
deceive it. What counts is how many of its points are in a cloud, and how many clouds have some.
FOLDER gets the checkpoint, and generator.gio, which is opened again and makes the same points.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import graphio as tf
import graphio.cinfer

slim = tf.contrib.slim
Array = np.ndarray

CLOUDS = 8
SPREAD = 0.05
NOISE = 16


def centers() -> Array:
    """The clouds' centers [8, 2]."""
    angles = 2 * np.pi * np.arange(CLOUDS) / CLOUDS
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def points(count: int, rng: np.random.RandomState) -> Array:
    """Points of the data [count, 2]."""
    made = centers()[rng.randint(0, CLOUDS, count)] + SPREAD * rng.randn(count, 2)
    return made.astype(np.float32)


def noise(count: int, rng: np.random.RandomState) -> Array:
    """Inputs of the generator [count, 16]."""
    return rng.randn(count, NOISE).astype(np.float32)


def network(inputs: tf.Tensor, outputs: int, units: int, scope: str) -> tf.Tensor:
    """Two hidden layers; both networks have this form."""
    with (
        tf.variable_scope(scope, reuse=tf.AUTO_REUSE),
        slim.arg_scope([slim.fully_connected], activation_fn=tf.nn.leaky_relu),
    ):
        hidden = slim.stack(inputs, slim.fully_connected, [units, units], scope="hidden")
        return slim.fully_connected(hidden, outputs, activation_fn=None, scope="output")


def train_op(loss: tf.Tensor, scope: str) -> tf.Tensor:
    """A step of the variables of one network."""
    variables = slim.get_variables(scope, collection=tf.GraphKeys.TRAINABLE_VARIABLES)
    optimizer = tf.train.AdamOptimizer(1e-3, beta1=0.5)
    return slim.learning.create_train_op(loss, optimizer, variables_to_train=variables)


class Adversaries:
    """The graph of the training: two losses, and a step for each."""

    def __init__(self, units: int) -> None:
        self.real = tf.placeholder(tf.float32, [None, 2], name="real")
        self.noise = tf.placeholder(tf.float32, [None, NOISE], name="noise")
        made = network(self.noise, 2, units, "generator")
        of_real = network(self.real, 1, units, "discriminator")
        of_made = network(made, 1, units, "discriminator")
        cross_entropy = tf.losses.sigmoid_cross_entropy
        self.discriminator_loss = cross_entropy(tf.ones_like(of_real), of_real) + cross_entropy(
            tf.zeros_like(of_made), of_made
        )
        self.generator_loss = cross_entropy(tf.ones_like(of_made), of_made)
        self.steps = [
            train_op(self.discriminator_loss, "discriminator"),
            train_op(self.generator_loss, "generator"),
        ]


def measured(made: Array) -> str:
    """How good points are."""
    distances = np.linalg.norm(made[:, None] - centers(), axis=2)
    inside = distances.min(1) < 4 * SPREAD
    found = np.bincount(distances.argmin(1)[inside], minlength=CLOUDS)
    covered = int(np.sum(found > len(made) / CLOUDS / 10))
    return f"{100 * inside.mean():.1f}% of the points are in a cloud, {covered} clouds have some"


def train(options: argparse.Namespace, prefix: str) -> None:
    """Trains both networks, and saves them."""
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        tf.set_random_seed(1)
        adversaries = Adversaries(options.units)
        session.run(tf.global_variables_initializer())
        for step in range(1, options.steps + 1):
            feed = {
                adversaries.real: points(options.batch, rng),
                adversaries.noise: noise(options.batch, rng),
            }
            losses = [session.run(one, feed) for one in adversaries.steps]
            if step % max(1, options.steps // 10) == 0:
                print(f"step {step:5d}  losses {losses[0]:.3f} {losses[1]:.3f}", flush=True)
        tf.train.Saver().save(session, prefix)


def generate(options: argparse.Namespace, prefix: str) -> None:
    """Restores the generator alone, measures its points, and exports it."""
    path = str(Path(options.folder) / "generator.gio")
    given = noise(2000, np.random.RandomState(1))
    print(f"noise itself: {measured(given[:, :2])}")
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        inputs = tf.placeholder(tf.float32, [None, NOISE], name="noise")
        made = network(inputs, 2, options.units, "generator")
        tf.train.Saver(slim.get_variables("generator")).restore(session, prefix)
        found = session.run(made, {inputs: given})
        tf.saved_model.save(path, session, {"make": ({"noise": inputs}, {"points": made})})
    print(f"generated: {measured(found)}")
    again = graphio.cinfer.load(path).signature("make")(noise=given)["points"]
    print(f"{path}: the same points within {np.abs(again - found).max():.0e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="for the checkpoint and generator.gio")
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args()
    prefix = str(Path(options.folder) / "model")
    train(options, prefix)
    generate(options, prefix)


if __name__ == "__main__":
    main()
