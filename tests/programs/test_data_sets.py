"""tf.keras.datasets and tf.examples.tutorials.mnist: data sets from local folders."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import data_set_files
import numpy as np
import pytest

import graphio as tf
from graphio.examples.tutorials.mnist import input_data, mnist

EXPECTED = json.loads(data_set_files.GOLDEN.read_text())
DATASETS = tf.keras.datasets


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    data_set_files.write(tmp_path / "datasets")
    return tmp_path / "datasets"


@pytest.mark.parametrize("name", EXPECTED)
def test_a_data_set_is_what_tensorflow_reads_from_the_same_file(home: Path, name: str) -> None:
    assert data_set_files.plain(data_set_files.calls(DATASETS)[name]()) == EXPECTED[name]


def test_the_batches_of_cifar10_are_joined(home: Path) -> None:
    (x_train, y_train), (x_test, y_test) = DATASETS.cifar10.load_data()
    assert (x_train.shape, y_train.shape) == ((10, 32, 32, 3), (10, 1))
    assert (x_test.shape, y_test.tolist()) == ((2, 32, 32, 3), [[1], [4]])
    content = pickle.loads((home / "cifar-10-batches-py/data_batch_2").read_bytes())
    np.testing.assert_array_equal(x_train[3, 5, 7], content[b"data"][1].reshape(3, 32, 32)[:, 5, 7])


def test_numbers_of_words_are_read(home: Path) -> None:
    assert DATASETS.imdb.get_word_index() == {"the": 1}
    assert DATASETS.reuters.get_word_index() == {"a": 2}


@pytest.mark.parametrize("name", DATASETS.__all__)
def test_a_data_set_that_is_not_there_says_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="is not there, and graphio downloads nothing"):
        getattr(DATASETS, name).load_data()


def test_arguments_that_cannot_be_are_refused(home: Path) -> None:
    with pytest.raises(ValueError, match="no sequence was kept"):
        DATASETS.imdb.load_data(maxlen=2)
    with pytest.raises(ValueError, match="`label_mode` must be one of"):
        DATASETS.cifar100.load_data("middle")
    with pytest.raises(ValueError, match="test_split is 1"):
        DATASETS.boston_housing.load_data(test_split=1)


def test_a_file_with_other_objects_than_arrays_is_refused(home: Path) -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return os.system, ("true",)

    data = np.empty(1, dtype=object)
    data[0] = Bad()
    np.savez(home / "imdb.npz", x_train=data, y_train=data, x_test=data, y_test=data)
    with pytest.raises(pickle.UnpicklingError, match=r"the file names posix\.system"):
        DATASETS.imdb.load_data()


def test_other_parts_of_keras_are_refused() -> None:
    with pytest.raises(AttributeError, match=r"tf\.keras\.layers is not part"):
        tf.keras.layers  # noqa: B018


# ---- tf.examples.tutorials.mnist ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.RandomState(0)
    x = random.randint(0, 256, (20, 28, 28), np.uint8)
    data_set_files.write_digits(tmp_path, x, (np.arange(20) % 10).astype(np.uint8), train=15)
    return tmp_path


def test_digits_are_split_and_scaled(folder: Path) -> None:
    data = input_data.read_data_sets(str(folder), one_hot=True, validation_size=5)
    assert [part.num_examples for part in data] == [10, 5, 5]
    assert data.train.images.shape == (10, 784)
    assert data.train.images.dtype == np.float32
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16)
    np.testing.assert_array_equal(
        data.test.images.reshape(-1), pixels.astype(np.float32) * np.float32(1 / 255)
    )
    assert data.test.labels.argmax(1).tolist() == [5, 6, 7, 8, 9]
    plain = input_data.read_data_sets(
        folder, dtype=tf.uint8, reshape=False, validation_size=0, seed=3
    )
    assert plain.train.images.shape == (15, 28, 28, 1)
    assert plain.validation.num_examples == 0


def test_batches_go_round_in_a_new_order(folder: Path) -> None:
    def drawn() -> list[list[int]]:
        tf.set_random_seed(1)
        data = input_data.read_data_sets(folder, validation_size=5, seed=7).train
        batches = [data.next_batch(4)[1].tolist() for _ in range(5)]
        assert data.epochs_completed == 1
        return batches

    batches = drawn()
    assert batches == drawn()
    flat = sum(batches, [])
    assert sorted(flat[:10]) == sorted(flat[10:]) == sorted([5, 6, 7, 8, 9, 0, 1, 2, 3, 4])
    data = input_data.read_data_sets(folder, validation_size=0).train
    assert data.next_batch(3, shuffle=False)[1].tolist() == [0, 1, 2]


def test_fake_data_needs_no_file() -> None:
    data = input_data.read_data_sets("none", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(2, fake_data=True)
    assert (len(images), len(images[0]), labels[0]) == (2, 784, [1] + [0] * 9)
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte\.gz is not there"):
        input_data.read_data_sets("none")


def test_a_wrong_validation_size_or_dtype_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="should be between 0 and 15. Received: 16"):
        input_data.read_data_sets(folder, validation_size=16)
    with pytest.raises(TypeError, match="Invalid image dtype"):
        input_data.read_data_sets(folder, dtype=tf.int32, validation_size=0)


@pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])
def test_the_network_of_the_tutorial_learns_what_numpy_computes(target: str) -> None:
    x, labels = np.random.RandomState(0).rand(4, 784).astype(np.float32), np.array([1, 2, 3, 1])
    with tf.Graph().as_default(), tf.Session(target) as session:
        tf.set_random_seed(3)  # no dead units, which would make equal scores
        logits = mnist.inference(tf.constant(x), 6, 5)
        loss = mnist.loss(logits, tf.constant(labels, tf.int32))
        step = mnist.training(loss, 0.1)
        correct = mnist.evaluation(logits, tf.constant(labels, tf.int32))
        session.run(tf.global_variables_initializer())
        names = [v.op.name for v in tf.trainable_variables()]
        assert names == [
            f"{scope}/{part}"
            for scope in ("hidden1", "hidden2", "softmax_linear")
            for part in ("weights", "biases")
        ]
        w1, b1, w2, b2, w3, b3 = (np.float64(v) for v in session.run(tf.trainable_variables()))
        hidden = np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0)
        scores = hidden @ w3 + b3
        shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        expected = -np.log(shares[np.arange(4), labels]).mean()
        found, count, _ = session.run([loss, correct, step])
        assert found == pytest.approx(expected, rel=1e-5)
        assert count == (scores.argmax(1) == labels).sum()
        change = (shares - np.eye(10)[labels]).mean(0) * -0.1
        np.testing.assert_allclose(session.run("softmax_linear/biases:0"), b3 + change, atol=1e-6)
        assert session.run("global_step:0") == 1
