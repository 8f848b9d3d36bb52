"""Tensors as strings, with the bytes that TensorFlow 2.21 writes; compressed strings."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
#: arrays, and what TensorFlow's serialize_tensor gives
RECORDED = [
    (
        np.array([[1.5, -2]], np.float32),
        b'\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x08\0\0\xc0?\0\0\0\xc0',
    ),
    (np.array(7, np.int64), b'\x08\t\x12\0"\x08\x07\0\0\0\0\0\0\0'),
    (np.array([b"a", b"\0b"], object), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02\0b"),
    (np.array([True, False]), b'\x08\n\x12\x04\x12\x02\x08\x02"\x02\x01\0'),
    (np.zeros((0, 2), np.uint8), b"\x08\x04\x12\x06\x12\0\x12\x02\x08\x02"),
]
SPARSE = [
    b'\x08\t\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02" ' + np.int64([0, 1, 2, 0]).tobytes(),
    b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\0\0\x80?\0\0\0@',
    b'\x08\t\x12\x04\x12\x02\x08\x02"\x10' + np.int64([3, 2]).tobytes(),
]


@TARGETS
@pytest.mark.parametrize(("value", "expected"), RECORDED)
def test_a_tensor_becomes_the_string_of_tensorflow_and_comes_back(
    value: Any, expected: bytes, target: str
) -> None:
    text = tf.io.serialize_tensor(value)
    again = tf.parse_tensor(text, text.op.inputs[0].dtype)
    assert text.shape.as_list() == [] and again.shape.ndims is None
    with tf.Session(target=target) as session:
        found, read = session.run([text, again])
    assert found == expected
    assert read.dtype == value.dtype and np.array_equal(read, value)


@TARGETS
def test_a_sparse_tensor_becomes_three_strings(target: str) -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
    with tf.Session(target=target) as session:
        assert session.run(tf.serialize_sparse(sparse)).tolist() == SPARSE
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        tf.io.serialize_sparse(tf.zeros([2]))
    with pytest.raises(TypeError, match="out_type"):
        tf.io.serialize_sparse(sparse, out_type=tf.int32)


@TARGETS
def test_a_string_that_is_not_a_tensor_of_the_dtype_is_an_error(target: str) -> None:
    text = tf.placeholder(tf.string, [])
    made = tf.io.parse_tensor(text, tf.float32)
    with tf.Session(target=target) as session:
        for data, words in (
            (b"\xff\xff", "Could not parse"),
            (RECORDED[1][1], "Type mismatch"),
            (RECORDED[0][1][:-1] + b"", "Could not parse"),
            (b"\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x40", "Could not parse"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(made, {text: data})
    with pytest.raises(ValueError, match="rank 0 but is rank 1"):
        tf.io.parse_tensor(["a"], tf.float32)


# ---- compressed strings ----


@TARGETS
def test_strings_lose_their_compression(target: str) -> None:
    plain = [b"", b"hallo" * 100, bytes(range(256))]
    with tf.Session(target=target) as session:
        for kind, pack in (("ZLIB", zlib.compress), ("GZIP", gzip.compress), ("", bytes)):
            made = tf.io.decode_compressed([[pack(text) for text in plain]], kind)
            assert made.shape.as_list() == [1, 3]
            assert session.run(made).tolist() == [plain]


@TARGETS
def test_a_string_whose_compression_is_damaged_is_an_error(target: str) -> None:
    text = tf.placeholder(tf.string, [])
    made = tf.decode_compressed(text, "ZLIB")
    with tf.Session(target=target) as session:
        for data in (b"hallo", zlib.compress(b"hallo")[:-2], gzip.compress(b"hallo"), b""):
            with pytest.raises(tf.errors.DataLossError, match="ZLIB"):
                session.run(made, {text: data})
    with pytest.raises(tf.errors.InvalidArgumentError, match="ZLIB, GZIP or NONE"):
        tf.io.decode_compressed("", "BZIP")
