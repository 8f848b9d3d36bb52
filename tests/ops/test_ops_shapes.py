"""Builders while the graph is built: static shapes, dtypes, names, refusals."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import graphio as tf


def p(*shape: int | None, dtype: object = None) -> object:
    return tf.placeholder(tf.float32 if dtype is None else dtype, list(shape))


def anything() -> object:
    return tf.placeholder(tf.float32, None)


SHAPES: dict[str, tuple[Callable[[], object], object]] = {
    "matmul of an open batch": (lambda: tf.matmul(p(None, 3), p(3, 4)), [None, 4]),
    "matmul transposed": (lambda: tf.matmul(p(3, None), p(4, 3), True, True), [None, 4]),
    "matmul of a batch": (lambda: tf.matmul(p(5, 1, 2, 3), p(4, 3, 6)), [5, 4, 2, 6]),
    "add of a row": (lambda: p(None, 3) + p(1, 3), [None, 3]),
    "add of a size": (lambda: p(None, 3) + p(5, 3), [5, 3]),
    "add of a column": (lambda: p(None, 3) + p(5, 1), [5, 3]),
    "add of a vector": (lambda: p(None, 3) + p(3), [None, 3]),
    "add of unknown rank": (lambda: anything() + p(3), None),
    "concat of open sizes": (lambda: tf.concat([p(None, 3), p(None, 3)], 0), [None, 3]),
    "concat along the other axis": (lambda: tf.concat([p(None, 3), p(2, 3)], 1), [2, 6]),
    "reshape with -1": (lambda: tf.reshape(p(None, 3), [-1, 4]), [None, 4]),
    "reshape to a known size": (lambda: tf.reshape(p(2, 3, 4), [2, 2, -1]), [2, 2, 6]),
    "sum": (lambda: tf.reduce_sum(p(None, 3), 1), [None]),
    "sum of all": (lambda: tf.reduce_sum(anything()), []),
    "sum, axes kept": (lambda: tf.reduce_sum(p(None, 3), [0], keepdims=True), [1, 3]),
    "sum, old names": (
        lambda: tf.reduce_sum(p(2, 3), reduction_indices=[0], keep_dims=True),
        [1, 3],
    ),
    "argmax": (lambda: tf.argmax(p(None, 3), 1), [None]),
    "transpose": (lambda: tf.transpose(p(2, None, 4)), [4, None, 2]),
    "expand_dims": (lambda: tf.expand_dims(p(2, None), -1), [2, None, 1]),
    "squeeze": (lambda: tf.squeeze(p(1, 2, 1)), [2]),
    "squeeze of one": (lambda: tf.squeeze(p(1, None, 1), [0]), [None, 1]),
    "stack": (lambda: tf.stack([p(None, 3), p(2, 3)], 1), [2, 2, 3]),
    "unstack": (lambda: tf.unstack(p(None, 3), axis=1)[0], [None]),
    "split": (lambda: tf.split(p(None, 6), 3, 1)[0], [None, 2]),
    "split by sizes": (lambda: tf.split(p(None, 6), [1, -1], 1)[1], [None, 5]),
    "split of an open axis": (lambda: tf.split(p(None, 6), 2)[0], [None, 6]),
    "tile": (lambda: tf.tile(p(2, None), [3, 1]), [6, None]),
    "pad": (lambda: tf.pad(p(2, None), [[1, 1], [0, 2]]), [4, None]),
    "gather": (lambda: tf.gather(p(None, 3), p(2, 2, dtype=tf.int32)), [2, 2, 3]),
    "gather_nd": (lambda: tf.gather_nd(p(2, 3, 4), p(5, 2, dtype=tf.int32)), [5, 4]),
    "one_hot": (lambda: tf.one_hot(p(None, dtype=tf.int32), 4), [None, 4]),
    "one_hot in front": (lambda: tf.one_hot(p(None, dtype=tf.int32), 4, axis=0), [4, None]),
    "range": (lambda: tf.range(2, 9, 3), [3]),
    "fill of a shape": (lambda: tf.fill([2, tf.shape(p(None, 3))[1]], 0.0), [2, 3]),
    "zeros of a shape": (lambda: tf.zeros(tf.shape(p(None, 3))), [None, 3]),
    "a shape through reshape": (lambda: _reshaped_to_itself(), [None, 3]),
    "a shape through stack": (lambda: _stacked_shape(), [None, 3]),
    "x[0]": (lambda: p(None, 3)[0], [3]),
    "x[1:, ..., None]": (lambda: p(4, 5, 6)[1:, ..., None], [3, 5, 6, 1]),
    "x[::-2]": (lambda: p(5, 2)[::-2], [3, 2]),
    "x[-2:, 0]": (lambda: p(5, 2)[-2:, 0], [2]),
    "x[:n] of an open size": (lambda: p(None, 2)[:3], [None, 2]),
    "x[i] of a tensor": (lambda: p(5, 2)[tf.constant(1) + p(dtype=tf.int32)], [2]),
    "x[i:] of a tensor": (lambda: p(5, 2)[p(dtype=tf.int32) :], [None, 2]),
    "slice to the end": (lambda: tf.slice(p(5, 4), [1, 2], [-1, 1]), [4, 1]),
    "where": (lambda: tf.where(p(2, dtype=tf.bool), p(2, 3), p(None, 3)), [2, 3]),
    "conv2d SAME": (
        lambda: tf.nn.conv2d(p(None, 7, 5, 3), p(3, 3, 3, 8), [1, 2, 2, 1], "SAME"),
        [None, 4, 3, 8],
    ),
    "conv2d VALID": (
        lambda: tf.nn.conv2d(p(2, 7, None, 3), p(3, 2, 3, 8), [1, 1, 1, 1], "VALID"),
        [2, 5, None, 8],
    ),
    "conv2d NCHW": (
        lambda: tf.nn.conv2d(p(2, 3, 7, 5), p(3, 3, 3, 8), 1, "SAME", data_format="NCHW"),
        [2, 8, 7, 5],
    ),
    "max_pool": (
        lambda: tf.nn.max_pool(p(2, 7, 5, 3), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        [2, 3, 2, 3],
    ),
    "cross-entropy": (
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=p(None, 3), logits=p(5, 3)),
        [5],
    ),
    "sparse cross-entropy": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=p(None, 4, dtype=tf.int32), logits=p(2, None, 3)
        ),
        [2, 4],
    ),
    "embedding_lookup": (
        lambda: tf.nn.embedding_lookup(p(9, 4), p(None, 2, dtype=tf.int64)),
        [None, 2, 4],
    ),
    "dropout": (lambda: tf.nn.dropout(p(None, 3), keep_prob=0.5), [None, 3]),
    "random_normal of a shape": (lambda: tf.random_normal(tf.shape(p(None, 3))), [None, 3]),
    "tensordot": (lambda: tf.tensordot(p(2, None, 3), p(3, 5), 1), [2, None, 5]),
}


def _reshaped_to_itself() -> object:
    x = p(None, 3)
    return tf.reshape(x, tf.shape(x))


def _stacked_shape() -> object:
    x = p(None, 3)
    return tf.reshape(x, tf.stack([tf.shape(x)[0], 3]))


@pytest.mark.parametrize("name", list(SHAPES))
def test_static_shape(name: str) -> None:
    with tf.Graph().as_default():
        build, expected = SHAPES[name]
        shape = build().shape
        assert (None if shape.ndims is None else shape.as_list()) == expected


REFUSALS: dict[str, tuple[Callable[[], object], type, str]] = {
    "matmul": (
        lambda: tf.matmul(p(2, 3), p(2, 3)),
        ValueError,
        r"are 3 and 2 for 'MatMul' \(op: 'MatMul'\) with input shapes: \[2,3\], \[2,3\].",
    ),
    "matmul of a vector": (lambda: tf.matmul(p(3), p(3, 2)), ValueError, "rank 2 but is rank 1"),
    "add": (lambda: p(2, 3) + p(4), ValueError, "must be equal, but are 3 and 4"),
    "reshape": (
        lambda: tf.reshape(p(2, 3), [4, 2]),
        ValueError,
        r"Cannot reshape a tensor with 6 elements to shape \[4,2\] \(8 elements\)",
    ),
    "reshape that does not divide": (
        lambda: tf.reshape(p(2, 3), [4, -1]),
        ValueError,
        "evenly divisible by 4 but is 6",
    ),
    "concat": (
        lambda: tf.concat([p(2, 3), p(3, 2)], 0),
        ValueError,
        "must be equal, but are 3 and 2",
    ),
    "concat of scalars": (lambda: tf.concat([p(), p()], 0), ValueError, "use tf.stack instead"),
    "stack": (lambda: tf.stack([p(2), p(3)]), ValueError, "must be equal"),
    "axis of a sum": (lambda: tf.reduce_sum(p(2, 3), 2), ValueError, r"axis 2 is out of range"),
    "transpose": (lambda: tf.transpose(p(2, 3), [0, 0]), ValueError, "not a permutation"),
    "squeeze": (lambda: tf.squeeze(p(2, 3), [1]), ValueError, "expected a dimension of 1, got 3"),
    "index past the end": (lambda: p(2, 3)[2], ValueError, "index 2 of dimension 0 out of bounds"),
    "too many indices": (lambda: p(2)[0, 0], ValueError, "has 1 axes, but 2"),
    "index by a float": (lambda: p(2)[0.5], TypeError, "must be an integer"),
    "slice past the end": (lambda: tf.slice(p(5), [3], [3]), ValueError, "begin . size"),
    "split": (lambda: tf.split(p(5), 2), ValueError, "evenly divisible by 2 but is 5"),
    "unstack of open size": (lambda: tf.unstack(p(None, 3)), ValueError, "give num"),
    "zeros of open size": (lambda: tf.zeros([None, 2]), TypeError, "None is not a size"),
    "zeros of negative size": (lambda: tf.zeros([-1]), ValueError, "negative size"),
    "two dtypes": (
        lambda: tf.add(p(2), p(2, dtype=tf.int32)),
        TypeError,
        "int32 that does not match type float32",
    ),
    "the first argument fixes the dtype": (
        lambda: tf.maximum(0, p(2)),
        TypeError,
        "does not match",
    ),
    "int + float": (lambda: tf.constant([1]) + 1.5, TypeError, "int32"),
    "sqrt of ints": (lambda: tf.sqrt(tf.constant([1])), TypeError, "expected a floating dtype"),
    "logic of floats": (lambda: tf.logical_and(p(2), p(2)), TypeError, "expected bool"),
    "channels": (
        lambda: tf.nn.conv2d(p(1, 5, 5, 3), p(3, 3, 4, 8), 1, "SAME"),
        ValueError,
        "the input has 3 channels, the filter expects 4",
    ),
    "window too large": (
        lambda: tf.nn.max_pool(p(1, 2, 2, 1), 3, 1, "VALID"),
        ValueError,
        "larger than its input",
    ),
    "strides of the batch": (
        lambda: tf.nn.avg_pool(p(1, 5, 5, 3), 2, [2, 1, 1, 1], "SAME"),
        tf.errors.UnimplementedError,
        "must be 1",
    ),
    "padding": (
        lambda: tf.nn.max_pool(p(1, 4, 4, 1), 2, 2, "FULL"),
        ValueError,
        "'SAME' or 'VALID'",
    ),
    "positional labels": (
        lambda: tf.nn.softmax_cross_entropy_with_logits(p(2, 3), p(2, 3)),
        ValueError,
        "named arguments",
    ),
    "labels of another shape": (
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=p(2), logits=p(3)),
        ValueError,
        r"must have the same shape \(\[3\] vs \[2\]\)",
    ),
    "keep_prob": (lambda: tf.nn.dropout(p(2), keep_prob=0.0), ValueError, r"range \(0, 1\]"),
    "bias": (lambda: tf.nn.bias_add(p(2, 3), p(4)), ValueError, "must be equal, but are 3 and 4"),
    "uniform integers without a bound": (
        lambda: tf.random_uniform([2], dtype=tf.int32),
        ValueError,
        "maxval",
    ),
}


@pytest.mark.parametrize("name", list(REFUSALS))
def test_refusals_teach_and_leave_no_operation(name: str) -> None:
    build, error, words = REFUSALS[name]
    with tf.Graph().as_default() as graph:
        with pytest.raises(error, match=words):
            build()
        kinds = {op.type for op in graph.get_operations()}
        assert kinds <= {"Placeholder", "Const", "Relu", "StopGradient", "ExpandDims", "Cast"}


#: calls that give an argument under its name and under its old one
TWICE: list[tuple[Callable[[], object], str]] = [
    (lambda: tf.reduce_sum(p(2, 3), axis=0, reduction_indices=1), "axis"),
    (lambda: tf.reduce_any(tf.ones([2]) > 0, axis=0, reduction_indices=0), "axis"),
    (lambda: tf.reduce_max(p(2), keepdims=True, keep_dims=False), "keepdims"),
    (lambda: tf.argmax(p(2, 3), axis=0, dimension=1), "axis"),
    (lambda: tf.argmin(p(2, 3), axis=1, dimension=1), "axis"),
    (lambda: tf.expand_dims(p(2), axis=0, dim=1), "axis"),
    (lambda: tf.squeeze(p(1, 1), axis=0, squeeze_dims=[1]), "axis"),
    (lambda: tf.nn.softmax(p(2, 3), axis=0, dim=1), "axis"),
    (lambda: tf.nn.l2_normalize(p(2, 3), axis=0, dim=1), "axis"),
    (lambda: tf.nn.moments(p(2, 3), [0], keep_dims=True, keepdims=True), "keepdims"),
    (lambda: tf.norm(p(2, 3), keep_dims=True, keepdims=False), "keepdims"),
    (lambda: tf.losses.cosine_distance(p(2), p(2), axis=0, dim=0), "axis"),
    (lambda: tf.reverse_sequence(p(2, 3), [1, 1], seq_axis=1, seq_dim=1), "seq_axis"),
]


@pytest.mark.parametrize("build, argument", TWICE)
def test_an_argument_has_one_name_in_a_call(build: Callable[[], object], argument: str) -> None:
    words = rf"Can't specify both '{argument}' and '\w+', its old name; give '{argument}' alone"
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        build()


DTYPES = [
    (lambda: tf.constant([1]) / 2, "float64"),
    (lambda: tf.constant([1]) // 2, "int32"),
    (lambda: tf.constant([1], tf.int8) / tf.constant([2], tf.int8), "float32"),
    (lambda: tf.constant([1.0]) + np.ones(1), "float32"),
    (lambda: np.float64(2) * tf.constant([1.0]), "float32"),
    (lambda: np.ones(1) - tf.constant([1.0]), "float32"),
    (lambda: tf.reduce_mean(tf.constant([1, 2])), "int32"),
    (lambda: tf.argmax([1.0]), "int64"),
    (lambda: tf.argmax([1.0], output_type=tf.int32), "int32"),
    (lambda: tf.shape(p(None)), "int32"),
    (lambda: tf.shape(p(None), out_type=tf.int64), "int64"),
    (lambda: tf.rank(anything()), "int32"),
    (lambda: tf.size(p(None)), "int32"),
    (lambda: tf.range(3), "int32"),
    (lambda: tf.range(3.0), "float32"),
    (lambda: tf.range(tf.constant(3, tf.int64)), "int64"),
    (lambda: p(2) > 0, "bool"),
    (lambda: tf.one_hot([1], 2, dtype=tf.float64), "float64"),
    (lambda: tf.one_hot([1], 2, on_value=5), "int32"),
    (lambda: tf.zeros([1], tf.bool), "bool"),
    (lambda: tf.random_uniform([2], maxval=3, dtype=tf.int64), "int64"),
    (lambda: tf.stack([1, 2]), "int32"),
    (lambda: tf.stack([1.0, 2]), "float32"),
]


@pytest.mark.parametrize("index", range(len(DTYPES)))
def test_dtype(index: int) -> None:
    build, expected = DTYPES[index]
    assert build().dtype.name == expected


def test_parts_are_named_below_the_call() -> None:
    with tf.Graph().as_default() as graph:
        x = p(None, 2)
        tf.shape(x, name="s")
        tf.rsqrt(x)
        x * 2.0
        names = [op.name for op in graph.get_operations()]
    assert names == ["Placeholder", "s/shape", "s", "Rsqrt/sqrt", "Rsqrt", "mul/y", "mul"]


def test_operations_show_tensorflows_types() -> None:
    x = p(2, 2)
    pairs = [
        (x / x, "RealDiv"), (tf.square(x), "Square"), (x // x, "FloorDiv"), (-x, "Neg"),
        (tf.reduce_sum(x), "Sum"), (tf.where(x > 0, x, x), "Select"), (x[0], "StridedSlice"),
        (tf.concat([x, x], 0), "ConcatV2"), (tf.stack([x, x]), "Pack"),
        (tf.maximum(x, x), "Maximum"), (tf.nn.bias_add(x, [1.0, 2.0]), "BiasAdd"), (x != x, None),
    ]  # fmt: skip
    for tensor, expected in pairs[:-1]:
        assert tensor.op.type == expected
    assert pairs[-1][0] is False, "comparison by identity"


def test_reshapes_take_zero_for_a_size_only_where_one_can_occur() -> None:
    x = p(None, 3)
    assert tf.reshape(x, [-1, 3]).op.version < 14
    assert tf.reshape(x, tf.shape(x)).op.attrs["allowzero"] == 1
    assert tf.reshape(tf.zeros([0, 3]), [3, 0]).op.attrs["allowzero"] == 1


def test_every_public_builder_has_a_docstring() -> None:
    from graphio.ops.array import index
    from graphio.ops.array import surface as array
    from graphio.ops.linalg import matmul
    from graphio.ops.math import comparison, elementwise, reduction

    for module in (array, comparison, index, matmul, elementwise, reduction, tf.nn, tf.losses):
        for name in module.__all__:
            assert getattr(module, name).__doc__, f"{module.__name__}.{name}"


def test_a_spec_says_what_a_tensor_is() -> None:
    x = tf.placeholder(tf.int64, [None, 3], name="x")
    spec = tf.TensorSpec.from_tensor(x)
    assert (spec.shape.as_list(), spec.dtype, spec.name) == ([None, 3], tf.int64, "x")
    assert spec == tf.TensorSpec.from_spec(spec) == pickle.loads(pickle.dumps(spec))
    assert len({spec, tf.TensorSpec([None, 3], np.int64, "x")}) == 1
    assert spec != tf.TensorSpec([None, 3], tf.int64, "y") and spec != "x"
    assert repr(tf.TensorSpec(None)) == "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)"
    with pytest.raises(ValueError, match="expected a Tensor"):
        tf.TensorSpec.from_tensor(3)


def test_a_spec_is_compatible_with_what_may_have_its_shape_and_has_its_dtype() -> None:
    spec = tf.TensorSpec([2, None], tf.int32)
    fitting = [tf.placeholder(tf.int32), tf.TensorSpec([None, 5], tf.int32, "n"), [[1], [2]]]
    others = [tf.placeholder(tf.int32, [3, 3]), tf.TensorSpec([2, 5]), [1, 2], [[1.0], [2.0]]]
    assert all(map(spec.is_compatible_with, fitting))
    assert not any(map(spec.is_compatible_with, others))


def test_shape_invariants_may_be_specs() -> None:
    grown = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, [i]], 0)),
        [tf.constant(0), tf.constant([7])],
        shape_invariants=[tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)],
    )[1]
    with tf.Session() as session:
        assert session.run(grown).tolist() == [7, 0, 1, 2]
