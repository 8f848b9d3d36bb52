"""tf.contrib.rnn and tf.contrib.seq2seq: drawn values, first values, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

rnn, seq2seq = tf.contrib.rnn, tf.contrib.seq2seq
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


# ---- drawn values ----


class Constant(rnn.RNNCell):
    """A cell whose output is its state, which stays."""

    state_size = output_size = 4

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return state, state


def decoded(target: str, make: Callable[[], Any], logits: Any, steps: int = 12) -> Any:
    """The ids of a decoder whose outputs are the same in all steps."""
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        decoder = seq2seq.BasicDecoder(Constant(), make(), tf.constant(logits))
        outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
        with tf.Session(target=target) as session:
            return session.run(outputs.sample_id)


@TARGETS
def test_ids_are_drawn_by_their_probabilities(target: str) -> None:
    p = np.float32([0.1, 0.2, 0.3, 0.4])
    table = np.eye(4, dtype=np.float32)
    start = np.zeros(300, np.int32)
    logits = np.tile(np.log(p) * 2, (300, 1))

    def make() -> Any:
        return seq2seq.SampleEmbeddingHelper(table, start, -1, softmax_temperature=2.0, seed=1)

    ids = decoded(target, make, logits)
    shares = np.bincount(ids.ravel(), minlength=4) / ids.size
    assert (np.abs(shares - p) <= 5 * np.sqrt(p * (1 - p) / ids.size)).all()
    assert len({tuple(row) for row in ids}) > 250


@TARGETS
def test_inputs_are_replaced_with_a_probability(target: str) -> None:
    inputs = np.zeros((300, 12, 4), np.float32)
    lengths = np.full(300, 12, np.int32)

    def output() -> Any:
        return seq2seq.ScheduledOutputTrainingHelper(inputs, lengths, 0.25, seed=2)

    def embedding() -> Any:
        return seq2seq.ScheduledEmbeddingTrainingHelper(
            inputs, lengths, np.eye(4, dtype=np.float32), 0.25, seed=2, scheduling_seed=3
        )

    logits = np.zeros((300, 4), np.float32)
    for chosen in (decoded(target, output, logits), decoded(target, embedding, logits) >= 0):
        assert abs(chosen.mean() - 0.25) <= 5 * np.sqrt(0.25 * 0.75 / chosen.size)


@TARGETS
def test_replaced_inputs_are_the_vectors_of_the_ids(target: str) -> None:
    """The state of the cell counts; its inputs are emitted."""

    class Echo(rnn.RNNCell):
        state_size, output_size = 1, 4

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            return inputs, state + 1.0

    inputs = np.random.RandomState(0).uniform(1, 2, (5, 6, 4)).astype(np.float32)
    lengths = np.array([6, 3, 5, 6, 1], np.int32)
    table = np.random.RandomState(1).uniform(-2, -1, (4, 4)).astype(np.float32)
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        helper = seq2seq.ScheduledEmbeddingTrainingHelper(inputs, lengths, table, 0.5, seed=4)
        decoder = seq2seq.BasicDecoder(Echo(), helper, tf.zeros([5, 1]))
        outputs, _, ends = seq2seq.dynamic_decode(decoder)
        with tf.Session(target=target) as session:
            seen, ids, ends = session.run([outputs.rnn_output, outputs.sample_id, ends])
    assert ends.tolist() == lengths.tolist()
    assert (ids >= 0).any() and (ids < 0).any()
    for b in range(5):
        for t in range(5):  # the inputs of step t + 1; none after the last
            expected = inputs[b, t + 1] if ids[b, t] < 0 else table[ids[b, t]]
            np.testing.assert_array_equal(seen[b, t + 1], expected)


@TARGETS
def test_noise_of_monotonic_scores_has_its_size(target: str) -> None:
    memory = np.ones((200, 10, 2), np.float32)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        mechanism = seq2seq.LuongMonotonicAttention(
            2, memory, sigmoid_noise=2.0, sigmoid_noise_seed=7, score_bias_init=-1.0, mode="hard"
        )
        state = mechanism.initial_state(200, tf.float32)
        weights, _ = mechanism(tf.zeros([200, 2]), state)
        with tf.Session(target=target) as session:
            session.run(tf.global_variables_initializer())
            found = session.run(weights)
    # noise of deviation 2 is above 1 with probability 0.3085, and the first row above it counts
    stops = found[:, 0].mean()
    assert set(np.unique(found)) == {0.0, 1.0} and abs(stops - 0.3085) < 5 * 0.033


# ---- first values ----


def started(make: Callable[[], Any]) -> dict[str, Any]:
    with tf.Graph().as_default():
        make()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return {v.op.name.split("/", 1)[-1]: session.run(v) for v in tf.global_variables()}


def one_step(cell: Any, inputs: Any) -> None:
    cell(inputs, cell.zero_state(2, tf.float32))


def test_rows_of_independent_cells_begin_uniform() -> None:
    values = started(lambda: one_step(rnn.IndyLSTMCell(200), tf.zeros([2, 3])))
    row = values["kernel_u"]
    assert row.shape == (1, 800) and -1 <= row.min() < -0.9 and 0.9 < row.max() <= 1
    assert abs(row.mean()) < 5 * np.sqrt(1 / 3 / 800)


def test_periods_begin_uniform_in_their_logarithms_and_phases_within_them() -> None:
    def make() -> None:
        one_step(
            rnn.PhasedLSTMCell(500, period_init_min=1.0, period_init_max=100.0),
            (tf.zeros([2, 1]), tf.zeros([2, 3])),
        )

    values = started(make)
    logs = np.log(values["period"])
    assert 0 <= logs.min() < 0.1 and np.log(100) - 0.1 < logs.max() <= np.log(100)
    assert abs(logs.mean() - np.log(10)) < 5 * np.log(100) / np.sqrt(12 * 500)
    shares = values["phase"] / values["period"]
    assert 0 <= shares.min() and shares.max() <= 1 and abs(shares.mean() - 0.5) < 0.07


def test_vectors_of_symbols_begin_within_the_root_of_three() -> None:
    def make() -> None:
        one_step(rnn.EmbeddingWrapper(rnn.GRUCell(2), 400, 5), tf.constant([1, 2]))

    table = started(make)["embedding"]
    assert -(3**0.5) <= table.min() < -1.7 and abs(table.var() - 1) < 0.1


# ---- use ----


def test_a_cell_lists_its_variables_once() -> None:
    with tf.Graph().as_default():
        cell = rnn.OutputProjectionWrapper(rnn.LayerNormBasicLSTMCell(3), 2)
        rnn.static_rnn(cell, [tf.zeros([2, 4])] * 3, dtype=tf.float32)
        assert len(cell.trainable_variables) == len(tf.trainable_variables()) == 13


@TARGETS
def test_dropout_of_new_values_depends_on_a_tensor(target: str) -> None:
    with tf.Graph().as_default():
        keep = tf.placeholder_with_default(1.0, [])
        cell = rnn.LayerNormBasicLSTMCell(64, dropout_keep_prob=keep, dropout_prob_seed=3)
        x = tf.constant(np.random.RandomState(0).uniform(-1, 1, (8, 4)).astype(np.float32))
        y, _ = cell(x, cell.zero_state(8, tf.float32))
        with tf.Session(target=target) as session:
            session.run(tf.global_variables_initializer())
            assert (session.run(y) != session.run(y, {keep: 0.5})).any()
            assert (session.run(y) == session.run(y, {keep: 1.0})).all()


def test_namespaces_are_loaded_when_they_are_used() -> None:
    assert {"crf", "cudnn_rnn", "legacy_seq2seq", "rnn", "seq2seq", "training"} <= set(
        dir(tf.contrib)
    )
    with pytest.raises(AttributeError, match="module 'graphio.contrib' has no attribute 'nothing'"):
        _ = tf.contrib.nothing


# ---- bad input ----


def x(*shape: int) -> Any:
    return tf.zeros(shape)


REFUSED: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "too many shards": (
        ValueError, "Too many shards",
        lambda: one_step(rnn.CoupledInputForgetGateLSTMCell(3, num_unit_shards=9), x(2, 4)),
    ),
    "groups": (
        ValueError, "num_units must be divisible by number_of_groups",
        lambda: rnn.GLSTMCell(5, number_of_groups=2),
    ),
    "inputs of groups": (
        ValueError, r"input size \(5\) must be divisible by number_of_groups \(2\)",
        lambda: one_step(rnn.GLSTMCell(4, number_of_groups=2), x(2, 5)),
    ),
    "inputs of intersections": (
        ValueError, "Must have input size == output size",
        lambda: one_step(rnn.IntersectionRNNCell(4), x(2, 5)),
    ),
    "blocks": (
        ValueError, "Must specify num_frequency_blocks",
        lambda: rnn.GridLSTMCell(2, feature_size=1, frequency_skip=1),
    ),
    "another number of bands": (
        ValueError, "Invalid num_frequency_blocks, requires 2 but gets 4",
        lambda: one_step(
            rnn.GridLSTMCell(2, feature_size=1, frequency_skip=1, num_frequency_blocks=[2]), x(2, 4)
        ),
    ),
    "axes of windows": (
        ValueError, "Invalid input_shape",
        lambda: rnn.Conv2DLSTMCell(input_shape=[3, 3], output_channels=1, kernel_shape=[2, 2]),
    ),
    "both sizes": (
        ValueError, "Exactly one of num_units or cell_size",
        lambda: rnn.GRUBlockCell(3, cell_size=3),
    ),
    "a joined state of tuples": (
        ValueError, "the flag state_is_tuple is not set",
        lambda: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(2), 2, state_is_tuple=False),
    ),
    "no outputs to attend to": (
        ValueError, "attn_length should be greater than zero",
        lambda: rnn.AttentionCellWrapper(rnn.GRUCell(2), 0),
    ),
    "no classes": (
        ValueError, "Both embedding_classes and embedding_size must be > 0",
        lambda: rnn.EmbeddingWrapper(rnn.GRUCell(2), 0, 3),
    ),
    "not a cell": (
        TypeError, "The parameter cell is not a RNNCell",
        lambda: rnn.OutputProjectionWrapper(object(), 3),
    ),
    "fewer cells backward": (
        ValueError, "Forward and Backward cells must have the same depth",
        lambda: rnn.stack_bidirectional_rnn(
            [rnn.GRUCell(2), rnn.GRUCell(2)], [rnn.GRUCell(2)], [x(2, 3)], dtype=tf.float32
        ),
    ),
    "names of a state": (
        ValueError, "state_name should be the same type",
        lambda: rnn.static_state_saving_rnn(rnn.BasicLSTMCell(2), [x(2, 3)], None, "c"),
    ),
    "no decoder": (
        TypeError, "Expected decoder to be type Decoder", lambda: seq2seq.dynamic_decode("decoder")
    ),
    "no helper": (
        TypeError, "helper must be a Helper",
        lambda: seq2seq.BasicDecoder(rnn.GRUCell(2), None, x(2, 2)),
    ),
    "lengths": (
        ValueError, "Expected sequence_length to be a vector",
        lambda: seq2seq.TrainingHelper(x(2, 3, 4), 3),
    ),
    "start tokens": (
        ValueError, "start_tokens must be a vector",
        lambda: seq2seq.GreedyEmbeddingHelper(x(5, 2), 3, 1),
    ),
    "a probability for each row and step": (
        ValueError, "sampling_probability must be either a scalar or a vector",
        lambda: seq2seq.ScheduledOutputTrainingHelper(x(2, 3, 4), [3, 3], x(2, 3)),
    ),
    "depth of a query": (
        ValueError, "Perhaps you need to set num_units to the keys' dimension",
        lambda: seq2seq.LuongAttention(3, x(2, 4, 5))(x(2, 2), None),
    ),
    "mode": (
        ValueError, "mode must be 'recursive', 'parallel', or 'hard'",
        lambda: seq2seq.monotonic_attention(x(2, 3), x(2, 3), "soft"),
    ),
    "no mechanism": (
        TypeError, "attention_mechanism must be an AttentionMechanism",
        lambda: seq2seq.AttentionWrapper(rnn.GRUCell(2), [None]),
    ),
    "sizes of layers": (
        ValueError, "must contain exactly one integer per attention_mechanism, saw: 2 vs 1",
        lambda: seq2seq.AttentionWrapper(
            rnn.GRUCell(2), seq2seq.LuongAttention(2, x(2, 4, 5)), attention_layer_size=[2, 3]
        ),
    ),
    "batch of a state": (
        tf.errors.InvalidArgumentError, "tile_batch",
        lambda: seq2seq.AttentionWrapper(
            rnn.GRUCell(2), seq2seq.LuongAttention(2, x(2, 4, 5)), initial_cell_state=x(3, 2)
        ),
    ),
    "state of other beams": (
        ValueError, "Cannot reshape a tensor with 4 elements",
        lambda: seq2seq.BeamSearchDecoder(rnn.GRUCell(2), x(5, 2), [1, 1], 0, x(2, 2), 3),
    ),
    "coverage without attention": (
        ValueError, "coverage_penalty_weight must be 0.0 if no cell is attentional",
        lambda: seq2seq.dynamic_decode(
            seq2seq.BeamSearchDecoder(
                rnn.GRUCell(2), x(2, 2), [1, 1], 0, x(6, 2), 3, coverage_penalty_weight=1.0
            )
        ),
    ),
    "rank of logits": (
        ValueError, r"Logits must be a \[batch_size x sequence_length x logits\] tensor",
        lambda: seq2seq.sequence_loss(x(2, 3), tf.zeros([2, 3], tf.int32), x(2, 3)),
    ),
    "mean and sum": (
        ValueError, "average_across_batch and sum_over_batch",
        lambda: seq2seq.sequence_loss(
            x(2, 3, 4), tf.zeros([2, 3], tf.int32), x(2, 3), sum_over_batch=True
        ),
    ),
    "shape of a clone": (
        ValueError, "expected to be same as the one to clone",
        lambda: seq2seq.AttentionWrapper(
            rnn.GRUCell(2), seq2seq.LuongAttention(2, x(2, 4, 5))
        ).zero_state(2, tf.float32).clone(cell_state=x(2, 3)),
    ),
    "lists of other lengths": (
        ValueError, "Lengths of logits, weights, and targets must be the same",
        lambda: tf.contrib.legacy_seq2seq.sequence_loss([x(2, 3)], [], []),
    ),
    "short inputs of buckets": (
        ValueError, r"Length of targets \(1\) must be at least that of last bucket \(2\)",
        lambda: tf.contrib.legacy_seq2seq.model_with_buckets(
            [x(2, 3)], [x(2, 3)], [x(2, 3)], [x(2)], [(1, 2)], lambda *_: None
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused(name: str) -> None:
    error, message, call = REFUSED[name]
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        call()
