"""Layers computed again for the gradient: inverses, gradients, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

layers = tf.contrib.layers
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def dense(x: Any) -> Any:
    return tf.layers.dense(x, 3, activation=tf.sigmoid)


def numbers(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(len(shape)).normal(size=shape))


@TARGETS
@pytest.mark.parametrize("first", ["forward", "backward"])
def test_a_block_and_its_inverse_give_the_inputs_again(first: str, target: str) -> None:
    block = layers.RevBlock(dense, dense, num_layers=3)
    x = [numbers(2, 3), numbers(2, 3) * 2.0]
    second = "backward" if first == "forward" else "forward"
    found = getattr(block, second)(*getattr(block, first)(*x))
    assert len(block.trainable_variables) == 12
    assert block.variables[0].op.name.startswith("revblock/revlayer_")
    with tf.Session(target=target) as session:
        session.run(tf.global_variables_initializer())
        for one, two in zip(*session.run([x, list(found)]), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-12)


@TARGETS
def test_a_normalised_block_has_the_gradients_of_its_layers(target: str) -> None:
    def part(x: Any, side: Any) -> Any:
        y = tf.layers.conv1d(x, 2, 3, padding="same")
        return layers.batch_norm(y, is_training=False) * side[0] + side[1]

    x, sides = numbers(2, 5, 4), [numbers(2, 5, 2), numbers(5, 2)]
    losses = []
    for training in (True, False):
        with tf.variable_scope("block", reuse=not training):
            halves = tf.split(x, 2, -1)
            found = layers.rev_block(*halves, part, part, 2, sides, sides, training)
        losses.append(tf.reduce_mean(tf.square(tf.concat(found, -1))))
    assert len(tf.trainable_variables()) == 12
    slopes = [tf.gradients(loss, [x, *sides, *tf.trainable_variables()]) for loss in losses]
    with tf.Session(target=target) as session:
        session.run(tf.global_variables_initializer())
        for one, two in zip(*session.run(slopes), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)


def test_a_block_has_one_function_for_each_layer() -> None:
    with pytest.raises(ValueError, match="f has 2 functions for num_layers=3"):
        layers.RevBlock([dense, dense], dense, num_layers=3)


def test_a_function_knows_that_it_is_computed_again() -> None:
    calls = []

    @layers.recompute_grad
    def part(x: Any, is_recomputing: bool = False) -> Any:
        calls.append(is_recomputing)
        return dense(x)

    with tf.variable_scope("own", use_resource=True):
        y = part(numbers(2, 3))
    assert all(dx is not None for dx in tf.gradients(y, tf.trainable_variables()))
    assert calls == [False, True]
    assert len(tf.global_variables()) == 2


def test_two_calls_in_one_scope_are_refused_by_the_gradient() -> None:
    part = layers.recompute_grad(dense)
    with tf.variable_scope("own", use_resource=True):
        y = part(numbers(2, 3)) + part(numbers(2, 3))
    with pytest.raises(ValueError, match="called twice in the same enclosing scope"):
        tf.gradients(y, tf.trainable_variables())


def test_a_function_takes_all_tensors_as_arguments() -> None:
    x = numbers(2, 3)
    with pytest.raises(ValueError, match=r"closes over Tensor Const:0 \(local variable name: x\)"):
        layers.recompute_grad(lambda y: x * y)
    with pytest.raises(ValueError, match="All inputs to function must be Tensors"):
        layers.recompute_grad(dense)(1.0)
