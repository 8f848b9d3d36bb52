"""Embeddings, summaries and initial values of tf.contrib.layers against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib import layers

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2) + 1
IDS = np.int64([[1, 0, 3], [5, 5, 0]])
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
START = tf.constant_initializer(TABLE)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def ran(fetches: Any, target: str) -> Any:
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


@TARGETS
def test_a_sequence_of_ids_becomes_one_of_vectors(target: str) -> None:
    one = layers.embed_sequence(IDS, 6, 2, initializer=START, scope="words")
    two = layers.embed_sequence(IDS, unique=True, scope="words", reuse=True)
    slope = tf.gradients(tf.reduce_sum(one * two), layers_table())[0]
    found = ran([one, two, tf.convert_to_tensor(slope)], target)
    np.testing.assert_array_equal(found[0], TABLE[IDS])
    np.testing.assert_array_equal(found[1], TABLE[IDS])
    expected = np.zeros_like(TABLE)
    np.add.at(expected, IDS.ravel(), 2 * TABLE[IDS.ravel()])
    np.testing.assert_array_equal(found[2], expected)
    assert [v.op.name for v in tf.model_variables()] == ["words/embeddings"]
    with pytest.raises(ValueError, match="Must specify vocab size"):
        layers.embed_sequence(IDS, 6)


def layers_table() -> Any:
    return tf.model_variables()[0]


@TARGETS
def test_a_bag_of_words_is_the_mean_of_its_vectors(target: str) -> None:
    sparse = layers.bow_encoder(IDS, 6, 2, initializer=START)
    dense = layers.bow_encoder(IDS, 6, 2, sparse_lookup=False, initializer=START, scope="dense")
    found = ran([sparse, dense], target)
    without_zeros = [TABLE[[1, 3]].mean(0), TABLE[[5, 5]].mean(0)]
    np.testing.assert_allclose(found[0], without_zeros)
    np.testing.assert_allclose(found[1], TABLE[IDS].mean(1))
    with pytest.raises(TypeError, match="expected to be dense"):
        layers.bow_encoder(layers.dense_to_sparse(IDS), 6, 2, sparse_lookup=False)


@TARGETS
def test_sparse_ids_are_looked_up_and_joined(target: str) -> None:
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 5], tf.int64), [3, 2])
    weights = tf.SparseTensor(ids.indices, tf.constant([1.0, 3.0, 2.0]), [3, 2])
    table = tf.constant(TABLE)
    found = ran(
        [
            layers.safe_embedding_lookup_sparse([table], ids),
            layers.safe_embedding_lookup_sparse([table], ids, weights, "sum", default_id=4),
            layers.embedding_lookup_sparse_with_distributed_aggregation(
                [table], tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 3], tf.int64), [2, 1]),
                None,
            ),
            layers.embedding_lookup_unique(table, IDS),
        ],
        target,
    )  # fmt: skip
    np.testing.assert_allclose(found[0], [TABLE[[1, 3]].mean(0), [0, 0], TABLE[5]])
    np.testing.assert_allclose(found[1], [TABLE[1] + 3 * TABLE[3], TABLE[4], 2 * TABLE[5]])
    np.testing.assert_allclose(found[2], TABLE[[2, 3]])
    np.testing.assert_array_equal(found[3], TABLE[IDS])


def shown(target: str) -> dict[str, Any]:
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        found = tf.Summary.FromString(sess.run(tf.summary.merge_all()))
    return {value.tag: value for value in found.value}


@TARGETS
def test_activations_and_collections_are_summarized(target: str) -> None:
    x = tf.nn.relu6(tf.constant([-1.0, 2.0, 7.0, 9.0]), name="act")
    tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, x)
    v = tf.get_variable("v", [2, 3], initializer=tf.ones_initializer())
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, v)
    layers.summarize_activations()
    layers.summarize_variables()
    layers.summarize_weights("nothing")
    layers.summarize_tensors([tf.constant(4.0, name="s"), tf.constant("text")])
    values = shown(target)
    assert values["act/zeros"].simple_value == 0.25
    assert values["act/sixes"].simple_value == 0.5
    assert values["act/activation"].histo.num == 4
    assert values["v_summary"].histo.num == 6
    assert values["s_summary"].simple_value == 4
    assert len(values) == 5


@TARGETS
@pytest.mark.parametrize(
    ("make", "shape", "variance", "most"),
    [
        (layers.xavier_initializer, [300, 200], 2 / 500, np.sqrt(6 / 500)),
        (
            lambda: layers.xavier_initializer(uniform=False),
            [3, 3, 20, 40],
            None,
            2 * np.sqrt(1.3 * 2 / (9 * 60)),
        ),
        (layers.variance_scaling_initializer, [400, 100], None, 2 * np.sqrt(1.3 * 2 / 400)),
        (
            lambda: layers.variance_scaling_initializer(1.0, "FAN_OUT", True),
            [200, 300],
            1 / 300,
            np.sqrt(3 / 300),
        ),
        (
            lambda: layers.variance_scaling_initializer(3.0, uniform=True),
            [5],
            3 / 5,
            np.sqrt(9 / 5),
        ),
    ],
)
def test_initial_values_have_their_spread(
    make: Any, shape: Any, variance: float | None, most: float, target: str
) -> None:
    tf.set_random_seed(3)
    found = ran(make()(shape), target)
    assert np.abs(found).max() <= most
    if variance is None:  # cut off at two standard deviations
        variance = (most / 2) ** 2 * 0.7737
    if found.size > 100:
        assert np.abs(found).max() > 0.97 * most
        assert np.var(found) == pytest.approx(variance, rel=0.05)


def test_initial_values_of_integers_are_refused() -> None:
    with pytest.raises(TypeError, match="non-floating"):
        layers.xavier_initializer(dtype=tf.int32)
    with pytest.raises(TypeError, match="Unknown mode"):
        layers.variance_scaling_initializer(mode="fan")


def test_scales_of_regularizers_are_floats_that_are_not_negative() -> None:
    for make in (layers.l1_regularizer, layers.l2_regularizer):
        assert make(0.0)(None) is None
        with pytest.raises(ValueError, match="cannot be an integer"):
            make(1)
        with pytest.raises(ValueError, match="less than 0"):
            make(-0.5)
    with pytest.raises(ValueError, match="No weights to regularize"):
        layers.apply_regularization(layers.l2_regularizer(0.5))


@TARGETS
def test_a_dropped_element_is_zero_and_the_others_are_scaled(target: str) -> None:
    x = layers.dropout(tf.ones([4000]), 0.8, seed=1)
    found = ran(x, target)
    assert set(np.unique(found).tolist()) == {0.0, 1.25}
    assert found.mean() == pytest.approx(1, abs=0.05)


def test_outputs_have_aliases_in_their_collections() -> None:
    utils = layers.utils
    net = layers.conv2d(tf.ones([1, 4, 4, 1]), 2, 3, scope="c", outputs_collections="ends")
    plain = tf.identity(net, name="plain")
    tf.add_to_collection("ends", plain)
    assert utils.gather_tensors_aliases([net, plain]) == ["c", "plain"]
    found = utils.convert_collection_to_dict("ends", clear_collection=True)
    assert dict(found) == {"c": net, "plain": plain}
    assert tf.get_collection("ends") == []


def test_a_layer_that_fails_leaves_nothing_behind() -> None:
    def fails(x: Any) -> Any:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        layers.fully_connected(tf.ones([2, 3]), 4, activation_fn=fails)
    assert tf.global_variables() == []
    assert layers.fully_connected(tf.ones([2, 3]), 4).name == "fully_connected/Relu:0"
