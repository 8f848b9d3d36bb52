"""Data of tf.contrib.slim: records of files through readers, decoders and queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib import slim

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def example(number: int) -> bytes:
    """A record: a number, and a vector of it and its negative."""
    feature = {
        "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "vector": tf.train.Feature(float_list=tf.train.FloatList(value=[number, -number])),
    }
    made = tf.train.Example(features=tf.train.Features(feature=feature))
    return made.SerializeToString()


def written(folder: Path, files: int = 3, records: int = 4) -> str:
    """The pattern of files whose records have the numbers 0, 1, 2 ..."""
    for file in range(files):
        with tf.python_io.TFRecordWriter(str(folder / f"part-{file}")) as writer:
            for record in range(records):
                writer.write(example(file * records + record))
    return str(folder / "part-*")


def dataset(pattern: Any, count: int = 12) -> Any:
    features = {
        "number": tf.FixedLenFeature([], tf.int64),
        "vector": tf.FixedLenFeature([2], tf.float32),
    }
    handlers = {
        "label": slim.tfexample_decoder.Tensor("number"),
        "point": slim.tfexample_decoder.Tensor("vector"),
    }
    decoder = slim.tfexample_decoder.TFExampleDecoder(features, handlers)
    return slim.dataset.Dataset(pattern, tf.TFRecordReader, decoder, count, {}, classes=12)


def values_until_the_end(fetches: Any, target: str) -> list[Any]:
    """The values of all runs until the data end."""
    found = []
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with slim.queues.QueueRunners(session):
            try:
                while True:
                    found.append(session.run(fetches))
            except tf.errors.OutOfRangeError:
                pass
    return found


@TARGETS
@pytest.mark.parametrize("shuffle", [True, False])
def test_each_record_comes_once_an_epoch(tmp_path: Path, target: str, shuffle: bool) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset(written(tmp_path)), num_readers=2, shuffle=shuffle, num_epochs=2,
        common_queue_capacity=10, common_queue_min=4, seed=3,
    )  # fmt: skip
    assert sorted(provider.list_items()) == ["label", "point", "record_key"]
    assert provider.num_samples() == 12
    label, point, key = provider.get(["label", "point", "record_key"])
    found = values_until_the_end([label, point, key], target)
    assert sorted(int(number) for number, _, _ in found) == sorted([*range(12)] * 2)
    for number, vector, name in found:
        assert vector.tolist() == [number, -number]
        assert name.decode().startswith(str(tmp_path / f"part-{number // 4}:"))


def test_one_reader_without_shuffling_gives_the_records_of_a_file_in_order(tmp_path: Path) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset(written(tmp_path, 1, 9)), shuffle=False, num_epochs=1
    )
    (label,) = provider.get(["label"])
    assert [int(n) for n in values_until_the_end(label, "")] == list(range(9))


def test_a_single_pass_reads_the_files_in_order(tmp_path: Path) -> None:
    key, value = slim.parallel_reader.single_pass_read(written(tmp_path), tf.TFRecordReader)
    found = values_until_the_end([key, value], "")
    assert [record for _, record in found] == [example(i) for i in range(12)]


def test_a_parallel_reader_counts_records_and_files(tmp_path: Path) -> None:
    queue = tf.FIFOQueue(20, [tf.string, tf.string], shapes=[[], []])
    reader = slim.parallel_reader.ParallelReader(tf.TFRecordReader, queue, num_readers=2)
    assert reader.num_readers == 2 and reader.common_queue is queue
    files = slim.parallel_reader.get_data_files(written(tmp_path))
    names = tf.train.string_input_producer(files, num_epochs=1, shuffle=False)
    keys, values = reader.read_up_to(names, 5)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        sizes = [len(session.run([keys, values])[1]) for _ in range(3)]
        coordinator.request_stop()
        coordinator.join(threads)
        assert session.run(counts) == [12, 3]
    assert sizes == [5, 5, 2]


def test_files_are_found_by_pattern_by_name_and_in_lists(tmp_path: Path) -> None:
    pattern = written(tmp_path)
    names = [str(tmp_path / f"part-{i}") for i in range(3)]
    find = slim.parallel_reader.get_data_files
    assert sorted(find(pattern)) == names
    assert find([names[2], [names[0]]]) == [names[2], names[0]]
    with pytest.raises(ValueError, match="No data files found"):
        find(str(tmp_path / "other-*"))


@TARGETS
def test_batches_are_prefetched_as_they_come(tmp_path: Path, target: str) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset(written(tmp_path)), shuffle=False, num_epochs=1
    )
    label, point = provider.get(["label", "point"])
    labels, points = tf.train.batch([label, point], batch_size=4)
    queue = slim.prefetch_queue.prefetch_queue({"labels": labels, "points": points}, capacity=2)
    taken = queue.dequeue()
    assert taken["points"].shape.as_list() == [4, 2]
    found = values_until_the_end(taken, target)
    assert len(found) == 3
    numbers = np.concatenate([batch["labels"] for batch in found])
    assert sorted(numbers.tolist()) == list(range(12))
    for batch in found:
        np.testing.assert_array_equal(batch["points"][:, 1], -batch["labels"])


def test_sizes_that_are_not_known_need_dynamic_pad() -> None:
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(ValueError, match="fully defined"):
        slim.prefetch_queue.prefetch_queue([x])
    queue = slim.prefetch_queue.prefetch_queue([x], dynamic_pad=True)
    assert queue.dequeue().shape.as_list() == [None]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"must be \[tf.string, tf.string\]"):
        slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(2, [tf.string]))
    with pytest.raises(ValueError, match="cannot also be used for a dataset item: label"):
        slim.dataset_data_provider.DatasetDataProvider(
            dataset(written(tmp_path)), record_key="label"
        )


@TARGETS
def test_a_model_is_trained_from_records(tmp_path: Path, target: str) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset(written(tmp_path)), shuffle=False
    )
    label, point = provider.get(["label", "point"])
    labels, points = tf.train.batch([label, point], batch_size=12)
    with slim.arg_scope([slim.fully_connected], activation_fn=None):
        out = slim.fully_connected(points / 6.0 - [1.0, -1.0], 1)
    tf.losses.mean_squared_error(tf.to_float(labels)[:, tf.newaxis], out)
    optimizer = tf.train.GradientDescentOptimizer(0.2)
    step = slim.learning.create_train_op(slim.losses.get_total_loss(), optimizer)
    last = slim.learning.train(
        step, str(tmp_path / "logs"), number_of_steps=60, master=target, log_every_n_steps=0
    )
    assert last < 1e-4
