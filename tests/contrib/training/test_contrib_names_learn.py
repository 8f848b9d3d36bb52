"""Names of tf.contrib.learn: keys, words, digits, made data, files of records, monitors.

Numbers and strings that nothing explains are those of the Python of TensorFlow 1.15.5.
"""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_runs import values_until_the_end

import graphio as tf

learn = tf.contrib.learn
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def test_keys_have_the_values_of_tensorflow() -> None:
    keys = learn.PredictionKey
    assert [keys.CLASSES, keys.PROBABILITIES, keys.LOGITS, keys.LOGISTIC] == [
        *("classes", "probabilities", "logits", "logistic")
    ]
    assert [keys.SCORES, keys.TOP_K, keys.GENERIC] == ["scores", "top_k", "output"]
    kinds = learn.ProblemType
    assert [kinds.UNSPECIFIED, kinds.CLASSIFICATION] == [0, 1]
    assert [kinds.LINEAR_REGRESSION, kinds.LOGISTIC_REGRESSION] == [2, 3]
    tasks = learn.TaskType
    assert [tasks.MASTER, tasks.PS, tasks.WORKER] == ["master", "ps", "worker"]


def test_words_are_found_as_tensorflow_finds_them() -> None:
    preprocessing = learn.preprocessing
    expected = r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+"
    assert preprocessing.TOKENIZER_RE.pattern == expected
    found = list(preprocessing.tokenizer(["HTTPServer, isn't it?", "CamelCase re-run", ""]))
    # capitals before a small letter leave their last one to the word after them
    assert found == [["HTTP", "Server", "isn't", "it"], ["Camel", "Case", "re-run"], []]


def test_data_sets_have_the_names_of_tensorflow() -> None:
    datasets = learn.datasets
    assert sorted(datasets.DATASETS) == ["boston", "dbpedia", "iris", "mnist"]
    assert datasets.SYNTHETIC == {
        "circles": datasets.synthetic.circles,
        "spirals": datasets.synthetic.spirals,
    }
    assert datasets.mnist.DEFAULT_SOURCE_URL == (
        "https://storage.googleapis.com/cvdf-datasets/mnist/"
    )
    assert datasets.text_datasets.DBPEDIA_URL == (
        "https://github.com/le-scientifique/torchDatasets/raw/master/dbpedia_csv.tar.gz"
    )
    assert datasets.base.Datasets._fields == ("train", "validation", "test")
    with pytest.raises(ValueError, match="not found: none"):
        datasets.load_dataset("none")


def _digits(folder: Path, name: str, count: int) -> Any:
    pictures = np.random.RandomState(count).randint(0, 256, (count, 28, 28)).astype(np.uint8)
    labels = np.arange(count, dtype=np.uint8) % 10
    head = struct.pack(">iiii", 2051, count, 28, 28)
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb") as file:
        file.write(head + pictures.tobytes())
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb") as file:
        file.write(struct.pack(">ii", 2049, count) + labels.tobytes())
    return pictures, labels


def test_digits_are_those_of_the_files(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "MNIST-data"
    folder.mkdir()
    pictures, labels = _digits(folder, "train", 5003)
    tests, _ = _digits(folder, "t10k", 4)
    monkeypatch.chdir(tmp_path)
    for load in (learn.datasets.mnist.load_mnist, lambda: learn.datasets.load_dataset("mnist")):
        found = load()
        assert isinstance(found.train, learn.datasets.mnist.DataSet)
        assert isinstance(found, learn.datasets.base.Datasets)
        expected = pictures.reshape(-1, 784) * np.float32(1 / 255)
        np.testing.assert_allclose(found.validation.images, expected[:5000], rtol=1e-6)
        np.testing.assert_allclose(found.train.images, expected[5000:], rtol=1e-6)
        np.testing.assert_array_equal(found.train.labels, labels[5000:])
        np.testing.assert_array_equal(
            found.test.images, tests.reshape(4, 784) * np.float32(1 / 255)
        )


def test_batches_of_digits_go_through_the_data_in_random_orders() -> None:
    images = np.arange(5, dtype=np.uint8).reshape(5, 1, 1, 1)
    data = learn.datasets.mnist.DataSet(images, np.arange(5), dtype=tf.uint8, seed=9)
    draw = np.random.RandomState(9)
    first, second = np.arange(5), np.arange(5)
    draw.shuffle(first)
    draw.shuffle(second)
    second = first[second]  # the second order is one of what the first left
    found = [data.next_batch(2) for _ in range(3)]
    for pictures, labels in found:
        np.testing.assert_array_equal(pictures.ravel(), labels)
    expected = [first[:2], first[2:4], [first[4], second[0]]]
    np.testing.assert_array_equal([labels for _, labels in found], expected)
    assert data.epochs_completed == 1 and data.num_examples == 5


def test_labels_become_rows_with_a_one() -> None:
    found = learn.datasets.mnist.dense_to_one_hot(np.array([2, 0]), 3)
    np.testing.assert_array_equal(found, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert found.dtype == np.float64


def test_descriptions_are_read_from_a_folder(tmp_path: Path, monkeypatch: Any) -> None:
    articles = learn.datasets.text_datasets
    monkeypatch.setenv("TF_EXP_BASE_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="downloads nothing"):
        articles.load_dbpedia()
    folder = tmp_path / "dbpedia_data" / "dbpedia_csv"
    folder.mkdir(parents=True)
    rows = [f'{i % 14 + 1},"title {i}","text, {i}"\n' for i in range(2001)]
    (folder / "train.csv").write_text("".join(rows))
    (folder / "test.csv").write_text("".join(rows[:3]))
    articles.maybe_download_dbpedia(str(tmp_path / "dbpedia_data"))
    every = articles.load_dbpedia("large")
    assert every.train.data.shape == (2001, 2) and every.train.data[1, 1] == "text, 1"
    small = learn.datasets.load_dataset("dbpedia")
    assert small.train.target.tolist() == [0 % 14 + 1, 1000 % 14 + 1, 2000 % 14 + 1]
    assert small.train.data[1].tolist() == ["title 1000", "text, 1000"]
    assert small.test.data.tolist() == [["title 0", "text, 0"]] and small.validation is None


def _records(path: Path, numbers: range) -> str:
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for x in numbers:
            feature = {"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[x]))}
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return str(path)


FEATURES = {"x": tf.FixedLenFeature([], tf.int64)}


@TARGETS
def test_records_come_in_batches_with_their_names(tmp_path: Path, target: str) -> None:
    path = _records(tmp_path / "a", range(5))
    with tf.Graph().as_default():
        keys, records = learn.read_keyed_batch_examples(
            path, 3, tf.TFRecordReader, randomize_input=False, num_epochs=1
        )
        numbers = tf.parse_example(records, FEATURES)["x"]
        (one, first), (two, last) = values_until_the_end([keys, numbers], target)
    assert first.tolist() == [0, 1, 2] and last.tolist() == [3, 4]
    assert len({*one, *two}) == 5
    assert all(key.startswith(f"{path}:".encode()) for key in (*one, *two))


@TARGETS
def test_features_of_records_come_in_batches(tmp_path: Path, target: str) -> None:
    path = _records(tmp_path / "a", range(6))
    with tf.Graph().as_default():
        found = learn.read_batch_record_features(
            path, 4, FEATURES, randomize_input=False, num_epochs=1
        )
        plain = learn.read_batch_features(
            path, 4, FEATURES, tf.TFRecordReader, randomize_input=False, num_epochs=1
        )
        rows = values_until_the_end([found["x"], plain["x"]], target)
    # two threads fill the queue of batches, in any order
    for column in range(2):
        batches = sorted(row[column].tolist() for row in rows)
        assert batches == [[0, 1, 2, 3], [4, 5]]


@TARGETS
def test_parsed_features_go_through_a_queue(target: str) -> None:
    with tf.Graph().as_default():
        count = tf.train.range_input_producer(3, 1, shuffle=False).dequeue()
        sparse = tf.SparseTensor([[0, 1]], tf.reshape(count, [1]), [1, 2])
        keys, found = learn.io.queue_parsed_features(
            {"dense": count * 10, "sparse": sparse}, tf.as_string(count), num_enqueue_threads=1
        )
        rows = values_until_the_end([keys, found["dense"], found["sparse"]], target)
        alone, _ = learn.io.queue_parsed_features({"x": tf.constant(1)})
    assert [row[0] for row in rows] == [b"0", b"1", b"2"]
    assert [int(row[1]) for row in rows] == [0, 10, 20]
    assert [row[2].values.tolist() for row in rows] == [[0], [1], [2]]
    assert rows[0][2].dense_shape.tolist() == [1, 2] and alone is None


def test_tensors_are_run_feed_by_feed() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        v = tf.get_variable("v", initializer=2.0)
        made = learn.graph_actions.run_feeds_iter({"y": v * x}, ({x: float(i)} for i in range(3)))
        assert next(made) == {"y": 0.0}
        assert list(made) == [{"y": 2.0}, {"y": 4.0}]


class _Acts(learn.monitors.EveryN):
    """Lists the steps in which it acts."""

    def __init__(self, *arguments: int) -> None:
        super().__init__(*arguments)
        self.acts: list[tuple[str, Any]] = []

    def every_n_step_begin(self, step: int) -> list[Any]:
        self.acts.append(("begin", step))
        return []

    def every_n_step_end(self, step: int, outputs: Any) -> bool:
        self.acts.append(("end", step))
        return step > 6

    def every_n_post_step(self, step: Any, session: Any) -> None:
        self.acts.append(("post", step))


def test_a_monitor_acts_in_the_first_steps_and_in_each_nth_after_them() -> None:
    assert learn.monitors.EveryN is learn.graph_actions.monitors_lib.EveryN
    monitor = _Acts(3, 2)
    monitor.begin(max_steps=9)
    ended = []
    for step in range(1, 9):
        assert monitor.step_begin(step) == []
        ended.append(monitor.step_end(step, {}))
        monitor.post_step(step, None)
    monitor.end()
    # the rule: up to step 2, then three steps after the last one; the end closes step 8, too
    acts = [(what, step) for step in (1, 2, 5, 8) for what in ("begin", "end", "post")]
    assert monitor.acts == acts
    assert ended == [False] * 7 + [True]
    monitor = _Acts(3)
    monitor.begin()
    for step in (1, 2, 3):
        monitor.step_begin(step)
        monitor.step_end(step, {})
        monitor.post_step(step, None)
    monitor.end()
    assert monitor.acts == [("begin", 1), ("end", 1), ("post", 1), ("post", 3)]
