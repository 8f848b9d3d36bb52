"""Small trainings: what each rank builds, and what it has at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

import graphio as tf

SHARDS = 4
ROWS = 6
draw = np.random.RandomState(0)
IMAGES = draw.rand(64, ROWS, 6, 6, 1).astype("f4")
CLASSES = draw.randint(0, 10, (64, ROWS))
SEQUENCES = draw.rand(64, ROWS, 5, 3).astype("f4")
ENDS = draw.rand(64, ROWS, 4).astype("f4")
WORDS = draw.randint(0, 30, (64, ROWS))
NEAR = draw.randint(0, 30, (64, ROWS, 1))

#: loss, optimizer, options of DataParallel, feed
Parts = tuple[Any, Any, dict[str, Any], Any]


def at(step: int, shard: int) -> int:
    return (step * SHARDS + shard) % 64


def network() -> Parts:
    """Convolution, batch normalization, dropout, Adam."""
    x = tf.placeholder(tf.float32, (None, 6, 6, 1))
    y = tf.placeholder(tf.int64, (None,))
    h = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False)
    h = tf.nn.relu(tf.layers.batch_normalization(h, momentum=0.9, training=True))
    h = tf.layers.dropout(tf.layers.flatten(h), 0.3, training=True)
    logits = tf.layers.dense(h, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    right = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.int64))
    feed = lambda step, shard: {x: IMAGES[at(step, shard)], y: CLASSES[at(step, shard)]}  # noqa: E731
    return loss, tf.train.AdamOptimizer(0.01), {"metrics": {"right": right}}, feed


def recurrent() -> Parts:
    """An LSTM, gradients clipped by their global norm, momentum."""
    x = tf.placeholder(tf.float32, (ROWS, 5, 3))
    y = tf.placeholder(tf.float32, (ROWS, 4))
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    _, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.reduce_mean((state.h - y) ** 2)

    def clip(pairs: list[Any]) -> list[Any]:
        gradients, variables = zip(*pairs, strict=True)
        return list(zip(tf.clip_by_global_norm(gradients, 0.1)[0], variables, strict=True))

    feed = lambda step, shard: {x: SEQUENCES[at(step, shard)], y: ENDS[at(step, shard)]}  # noqa: E731
    return loss, tf.train.MomentumOptimizer(0.1, 0.9), {"transform": clip}, feed


def words() -> Parts:
    """Embeddings with sparse gradients, sampled classes, Adagrad."""
    ids = tf.placeholder(tf.int32, [None])
    labels = tf.placeholder(tf.int32, [None, 1])
    table = tf.get_variable("table", [30, 4])
    weights = tf.get_variable("weights", [30, 4])
    biases = tf.get_variable("biases", [30], initializer=tf.zeros_initializer())
    found = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, labels, found, 5, 30))
    feed = lambda step, shard: {ids: WORDS[at(step, shard)], labels: NEAR[at(step, shard)]}  # noqa: E731
    return loss, tf.train.AdagradOptimizer(0.5), {}, feed


def pipeline() -> Parts:
    """A data set of shards, shuffled."""
    rows = tf.data.Dataset.from_tensor_slices((SEQUENCES[:, :, 0], ENDS))
    x, y = rows.shuffle(50, seed=3).repeat().make_one_shot_iterator().get_next()
    loss = tf.reduce_mean((tf.layers.dense(tf.layers.dense(x, 5, tf.nn.tanh), 4) - y) ** 2)
    return loss, tf.train.GradientDescentOptimizer(0.1), {}, None


ALL: dict[str, Callable[[], Parts]] = {
    each.__name__: each for each in (network, recurrent, words, pipeline)
}


class Watch(tf.train.SessionRunHook):
    """The SHA-256 of all variables at the end."""

    sha = ""

    def end(self, session: Any) -> None:
        state = session.state
        digest = hashlib.sha256()
        for name in sorted(state.names()):
            digest.update(name.encode() + state.get(name).tobytes())
        self.sha = digest.hexdigest()


def trained(
    name: str,
    engine: Any,
    folder: Any = None,
    *,
    steps: int = 6,
    target: str = "cinfer",
    threads: int = 1,
    hooks: Any = (),
    change: Callable[[Any], Any] = lambda feed: feed,
    **options: Any,
) -> tuple[str, dict[str, Any]]:
    """The SHA of the variables after a training, and the last metrics."""
    watch = Watch()
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        loss, optimizer, own, feed = ALL[name]()
        trainer = tf.distribute.DataParallel(
            loss, optimizer, SHARDS, engine=engine, check_steps=2, **{**own, **options}
        )
        metrics = trainer.train(
            folder,
            steps=steps,
            feed=change(feed),
            target=target,
            config=tf.ConfigProto(intra_op_parallelism_threads=threads),
            save_steps=2,
            progress=False,
            hooks=[watch, *hooks],
        )
    return watch.sha, {key: value.item() for key, value in metrics.items()}
