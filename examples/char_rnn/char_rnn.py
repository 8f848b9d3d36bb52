"""A character model by legacy_seq2seq, in the form that many programs of TensorFlow 1 have.

    python examples/char_rnn/char_rnn.py FOLDER [--engine runtime] [--steps 400]

The text is made here, of a small grammar. The network is unrolled over the steps of a window by
rnn_decoder; its loss is that of sequence_loss_by_example. What counts is the perplexity of text
that was not trained on, compared with a model that knows the characters' frequencies alone. FOLDER
gets the checkpoint, and char_rnn.gio, one step with its state, which writes the same text again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import graphio as tf
import graphio.cinfer

rnn = tf.contrib.rnn
legacy_seq2seq = tf.contrib.legacy_seq2seq
Array = np.ndarray

SUBJECTS = ["the old captain", "a tall sailor", "my brother", "the night watch", "our neighbour"]
VERBS = ["carries", "remembers", "paints", "repairs", "forgets"]
OBJECTS = ["a silver lamp", "the broken clock", "seven letters", "the garden wall", "no music"]
ENDS = [" in winter", " at dawn", " without a word", ""]


def written(sentences: int, seed: int) -> str:
    """Sentences of the grammar."""
    rng = np.random.RandomState(seed)
    parts = [(SUBJECTS, ""), (VERBS, " "), (OBJECTS, " "), (ENDS, "")]
    return "".join(
        "".join(before + words[rng.randint(len(words))] for words, before in parts) + ".\n"
        for _ in range(sentences)
    )


def windows(codes: Array, batch: int, length: int) -> list[tuple[Array, Array]]:
    """Inputs and targets [batch, length]; a row goes on in the next window."""
    count = (len(codes) - 1) // (batch * length)
    inputs = codes[: count * batch * length].reshape(batch, -1)
    targets = codes[1 : count * batch * length + 1].reshape(batch, -1)
    return list(zip(np.split(inputs, count, 1), np.split(targets, count, 1), strict=True))


def unigram_perplexity(train: Array, test: Array, symbols: int) -> float:
    """That of the model that knows the frequencies of characters."""
    share = (np.bincount(train, minlength=symbols) + 1) / (len(train) + symbols)
    return float(np.exp(-np.log(share[test]).mean()))


class Model:
    """The graph for windows of one size.

    Args:
        symbols: number of different characters.
        units: of each of two layers.
        batch, length: of a window.
        training: whether there is an optimizer.
    """

    def __init__(self, symbols: int, units: int, batch: int, length: int, training: bool) -> None:
        self.inputs = tf.placeholder(tf.int32, [batch, length], name="inputs")
        self.targets = tf.placeholder(tf.int32, [batch, length], name="targets")
        cell = rnn.MultiRNNCell([rnn.BasicLSTMCell(units) for _ in range(2)])
        self.first = cell.zero_state(batch, tf.float32)
        with tf.variable_scope("rnnlm"):
            weights = tf.get_variable("softmax_w", [units, symbols])
            bias = tf.get_variable("softmax_b", [symbols])
            embedding = tf.get_variable("embedding", [symbols, units])
        vectors = tf.split(tf.nn.embedding_lookup(embedding, self.inputs), length, 1)
        steps = [tf.squeeze(vector, [1]) for vector in vectors]
        outputs, self.last = legacy_seq2seq.rnn_decoder(steps, self.first, cell, scope="rnnlm")
        output = tf.reshape(tf.concat(outputs, 1), [-1, units])
        logits = tf.nn.xw_plus_b(output, weights, bias)
        self.probabilities = tf.nn.softmax(logits, name="probabilities")
        losses = legacy_seq2seq.sequence_loss_by_example(
            [logits], [tf.reshape(self.targets, [-1])], [tf.ones([batch * length])]
        )
        self.cost = tf.reduce_mean(losses)
        if training:
            variables = tf.trainable_variables()
            gradients, _ = tf.clip_by_global_norm(tf.gradients(self.cost, variables), 5.0)
            optimizer = tf.train.AdamOptimizer(0.005)
            self.train = optimizer.apply_gradients(zip(gradients, variables, strict=True))


def train(options: argparse.Namespace, codes: Array, symbols: int, prefix: str) -> None:
    """Trains, and saves the variables."""
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        tf.set_random_seed(1)
        model = Model(symbols, options.units, options.batch, options.length, training=True)
        session.run(tf.global_variables_initializer())
        pieces = windows(codes, options.batch, options.length)
        start = state = session.run(model.first)
        for step in range(options.steps):
            at = step % len(pieces)
            inputs, targets = pieces[at]
            state = state if at else start
            feed = {model.inputs: inputs, model.targets: targets, model.first: state}
            cost, _, state = session.run([model.cost, model.train, model.last], feed)
            if (step + 1) % max(1, options.steps // 8) == 0:
                print(f"step {step + 1:4d}  perplexity {np.exp(cost):.2f}", flush=True)
        tf.train.Saver().save(session, prefix)


def perplexity(options: argparse.Namespace, codes: Array, symbols: int, prefix: str) -> float:
    """That of the restored model on some text."""
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        model = Model(symbols, options.units, options.batch, options.length, training=False)
        tf.train.Saver().restore(session, prefix)
        costs, state = [], session.run(model.first)
        for inputs, targets in windows(codes, options.batch, options.length):
            feed = {model.inputs: inputs, model.targets: targets, model.first: state}
            cost, state = session.run([model.cost, model.last], feed)
            costs.append(cost)
        return float(np.exp(np.mean(costs)))


def sample(options: argparse.Namespace, alphabet: str, prefix: str) -> None:
    """Writes text by the restored model, and again by the exported one."""
    path = str(Path(options.folder) / "char_rnn.gio")
    flatten = tf.contrib.framework.nest.flatten
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        model = Model(len(alphabet), options.units, 1, 1, training=False)
        tf.train.Saver().restore(session, prefix)
        before, after = flatten(model.first), flatten(model.last)
        start = session.run(before)

        def step(code: Array, state: list[Array]) -> tuple[Array, list[Array]]:
            feed = {model.inputs: code, **dict(zip(before, state, strict=True))}
            return session.run([model.probabilities, after], feed)

        text = drawn(step, start, alphabet)
        names = [f"state_{i}" for i in range(len(before))]
        inputs = {"inputs": model.inputs, **dict(zip(names, before, strict=True))}
        outputs = {"probabilities": model.probabilities, **dict(zip(names, after, strict=True))}
        tf.saved_model.save(path, session, {"step": (inputs, outputs)})
    print(text[1:])
    run = graphio.cinfer.load(path).signature("step")

    def exported(code: Array, state: list[Array]) -> tuple[Array, list[Array]]:
        found = run(inputs=code, **dict(zip(names, state, strict=True)))
        return found["probabilities"], [found[name] for name in names]

    same = drawn(exported, start, alphabet) == text
    print(f"{path}: {'the same text' if same else 'another text'}")


def drawn(step: Callable[..., tuple[Array, list[Array]]], state: list[Array], alphabet: str) -> str:
    """160 characters, each drawn by the probabilities that a step gives."""
    rng, text = np.random.RandomState(0), "\n"
    for _ in range(160):
        code = np.array([[alphabet.index(text[-1])]], np.int32)
        probabilities, state = step(code, state)
        share = probabilities[0].astype(float)
        text += alphabet[rng.choice(len(alphabet), p=share / share.sum())]
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="for the checkpoint and char_rnn.gio")
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=25, help="steps of a window")
    options = parser.parse_args()
    seen, unseen = written(2000, seed=0), written(400, seed=1)
    alphabet = "".join(sorted(set(seen)))
    codes, others = (
        np.array([alphabet.index(c) for c in text], np.int32) for text in (seen, unseen)
    )
    prefix, symbols = str(Path(options.folder) / "model"), len(alphabet)
    train(options, codes, symbols, prefix)
    found = perplexity(options, others, symbols, prefix)
    unigram = unigram_perplexity(codes, others, symbols)
    print(f"unseen text: perplexity {found:.2f}, by frequency {unigram:.2f}")
    sample(options, alphabet, prefix)


if __name__ == "__main__":
    main()
