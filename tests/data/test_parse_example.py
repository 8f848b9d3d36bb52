"""tf.parse_example: records of named features, in both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from data_pipelines import plain, rest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf


@pytest.fixture(params=engines.NAMES)
def session(request: pytest.FixtureRequest) -> Any:
    engines.module(request.param)
    with tf.Graph().as_default(), tf.Session(request.param) as made:
        yield made


def record(**values: Any) -> bytes:
    """The bytes of an Example; lists by their first element's type."""
    features = {}
    for key, value in values.items():
        first = value[0] if value else 0
        if isinstance(first, bytes):
            features[key] = tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
        elif isinstance(first, float):
            features[key] = tf.train.Feature(float_list=tf.train.FloatList(value=value))
        else:
            features[key] = tf.train.Feature(int64_list=tf.train.Int64List(value=value))
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString())


def test_an_example_has_the_bytes_of_the_format() -> None:
    # field 1 (Features), its map's entry: key "a", value Feature 3 (int64_list), packed 5
    assert record(a=[5]) == bytes([10, 12, 10, 10, 10, 1, 97, 18, 5, 26, 3, 10, 1, 5])


def plain_list(values: Any) -> Any:
    return [plain(v) for v in values]


FEATURES = {
    "label": tf.FixedLenFeature([], tf.int64),
    "name": tf.FixedLenFeature([], tf.string, default_value="none"),
    "x": tf.FixedLenFeature([2, 2], tf.float32),
}


def test_features_of_one_shape(session: Any) -> None:
    one = record(label=[3], name=[b"n"], x=[1.0, 2.0, 3.0, 4.0])
    found = tf.parse_single_example(one, FEATURES)
    assert {key: v.shape.as_list() for key, v in found.items()} == {
        "label": [],
        "name": [],
        "x": [2, 2],
    }
    expected = {"label": 3, "name": b"n", "x": [[1, 2], [3, 4]]}
    assert plain(session.run(found)) == expected
    two = record(label=[4], x=[0.0] * 4)
    both = tf.parse_example([one, two], FEATURES)
    assert both["x"].shape.as_list() == [2, 2, 2]
    assert plain_list(session.run([both["label"], both["name"]])) == [[3, 4], [b"n", b"none"]]


def test_features_of_any_length(session: Any) -> None:
    records = [record(w=[7, 8]), record(), record(w=[9])]
    dense = {"w": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1)}
    found = tf.parse_example(records, dense)["w"]
    assert found.shape.as_list() == [3, None]
    assert plain(session.run(found)) == [[7, 8], [-1, -1], [9, -1]]
    sparse = tf.parse_example(records, {"w": tf.VarLenFeature(tf.int64)})["w"]
    value = session.run(sparse)
    assert plain(value.indices) == [[0, 0], [0, 1], [2, 0]]
    assert plain_list([value.values, value.dense_shape]) == [[7, 8, 9], [3, 2]]
    single = session.run(tf.parse_single_example(records[0], {"w": tf.VarLenFeature(tf.int64)}))
    assert plain_list(single["w"]) == [[[0], [1]], [7, 8], [2]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (record(x=[1.0] * 4), r"Feature: label \(data type: int64\) is required but could not be"),
        (record(label=[1.5], x=[1.0] * 4), r"Key: label.  Data types don't match"),
        (record(label=[1], x=[1.0] * 3), "Key: x.  Number of float32 values != expected"),
        (b"\xff\xff nothing", "Could not parse example input"),
    ],
    ids=["missing", "of another type", "too short", "damaged"],
)
def test_records_that_do_not_fit(session: Any, data: bytes, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(tf.parse_single_example(data, FEATURES))


@pytest.mark.parametrize(
    ("features", "kind", "words"),
    [
        ({}, ValueError, "Missing: features"),
        ({"a": 3}, ValueError, "Unsupported feature type for 'a'"),
        ({"a": tf.FixedLenFeature([], tf.int32)}, TypeError, "records hold int64, float32 and"),
        ({"a": tf.FixedLenFeature([None], tf.int64)}, ValueError, "must be known"),
        ({"a": tf.FixedLenSequenceFeature([], tf.int64)}, ValueError, "requires allow_missing"),
        ({"a": tf.FixedLenFeature([3], tf.int64, [1, 2])}, ValueError, "has 2 values"),
    ],
)
def test_features_that_cannot_be(features: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        tf.parse_single_example(b"", features)


def test_records_of_a_file_become_batches(session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "r")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(5):
            image = np.full([2, 2], i, np.uint8).tobytes()
            writer.write(record(image=[image], label=[i]))

    def parse(text: Any) -> Any:
        found = tf.io.parse_single_example(
            text,
            {
                "image": tf.io.FixedLenFeature([], tf.string),
                "label": tf.io.FixedLenFeature([], tf.int64),
            },
        )
        image = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [2, 2])
        return tf.cast(image, tf.float32) / 2, found["label"]

    data = tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=2).batch(3).prefetch(1)
    found = rest(session, data.make_one_shot_iterator().get_next())
    assert [labels for _, labels in found] == [[0, 1, 2], [3, 4]]
    assert found[1][0][1] == [[2, 2], [2, 2]]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 40), st.integers(0, 255))
def test_any_bytes_are_parsed_or_refused(noise: bytes, at: int, bits: int) -> None:
    data = bytearray(record(label=[1], name=[b"n"], x=[1.0] * 4))
    data[at % len(data)] ^= bits
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.string, [])
        found = tf.parse_single_example(fed, FEATURES)
        for text in (noise, bytes(data)):
            try:
                assert session.run(found, {fed: text})["x"].shape == (2, 2)
            except tf.errors.InvalidArgumentError:
                pass
