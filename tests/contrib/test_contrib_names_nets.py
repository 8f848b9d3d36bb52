"""Names of contrib's layers, rnn, seq2seq, opt, image, lookup and framework that other tests
reach by other names: values by numpy's formulas, structures by their fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

contrib = tf.contrib
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _run(target: str, fetches: Any) -> Any:
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


@TARGETS
@pytest.mark.parametrize("inverse", [False, True])
def test_a_layer_divides_by_the_norm_of_the_channels(inverse: bool, target: str) -> None:
    x = np.random.RandomState(1).uniform(-2, 2, (2, 3, 4, 3)).astype(np.float32)
    layer = contrib.layers.GDN(inverse=inverse, gamma_init=0.3)
    found = _run(target, layer(tf.constant(x)))
    norms = np.sqrt(1 + x * x @ (0.3 * np.eye(3)))  # beta begins with 1
    np.testing.assert_allclose(found, x * norms if inverse else x / norms, rtol=1e-5)
    assert [v.op.name for v in layer.variables] == ["gdn/reparam_beta", "gdn/reparam_gamma"]


@TARGETS
def test_weights_decay_before_the_step_of_any_optimizer(target: str) -> None:
    kind = contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    assert issubclass(kind, contrib.opt.DecoupledWeightDecayExtension)

    class Ours(contrib.opt.DecoupledWeightDecayExtension, tf.train.GradientDescentOptimizer):
        """As kind, by inheritance."""

        def __init__(self, weight_decay: Any, rate: float) -> None:
            super().__init__(weight_decay, learning_rate=rate)

    x = tf.get_variable("x", initializer=[1.0, -2.0])
    y = tf.get_variable("y", initializer=[1.0, -2.0])
    loss = tf.reduce_sum(3.0 * x) + tf.reduce_sum(3.0 * y)
    step = Ours(0.1, 0.5).minimize(loss, decay_var_list=[x])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(x), np.array([0.9, -1.8]) - 1.5, rtol=1e-6)
        np.testing.assert_allclose(session.run(y), np.array([1.0, -2.0]) - 1.5, rtol=1e-6)


@TARGETS
def test_a_function_of_python_minimises_a_loss(target: str) -> None:
    given: dict[str, Any] = {}

    class Newton(contrib.opt.ExternalOptimizerInterface):
        """One step for the loss (x - 3)^2 + 2 (y - 1)^2."""

        def _minimize(self, initial_val: Any, loss_grad_func: Any, **rest: Any) -> Any:
            loss, slope = loss_grad_func(initial_val)
            given.update(rest, loss=loss, slope=slope)
            rest["step_callback"](initial_val)
            return initial_val - slope / np.array([2.0, 4.0, 4.0])

    x = tf.get_variable("x", initializer=tf.constant(7.0))
    y = tf.get_variable("y", initializer=[0.5, 2.0])
    loss = (x - 3.0) ** 2 + 2 * tf.reduce_sum((y - 1.0) ** 2)
    optimizer = Newton(loss, inequalities=[x - 1.0], var_to_bounds={y: (0, 5)}, tolerance=1e-3)
    seen: list[Any] = []
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session, step_callback=seen.append)
        np.testing.assert_allclose(session.run(x), 3.0, rtol=1e-6)
        np.testing.assert_allclose(session.run(y), [1.0, 1.0], rtol=1e-6)
        np.testing.assert_allclose(given["inequality_funcs"][0](np.array([5.0, 0, 0])), 4.0)
    np.testing.assert_allclose(given["loss"], 16 + 2 * 1.25)
    np.testing.assert_allclose(given["slope"], [8.0, -2.0, 4.0])
    assert given["packed_bounds"] == [(-np.inf, np.inf), (0, 5), (0, 5)]
    assert given["optimizer_kwargs"] == {"tolerance": 1e-3}
    np.testing.assert_allclose(seen, [[7.0, 0.5, 2.0]])


@TARGETS
def test_colours_are_changed_by_the_older_names_too(target: str) -> None:
    image = contrib.image
    pixels = np.random.RandomState(2).uniform(0, 1, (2, 3, 3)).astype(np.float32)
    to_yiq = np.array([[0.299, 0.596, 0.211], [0.587, -0.274, -0.523], [0.114, -0.322, 0.312]])
    cos, sin = 1.5 * np.cos(0.7), 1.5 * np.sin(0.7)
    turn = np.array([[1.0, 0, 0], [0, cos, sin], [0, -sin, cos]]) * 0.8
    # the inverse has few digits
    expected = pixels @ to_yiq @ turn @ np.linalg.inv(to_yiq)
    found = _run(target, image.adjust_yiq_hsv(pixels, 0.7, 1.5, 0.8))
    np.testing.assert_allclose(found, expected, atol=5e-3)
    scales = [
        _run(target, image.random_yiq_hsv(pixels, 0.0, 1, 1, 0.5, 2.0, seed=seed)) / pixels
        for seed in range(8)
    ]
    for one in scales:  # the value alone is drawn: one factor for all
        np.testing.assert_allclose(one, one.mean(), rtol=2e-2)
        assert 0.49 < one.mean() < 2.01
    assert np.std([one.mean() for one in scales]) > 0.1
    with pytest.raises(ValueError, match="max_delta"):
        image.random_yiq_hsv(pixels, -1.0)


@TARGETS
def test_tables_of_files_and_vectors_by_their_classes(tmp_path: Path, target: str) -> None:
    lookup = contrib.lookup
    path = tmp_path / "words.tsv"
    path.write_text("lake\t5\nemerson\t6\npalmer\t7\n")
    lines = tmp_path / "lines.txt"
    lines.write_text("lake\nemerson\n")
    numbers = lookup.HashTable(lookup.TextFileIdTableInitializer(str(lines)), -1)
    words = lookup.HashTable(lookup.TextFileStringTableInitializer(str(lines)), "?")
    columns = lookup.HashTable(lookup.TextFileIdTableInitializer(str(path), 0, 1), -1)
    back = lookup.HashTable(lookup.TextFileStringTableInitializer(str(path), 1, 0, 2), "?")
    mapped = lookup.string_to_index_table_from_tensor(tf.constant(["b", "a"]), default_value=7)
    buckets = lookup.string_to_index_table_from_tensor(["b", "a"], num_oov_buckets=2)
    given = tf.constant(["emerson", "and", "lake"])
    found = _run(
        target,
        [
            *(numbers.lookup(given), words.lookup(tf.constant([1, 5], tf.int64))),
            *(columns.lookup(given), back.lookup(tf.constant([6, 7, 5], tf.int64))),
            *(mapped.lookup(tf.constant(["a", "c"])), buckets.lookup(tf.constant(["a", "c"]))),
        ],
    )
    rows = [x.tolist() for x in found]
    assert rows[:5] == [
        [1, -1, 0],
        [b"emerson", b"?"],
        [6, -1, 5],
        [b"emerson", b"?", b"lake"],
        [1, 7],
    ]
    assert rows[5][0] == 1 and rows[5][1] in (2, 3)


def test_a_global_variable_is_one_that_optimizers_leave_out() -> None:
    framework = contrib.framework
    variable = framework.global_variable([1.0, 2.0], name="kept")
    assert tf.global_variables() == [variable] and tf.trainable_variables() == []
    assert variable.op.name == "kept" and variable.shape.as_list() == [2]
    open_shape = framework.global_variable(tf.placeholder(tf.float32), validate_shape=False)
    assert open_shape.shape.ndims is None
    assert contrib.slim.global_variable(3).dtype.base_dtype == tf.int32


@TARGETS
def test_a_wrapped_cell_keeps_its_steps_and_wishes_for_a_device(target: str) -> None:
    cells = tf.nn.rnn_cell
    plain = cells.BasicRNNCell(2)
    wrapped = contrib.rnn.DeviceWrapper(plain, "/device:CPU:0")
    x, state = tf.constant([[1.0, -1.0]]), wrapped.zero_state(1, tf.float32)
    output, _ = wrapped(x, state)
    assert isinstance(wrapped, cells.RNNCell) and wrapped.output_size == 2
    assert "CPU" in output.op.device
    kernel = plain.variables[0]
    found, weights = _run(target, [output, kernel])
    np.testing.assert_allclose(found, np.tanh([[1.0, -1.0]] @ weights[:2]), rtol=1e-5)


def test_cells_and_nets_have_their_base_classes() -> None:
    rnn = contrib.rnn
    for cell in (rnn.BasicRNNCell, rnn.BasicLSTMCell, rnn.GRUCell, rnn.LSTMCell):
        assert issubclass(cell, rnn.LayerRNNCell)
    for cell in (rnn.Conv1DLSTMCell, rnn.Conv2DLSTMCell, rnn.Conv3DLSTMCell):
        assert issubclass(cell, rnn.ConvLSTMCell)
    for net in (rnn.FusedRNNCellAdaptor, rnn.TimeReversedFusedRNN):
        assert issubclass(net, rnn.FusedRNNCell)
    assert issubclass(rnn.LSTMBlockFusedCell, rnn.LSTMBlockWrapper)
    with pytest.raises(TypeError, match="abstract"):
        rnn.FusedRNNCell()


@TARGETS
def test_a_cell_of_a_program_makes_its_variables_in_build(target: str) -> None:
    class Scaled(contrib.rnn.LayerRNNCell):
        """h' = h + scale * x."""

        state_size = output_size = 3

        def build(self, shape: Any) -> None:
            start = tf.constant_initializer(2.0)
            self.scale = self.add_variable("scale", [int(shape[-1])], initializer=start)
            self.built = True

        def call(self, inputs: Any, state: Any) -> Any:
            following = state + self.scale * inputs
            return following, following

    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    outputs, last = tf.nn.dynamic_rnn(Scaled(name="scaled"), tf.constant(x), dtype=tf.float32)
    found, end = _run(target, [outputs, last])
    np.testing.assert_allclose(found, 2 * np.cumsum(x, 1))
    np.testing.assert_allclose(end, 2 * x.sum(1))
    assert [v.op.name for v in tf.global_variables()] == ["rnn/scaled/scale"]


@TARGETS
def test_decoders_give_the_structures_of_tensorflow(target: str) -> None:
    rnn, seq2seq = contrib.rnn, contrib.seq2seq
    memory = tf.constant(np.random.RandomState(3).uniform(-1, 1, (2, 4, 3)).astype(np.float32))
    mechanism = seq2seq.LuongAttention(3, memory)
    assert isinstance(mechanism, seq2seq.AttentionMechanism)
    cell = seq2seq.AttentionWrapper(rnn.GRUCell(3), mechanism, alignment_history=True)
    helper = seq2seq.TrainingHelper(memory, tf.constant([4, 2]))
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    assert isinstance(outputs, seq2seq.BasicDecoderOutput)
    assert outputs._fields == ("rnn_output", "sample_id")
    assert isinstance(state, seq2seq.AttentionWrapperState)
    assert state._fields == (
        *("cell_state", "attention", "time", "alignments", "alignment_history"),
        "attention_state",
    )
    kept = state.clone(cell_state=state.cell_state * 0.0)
    assert kept.attention is state.attention
    history = state.alignment_history.stack()
    found = _run(target, [outputs, state.time, history, kept.cell_state])
    np.testing.assert_array_equal(found[0].sample_id, found[0].rnn_output.argmax(-1))
    assert found[1] == 4
    np.testing.assert_allclose(found[2].sum(-1), 1.0, rtol=1e-5)
    assert not found[3].any()
    with pytest.raises(ValueError, match="shape"):
        state.clone(attention=tf.zeros([2, 7]))


class _Constant(tf.layers.Layer):
    """A layer that gives each row the same numbers."""

    def __init__(self, row: Any) -> None:
        super().__init__()
        self.row = row

    def call(self, inputs: Any) -> Any:
        return inputs * 0.0 + self.row

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


@TARGETS
def test_a_search_along_beams_gives_the_structures_of_tensorflow(target: str) -> None:
    rnn, seq2seq = contrib.rnn, contrib.seq2seq
    chances = np.log(np.array([[0.1, 0.6, 0.3]] * 3, np.float32))
    cell = rnn.GRUCell(3)
    decoder = seq2seq.BeamSearchDecoder(
        cell, lambda ids: tf.one_hot(ids, 3), tf.constant([0, 0]), 2,
        cell.zero_state(4, tf.float32), 2, _Constant(chances[0]),
    )  # fmt: skip
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=3)
    steps = outputs.beam_search_decoder_output
    assert isinstance(outputs, seq2seq.FinalBeamSearchDecoderOutput)
    assert isinstance(steps, seq2seq.BeamSearchDecoderOutput)
    assert isinstance(state, seq2seq.BeamSearchDecoderState)
    assert outputs._fields == ("predicted_ids", "beam_search_decoder_output")
    assert steps._fields == ("scores", "predicted_ids", "parent_ids")
    assert state._fields == (
        *("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
    )
    ids, scores, logs = _run(target, [outputs.predicted_ids, steps.scores, state.log_probs])
    # the best: 1 1 1 of 0.6^3, and the end at once of 0.3
    best = np.log([0.3, 0.6**3])
    np.testing.assert_allclose(logs, [best, best], rtol=1e-5)
    np.testing.assert_allclose(scores[:, -1], [best, best], rtol=1e-5)
    np.testing.assert_array_equal(ids[0, :, 1], [1, 1, 1])
    assert ids[0, 0, 0] == 2


@TARGETS
def test_losses_are_weighed_by_their_first_axes(target: str) -> None:
    losses = np.arange(6, dtype=np.float32).reshape(3, 2)
    mean = contrib.slim.losses.compute_weighted_loss
    found = _run(
        target,
        [
            mean(losses, [2.0, 0.0, 1.0]), mean(losses, 3.0), mean(losses, np.eye(3, 2)),
            mean(losses, [[1.0], [0.0], [0.0]]), mean(losses, 0.0),
        ],
    )  # fmt: skip
    # sums of weighted losses over the number of those whose weight is not 0
    np.testing.assert_allclose(found, [(2 * 1 + 9) / 4, 3 * 15 / 6, 3 / 2, 1 / 2, 0.0], rtol=1e-6)
    assert len(tf.losses.get_losses()) == 5
    with pytest.raises(ValueError, match="ndims cannot be None"):
        mean(tf.placeholder(tf.float32))


def test_elements_of_several_data_sets_come_in_turns() -> None:
    for interleave in (contrib.data.parallel_interleave, tf.data.experimental.parallel_interleave):
        source = tf.data.Dataset.range(1, 5).apply(
            interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(x), cycle_length=2)
        )
        following = source.make_one_shot_iterator().get_next()
        with tf.Session() as session:
            found = [int(session.run(following)) for _ in range(10)]
        assert found == [1, 2, 2, 3, 3, 4, 3, 4, 4, 4]  # by TensorFlow 2.21
