"""tf.contrib.training: buckets of examples, and examples kept by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib import slim, training

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        yield


def values(fetches: Any, target: str = "", count: int | None = None) -> list[Any]:
    """The values of runs until the data end, or of some."""
    found: list[Any] = []
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with slim.queues.QueueRunners(session):
            try:
                while count is None or len(found) < count:
                    found.append(session.run(fetches))
            except tf.errors.OutOfRangeError:
                pass
    return found


def numbers(count: int, epochs: int | None = 1) -> Any:
    return tf.train.range_input_producer(count, epochs, shuffle=False).dequeue()


@TARGETS
def test_each_batch_is_of_one_bucket_and_nothing_is_lost(target: str) -> None:
    number = numbers(23)
    which, found = training.bucket(
        {"n": number, "square": number * number}, number % 3, 4, 3, allow_smaller_final_batch=True
    )
    assert found["n"].shape.as_list() == [None]
    batches = values([which, found], target)
    assert sorted(n for _, batch in batches for n in batch["n"]) == list(range(23))
    for bucket, batch in batches:
        assert set(batch["n"] % 3) == {bucket}
        np.testing.assert_array_equal(batch["square"], batch["n"] ** 2)
    by_bucket = {b: [n for c, batch in batches if c == b for n in batch["n"]] for b in range(3)}
    assert by_bucket == {b: list(range(b, 23, 3)) for b in range(3)}


def test_full_batches_alone_come_by_default_and_have_a_known_size() -> None:
    number = numbers(23)
    which, found = training.bucket([number], number % 3, 4, 3)
    assert found.shape.as_list() == [4]
    assert Counter(int(bucket) for bucket, _ in values([which, found])) == {0: 2, 1: 2, 2: 1}


def test_buckets_have_their_sizes_and_some_examples_are_left_out() -> None:
    number = numbers(40)
    which, found = training.bucket(
        [number], tf.minimum(number // 20, 1), [2, 5], 2, keep_input=tf.equal(number % 2, 0)
    )
    for bucket, batch in values([which, found]):
        assert len(batch) == [2, 5][bucket]
        assert set(batch % 2) == {0} and set(batch // 20) == {bucket}


@TARGETS
def test_sequences_of_similar_lengths_are_padded_together(target: str) -> None:
    length = 1 + numbers(9)
    lengths, found = training.bucket_by_sequence_length(
        length, [tf.range(length), length * 10], 3, [4, 7], dynamic_pad=True
    )
    batches = values([lengths, found], target)
    assert sorted(batch[0].tolist() for batch in batches) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    for sizes, (ranges, tens) in batches:
        expected = np.zeros([3, sizes.max()], np.int32)
        for row, size in zip(expected, sizes, strict=True):
            row[:size] = np.arange(size)
        np.testing.assert_array_equal(ranges, expected)
        np.testing.assert_array_equal(tens, 10 * sizes)


def test_sparse_tensors_come_out_of_buckets_as_such() -> None:
    number = numbers(4)
    one = tf.SparseTensor([[0]], tf.reshape(number, [1]), [5])
    _, (found, same) = training.bucket([one, number], 0, 2, 1)
    for sparse, batch in values([found, same]):
        assert sparse.values.tolist() == batch.tolist()
        assert sparse.dense_shape.tolist() == [2, 5]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"batch_size": [1]}, ValueError, "must have num_buckets elements"),
        ({"bucket_capacities": [1]}, ValueError, "must have exactly num_buckets"),
        ({"tensors": []}, ValueError, "at least one tensor"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: Any, error: Any, message: str) -> None:
    given = {"tensors": [tf.constant(1)], "which_bucket": 0, "batch_size": 2, "num_buckets": 2}
    with pytest.raises(error, match=message):
        training.bucket(**{**given, **arguments})


@pytest.mark.parametrize(
    ("boundaries", "error"), [([], ValueError), ([2, 1], ValueError), (3, TypeError)]
)
def test_boundaries_must_increase(boundaries: Any, error: Any) -> None:
    with pytest.raises(error, match="ucket"):
        training.bucket_by_sequence_length(1, [tf.constant(1)], 2, boundaries)


@TARGETS
def test_examples_are_kept_with_their_probability(target: str) -> None:
    number = numbers(2000)
    (found,) = training.rejection_sample(
        [number], lambda tensors: tf.where(tensors[0] < 1000, 0.25, 1.0), 10, runtime_checks=True
    )
    kept = np.concatenate(values(found, target))
    first, second = (kept < 1000).sum(), (kept >= 1000).sum()
    assert second in range(991, 1001)  # the last batch may not be full
    assert abs(first - 250) < 4 * np.sqrt(1000 * 0.25 * 0.75)


def test_a_probability_that_is_none_stops_the_data() -> None:
    (found,) = training.rejection_sample(
        [numbers(10, None)], lambda parts: 1.5 + tf.to_float(parts[0]), 2, runtime_checks=True
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(found)
        with pytest.raises(tf.errors.InvalidArgumentError):
            coordinator.join()


@TARGETS
@pytest.mark.parametrize("init_probs", [[0.7, 0.2, 0.1], None])
def test_classes_get_their_shares(target: str, init_probs: Any) -> None:
    """Ten examples: seven of class 0, two of class 1, one of class 2."""
    labels = tf.constant([0] * 7 + [1] * 2 + [2])
    aim = [0.2, 0.2, 0.6]
    (data,), classes = training.stratified_sample(
        [labels * 10], labels, aim, 50, init_probs, enqueue_many=True
    )
    found = values([data, classes], target, 12)
    seen = np.concatenate([c for _, c in found])
    np.testing.assert_array_equal(np.concatenate([d for d, _ in found]), 10 * seen)
    shares = np.bincount(seen, minlength=3) / len(seen)
    np.testing.assert_allclose(shares, aim, atol=0.08)


def test_shares_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="must have the same length"):
        training.stratified_sample([tf.constant(1)], tf.constant(0), [0.5, 0.5], 2, [1.0])
