"""Scenes of tf.contrib.seq2seq: helpers, decoders, attention, beam search, losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

B, T, D, H, V = 2, 4, 3, 3, 5
SCENES: dict[str, Callable[[Any, Any], Any]] = {}


def scene(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Adds a function to the scenes by its name."""
    SCENES[function.__name__] = function
    return function


def inputs(tf: Any) -> Any:
    return tf.constant(numbers("x", (B, T, D)))


def memory(tf: Any, rows: int = B) -> Any:
    return tf.constant(numbers("memory", (rows, 5, 4)))


def dense(tf: Any, units: int = V) -> Any:
    """A layer that projects outputs, of the same names in TensorFlow and graphio."""
    if hasattr(tf, "graphio_version"):
        return tf.layers.Dense(units, name="out")
    from tensorflow.python.layers import core  # type: ignore[import-untyped]

    return core.Dense(units, name="out")


@scene
def training(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    helper = seq2seq.TrainingHelper(inputs(tf), tf.constant([4, 2]))
    cell = rnn.BasicLSTMCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32), dense(tf))
    return seq2seq.dynamic_decode(decoder)


@scene
def training_imputed(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    steps = tf.transpose(inputs(tf), [1, 0, 2])
    helper = seq2seq.TrainingHelper(steps, tf.constant([2, 3]), time_major=True)
    cell = rnn.GRUCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32))
    return seq2seq.dynamic_decode(
        decoder, output_time_major=True, impute_finished=True, scope="words"
    )


@scene
def training_limited(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    helper = seq2seq.TrainingHelper(inputs(tf), tf.constant([4, 3]))
    cell = rnn.GRUCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32))
    return seq2seq.dynamic_decode(decoder, maximum_iterations=2)


@scene
def greedy(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    table = tf.get_variable("table", [V, D])
    helper = seq2seq.GreedyEmbeddingHelper(table, tf.constant([1, 2]), 3)
    cell = rnn.GRUCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32), dense(tf))
    return seq2seq.dynamic_decode(decoder, maximum_iterations=5)


@scene
def sampled(tf: Any, contrib: Any) -> Any:
    """The temperature leaves one id that can be drawn."""
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    table = tf.get_variable("table", [V, D])
    helper = seq2seq.SampleEmbeddingHelper(
        lambda ids: tf.nn.embedding_lookup(table, ids), [1, 2], 0, softmax_temperature=1e-4, seed=3
    )
    cell = rnn.GRUCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32), dense(tf))
    return seq2seq.dynamic_decode(decoder, maximum_iterations=4)


@scene
def inference(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    helper = seq2seq.InferenceHelper(
        sample_fn=lambda outputs: outputs * 2.0,
        sample_shape=[H],
        sample_dtype=tf.float32,
        start_inputs=tf.constant(numbers("start", (B, H))),
        end_fn=lambda values: tf.reduce_sum(values, 1) > 3.0,
        next_inputs_fn=lambda values: values + 0.5,
    )
    cell = rnn.BasicRNNCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32))
    return seq2seq.dynamic_decode(decoder, maximum_iterations=3)


@scene
def custom(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    helper = seq2seq.CustomHelper(
        initialize_fn=lambda: (tf.constant([False, False]), tf.constant(numbers("s", (B, V)))),
        sample_fn=lambda time, outputs, state: tf.argmax(outputs, -1, output_type=tf.int32) + time,
        next_inputs_fn=lambda time, outputs, state, sample_ids: (
            tf.equal(sample_ids, 4), tf.one_hot(sample_ids, V), state,
        ),
    )  # fmt: skip
    cell = rnn.GRUCell(H)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32))
    return seq2seq.dynamic_decode(decoder, maximum_iterations=4)


def scheduled(kind: str, probability: float, **options: Any) -> Callable[[Any, Any], Any]:
    """A helper that replaces no inputs, or all."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
        lengths = tf.constant([4, 3])
        if kind == "embedding":
            table = tf.get_variable("table", [V, D])
            helper = seq2seq.ScheduledEmbeddingTrainingHelper(
                inputs(tf), lengths, table, probability, seed=1
            )
        else:
            made = {name: make(tf) for name, make in options.items()}
            helper = seq2seq.ScheduledOutputTrainingHelper(inputs(tf), lengths, probability, **made)
        cell = rnn.GRUCell(V if kind == "embedding" else H)
        start = cell.zero_state(B, tf.float32)
        decoder = seq2seq.BasicDecoder(cell, helper, start)
        outputs, state, ends = seq2seq.dynamic_decode(decoder)
        return (outputs.rnn_output, state, ends) if kind == "embedding" and probability else (
            outputs, state, ends,
        )  # fmt: skip

    return build


SCENES |= {
    "scheduled_embedding_never": scheduled("embedding", 0.0),
    "scheduled_output_never": scheduled("output", 0.0),
    "scheduled_output_always": scheduled("output", 1.0),
    "scheduled_output_function": scheduled(
        "output", 1.0, next_inputs_fn=lambda tf: lambda outputs: outputs * 0.5
    ),
    "scheduled_output_auxiliary": scheduled(
        "output", 1.0, auxiliary_inputs=lambda tf: tf.constant(numbers("more", (B, T, 2)))
    ),
    "scheduled_output_all": scheduled(
        "output", 1.0, next_inputs_fn=lambda tf: lambda outputs: outputs * 0.5,
        auxiliary_inputs=lambda tf: tf.constant(numbers("more", (B, T, 2))),
    ),
}  # fmt: skip


def attending(kind: str, wrapper: dict[str, Any] | None = None, **options: Any) -> Any:
    """A decoder with attention."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
        mechanism = getattr(seq2seq, kind)(H, memory(tf), **options)
        cell = seq2seq.AttentionWrapper(rnn.BasicLSTMCell(H), mechanism, **(wrapper or {}))
        helper = seq2seq.TrainingHelper(inputs(tf), tf.constant([4, 2]))
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(B, tf.float32), dense(tf))
        outputs, state, ends = seq2seq.dynamic_decode(decoder)
        history = state.alignment_history
        history = () if history == () else history.stack()
        return outputs, state._replace(alignment_history=history), ends

    return build


_sized = {"attention_layer_size": 2}
SCENES |= {
    "luong": attending("LuongAttention", _sized),
    "luong_scaled": attending("LuongAttention", scale=True, memory_sequence_length=[3, 5]),
    "bahdanau": attending("BahdanauAttention", _sized, memory_sequence_length=[4, 2]),
    "bahdanau_normalized": attending(
        "BahdanauAttention", {"alignment_history": True, "output_attention": False}, normalize=True
    ),
    "luong_monotonic": attending("LuongMonotonicAttention", _sized, scale=True),
    "luong_monotonic_recursive": attending(
        "LuongMonotonicAttention", mode="recursive", score_bias_init=0.5
    ),
    "bahdanau_monotonic": attending(
        "BahdanauMonotonicAttention", _sized, memory_sequence_length=[3, 4]
    ),
    "bahdanau_monotonic_hard": attending(
        "BahdanauMonotonicAttention", normalize=True, mode="hard", score_mask_value=-9.0
    ),
}


@scene
def two_memories(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    other = tf.constant(numbers("other", (B, 2, 6)))
    with tf.variable_scope("second"):
        second = seq2seq.BahdanauAttention(2, other)
    first = seq2seq.LuongAttention(H, memory(tf), probability_fn=seq2seq.hardmax)
    cell = seq2seq.AttentionWrapper(
        rnn.GRUCell(H), [first, second], attention_layer_size=[2, 3], alignment_history=True,
        cell_input_fn=lambda x, attention: tf.concat([attention, x * 2.0], -1),
    )  # fmt: skip
    start = cell.zero_state(B, tf.float32)
    start = start.clone(cell_state=tf.constant(numbers("first", (B, H))))
    helper = seq2seq.TrainingHelper(inputs(tf), tf.constant([3, 2]))
    outputs, state, ends = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, start))
    history = tuple(one.stack() for one in state.alignment_history)
    return outputs, state._replace(alignment_history=history), ends


@scene
def attention_in_a_net(tf: Any, contrib: Any) -> Any:
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    mechanism = seq2seq.BahdanauAttention(H, memory(tf))
    first = tf.constant(numbers("first", (B, H)))
    cell = seq2seq.AttentionWrapper(rnn.GRUCell(H), mechanism, 2, initial_cell_state=first)
    pieces = tf.unstack(inputs(tf), axis=1)
    return rnn.static_rnn(cell, pieces, cell.zero_state(B, tf.float32))


def stacked(state: Any) -> Any:
    """A state of beams whose TensorArrays are tensors."""
    kept = state.cell_state
    history = getattr(kept, "alignment_history", None)
    if hasattr(history, "stack"):
        state = state._replace(cell_state=kept._replace(alignment_history=history.stack()))
    return state


def beams(
    attention: bool = False,
    width: int = 3,
    of_any_length: bool = True,
    steps: int = 5,
    **options: Any,
) -> Any:
    """A beam search, of one of the cells."""

    def build(tf: Any, contrib: Any) -> Any:
        rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
        table = tf.get_variable("table", [V, D])
        cell = rnn.MultiRNNCell([rnn.BasicLSTMCell(H), rnn.GRUCell(H)])
        first = tuple(cell.zero_state(B * width, tf.float32))
        start = (first[0], seq2seq.tile_batch(tf.constant(numbers("first", (B, H))), width))
        if attention:
            rows = seq2seq.tile_batch(memory(tf), width)
            if of_any_length:
                rows = tf.placeholder_with_default(rows, [B * width, None, 4])
            lengths = seq2seq.tile_batch(tf.constant([4, 5]), width)
            mechanism = seq2seq.LuongAttention(H, rows, lengths)
            cell = seq2seq.AttentionWrapper(
                rnn.GRUCell(H), mechanism, attention_layer_size=4, alignment_history=True
            )
            start = cell.zero_state(B * width, tf.float32)
        decoder = seq2seq.BeamSearchDecoder(
            cell, table, tf.constant([1, 4]), 3, start, width, output_layer=dense(tf), **options
        )
        outputs, state, ends = seq2seq.dynamic_decode(
            decoder, maximum_iterations=steps, output_time_major=not attention
        )
        return outputs, stacked(state), ends

    return build


SCENES |= {
    "beams": beams(),
    "beams_two": beams(width=2, steps=7, length_penalty_weight=0.6),
    "beams_attending": beams(attention=True),
    "beams_covering": beams(attention=True, length_penalty_weight=1.2, coverage_penalty_weight=0.7),
    "beams_of_known_length": beams(attention=True, of_any_length=False),
    "beams_in_their_order": beams(attention=True, reorder_tensor_arrays=False),
}


@scene
def tiles(tf: Any, contrib: Any) -> Any:
    x = tf.constant(numbers("x", (2, 3)))
    return contrib("seq2seq").tile_batch((x, tf.constant([1, 2])), 3)


@scene
def trees(tf: Any, contrib: Any) -> Any:
    gather_tree = contrib("seq2seq").gather_tree
    draw = np.random.RandomState(5)
    made = []
    for steps, lengths in ((4, [4, 2]), (3, [1, 9]), (2, [0, 2])):
        ids = tf.constant(draw.randint(0, 9, (steps, 2, 3)).astype(np.int32))
        parents = tf.constant(draw.randint(0, 3, (steps, 2, 3)).astype(np.int32))
        made.append(gather_tree(ids, parents, tf.constant(lengths, tf.int32), 7))
    return made


@scene
def losses(tf: Any, contrib: Any) -> Any:
    loss = contrib("seq2seq").sequence_loss
    logits = tf.get_variable("logits", [2, 3, 4])
    targets = tf.constant([[0, 3, 1], [2, 2, 0]])
    weights = tf.constant([[1.0, 0.5, 0.0], [1.0, 0.0, 0.0]])
    rows = [
        {},
        {"average_across_timesteps": False},
        {"average_across_batch": False},
        {"average_across_timesteps": False, "average_across_batch": False},
    ]
    sums = [(True, True), (True, False), (False, True)]
    rows += [
        {
            "average_across_timesteps": False, "average_across_batch": False,
            "sum_over_timesteps": steps, "sum_over_batch": batch,
        }
        for steps, batch in sums
    ]  # fmt: skip
    rows.append(
        {
            "softmax_loss_function": lambda labels, logits: (
                tf.reduce_sum(logits, 1) + tf.cast(labels, tf.float32)
            )
        }
    )
    return [loss(logits, targets, weights, **row) for row in rows]


@scene
def monotonic(tf: Any, contrib: Any) -> Any:
    seq2seq = contrib("seq2seq")
    p = tf.get_variable("p", [2, 4]) + 0.7
    p = tf.minimum(p, 1.0)
    before = tf.nn.softmax(tf.constant(numbers("before", (2, 4))))
    hard = tf.constant([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    return (
        [seq2seq.monotonic_attention(p, before, mode) for mode in ("recursive", "parallel")],
        seq2seq.monotonic_attention(hard, tf.one_hot([1, 2], 4), "hard"),
        seq2seq.safe_cumprod(p, axis=1),
        seq2seq.safe_cumprod(p, axis=0, exclusive=True, reverse=True),
        seq2seq.hardmax(p),
    )


@scene
def training_and_inference(tf: Any, contrib: Any) -> Any:
    """The same cell and layer in two decoders, as translators have them."""
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    table, out = tf.get_variable("table", [V, D]), dense(tf)
    cell = rnn.MultiRNNCell([rnn.DropoutWrapper(rnn.LSTMCell(H)) for _ in range(2)])
    start = cell.zero_state(B, tf.float32)
    made = []
    for helper, scope_reuse in (
        (seq2seq.TrainingHelper(inputs(tf), tf.constant([4, 2])), None),
        (seq2seq.GreedyEmbeddingHelper(table, tf.fill([B], 1), 0), True),
    ):
        with tf.variable_scope("decode", reuse=scope_reuse):
            decoder = seq2seq.BasicDecoder(cell, helper, start, out)
            made.append(seq2seq.dynamic_decode(decoder, impute_finished=True, maximum_iterations=4))
    return made


@scene
def attention_shared_by_scope(tf: Any, contrib: Any) -> Any:
    """New cells and mechanisms that take the variables of the scope."""
    rnn, seq2seq = contrib("rnn"), contrib("seq2seq")
    table, out, width = tf.get_variable("table", [V, D]), dense(tf), 2

    def decode(rows: Any, batch: int, make: Callable[[Any, Any], Any], reuse: Any) -> Any:
        with tf.variable_scope("decode", reuse=reuse):
            mechanism = seq2seq.BahdanauAttention(H, rows, [3, 5] * (batch // B), normalize=True)
            cell = seq2seq.AttentionWrapper(rnn.GRUCell(H), mechanism, attention_layer_size=2)
            return seq2seq.dynamic_decode(
                make(cell, cell.zero_state(batch, tf.float32)), maximum_iterations=3
            )

    helper = seq2seq.TrainingHelper(inputs(tf), tf.constant([3, 2]))
    return (
        decode(memory(tf), B, lambda c, s: seq2seq.BasicDecoder(c, helper, s, out), None),
        decode(
            seq2seq.tile_batch(memory(tf), width), B * width,
            lambda c, s: seq2seq.BeamSearchDecoder(
                c, table, tf.fill([B], 1), 0, s, width, output_layer=out
            ),
            True,
        ),
    )  # fmt: skip
