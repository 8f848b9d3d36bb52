"""SparseFeature in records, and records in JSON, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def _record(**features: list[Any]) -> bytes:
    found = {}
    for key, values in features.items():
        ints = all(isinstance(v, int) for v in values)
        kind = {"int64_list": tf.train.Int64List(value=values)} if ints else {
            "float_list": tf.train.FloatList(value=values)
        }  # fmt: skip
        found[key] = tf.train.Feature(**kind)
    return tf.train.Example(features=tf.train.Features(feature=found)).SerializeToString()


@TARGETS
def test_a_sparse_feature_puts_values_at_indices(target: str) -> None:
    records = [
        _record(at=[7, 2], to=[1, 0], v=[3.5, 1.5]),
        _record(),
        _record(at=[0], to=[2], v=[9.0]),
    ]
    with tf.Graph().as_default(), tf.Session(target) as session:
        features = {
            "one": tf.SparseFeature("at", "v", tf.float32, 10),
            "two": tf.io.SparseFeature(["at", "to"], "v", tf.float32, [10, 3]),
            "to": tf.VarLenFeature(tf.int64),
        }
        parsed = session.run(tf.parse_example(records, features))
        assert set(parsed) == {"one", "two", "to"}
        np.testing.assert_array_equal(parsed["one"].indices, [[0, 2], [0, 7], [2, 0]])
        np.testing.assert_array_equal(parsed["one"].values, np.float32([1.5, 3.5, 9.0]))
        np.testing.assert_array_equal(parsed["one"].dense_shape, [3, 10])
        np.testing.assert_array_equal(parsed["two"].indices, [[0, 2, 0], [0, 7, 1], [2, 0, 2]])
        np.testing.assert_array_equal(parsed["two"].dense_shape, [3, 10, 3])
        single = session.run(tf.parse_single_example(records[0], {"one": features["one"]})["one"])
        np.testing.assert_array_equal(single.indices, [[2], [7]])
        np.testing.assert_array_equal(single.dense_shape, [10])


def test_a_sparse_feature_of_other_parts_is_refused() -> None:
    wrong = {"s": tf.SparseFeature("i", "v", tf.float32, 4), "i": tf.VarLenFeature(tf.float32)}
    fixed = {
        "s": tf.SparseFeature("i", "v", tf.float32, 4),
        "v": tf.FixedLenFeature([], tf.float32),
    }
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Conflicting type float32 vs int64"):
            tf.parse_example([b""], wrong)
        with pytest.raises(ValueError, match="expected a VarLenFeature"):
            tf.parse_single_example(b"", fixed)
        with pytest.raises(ValueError, match="Missing index_key"):
            tf.parse_single_example(b"", {"s": tf.SparseFeature("", "v", tf.float32, 4)})


@TARGETS
def test_json_becomes_records(target: str) -> None:
    text = (
        '{"features": {"feature": {"n": {"int64_list": {"value": ["3", -1]}}, '
        '"x": {"floatList": {"value": [0.5]}}, "s": {"bytesList": {"value": ["aGk="]}}}}}'
    )
    with tf.Graph().as_default(), tf.Session(target) as session:
        given = tf.placeholder(tf.string, [None, 1])
        records = tf.io.decode_json_example(given)
        assert records.shape.as_list() == [None, 1]
        found = tf.train.Example.FromString(session.run(records, {given: [[text], ["{}"]]})[0, 0])
        feature = found.features.feature
        assert list(feature["n"].int64_list.value) == [3, -1]
        assert list(feature["x"].float_list.value) == [0.5]
        assert list(feature["s"].bytes_list.value) == [b"hi"]
        for bad in ("{", '{"other": 1}', '{"features": {"feature": {"n": {"int64_list": 1}}}}'):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
                session.run(records, {given: [[bad]]})
