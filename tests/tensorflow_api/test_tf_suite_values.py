"""Values and refusals that TensorFlow's own tests expect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
LABELS = tf.SparseTensorValue(np.array([[0, 0], [1, 0]]), np.array([0, 1], np.int32), [2, 1])


def run(target: str, build: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        return session.run(build())


# ---- logarithms of determinants ----


@TARGETS
def test_a_determinant_beyond_its_dtype_has_a_logarithm(target: str) -> None:
    for size in (1e-20, 1e20):
        x = np.diag(np.full(6, size, np.float32))
        x[[0, 1]] = x[[1, 0]]
        found = run(target, lambda x=x: tf.linalg.slogdet(x))
        assert found.sign == -1
        np.testing.assert_allclose(found.log_abs_determinant, 6 * np.log(size), rtol=1e-6)


@TARGETS
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_sign_counts_the_exchanged_rows(target: str, n: int) -> None:
    x = np.random.RandomState(n).randn(12, n, n)
    sign, log = run(target, lambda: tf.linalg.slogdet(x))
    expected = np.linalg.slogdet(x)
    np.testing.assert_array_equal(sign, expected[0])
    np.testing.assert_allclose(log, expected[1], rtol=1e-12, atol=1e-12)


@TARGETS
def test_a_singular_matrix_and_an_empty_one_have_theirs(target: str) -> None:
    sign, log = run(target, lambda: tf.linalg.slogdet([[1.0, 2.0], [2.0, 4.0]]))
    assert sign == 0 and log == -np.inf
    sign, log = run(target, lambda: tf.linalg.slogdet(np.zeros((0, 0))))
    assert (sign, log) == (1, 0)


@TARGETS
def test_the_slope_of_the_logarithm_is_the_inverse_transposed(target: str) -> None:
    x = np.random.RandomState(0).randn(2, 3, 3)

    def build() -> Any:
        a = tf.placeholder_with_default(x, None)
        sign, log = tf.linalg.slogdet(a)
        return tf.gradients([sign, log], a, [tf.ones([2], tf.float64), [2.0, 3.0]])[0]

    expected = np.array([2.0, 3.0])[:, None, None] * np.linalg.inv(x).swapaxes(1, 2)
    np.testing.assert_allclose(run(target, build), expected, rtol=1e-10)


# ---- sequences ----


@TARGETS
@pytest.mark.parametrize("blank", [0, -1])
def test_padding_behind_a_sequence_gives_ctc_loss_no_gradient(target: str, blank: int) -> None:
    x = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)
    lengths = [3, 2]

    def build(inputs: Any) -> Any:
        logits = tf.constant(inputs)
        losses = tf.nn.ctc_loss_v2(
            tf.SparseTensor(*LABELS), logits, None, lengths, blank_index=blank
        )
        return [losses, tf.gradients(losses, logits)[0]]

    expected = run(target, lambda: build(x))
    for padding in (np.nan, np.inf, 7):
        padded = x.copy()
        padded[3:, 0] = padded[2:, 1] = padding
        loss, slope = run(target, lambda given=padded: build(given))
        np.testing.assert_array_equal(loss, expected[0])
        np.testing.assert_array_equal(slope, expected[1])
        assert not slope[3:, 0].any() and not slope[2:, 1].any()


# ---- sets and SparseTensorValues ----

FEW = tf.SparseTensorValue(np.array([[0, 0], [1, 0]]), np.array([1, 5]), np.array([2, 1]))
MANY = np.array([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: tf.sets.set_intersection(FEW, MANY), [1]),
        (lambda: tf.sets.set_union(FEW, MANY), [1, 2, 3, 4, 5]),
        (lambda: tf.sets.set_difference(FEW, MANY), [5]),
        (lambda: tf.sets.set_difference(FEW, MANY, aminusb=False), [2, 3, 4]),
        (lambda: tf.sets.set_difference(MANY, FEW), [2, 3, 4]),
    ],
)
def test_sets_take_a_sparse_and_a_dense_one(build: Any, expected: list[int]) -> None:
    assert run("runtime", build).values.tolist() == expected


def test_a_row_beyond_the_shape_of_a_set_is_refused() -> None:
    bad = tf.SparseTensorValue(np.array([[5, 0]]), np.array([1]), np.array([1, 1]))
    for build in (lambda: tf.sets.set_size(bad), lambda: tf.sets.set_union(bad, bad).values):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[5, 0\] is out of bounds"):
            run("runtime", build)
    wide = tf.SparseTensorValue(np.array([[0, 5]]), np.array([1]), np.array([1, 1]))
    assert run("runtime", lambda: tf.sets.set_size(wide, validate_indices=False)).tolist() == [1]


def test_a_sparse_tensor_value_is_serialized() -> None:
    value, row = (
        run("runtime", lambda f=f: f(FEW)) for f in (tf.serialize_sparse, tf.serialize_many_sparse)
    )
    assert value.shape == (3,) and row.shape == (2, 3)

    def again() -> Any:
        return tf.deserialize_many_sparse(value[None], tf.int64, rank=2)

    assert run("runtime", again).values.tolist() == FEW.values.tolist()


# ---- losses of several replicas ----


def test_a_batch_of_nobody_has_the_average_loss_0() -> None:
    assert run("runtime", lambda: tf.nn.compute_average_loss([1.0], global_batch_size=0)) == 0
    assert run("runtime", lambda: tf.nn.compute_average_loss([1.0], global_batch_size=4)) == 0.25


@pytest.mark.parametrize(
    ("size", "kind"),
    [(10.0, TypeError), ([10], ValueError), (-1, tf.errors.InvalidArgumentError)],
)
def test_a_batch_size_is_a_count(size: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="global_batch_size must be"):
        run("runtime", lambda: tf.nn.compute_average_loss([1.0], global_batch_size=size))


# ---- structures ----


def test_a_mapping_is_another_type_of_structure_than_a_sequence() -> None:
    for one, two in (({"a": 1}, [1]), (((3, 4), 5), {"a": (3, 4), "b": 5}), ([], {})):
        with pytest.raises(TypeError, match="different types"):
            tf.nest.assert_same_structure(one, two)
        tf.nest.assert_same_structure(one, two, check_types=False)
    with pytest.raises(ValueError, match="keys differ"):
        tf.nest.assert_same_structure({"a": 1}, {"b": 1})
    tf.nest.assert_same_structure({"a": 1}, {"b": 1}, check_types=False)


# ---- SparseTensors that only a run can check ----


def sparse(indices: Any, values: Any, shape: Any) -> Any:
    parts = (tf.constant(indices, tf.int64), tf.constant(values), tf.constant(shape, tf.int64))
    return tf.SparseTensor(*(tf.placeholder_with_default(p, None) for p in parts))


@TARGETS
@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (([[5, 0]], ["a"], [1, 1]), r"indices\[0\] = \[5, 0\] is out of bounds"),
        (([[0, 0], [-1, 0]], ["a", "b"], [1, 1]), r"indices\[1\] = \[-1, 0\] is out of bounds"),
        (([0, 0], ["a"], [1, 1]), r"Input indices should be a matrix but received shape \[2\]"),
        (([[0, 0]], "a", [1, 1]), r"Input values should be a vector but received shape \[\]"),
        (([[0, 0]], ["a"], 1), r"Input shape should be a vector but received shape \[\]"),
        (([[0, 0]], ["a"], [1]), r"expected for 1 values of a tensor of rank 1: \[1, 1\]"),
        (([[0, 0], [0, 1]], ["a"], [1, 2]), r"expected for 1 values of a tensor of rank 2"),
    ],
)
def test_python_refuses_arrays_that_are_no_sparse_tensor(
    target: str, parts: tuple[Any, ...], words: str
) -> None:
    builds: list[Callable[[Any], Any]] = [
        lambda x: tf.sparse.cross([x]).values,
        lambda x: tf.sparse.cross_hashed([x]).values,
        lambda x: tf.edit_distance(x, x),
        tf.sets.set_size,
        lambda x: tf.sets.set_union(x, x).values,
        tf.serialize_many_sparse,
    ]
    for build in builds:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(target, lambda build=build: build(sparse(*parts)))


# ---- tensors as messages ----


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.uint8).reshape(2, 3), np.float32(1.5), np.zeros((0, 2), np.int64),
        np.array([b"a", b"bc"], object), np.array([True, False]), np.array([1 + 2j]),
        np.array([1.5, -2], tf.bfloat16.as_numpy_dtype),
    ],
)  # fmt: skip
def test_the_bytes_of_a_tensor_proto_are_parsed(value: Any) -> None:
    message = tf.make_tensor_proto(value)
    text = message.SerializeToString()
    kind = tf.as_dtype(message.dtype)
    found = run("runtime", lambda: tf.io.parse_tensor(text, kind))
    np.testing.assert_array_equal(found, value)
    assert run("runtime", lambda: tf.io.serialize_tensor(value)) == text or value.size <= 1
    again = type(message).FromString(text)
    assert again == message
    np.testing.assert_array_equal(tf.make_ndarray(again), value)
