"""The smaller packages of tf.contrib: util, stateless, lookup, data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def ran(fetches: Any, target: str = "runtime") -> Any:
    with tf.Session(target) as sess:
        sess.run(tf.tables_initializer())
        return sess.run(fetches)


def test_arrays_become_messages_and_back() -> None:
    util = tf.contrib.util
    array = np.float32([[1, 2], [3, 4]])
    np.testing.assert_array_equal(util.make_ndarray(util.make_tensor_proto(array)), array)
    np.testing.assert_array_equal(util.constant_value(tf.constant(array)), array)
    assert util.constant_value(tf.placeholder(tf.float32)) is None


@TARGETS
def test_random_numbers_are_those_of_tf_random(target: str) -> None:
    ours, theirs = tf.contrib.stateless, tf.random
    pairs = [
        (ours.stateless_random_uniform([4], [1, 2]), theirs.stateless_uniform([4], [1, 2])),
        (ours.stateless_random_normal([4], [1, 2]), theirs.stateless_normal([4], [1, 2])),
        (
            ours.stateless_truncated_normal([4], [1, 2]),
            theirs.stateless_truncated_normal([4], [1, 2]),
        ),
    ]
    for one, two in ran(pairs, target):
        np.testing.assert_array_equal(one, two)


# ---- tables ----

WORDS = ["emerson", "lake", "palmer"]
OTHERS = ["and", "brain", "salad", "surgery"]


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return str(path)


@TARGETS
def test_words_of_a_file_have_the_numbers_of_their_lines(vocabulary: str, target: str) -> None:
    lookup = tf.contrib.lookup
    table = lookup.index_table_from_file(vocabulary, default_value=-7)
    first = lookup.string_to_index_table_from_file(vocabulary, vocab_size=2)
    back = lookup.index_to_string_table_from_file(vocabulary, default_value="?")
    keys = tf.constant(["lake", "and", "palmer"])
    numbers = tf.constant([2, 9], tf.int64)
    found = ran([table.lookup(keys), first.lookup(keys), back.lookup(numbers)], target)
    assert [x.tolist() for x in found] == [[1, -7, 2], [1, -1, -1], [b"palmer", b"?"]]


@TARGETS
def test_words_of_a_vector_have_the_numbers_of_their_positions(target: str) -> None:
    lookup = tf.contrib.lookup
    keys = tf.constant(["lake", "and", "palmer"])
    numbers = tf.constant([2, 0, 9], tf.int64)
    found = ran(
        [
            lookup.string_to_index(keys, WORDS, default_value=5),
            lookup.index_to_string(numbers, WORDS),
            lookup.index_table_from_tensor([10, 30], dtype=tf.int32).lookup(
                tf.constant([30, 1], tf.int64)
            ),
        ],
        target,
    )
    assert [x.tolist() for x in found] == [[1, 5, 2], [b"palmer", b"emerson", b"UNK"], [1, -1]]


@TARGETS
def test_other_words_fall_into_buckets_by_their_hash(target: str) -> None:
    table = tf.contrib.lookup.index_table_from_tensor(WORDS, num_oov_buckets=3)
    words = OTHERS
    hashes = tf.string_to_hash_bucket_fast(tf.constant(words), 3)
    found, expected, known, size = ran(
        [
            table.lookup(tf.constant(words)),
            hashes + 3,
            table.lookup(tf.constant(WORDS)),
            table.size(),
        ],
        target,
    )
    np.testing.assert_array_equal(found, expected)
    assert known.tolist() == [0, 1, 2]
    assert size == 6


@TARGETS
def test_numbers_fall_into_buckets_by_the_hash_of_their_digits(target: str) -> None:
    table = tf.contrib.lookup.index_table_from_tensor([10, 30], num_oov_buckets=4, dtype=tf.int64)
    found, digits = ran(
        [
            table.lookup(tf.constant([30, 42, 7], tf.int64)),
            tf.string_to_hash_bucket_fast(["42", "7"], 4),
        ],
        target,
    )
    assert found.tolist() == [1, *(digits + 2).tolist()]


def test_what_does_not_fit_a_table_is_refused(vocabulary: str) -> None:
    lookup = tf.contrib.lookup
    with pytest.raises(ValueError, match="vocabulary_file must be specified"):
        lookup.index_table_from_file("")
    with pytest.raises(ValueError, match="vocab_size must be greater than 0"):
        lookup.index_table_from_file(vocabulary, vocab_size=0)
    with pytest.raises(ValueError, match="num_oov_buckets"):
        lookup.index_table_from_file(vocabulary, num_oov_buckets=-1)
    with pytest.raises(ValueError, match="mapping must be specified"):
        lookup.index_to_string_table_from_tensor(None)
    table = lookup.index_table_from_tensor(WORDS, num_oov_buckets=1)
    with pytest.raises(TypeError, match="Keys must be dtype string"):
        table.lookup(tf.constant([1], tf.int64))


# ---- data sets ----


def elements(dataset: Any) -> list[Any]:
    value = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as sess:
        try:
            while True:
                found.append(sess.run(value).tolist())
        except tf.errors.OutOfRangeError:
            return found


def test_the_last_batch_is_left_out_where_it_is_smaller() -> None:
    data = tf.contrib.data
    numbers = tf.data.Dataset.range(5)
    assert elements(numbers.apply(data.batch_and_drop_remainder(2))) == [[0, 1], [2, 3]]
    rows = numbers.map(lambda x: tf.fill([x], x))
    padded = data.padded_batch_and_drop_remainder(2, [None], tf.constant(9, tf.int64))
    assert elements(rows.apply(padded)) == [[[9], [1]], [[2, 2, 9], [3, 3, 3]]]


def test_files_are_read_in_turns() -> None:
    data = tf.contrib.data
    numbers = tf.data.Dataset.range(4)
    turns = data.sloppy_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), 2)
    assert sorted(elements(numbers.apply(turns))) == [0, 0, 1, 1, 2, 2, 3, 3]
    batches = data.map_and_batch(lambda x: x * x, 3)
    assert elements(numbers.apply(batches)) == [[0, 1, 4], [9]]


def test_sets_of_metrics_are_those_of_tf_sets() -> None:
    for name in ("set_difference", "set_intersection", "set_size", "set_union"):
        assert getattr(tf.contrib.metrics, name) is getattr(tf.sets, name)


def test_contrib_data_has_the_classes_of_tf_data() -> None:
    names = (
        "Dataset", "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset",
    )  # fmt: skip
    assert all(getattr(tf.contrib.data, name) is getattr(tf.data, name) for name in names)
