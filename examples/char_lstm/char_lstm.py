"""A character-level language model: an LSTM reads a novel and learns to guess the next letter.

    python examples/char_lstm/char_lstm.py [--engine runtime] [--steps 2000] [--sample 300]

The last tenth of the novel is not trained on: what counts is how many bits a character of it costs.
"""

from __future__ import annotations

import argparse
import gzip
import math
from pathlib import Path

import numpy as np

import graphio as tf

NOVEL = Path(__file__).resolve().parent.parent / "novels" / "pride_and_prejudice.txt.gz"
Array = np.ndarray


def read_novel() -> tuple[Array, str]:
    """The characters as numbers [length], int32, and the alphabet."""
    text = gzip.decompress(NOVEL.read_bytes()).decode("ascii")
    alphabet = "".join(sorted(set(text)))
    number = {character: i for i, character in enumerate(alphabet)}
    return np.array([number[c] for c in text], np.int32), alphabet


def batches(codes: Array, streams: int, length: int) -> Array:
    """Windows [count, streams, length + 1]; each stream goes on where it was before."""
    count = (len(codes) // streams - 1) // length
    starts = np.arange(streams) * (len(codes) // streams)
    offsets = np.arange(count) * length
    return codes[offsets[:, None, None] + starts[None, :, None] + np.arange(length + 1)]


class CharacterModel:
    """The graph. States go in and out, so that a novel is read in pieces of any length.

    Attributes:
        codes: int32 [streams, length + 1], a piece and the character after it.
        loss: mean cross entropy of the next character, in nats.
        train: one step of Adam with clipped gradients.
    """

    def __init__(self, letters: int, units: int) -> None:
        self.codes = tf.placeholder(tf.int32, [None, None], name="codes")
        inputs, targets = self.codes[:, :-1], self.codes[:, 1:]
        embedding = tf.get_variable("embedding", [letters, units // 2])
        self.cell = tf.nn.rnn_cell.BasicLSTMCell(units)
        self.state = self.cell.zero_state(tf.shape(inputs)[0], tf.float32)
        outputs, self.final = tf.nn.dynamic_rnn(
            self.cell, tf.nn.embedding_lookup(embedding, inputs), initial_state=self.state
        )
        logits = tf.layers.dense(outputs, letters, name="letters")
        self.probabilities = tf.nn.softmax(logits[:, -1], name="probabilities")
        self.loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
        )
        self.rate = tf.placeholder_with_default(0.004, [], name="rate")
        optimizer = tf.train.AdamOptimizer(self.rate)
        gradients, variables = zip(*optimizer.compute_gradients(self.loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.train = optimizer.apply_gradients(zip(clipped, variables, strict=True))

    def feed(self, codes: Array, state: tuple[Array, Array] | None) -> dict[tf.Tensor, Array]:
        """The feed for a piece of text after another, or at the start (state None)."""
        pairs = {} if state is None else dict(zip(self.state, state, strict=True))
        return {self.codes: codes, **pairs}


def bits(session: tf.Session, model: CharacterModel, codes: Array) -> float:
    """Average bits per character of a novel that is read from start to end."""
    total, state = 0.0, None
    windows = batches(codes, 16, 100)
    for window in windows:
        loss, state = session.run([model.loss, model.final], model.feed(window, state))
        total += float(loss)
    return total / len(windows) / math.log(2)


def sample(session: tf.Session, model: CharacterModel, alphabet: str, length: int) -> str:
    """Text sampled from the model, one character after another."""
    rng, state, written = np.random.RandomState(0), None, [alphabet.index("T")]
    for _ in range(length):
        piece = np.array([[written[-1], 0]])  # the character after it is not looked at
        chances, state = session.run([model.probabilities, model.final], model.feed(piece, state))
        chances = chances[0].astype(float)
        written.append(int(rng.choice(len(alphabet), p=chances / chances.sum())))
    return "".join(alphabet[i] for i in written)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--units", type=int, default=160)
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--length", type=int, default=50, help="characters of a step and stream")
    parser.add_argument("--sample", type=int, default=300, help="characters to make up")
    options = parser.parse_args()

    codes, alphabet = read_novel()
    split = len(codes) * 9 // 10
    windows = batches(codes[:split], options.streams, options.length)
    tf.set_random_seed(1)
    model = CharacterModel(len(alphabet), options.units)
    with tf.Session(options.engine) as session:
        session.run(tf.global_variables_initializer())
        state = None
        for step in range(options.steps):
            at = step % len(windows)
            feed = model.feed(windows[at], state if at else None)
            feed[model.rate] = 0.004 * (1 - 0.95 * step / options.steps)
            loss, state, _ = session.run([model.loss, model.final, model.train], feed)
            if step % 100 == 0:
                print(f"step {step:5d}  {loss / math.log(2):.3f} bits a character", flush=True)
        print(f"unseen text: {bits(session, model, codes[split:]):.3f} bits a character")
        if options.sample:
            print(sample(session, model, alphabet, options.sample))


if __name__ == "__main__":
    main()
