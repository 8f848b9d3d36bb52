"""Configurations of cells, and layers in Keras' style, as TensorFlow has them."""

from __future__ import annotations

import json
from typing import Any

import cell_configs
import engines
import numpy as np
import pytest

import graphio as tf

STORED = json.loads(cell_configs.STORED.read_text(encoding="utf-8"))
CELLS = tf.nn.rnn_cell


def test_configurations_of_cells_are_those_of_tensorflow() -> None:
    found = cell_configs.configs(tf)
    assert len(found) == len(STORED["configs"])
    for ours, theirs in zip(found, STORED["configs"], strict=True):
        assert ours == theirs
        assert list(ours) == list(theirs)


def rebuilt(cell: Any) -> Any:
    """The cell of a cell's configuration."""
    config = cell.get_config()
    if "cell" in config:
        config["cell"] = cell.wrapped_cell
    return type(cell).from_config(config)


def test_a_cell_of_a_configuration_has_the_same_configuration() -> None:
    with tf.Graph().as_default():
        for cell in cell_configs.cells(tf):
            if not isinstance(cell, CELLS.MultiRNNCell):
                assert rebuilt(cell).get_config() == cell.get_config()


@engines.BOTH
def test_a_cell_of_a_configuration_computes_the_same(engine: str) -> None:
    x, state = np.full((2, 3), 0.5, np.float32), np.full((2, 4), 0.25, np.float32)
    init = tf.initializers.constant(0.125)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        first = CELLS.GRUCell(4, tf.nn.relu, kernel_initializer=init, bias_initializer=init)
        both = []
        for at, cell in (("a", first), ("b", rebuilt(first)), ("c", CELLS.GRUCell(4))):
            with tf.variable_scope(at):
                both.append(cell(x, state)[0])
        session.run(tf.global_variables_initializer())
        ours, theirs, other = session.run(both)
    np.testing.assert_array_equal(ours, theirs)
    assert not np.allclose(ours, other)


@engines.BOTH
def test_a_linear_cell_has_no_activation(engine: str) -> None:
    ones = tf.initializers.ones()
    with tf.Graph().as_default(), tf.Session(engine) as session:
        with tf.variable_scope("a", initializer=ones):
            output, _ = CELLS.BasicRNNCell(2, "linear")(
                np.ones((1, 3), np.float32), tf.ones([1, 2])
            )
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(output), [[5, 5]])


def test_classes_of_initializers_are_described_as_their_objects() -> None:
    zeros = {"class_name": "Zeros", "config": {"dtype": "float32"}}
    with tf.Graph().as_default(), tf.layers.experimental.keras_style_scope():
        cell = CELLS.GRUCell(2, kernel_initializer=tf.zeros_initializer)
        assert cell.get_config()["kernel_initializer"] == zeros
        cell(tf.ones([1, 2]), tf.ones([1, 2]))
        assert len(cell.variables) == 4


def test_functions_of_wrappers_stay_functions_in_configurations() -> None:
    def kept(inputs: Any, outputs: Any) -> Any:
        return outputs

    with tf.Graph().as_default():
        basic = CELLS.BasicRNNCell(3)
        assert rebuilt(CELLS.ResidualWrapper(basic, kept)).get_config()["residual_fn"] is kept
        dropped = CELLS.DropoutWrapper(basic, dropout_state_filter_visitor=bool)
        assert rebuilt(dropped).get_config()["dropout_state_filter_visitor"] is bool


def test_configurations_that_say_nothing_known_are_refused() -> None:
    with tf.Graph().as_default():
        config = CELLS.ResidualWrapper(CELLS.GRUCell(3)).get_config()
        with pytest.raises(ValueError, match="overwrite the cell in the config"):
            CELLS.ResidualWrapper.from_config(config)
        config = {**CELLS.GRUCell(3).get_config(), "kernel_initializer": {"class_name": "Mine"}}
        with pytest.raises(ValueError, match="Unknown initializer: 'Mine'"):
            CELLS.GRUCell.from_config(config)


def test_layers_in_keras_style_have_the_variables_of_tensorflow() -> None:
    assert cell_configs.styled(tf) == STORED["styled"]


def test_layers_in_keras_style_refuse_what_would_share() -> None:
    x = np.ones((1, 2), np.float32)
    with tf.Graph().as_default(), tf.layers.experimental.keras_style_scope():
        for made in (
            lambda: tf.layers.dense(x, 2, name="d"),
            lambda: tf.layers.Dense(2, _reuse=True),
            lambda: CELLS.GRUCell(2, reuse=False),
            lambda: CELLS.BasicRNNCell(2)(x, x, scope="s"),
        ):
            with pytest.raises(ValueError, match="not allowed when keras style layers are enabled"):
                made()
        assert not tf.global_variables()


@engines.BOTH
def test_layers_in_keras_style_train_and_ignore_the_scope(engine: str) -> None:
    x = np.ones((4, 2), np.float32)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        with tf.layers.experimental.keras_style_scope():
            cell = CELLS.BasicRNNCell(3)
        with tf.variable_scope("s", initializer=tf.initializers.ones()):
            _, state = tf.nn.dynamic_rnn(cell, x[:, None, :], dtype=tf.float32)
            _, again = tf.nn.dynamic_rnn(cell, x[:, None, :], dtype=tf.float32)
        step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(state**2))
        session.run(tf.global_variables_initializer())
        assert len(tf.trainable_variables()) == len(cell.variables) == 2
        before, same, kernel = session.run([state, again, cell.variables[0]])
        np.testing.assert_array_equal(before, same)
        assert np.std(kernel) > 0
        session.run(step)
        after = session.run(state)
        assert np.abs(after).sum() < np.abs(before).sum()


def test_the_style_can_be_set_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphio.layers import keras_style

    monkeypatch.setattr(keras_style._Style, "on", False)
    tf.layers.experimental.set_keras_style()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="keras style"):
        tf.layers.Dense(2, _reuse=True)
