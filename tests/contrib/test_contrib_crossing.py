"""Crosses of features, buckets, and embeddings by hashes, in both engines."""

from __future__ import annotations

import engines
import numpy as np
import pytest

import graphio as tf

layers = tf.contrib.layers
KEY = layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY


def one(word: str) -> tf.SparseTensor:
    return tf.SparseTensor([[0, 0]], [word], [1, 1])


@engines.BOTH
def test_hashes_of_crosses_are_those_of_contrib(engine: str) -> None:
    # the values that contrib's own test has for these words
    with tf.Graph().as_default(), tf.Session(engine) as session:
        words = [one(f"batch1-FC{i}-F1") for i in (1, 2, 3)]
        made = [
            layers.sparse_feature_cross(words, True, buckets, hash_key=key).values
            for key in (None, KEY)
            for buckets in (0, 100)
        ]
        found = [value.item() for value in session.run(made)]
    assert found == [3735511728867393167, 74, 1971693436396284976, 83]


@engines.BOTH
def test_hashes_without_a_key_collide(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        last = tf.constant([[359], [359 + 1024]])
        first = tf.constant([list(range(10))] * 2)
        made = [
            layers.sparse_feature_cross([first, last], True, 1024, hash_key=key).values
            for key in (None, KEY)
        ]
        old, new = (value.reshape(2, 10) for value in session.run(made))
    np.testing.assert_array_equal(old[0], old[1])
    assert np.all(new[0] != new[1])


@engines.BOTH
def test_buckets_count_the_boundaries_that_are_reached(engine: str) -> None:
    given = np.array([[-3.0, 0.0, 0.1], [0.5, 7.0, 10.0]], np.float32)
    bounds = [0.0, 0.1, 0.5, 10.0]
    with tf.Graph().as_default(), tf.Session(engine) as session:
        found = session.run([layers.bucketize(x, bounds) for x in (given, np.int64([9, 10, -1]))])
    np.testing.assert_array_equal(found[0], np.digitize(given, np.float32(bounds)))
    np.testing.assert_array_equal(found[1], [3, 4, 0])


def weights_of(words: list[str], size: int, total: int) -> np.ndarray:
    """The numbers of the weights of each word, by TensorFlow's function of hashes."""
    with tf.Graph().as_default(), tf.Session() as session:
        every = tf.tile(tf.constant([list(range(size))]), [len(words), 1])
        cross = tf.sparse.cross_hashed([every, tf.constant([[w] for w in words])], total, KEY)
        return session.run(cross.values).reshape(len(words), size)


@engines.BOTH
@pytest.mark.parametrize("combiner", ["mean", "sqrtn", "sum"])
def test_embeddings_are_the_weights_of_the_hashes(engine: str, combiner: str) -> None:
    table = np.random.RandomState(3).randn(10).astype(np.float32)
    words = ["a", "bc", "a", "6ZxWzWOHxZ"]
    ids = weights_of(words, 4, 10)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        parts = [tf.constant(table[i:j]) for i, j in ((0, 4), (4, 7), (7, 10))]
        dense = layers.scattered_embedding_lookup(
            parts, tf.constant([words[:2], words[2:]]), 4, hash_key=KEY
        )
        sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], words[:3], [3, 2])
        rows = layers.scattered_embedding_lookup_sparse(parts, sparse, 4, combiner, hash_key=KEY)
        assert dense.shape.as_list() == [2, 2, 4]
        found, combined = session.run([dense, rows])
    vectors = table[ids]
    np.testing.assert_array_equal(found.reshape(4, 4), vectors)
    share = {"mean": 2, "sqrtn": np.sqrt(2), "sum": 1}[combiner]
    expected = [(vectors[0] + vectors[1]) / share, vectors[3], vectors[2]]
    np.testing.assert_allclose(combined, expected, rtol=1e-6)


@engines.BOTH
def test_weights_of_embeddings_train(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        weights = tf.get_variable("w", [7], initializer=tf.zeros_initializer())
        made = layers.scattered_embedding_lookup(weights, tf.constant(["a", "b"]), 3)
        slope = tf.gradients(tf.reduce_sum(made), weights)[0]
        session.run(tf.global_variables_initializer())
        assert session.run(tf.convert_to_tensor(slope)).sum() == 6


def test_what_cannot_be_crossed_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        words = one("a")
        with pytest.raises(TypeError, match="must be a list"):
            tf.sparse.cross((words,))
        with pytest.raises(TypeError, match=r"inputs\[0\] is str"):
            tf.sparse.cross(["a"])
        with pytest.raises(ValueError, match="num_buckets is -1"):
            tf.sparse.cross_hashed([words], -1)
        for inputs, match in (
            ([words, tf.constant(["a"])], "dense input has shape"),
            ([words, tf.constant([["a"], ["b"]])], "expected equal numbers"),
            ([tf.SparseTensor([[0]], ["a"], [1])], "has 1 dimensions, expected 2"),
            (
                [tf.SparseTensor([[4, 0]], ["a"], [1, 1])],
                r"indices\[0\] = \[4, 0\] is out of bounds",
            ),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                session.run(tf.sparse.cross(inputs).values)
        with pytest.raises(ValueError, match="expected 4"):
            layers.scattered_embedding_lookup([tf.zeros(3), tf.zeros(4)], tf.constant("a"), 2)
        with pytest.raises(ValueError, match="Combiner must be"):
            layers.scattered_embedding_lookup_sparse(tf.zeros(3), words, 2, "max")
        with pytest.raises(TypeError, match="must be SparseTensor"):
            layers.scattered_embedding_lookup_sparse(tf.zeros(3), tf.zeros(3), 2)
