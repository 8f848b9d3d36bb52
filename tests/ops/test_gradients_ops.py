"""Every differentiable operator against finite differences, first and second order."""

from __future__ import annotations

import numpy as np
import pytest
from folders import ROOT
from gradient_check import away, check, pos

import graphio as tf

CASES = {
    "add a row": (tf.add, away(2, 3), away(3)),
    "subtract outer": (tf.subtract, away(2, 1), away(1, 3)),
    "multiply a column": (tf.multiply, away(2, 3), away(2, 1)),
    "multiply a scalar": (tf.multiply, away(2, 3), away()),
    "divide": (tf.divide, away(2, 3), away(3)),
    "pow": (tf.pow, pos(2, 3), away(3)),
    "pow by constants": (lambda a: a**2 + a**3.0 + 2.0**a, pos(2, 3)),
    "square": (tf.square, away(2, 3)),
    "squared_difference": (tf.squared_difference, away(2, 3), away(3)),
    "sqrt": (tf.sqrt, pos(2, 3)),
    "rsqrt": (tf.rsqrt, pos(2, 3)),
    "reciprocal": (tf.reciprocal, away(2, 3)),
    "exp": (tf.exp, away(2, 3)),
    "expm1": (lambda a: tf.expm1(a * 2.0), away(2, 3)),
    "log": (tf.log, pos(2, 3)),
    "log1p": (lambda a: tf.log1p(a * 3.0), pos(2, 3)),
    "log_sigmoid": (tf.log_sigmoid, away(2, 3)),
    "atan": (tf.atan, away(2, 3)),
    "sin": (tf.sin, away(2, 3)),
    "cos": (tf.cos, away(2, 3)),
    "tan": (tf.tan, away(2, 3)),
    "sinh": (tf.sinh, away(2, 3)),
    "cosh": (tf.cosh, away(2, 3)),
    "tanh": (tf.tanh, away(2, 3)),
    "sigmoid": (tf.sigmoid, away(2, 3)),
    "erf": (tf.erf, away(2, 3)),
    "erfc": (tf.erfc, away(2, 3)),
    "abs": (tf.abs, away(2, 3)),
    "negative": (tf.negative, away(2, 3)),
    "sign": (lambda a: tf.sign(a) * a, away(2, 3)),
    "mod": (lambda a, b: a % b, away(2, 3) * 5, away(3)),
    "maximum": (tf.maximum, away(2, 3), away(2, 3) + 0.004),
    "minimum": (tf.minimum, away(2, 3), away(3) + 0.004),
    "clip_by_value": (lambda a: tf.clip_by_value(a, -0.37, 0.4), away(2, 3)),
    "clip by tensors": (tf.clip_by_value, away(2, 3), away(3) - 0.35, away(3) + 0.35),
    "add_n": (lambda a, b: tf.add_n([a, b, a]), away(2, 3), away(2, 3)),
    "where": (lambda a, b: tf.where(a > 0, a * 2, b * b), away(2, 3), away(2, 3)),
    "where by rows": (lambda a, b: tf.where([True, False], a * a, b * b), away(2, 3), away(2, 3)),
    "cast": (lambda a: tf.cast(tf.cast(a, tf.float64), tf.float64) * a, away(2, 3)),
    "matmul": (tf.matmul, away(2, 3), away(3, 4)),
    "matmul a^T": (lambda a, b: tf.matmul(a, b, transpose_a=True), away(3, 2), away(3, 4)),
    "matmul b^T": (lambda a, b: tf.matmul(a, b, transpose_b=True), away(2, 3), away(4, 3)),
    "matmul a^T b^T": (lambda a, b: tf.matmul(a, b, True, True), away(3, 2), away(4, 3)),
    "matmul batched": (tf.matmul, away(2, 2, 3), away(2, 3, 2)),
    "matmul one matrix for a batch": (tf.matmul, away(2, 2, 3), away(1, 3, 2)),
    "matmul with fewer batch axes": (tf.matmul, away(2, 2, 3), away(3, 2)),
    "tensordot": (lambda a, b: tf.tensordot(a, b, [[1], [0]]), away(2, 3, 2), away(3, 2)),
    "reduce_sum": (lambda a: tf.reduce_sum(a * a), away(2, 3)),
    "reduce_sum axes": (lambda a: tf.reduce_sum(a * a, [0, -1]), away(2, 3, 2)),
    "reduce_sum no axes": (lambda a: tf.reduce_sum(a * a, []), away(2, 3)),
    "reduce_mean": (lambda a: tf.reduce_mean(a * a, 1, keepdims=True), away(2, 3)),
    "reduce_mean of all": (lambda a: tf.reduce_mean(a * a), away(2, 3)),
    "reduce_max": (lambda a: tf.reduce_max(a, 1) ** 2, away(2, 3)),
    "reduce_min": (lambda a: tf.reduce_min(a, 0, keepdims=True) ** 2, away(2, 3)),
    "reduce_prod": (lambda a: tf.reduce_prod(a, 1), away(2, 3)),
    "reduce_logsumexp": (lambda a: tf.reduce_logsumexp(a, 1), away(2, 3)),
    "cumsum": (lambda a: tf.cumsum(a * a, 1), away(2, 3)),
    "cumsum reversed": (lambda a: tf.cumsum(a * a, 0, exclusive=True, reverse=True), away(3, 2)),
    "reshape": (lambda a: tf.reshape(a, [3, -1]) ** 2, away(2, 3)),
    "transpose": (lambda a: tf.transpose(a, [2, 0, 1]) ** 2, away(2, 3, 2)),
    "expand_dims, squeeze": (lambda a: tf.squeeze(tf.expand_dims(a * a, 1), [1]), away(2, 3)),
    "broadcast_to": (lambda a: tf.broadcast_to(a * a, [4, 2, 3]), away(2, 1)),
    "concat": (lambda a, b: tf.concat([a, b * b, a], 1), away(2, 3), away(2, 2)),
    "concat of the last axis": (lambda a: tf.concat([a, a * a], -1), away(2, 3)),
    "stack": (lambda a, b: tf.stack([a, b * a], axis=1), away(2, 3), away(2, 3)),
    "unstack": (lambda a: tf.unstack(a * a, axis=1)[1], away(2, 3)),
    "split": (lambda a: tf.split(a * a, 3, 1)[2] + tf.split(a, 3, 1)[0], away(2, 3)),
    "split by sizes": (lambda a: tf.split(a * a, [2, 1], 1)[0], away(2, 3)),
    "tile": (lambda a: tf.tile(a * a, [2, 3]), away(2, 3)),
    "pad": (lambda a: tf.pad(a * a, [[1, 0], [0, 2]]), away(2, 3)),
    "pad reflect": (lambda a: tf.pad(a * a, [[1, 0], [0, 2]], "REFLECT"), away(2, 3)),
    "reverse": (lambda a: tf.reverse(a * a, [1]), away(2, 3)),
    "a[1]": (lambda a: a[1] ** 2, away(3, 2)),
    "a[:, -1]": (lambda a: a[:, -1] ** 2, away(2, 3)),
    "a[0, 1]": (lambda a: a[0, 1] ** 2, away(2, 3)),
    "a[:, 1:]": (lambda a: a[:, 1:] ** 2, away(2, 3)),
    "a[::-1, ..., None]": (lambda a: a[::-1, ..., None] ** 2, away(2, 3)),
    "a[::2, ::-2]": (lambda a: a[::2, ::-2] ** 2, away(3, 4)),
    "a[-2:, :-1]": (lambda a: a[-2:, :-1] ** 2, away(3, 3)),
    "slice": (lambda a: tf.slice(a, [0, 1], [2, -1]) ** 2, away(2, 3)),
    "gather": (lambda a: tf.gather(a, [2, 0, 2]) ** 2, away(3, 2)),
    "gather of a matrix of rows": (lambda a: tf.gather(a, [[2, 0], [1, 2]]) ** 2, away(3, 2)),
    "gather along axis 1": (lambda a: tf.gather(a, [1, 1, 0], axis=1) ** 2, away(2, 3, 2)),
    "batch_gather": (lambda a: tf.batch_gather(a, [[1, 1], [0, 2]]) ** 2, away(2, 3)),
    "gather_nd": (lambda a: tf.gather_nd(a, [[0, 1], [1, 1], [0, 1]]) ** 2, away(2, 3)),
    "gather_nd of rows": (lambda a: tf.gather_nd(a, [[1], [1]]) ** 2, away(2, 3)),
    "scatter_nd": (lambda a: tf.scatter_nd([[1], [3], [1]], a * a, [4]), away(3)),
    "segment_sum": (lambda a: tf.segment_sum(a * a, [0, 0, 1]), away(3, 2)),
    "unsorted_segment_sum": (lambda a: tf.unsorted_segment_sum(a * a, [1, -1, 1], 3), away(3, 2)),
    "identity": (lambda a: tf.identity(a * a), away(2, 3)),
    "relu": (lambda a: tf.nn.relu(a) ** 2, away(2, 3)),
    "relu6": (lambda a: tf.nn.relu6(a * 10.0) ** 2, away(2, 3)),
    "leaky_relu": (lambda a: tf.nn.leaky_relu(a) ** 2, away(2, 3)),
    "elu": (lambda a: tf.nn.elu(a) ** 2, away(2, 3)),
    "selu": (lambda a: tf.nn.selu(a) ** 2, away(2, 3)),
    "softplus": (tf.nn.softplus, away(2, 3)),
    "softsign": (tf.nn.softsign, away(2, 3)),
    "swish": (tf.nn.swish, away(2, 3)),
    "swish beta": (lambda x: tf.nn.swish(x, 0.25), away(2, 3)),
    "crelu": (lambda a: tf.nn.crelu(a) ** 2, away(2, 3)),
    "bias_add": (lambda a, b: tf.nn.bias_add(a * a, b), away(2, 3), away(3)),
    "bias_add NCHW": (
        lambda a, b: tf.nn.bias_add(a * a, b * b, "NCHW"),
        away(2, 3, 2, 2),
        away(3),
    ),
    "softmax": (tf.nn.softmax, away(2, 3)),
    "softmax axis 0": (lambda a: tf.nn.softmax(a, 0), away(2, 3)),
    "log_softmax": (tf.nn.log_softmax, away(2, 3)),
    "l2_loss": (tf.nn.l2_loss, away(2, 3)),
    "l2_normalize": (lambda a: tf.nn.l2_normalize(a, 1), away(2, 3)),
    "moments": (lambda a: tf.stack(tf.nn.moments(a, [0])), away(3, 2)),
    "batch_normalization": (
        lambda x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 1e-3),
        *(away(3, 2), away(2), pos(2), away(2), away(2)),
    ),
    "softmax cross-entropy": (
        lambda a, b: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(b), logits=a),
        *(away(2, 3), pos(2, 3)),
    ),
    "softmax cross-entropy of a cube along axis 1": (
        lambda a, b: tf.nn.softmax_cross_entropy_with_logits_v2(
            labels=tf.nn.softmax(b, 1), logits=a, axis=1
        ),
        *(away(2, 3, 2), pos(2, 3, 2)),
    ),
    "sparse softmax cross-entropy": (
        lambda a: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=a),
        away(2, 3),
    ),
    "sigmoid cross-entropy": (
        lambda a, b: tf.nn.sigmoid_cross_entropy_with_logits(labels=b, logits=a),
        *(away(2, 3), pos(2, 3)),
    ),
    "weighted cross-entropy": (
        lambda a, b: tf.nn.weighted_cross_entropy_with_logits(b, a, 3.0),
        *(away(2, 3), pos(2, 3)),
    ),
    "embedding_lookup": (lambda a: tf.nn.embedding_lookup(a, [[2, 0], [2, 1]]) ** 2, away(3, 2)),
}

IMAGES = {
    "conv2d SAME": (
        lambda x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"),
        *(away(2, 4, 3, 2), away(3, 2, 2, 3)),
    ),
    "conv2d VALID by 2": (
        lambda x, w: tf.nn.conv2d(x, w, [1, 2, 2, 1], "VALID"),
        *(away(2, 5, 4, 2), away(2, 2, 2, 2)),
    ),
    "conv2d dilated": (
        lambda x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
        *(away(1, 5, 5, 2), away(2, 2, 2, 2)),
    ),
    "conv2d NCHW": (
        lambda x, w: tf.nn.conv2d(x, w, [1, 1, 2, 1], "SAME", data_format="NCHW"),
        *(away(1, 2, 4, 3), away(2, 2, 2, 3)),
    ),
    "depthwise_conv2d": (
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
        *(away(1, 3, 3, 2), away(2, 2, 2, 2)),
    ),
    "conv2d_transpose": (
        lambda x, w: tf.nn.conv2d_transpose(x, w, [1, 4, 4, 2], [1, 2, 2, 1]),
        *(away(1, 2, 2, 3), away(3, 3, 2, 3)),
    ),
    "max_pool SAME": (
        lambda x: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME") ** 2,
        away(1, 5, 4, 2),
    ),
    "max_pool VALID": (
        lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID") ** 2,
        away(1, 5, 4, 2),
    ),
    "avg_pool SAME": (
        lambda x: tf.nn.avg_pool(x, [1, 3, 2, 1], [1, 2, 1, 1], "SAME") ** 2,
        away(1, 5, 4, 2),
    ),
    "avg_pool NCHW": (
        lambda x: tf.nn.avg_pool(x, [1, 1, 2, 2], [1, 1, 2, 2], "VALID", "NCHW") ** 2,
        away(1, 2, 5, 4),
    ),
}

#: these look at sizes while the graph is built
NEEDS_SIZES = {"unstack", "split", "split by sizes"}


@pytest.mark.parametrize("name", [*CASES, *IMAGES])
def test_gradients_agree_with_differences(name: str) -> None:
    function, *values = {**CASES, **IMAGES}[name]
    check(function, values)


@pytest.mark.parametrize("name", [n for n in CASES if n not in NEEDS_SIZES])
def test_gradients_with_sizes_known_only_at_run_time(name: str) -> None:
    function, *values = CASES[name]
    check(function, values, shapes=lambda v: [None] * v.ndim, second=False)


@pytest.mark.parametrize("function", [tf.add, tf.multiply, tf.maximum])
def test_broadcasting_of_unknown_rank_is_summed_back(function: object) -> None:
    values = [away(2, 1, 3), away(4, 1)]
    check(function, values, shapes=lambda v: None, second=False)


def gradient_of(function: object, *values: object) -> list[np.ndarray]:
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.constant(v, tf.float64) for v in values]
        return session.run(tf.gradients(function(*xs), xs))


TIES = [
    ("maximum to the first", tf.maximum, ([1.0], [1.0]), ([1.0], [0.0])),
    ("minimum to the first", tf.minimum, ([1.0], [1.0]), ([1.0], [0.0])),
    ("relu at 0", tf.nn.relu, ([0.0],), ([0.0],)),
    ("relu6 at its bounds", tf.nn.relu6, ([0.0, 6.0, 3.0],), ([0.0, 0.0, 1.0],)),
    ("maximum with 0 at 0", lambda a: tf.maximum(a, 0.0), ([0.0],), ([1.0],)),
    ("abs at 0", tf.abs, ([0.0],), ([0.0],)),
    ("sqrt at 0", tf.sqrt, ([0.0],), ([np.inf],)),
    ("log at 0", tf.log, ([0.0],), ([np.inf],)),
    (
        "clip at its bounds",
        lambda a: tf.clip_by_value(a, -1.0, 1.0),
        ([-1.0, 1.0, 2.0],),
        ([1, 1, 0],),
    ),
    ("reduce_max shares", tf.reduce_max, ([2.0, 1.0, 2.0],), ([0.5, 0, 0.5],)),
    ("reduce_min shares", tf.reduce_min, ([1.0, 1.0, 2.0],), ([0.5, 0.5, 0],)),
    ("reduce_prod with a zero", tf.reduce_prod, ([2.0, 0.0, 3.0],), ([0, 6, 0],)),
    ("reduce_prod with two zeros", tf.reduce_prod, ([2.0, 0.0, 0.0],), ([0, 0, 0],)),
    ("a power of what is not positive", tf.pow, ([-2.0, 0.0], [2.0, 3.0]), ([-4, 0], [0, 0])),
    (
        "sigmoid cross-entropy at 0",
        lambda a: tf.nn.sigmoid_cross_entropy_with_logits(labels=[0.25], logits=a),
        ([0.0],),
        ([0.25],),
    ),
]


@pytest.mark.parametrize(
    ("function", "at", "expected"), [t[1:] for t in TIES], ids=[t[0] for t in TIES]
)
def test_ties_go_where_tensorflow_sends_them(
    function: object, at: object, expected: object
) -> None:
    for found, expected_values in zip(gradient_of(function, *at), expected, strict=True):
        np.testing.assert_array_equal(found, expected_values)


CUTS = {
    "argmax": lambda a: tf.cast(tf.argmax(a, 0), tf.float64),
    "floor": tf.floor,
    "ceil": tf.ceil,
    "round": tf.round,
    "floordiv": lambda a: a // 2.0,
    "comparison": lambda a: tf.cast(a > 0, tf.float64),
    "cast to int": lambda a: tf.cast(tf.cast(a, tf.int32), tf.float64),
    "shape": lambda a: tf.cast(tf.shape(a), tf.float64),
    "stop_gradient": tf.stop_gradient,
}


@pytest.mark.parametrize("name", list(CUTS))
def test_no_gradient_passes_these(name: str) -> None:
    x = tf.constant([1.5, -2.5], tf.float64)
    assert tf.gradients(CUTS[name](x), [x]) == [None]


def test_sign_conducts_zeros() -> None:
    np.testing.assert_array_equal(gradient_of(tf.sign, [3.0, 0.0])[0], [0, 0])


def test_gather_gives_indexed_slices_with_repeats_kept() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.constant(np.arange(6.0).reshape(3, 2))
        (found,) = tf.gradients(tf.gather(table, [[2, 0], [2, 2]]), [table])
        assert isinstance(found, tf.IndexedSlices)
        values, indices = session.run([found.values, found.indices])
        np.testing.assert_array_equal(indices, [2, 0, 2, 2])
        np.testing.assert_array_equal(values, np.ones((4, 2)))
        dense = session.run(tf.convert_to_tensor(found))
        np.testing.assert_array_equal(dense, [[1, 1], [0, 0], [3, 3]])


def test_gather_of_rows_without_elements_has_a_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, at = tf.placeholder(tf.float64, [None, None]), tf.placeholder(tf.int32, [None])
        rows = tf.gradients(tf.gather(x, at), x)[0]
        assert session.run(rows.values, {x: np.zeros((4, 0)), at: [1, 1, 3]}).shape == (3, 0)


def test_gather_along_another_axis_gives_a_dense_gradient() -> None:
    table = tf.constant(np.ones((2, 3)))
    (found,) = tf.gradients(tf.gather(table, [1, 1], axis=1), [table])
    assert isinstance(found, tf.Tensor) and found.shape.as_list() == [2, 3]


def test_labels_of_the_older_cross_entropy_conduct_nothing() -> None:
    logits, labels = (tf.constant(away(2, 3)) for _ in range(2))
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    found = tf.gradients(loss, [logits, labels])
    assert found[0] is not None and found[1] is None


def test_a_transpose_is_not_transposed_again() -> None:
    with tf.Graph().as_default() as graph:
        a, b = tf.constant(away(3, 2)), tf.constant(away(3, 4))
        tf.gradients(tf.matmul(a, b, transpose_a=True), [a, b])
        assert sum(op.op == "Transpose" for op in graph.get_operations()) == 3


def test_every_operator_of_ours_says_whether_it_has_a_gradient() -> None:
    import json
    from types import SimpleNamespace

    from graphio.framework.gradient_registry import lookup

    table = ROOT / "schema" / "graphio_operators.json"
    for row in json.loads(table.read_text())["operators"]:
        if row["family"] in ("training",) or not row["inputs"]:
            continue
        operation = SimpleNamespace(
            domain="graphio",
            op=row["name"],
            tf_type=row["name"],
            type=row["name"],
            name="x",
            where="",
        )
        if row["name"] == "IgammaGradA":  # nothing computes a second derivative by a
            with pytest.raises(LookupError, match="the second derivative of igamma by a"):
                lookup(operation)
            continue
        found = lookup(operation)
        assert (found is not None) == row["differentiable"], row["name"]
