"""Scenes of tf.contrib.legacy_seq2seq."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contrib_scenes.recording import numbers

B, D, H, V = 2, 3, 3, 5
SCENES: dict[str, Callable[[Any, Any], Any]] = {}


def scene(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Adds a function to the scenes by its name."""
    SCENES[function.__name__] = function
    return function


def vectors(tf: Any, name: str, steps: int = 3) -> list[Any]:
    return [tf.constant(numbers(f"{name}{t}", (B, D))) for t in range(steps)]


def symbols(tf: Any, *steps: Any) -> list[Any]:
    return [tf.constant(ids) for ids in steps or ([1, 4], [0, 2], [3, 3])]


@scene
def decoder(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    start = tf.constant(numbers("start", (B, H)))
    return legacy.rnn_decoder(vectors(tf, "x"), start, rnn.GRUCell(H))


@scene
def decoder_that_loops(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    start = tf.constant(numbers("start", (B, H)))
    loop = lambda before, step: before * float(step)  # noqa: E731
    return legacy.rnn_decoder(vectors(tf, "x"), start, rnn.GRUCell(D), loop, scope="words")


@scene
def basic(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    cell = rnn.OutputProjectionWrapper(rnn.BasicLSTMCell(H), 4)
    return legacy.basic_rnn_seq2seq(vectors(tf, "x"), vectors(tf, "y"), cell)


@scene
def tied(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    cell = rnn.OutputProjectionWrapper(rnn.GRUCell(H), 4)
    return legacy.tied_rnn_seq2seq(vectors(tf, "x"), vectors(tf, "y"), cell)


def embedding(feed: Any, projection: bool = False) -> Callable[[Any, Any], Any]:
    """An encoder and a decoder of symbols; feed: from tf to feed_previous."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
        pair = None
        if projection:
            pair = (tf.get_variable("w", [H, V]), tf.get_variable("b", [V]))
        return legacy.embedding_rnn_seq2seq(
            symbols(tf), symbols(tf, [0, 1], [2, 3]), rnn.BasicLSTMCell(H), V, V, 2,
            output_projection=pair, feed_previous=feed(tf), dtype=tf.float32,
        )  # fmt: skip

    return build


def embedding_tied(feed: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """The same with tied variables."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
        cell = rnn.MultiRNNCell([rnn.GRUCell(H), rnn.GRUCell(2)])
        return legacy.embedding_tied_rnn_seq2seq(
            symbols(tf), symbols(tf, [0, 1], [2, 3]), cell, V, 2, feed_previous=feed(tf), **options
        )

    return build


def embedding_attention(feed: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """The same with attention."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
        return legacy.embedding_attention_seq2seq(
            symbols(tf), symbols(tf, [0, 1], [2, 3]), rnn.GRUCell(H), V, 4, 2,
            feed_previous=feed(tf), **options,
        )  # fmt: skip

    return build


FEEDS: dict[str, Callable[[Any], Any]] = {
    "": lambda tf: False,
    "_feeding": lambda tf: True,
    "_choosing_to_feed": lambda tf: tf.constant(True),
    "_choosing_not_to": lambda tf: tf.constant(False),
}
for ending, feed in FEEDS.items():
    SCENES[f"embedding{ending}"] = embedding(feed)
    SCENES[f"embedding_tied{ending}"] = embedding_tied(feed)
    SCENES[f"embedding_attention{ending}"] = embedding_attention(feed)
SCENES |= {
    "embedding_projected": embedding(FEEDS["_feeding"], projection=True),
    "embedding_tied_other_symbols": embedding_tied(FEEDS[""], num_decoder_symbols=4),
    "embedding_attention_two_heads": embedding_attention(
        FEEDS["_feeding"], num_heads=2, initial_state_attention=True
    ),
}


@scene
def attention(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    memory = tf.constant(numbers("memory", (B, 4, 2)))
    cell = rnn.BasicLSTMCell(H)
    start = cell.zero_state(B, tf.float32)
    first = legacy.attention_decoder(
        vectors(tf, "x"), start, memory, cell, output_size=4, num_heads=2
    )
    loop = lambda before, step: before  # noqa: E731
    second = legacy.attention_decoder(
        vectors(tf, "x"), start, memory, rnn.BasicLSTMCell(H), output_size=D, loop_function=loop,
        scope="other",
    )  # fmt: skip
    return first, second


@scene
def attention_over_symbols(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    memory = tf.constant(numbers("memory", (B, 4, 2)))
    pair = (tf.get_variable("w", [H, V]), tf.get_variable("b", [V]))
    start = tf.constant(numbers("start", (B, H)))
    return legacy.embedding_attention_decoder(
        symbols(tf), start, memory, rnn.GRUCell(H), V, 2, output_projection=pair,
        feed_previous=True, update_embedding_for_previous=False,
    )  # fmt: skip


@scene
def decoder_over_symbols(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    start = tf.constant(numbers("start", (B, H)))
    return legacy.embedding_rnn_decoder(symbols(tf), start, rnn.GRUCell(H), V, 2)


def several(feed: Any) -> Callable[[Any, Any], Any]:
    """An encoder with two decoders."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
        inputs = {"0": symbols(tf, [0, 1], [2, 3]), "1": symbols(tf, [1, 1])}
        cells = {name: rnn.BasicLSTMCell(H) for name in inputs}
        return legacy.one2many_rnn_seq2seq(
            symbols(tf), inputs, rnn.BasicLSTMCell(H), cells, V, {"0": V, "1": 4}, 2,
            feed_previous=feed(tf),
        )  # fmt: skip

    return build


SCENES |= {f"several{ending}": several(feed) for ending, feed in FEEDS.items()}


@scene
def losses(tf: Any, contrib: Any) -> Any:
    legacy = contrib("legacy_seq2seq")
    logits = [tf.get_variable(f"logits{t}", [B, 4]) for t in range(2)]
    targets = [tf.constant([0, 3]), tf.constant([2, 1])]
    weights = [tf.constant([1.0, 0.5]), tf.constant([0.25, 0.0])]
    function = lambda labels, logits: tf.reduce_sum(logits, 1) + tf.cast(labels, tf.float32)  # noqa: E731
    return (
        legacy.sequence_loss(logits, targets, weights),
        legacy.sequence_loss(logits, targets, weights, average_across_timesteps=False),
        legacy.sequence_loss(logits, targets, weights, average_across_batch=False),
        legacy.sequence_loss(logits, targets, weights, softmax_loss_function=function),
        legacy.sequence_loss_by_example(logits, targets, weights),
        legacy.sequence_loss_by_example(logits, targets, weights, average_across_timesteps=False),
    )


@scene
def buckets(tf: Any, contrib: Any) -> Any:
    rnn, legacy = contrib("rnn"), contrib("legacy_seq2seq")
    ids = symbols(tf, [1, 4], [0, 2], [3, 3], [2, 0])
    weights = [tf.constant([1.0, 0.5])] * 4

    def build(x: Any, y: Any) -> Any:
        return legacy.embedding_attention_seq2seq(x, y, rnn.GRUCell(H), V, V, 2)

    lists = (ids, ids, ids, weights, [(1, 2), (3, 4)], build)
    first = legacy.model_with_buckets(*lists)
    tf.get_variable_scope().reuse_variables()
    return first, legacy.model_with_buckets(*lists, per_example_loss=True)
