"""Word vectors by skip-gram with a sampled loss, from three novels.

    python examples/word2vec/word2vec.py [--engine runtime] [--steps 60000]

How good they are is counted: for each of ten probe words, how many of the ten nearest words are
among those that RELATED lists. The baseline are the nearest words by the cosine of co-occurrence
counts in the same window.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import re
from pathlib import Path

import numpy as np

import graphio as tf

FOLDER = Path(__file__).resolve().parent.parent / "novels"
NOVELS = ("emma", "pride_and_prejudice", "sense_and_sensibility")
WINDOW = 2
RARE = 8  # words that occur less often are left out
Array = np.ndarray

#: Words of the same kind, for ten probe words.
RELATED = {
    "sister": "brother mother father aunt uncle daughter cousin niece friend son wife husband",
    "morning": "evening day night week afternoon",
    "he": "she they it i you we",
    "his": "her their my your its our",
    "could": "would might should can must did will may",
    "mrs": "mr miss colonel lady sir captain",
    "two": "three four five six ten several twenty few many",
    "think": "believe know suppose imagine hope say fancy understand",
    "house": "room park parsonage cottage abbey village town home country garden",
    "pleasure": "happiness satisfaction joy delight pain comfort",
}


def read_words(novels: int) -> list[str]:
    """The words of the first novels, in lower case."""
    paths = [FOLDER / f"{name}.txt.gz" for name in NOVELS[:novels]]
    text = "\n".join(gzip.decompress(path.read_bytes()).decode("ascii") for path in paths)
    return re.findall(r"[a-z]+", text.lower())


def skip_grams(codes: Array, words: int, rng: np.random.RandomState) -> Array:
    """Pairs [n, 2] of words at most WINDOW apart, with fewer of the very frequent words."""
    shifts = range(1, WINDOW + 1)
    near = [np.stack([codes[:-d], codes[d:]], 1) for d in shifts]
    pairs = np.concatenate([*near, *(p[:, ::-1] for p in near)])
    share = np.bincount(codes, minlength=words) / len(codes)
    kept = np.minimum(1, np.sqrt(1e-3 / share))
    return pairs[np.all(rng.rand(*pairs.shape) < kept[pairs], axis=1)]


def counts(codes: Array, words: int) -> Array:
    """How often two words are at most WINDOW apart [words, words]."""
    table = np.zeros((words, words), np.float32)
    for d in range(1, WINDOW + 1):
        np.add.at(table, (codes[:-d], codes[d:]), 1)
    return table + table.T


def score(vectors: Array, vocabulary: list[str], show: bool = False) -> int:
    """Related words among the ten nearest of each probe word, in all."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total = 0
    for probe, related in RELATED.items():
        code = vocabulary.index(probe)
        nearest = [vocabulary[i] for i in np.argsort(-(unit @ unit[code])) if i != code][:10]
        total += len(set(nearest) & set(related.split()))
        if show:
            print(f"  {probe:9s} {' '.join(nearest)}")
    return total


def train(pairs: Array, words: int, options: argparse.Namespace) -> Array:
    """Word vectors [words, size] after some steps."""
    centre = tf.placeholder(tf.int32, [None], name="centre")
    context = tf.placeholder(tf.int64, [None, 1], name="context")
    vectors = tf.get_variable(
        "vectors", [words, options.size], initializer=tf.random_normal_initializer(stddev=0.1)
    )
    weights = tf.get_variable("weights", [words, options.size], initializer=tf.zeros_initializer())
    biases = tf.get_variable("biases", [words], initializer=tf.zeros_initializer())
    found = tf.nn.embedding_lookup(vectors, centre)
    costs = tf.nn.nce_loss(weights, biases, context, found, num_sampled=32, num_classes=words)
    loss = tf.reduce_mean(costs)
    # Adagrad starts from an accumulator of 0.1: the sum, not the mean, makes gradients that count.
    step = tf.train.AdagradOptimizer(0.3).minimize(tf.reduce_sum(costs))
    rng = np.random.RandomState(1)
    with tf.Session(options.engine) as session:
        session.run(tf.global_variables_initializer())
        recent = []
        for number in range(options.steps):
            chosen = pairs[rng.randint(0, len(pairs), options.batch)]
            feed = {centre: chosen[:, 0], context: chosen[:, 1:]}
            recent.append(session.run([loss, step], feed)[0])
            if (number + 1) % max(1, options.steps // 10) == 0:
                print(f"step {number + 1:6d}  loss {np.mean(recent):.3f}", flush=True)
                recent = []
        return session.run(vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=60000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--novels", type=int, default=3)
    options = parser.parse_args()
    tf.set_random_seed(1)

    text = read_words(options.novels)
    often = [(w, n) for w, n in collections.Counter(text).most_common() if n >= RARE]
    vocabulary = [w for w, _ in often]  # most frequent first, as the sampler expects
    number = {w: i for i, w in enumerate(vocabulary)}
    codes = np.array([number[w] for w in text if w in number], np.int32)
    pairs = skip_grams(codes, len(vocabulary), np.random.RandomState(0))
    print(f"{len(codes)} words, {len(vocabulary)} different ones, {len(pairs)} pairs")
    vectors = train(pairs, len(vocabulary), options)
    baseline = score(counts(codes, len(vocabulary)), vocabulary)
    learnt = score(vectors, vocabulary, show=True)
    print(f"related words among the nearest: word2vec {learnt}, co-occurrence counts {baseline}")


if __name__ == "__main__":
    main()
