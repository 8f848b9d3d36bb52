"""Names of tf.contrib.slim and of the projector that other tests reach by other names."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib import slim
from graphio.contrib.tensorboard.plugins import projector

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def example(**features: Any) -> bytes:
    kinds: dict[type, Any] = {
        bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
        int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
    }
    made = {key: kinds[type(value[0])](value) for key, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def test_the_modules_that_slim_imports_are_names_of_slim() -> None:
    assert slim.layers.conv2d is slim.conv2d and slim.layers.flatten is slim.flatten
    assert slim.initializers.xavier_initializer is slim.xavier_initializer
    assert slim.regularizers.l2_regularizer is slim.l2_regularizer
    assert slim.init_ops.zeros_initializer is tf.zeros_initializer
    with slim.arg_scope([slim.layers.fully_connected], normalizer_fn=slim.layers.batch_norm):
        slim.layers.fully_connected(tf.zeros([2, 3]), 4)
    names = [v.name for v in slim.get_model_variables()]
    assert "fully_connected/BatchNorm/moving_mean:0" in names
    assert not {"layers", "initializers", "init_ops"} & set(slim.__all__)  # as in TensorFlow
    with pytest.raises(AttributeError, match="has no attribute 'no_module'"):
        slim.no_module  # noqa: B018


def test_a_scope_has_the_arguments_under_the_key_of_a_function() -> None:
    with slim.arg_scope([slim.conv2d, slim.fully_connected], stride=2) as scope:
        pass
    assert scope[slim.arg_scope_func_key(slim.conv2d)] == {"stride": 2}
    assert scope[slim.arg_scope_func_key(slim.convolution2d)] == {"stride": 2}
    assert slim.arg_scope_func_key(slim.max_pool2d) not in scope


@TARGETS
def test_items_are_looked_up_and_replaced(target: str) -> None:
    decoders = slim.tfexample_decoder
    table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"], default_value=9)
    backup = decoders.BackupHandler(decoders.Tensor("few"), decoders.Tensor("more"))
    assert isinstance(backup, decoders.ItemHandler) and backup.keys == ["few", "more"]
    features = {
        "words": tf.VarLenFeature(tf.string),
        "few": tf.VarLenFeature(tf.int64),
        "more": tf.VarLenFeature(tf.int64),
    }
    handlers = {"ids": decoders.LookupTensor("words", table), "first": backup}
    decoder = decoders.TFExampleDecoder(features, handlers)
    assert isinstance(decoder, slim.data_decoder.DataDecoder)
    records = [
        example(words=[b"dog", b"cow", b"cat"], few=[5, 6], more=[7]),
        example(words=[b"cat"], more=[7, 8]),
    ]
    found = [decoder.decode(tf.constant(record), ["first", "ids"]) for record in records]
    with tf.Session(target) as session:
        session.run(tf.tables_initializer())
        (first, ids), (second, other) = session.run(found)
    assert (first.tolist(), ids.tolist()) == ([5, 6], [1, 9, 0])
    assert (second.tolist(), other.tolist()) == ([7, 8], [0])  # few is empty
    with pytest.raises(ValueError, match="Backup handler is of type"):
        decoders.BackupHandler(decoders.Tensor("few"), "more")


@TARGETS
def test_pictures_are_decoded_by_their_format(target: str) -> None:
    pictures = pytest.importorskip("PIL.Image")
    pixels = np.random.RandomState(5).randint(0, 256, (4, 5, 3)).astype(np.uint8)
    file = io.BytesIO()
    pictures.fromarray(pixels).save(file, "PNG")
    record = example(**{
        "image/encoded": [file.getvalue()], "image/format": [b"png"],
        "raw": [pixels.tobytes()], "kind": [b"RAW"],
    })  # fmt: skip
    image = slim.tfexample_decoder.Image
    names = ("image/encoded", "image/format", "raw", "kind")
    features = {name: tf.FixedLenFeature([], tf.string) for name in names}
    handlers = {
        "png": image(),
        "floats": image(dtype=tf.float32, shape=[4, 5, 3]),
        "raw": image("raw", "kind", shape=[4, 5, 3]),
    }
    decoder = slim.tfexample_decoder.TFExampleDecoder(features, handlers)
    png, floats, raw = decoder.decode(tf.constant(record), ["png", "floats", "raw"])
    assert png.shape.as_list() == [None, None, 3] and floats.shape.as_list() == [4, 5, 3]
    with tf.Session(target) as session:
        for found in session.run([png, floats, raw]):
            np.testing.assert_array_equal(found, pixels)
        assert session.run(floats).dtype == np.float32


@TARGETS
@pytest.mark.parametrize("shuffle", [False, True])
def test_files_are_read_in_parallel(tmp_path: Path, shuffle: bool, target: str) -> None:
    for file in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"part-{file}")) as writer:
            for record in range(3):
                writer.write(f"{file} {record}".encode())
    key, value = slim.parallel_reader.parallel_read(
        str(tmp_path / "part-*"), tf.TFRecordReader, num_epochs=1, num_readers=1, shuffle=shuffle,
        min_after_dequeue=2, seed=3,
    )  # fmt: skip
    found: list[Any] = []
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run([key, value]))
        coordinator.request_stop()
        coordinator.join(threads)
    expected = [f"{file} {record}".encode() for file in range(2) for record in range(3)]
    values = [value for _, value in found]
    assert sorted(values) == expected and (shuffle or values == expected)
    for name, read in found:
        assert name.startswith(str(tmp_path / f"part-{read.decode()[0]}").encode())


def test_blocks_of_queue_runners_are_not_nested() -> None:
    queue = tf.FIFOQueue(2, tf.int32)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(4)]))
    with tf.Session() as session:
        with slim.queues.QueueRunners(session):
            assert session.run(queue.dequeue()) == 4
            with pytest.raises(slim.queues.NestedQueueRunnerError):
                with slim.queues.QueueRunners(session):
                    pass


def test_tensors_are_described_by_dtype_and_shape() -> None:
    describe = slim.model_analyzer.tensor_description
    assert describe(tf.zeros([3, 4])) == "(float32 3x4)"
    assert describe(tf.constant(1, tf.int64)) == "(int64 )"
    assert describe(tf.placeholder(tf.string, [None, 2])) == "(string ?x2)"


def test_messages_of_the_projector_have_the_bytes_of_tensorboards() -> None:
    sprite = projector.SpriteMetadata(image_path="a.png", single_image_dim=[28, 14])
    # image_path is field 1, single_image_dim field 2, packed
    assert sprite.SerializeToString() == b"\x0a\x05a.png\x12\x02\x1c\x0e"
    info = projector.EmbeddingInfo(tensor_name="w", metadata_path="m", sprite=sprite)
    # tensor_name is field 1, metadata_path 2, sprite 5
    inner = b"\x0a\x05a.png\x12\x02\x1c\x0e"
    assert info.SerializeToString() == b"\x0a\x01w\x12\x01m" + b"\x2a\x0b" + inner
