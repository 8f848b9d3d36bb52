"""A variational autoencoder of small pictures, by distributions.

    python examples/vae/vae.py [--engine runtime] [--steps 3000] [--export FOLDER]

The pictures are made here: one or two stripes on 8 x 8 pixels, a few pixels flipped. How good the
model is is measured in nats a picture, on pictures that it has not seen: the evidence lower bound
of their log-probability. The baseline is the best model whose pixels are independent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import graphio as tf

tfd = tf.contrib.distributions
SIDE = 8
PIXELS = SIDE * SIDE
Array = np.ndarray


def pictures(count: int, rng: np.random.RandomState) -> Array:
    """Pictures [count, pixels] of 0 and 1: horizontal and vertical stripes, with noise."""
    made = np.zeros((count, SIDE, SIDE), bool)
    for number in range(count):
        for _ in range(rng.randint(1, 3)):
            start, width = rng.randint(0, SIDE - 1), 2
            lines = slice(start, start + width)
            if rng.rand() < 0.5:
                made[number, lines] = True
            else:
                made[number, :, lines] = True
    noise = rng.rand(count, SIDE, SIDE) < 0.02
    return (made ^ noise).reshape(count, PIXELS).astype(np.float32)


def independent_pixels(train: Array, test: Array) -> float:
    """The mean log-probability of a test picture where every pixel has its own frequency."""
    share = (train.sum(0) + 1) / (len(train) + 2)
    return float((test * np.log(share) + (1 - test) * np.log(1 - share)).sum(1).mean())


def encoder(images: tf.Tensor, size: int, units: int) -> tfd.Distribution:
    """The distribution of the latent vectors of pictures."""
    with tf.variable_scope("encoder"):
        hidden = tf.layers.dense(images, units, tf.nn.relu)
        loc = tf.layers.dense(hidden, size, name="loc")
        scale = tf.layers.dense(hidden, size, tf.nn.softplus, name="scale")
    return tfd.MultivariateNormalDiag(loc, scale + 1e-3, name="posterior")


def decoder(latent: tf.Tensor, units: int) -> tfd.Distribution:
    """The distribution of the pictures of latent vectors."""
    with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
        hidden = tf.layers.dense(latent, units, tf.nn.relu, name="hidden")
        logits = tf.layers.dense(hidden, PIXELS, name="logits")
    pixels = tfd.Bernoulli(logits=logits, dtype=tf.float32)
    return tfd.Independent(pixels, reinterpreted_batch_ndims=1, name="likelihood")


def draw(found: Array) -> str:
    """Pictures side by side, as text."""
    pictured = found.reshape(-1, SIDE, SIDE) > 0.5
    lines = (pictured[:, row] for row in range(SIDE))
    return "\n".join("  ".join(text(part) for part in line) for line in lines)


def text(pixels: Array) -> str:
    """A line of a picture."""
    return "".join("#" if pixel else "." for pixel in pixels)


def train(options: argparse.Namespace) -> None:
    """Trains, measures, draws samples and exports the model that makes them."""
    rng = np.random.RandomState(0)
    seen, unseen = pictures(4000, rng), pictures(1000, rng)
    images = tf.placeholder(tf.float32, [None, PIXELS], name="images")
    prior = tfd.MultivariateNormalDiag(tf.zeros([options.size]), name="prior")
    posterior = encoder(images, options.size, options.units)
    # The sample is loc + scale * noise, so that the gradient of the bound reaches the encoder.
    likelihood = decoder(posterior.sample(seed=1), options.units)
    divergence = tfd.kl_divergence(posterior, prior)
    bound = tf.reduce_mean(likelihood.log_prob(images) - divergence)
    apart = tf.reduce_mean(divergence)
    step = tf.train.AdamOptimizer(3e-3).minimize(-bound)

    noise = tf.placeholder(tf.float32, [None, options.size], name="noise")
    samples = decoder(noise, options.units).mean()
    baseline = independent_pixels(seen, unseen)
    with tf.Session(options.engine) as session:
        session.run(tf.global_variables_initializer())
        print(f"before: {session.run(bound, {images: unseen}):.2f} nats a picture")
        for number in range(1, options.steps + 1):
            batch = seen[rng.randint(0, len(seen), options.batch)]
            session.run(step, {images: batch})
            if number % max(1, options.steps // 10) == 0:
                found, nats = session.run([bound, apart], {images: unseen})
                print(f"step {number:5d}  bound {found:.2f}  divergence {nats:.2f}", flush=True)
        print(f"unseen pictures: {found:.2f} nats, independent pixels {baseline:.2f}")
        chosen = rng.randn(6, options.size).astype(np.float32)
        drawn = session.run(samples, {noise: chosen})
        print(draw(drawn))
        if options.export:
            tf.saved_model.simple_save(
                session, options.export, {"noise": noise}, {"pictures": samples}
            )
            check(options, chosen, drawn)


def check(options: argparse.Namespace, noise: Array, expected: Array) -> None:
    """Runs what was exported, and stores its pictures in its folder."""
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        tags = [tf.saved_model.tag_constants.SERVING]
        signatures = tf.saved_model.loader.load(session, tags, options.export).signature_def
        signature = signatures[tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        found = session.run(
            signature.outputs["pictures"].name, {signature.inputs["noise"].name: noise}
        )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.save(Path(options.export) / "pictures.npy", found)
    print(f"{options.export}: the model, and {len(found)} pictures of it in pictures.npy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", type=int, default=8, help="numbers of a latent vector")
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--export", default="", help="a new folder for the model of the samples")
    options = parser.parse_args()
    tf.set_random_seed(1)
    train(options)


if __name__ == "__main__":
    main()
