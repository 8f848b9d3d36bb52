"""Dtypes: what Python's and numpy's values become, what mixes, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


VALUES = [
    (1.0, tf.float32), (1, tf.int32), (2**40, tf.int64), (True, tf.bool), ("a", tf.string),
    (b"a", tf.string), (1j, tf.complex128), ([], tf.float32), ([1, 2.0], tf.float32),
    (np.zeros(2), tf.float64), (np.array([1]), tf.int64), (np.int16(1), tf.int16),
    (np.float64(2), tf.float64), ((1, 2), tf.int32), ([True, False], tf.bool),
]  # fmt: skip


@pytest.mark.parametrize(("value", "dtype"), VALUES, ids=[repr(v) for v, _ in VALUES])
def test_the_dtype_of_a_constant(value: Any, dtype: Any) -> None:
    assert tf.constant(value).dtype == dtype


X: Any = lambda: tf.constant([1.0, 2.0])  # noqa: E731
K: Any = lambda: tf.constant([1, 2])  # noqa: E731
MIXED: dict[str, tuple[Callable[[], Any], Any]] = {
    "tensor + array": (lambda: X() + np.ones(1), tf.float32),
    "array + tensor": (lambda: np.ones(1) + X(), tf.float32),
    "array - tensor": (lambda: np.ones(2) - X(), tf.float32),
    "float64 * tensor": (lambda: np.float64(2) * X(), tf.float32),
    "array / tensor": (lambda: np.ones(2) / X(), tf.float32),
    "array < tensor": (lambda: np.zeros(2) < X(), tf.bool),
    "matmul with an array": (lambda: tf.matmul(tf.ones([2, 2]), np.ones((2, 2))), tf.float32),
    "the first argument rules": (lambda: tf.maximum(X(), 0), tf.float32),
    "numbers alone": (lambda: tf.add(1.0, 2), tf.float32),
    "int / int": (lambda: K() / 2, tf.float64),
    "int / reflected": (lambda: 2 / K(), tf.float64),
    "int8 / int8": (lambda: tf.constant(1, tf.int8) / tf.constant(2, tf.int8), tf.float32),
    "int // int": (lambda: K() // 2, tf.int32),
    "mean of ints": (lambda: tf.reduce_mean(K()), tf.int32),
    "argmax": (lambda: tf.argmax(X(), 0), tf.int64),
    "where": (lambda: tf.where(X() > 0), tf.int64),
    "count_nonzero": (lambda: tf.count_nonzero(X()), tf.int64),
    "shape": (lambda: tf.shape(X()), tf.int32),
    "range of floats": (lambda: tf.range(0, 2.0), tf.float32),
    "one_hot": (lambda: tf.one_hot([1], 2), tf.float32),
}


@pytest.mark.parametrize("case", MIXED)
def test_the_dtype_of_a_result(case: str) -> None:
    build, dtype = MIXED[case]
    assert build().dtype == dtype


REFUSED: dict[str, Callable[[], Any]] = {
    "a number first": lambda: tf.maximum(0, X()),
    "int, then float": lambda: tf.add(1, 2.0),
    "float + int tensors": lambda: X() + K(),
    "float32 + float64": lambda: X() + tf.ones([2], tf.float64),
    "matmul": lambda: tf.matmul(tf.ones([2, 2]), tf.ones([2, 2], tf.float64)),
    "int + 1.5": lambda: K() + 1.5,
    "int ** 2.0": lambda: K() ** 2.0,
    "1.5 - int": lambda: 1.5 - K(),
    "concat": lambda: tf.concat([X(), K()], 0),
    "stack": lambda: tf.stack([X(), K()]),
    "- of bool": lambda: -tf.constant(True),
    "& of floats": lambda: X() & X(),
    "reduce_all of floats": lambda: tf.reduce_all(X()),
    "sqrt of ints": lambda: tf.sqrt(K()),
    "a fraction as int": lambda: tf.constant(1.5, tf.int32),
}


@pytest.mark.parametrize("case", REFUSED)
def test_dtypes_that_do_not_mix_are_type_errors(case: str) -> None:
    with pytest.raises(TypeError):
        REFUSED[case]()


def test_constants_refuse_what_is_no_array() -> None:
    for wrong in ([[1, 2], [3]], None):
        with pytest.raises(ValueError):
            tf.constant(wrong)
    with pytest.raises((TypeError, ValueError)):
        tf.constant([1, 2, 3], shape=[2])
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.constant(1.0), tf.int32)


@TARGETS
def test_division_of_integers(target: str) -> None:
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    results = [x // y, x % y, tf.truncatediv(x, y), tf.truncatemod(x, y), tf.div(x, y)]
    feeds = {x: [7, -7, 7, -7], y: [2, 2, -2, -2]}
    wants = [[3, -4, -4, 3], [1, 1, -1, -1], [3, -3, -3, 3], [1, -1, 1, -1], [3, -4, -4, 3]]
    with tf.Session(target) as session:
        assert [v.tolist() for v in session.run(results, feeds)] == wants
        for result in results:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                session.run(result, {x: [1, 1], y: [1, 0]})
        assert session.run(x / y, {x: [1], y: [0]}).tolist() == [np.inf]


def test_a_constant_divisor_is_not_checked_by_the_run(graph: tf.Graph) -> None:
    tf.shape(tf.placeholder(tf.float32, [None]))[0] // 2
    assert "NonZeroDivisor" not in {op.op for op in graph.get_operations()}


@TARGETS
def test_casts_truncate_and_rounding_is_to_even(target: str) -> None:
    with tf.Session(target) as session:
        assert session.run(tf.cast([1.7, -1.7], tf.int32)).tolist() == [1, -1]
        assert session.run(tf.convert_to_tensor(np.float64(1.7), tf.int32)) == 1
        assert session.run(tf.cast([0.0, 2.0], tf.bool)).tolist() == [False, True]
        assert session.run(tf.round([0.5, 1.5, 2.5, -0.5])).tolist() == [0, 2, 2, 0]


def test_what_a_dtype_knows() -> None:
    assert tf.float32 == "float32" == tf.dtypes.float32 and tf.float32 == np.float32
    assert (tf.float32.limits, tf.int8.limits) == ((0, 1), (-128, 127))
    assert tf.dtypes.cast(1.5, tf.int32).dtype == tf.int32
    assert tf.as_dtype(float) == tf.float32 and {tf.float32: 1}[tf.as_dtype("float")] == 1
    with pytest.raises(TypeError):
        tf.as_dtype("nope")


X: Any = lambda: tf.ones([1, 4, 4, 1])  # noqa: E731
FRACTIONS: dict[str, Any] = {
    "zeros": lambda: tf.zeros([1.5]), "ones": lambda: tf.ones([6 / 2, 3]),
    "expand_dims": lambda: tf.expand_dims(X(), 0.5), "reduce_sum": lambda: tf.reduce_sum(X(), 0.5),
    "concat": lambda: tf.concat([X(), X()], 0.5), "stack": lambda: tf.stack([X(), X()], 0.5),
    "split": lambda: tf.split(X(), 1.5), "slice": lambda: tf.slice(tf.ones([3]), [0], [1.5]),
    "transpose": lambda: tf.transpose(tf.ones([2, 3]), [1.0, 0.0]),
    "one_hot": lambda: tf.one_hot([1], 3.5), "eye": lambda: tf.eye(2.5),
    "pad": lambda: tf.pad(tf.ones([3]), [[1.5, 1]]),
    "max_pool": lambda: tf.nn.max_pool(X(), [1, 2.5, 2, 1], [1, 2, 2, 1], "SAME"),
    "conv2d": lambda: tf.nn.conv2d(X(), tf.ones([1, 1, 1, 1]), [1, 1.5, 1, 1], "SAME"),
}  # fmt: skip


@pytest.mark.parametrize("name", FRACTIONS)
def test_sizes_and_axes_are_whole_numbers(name: str) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=r"integer|'float'"):
        FRACTIONS[name]()


@TARGETS
def test_pythons_operators_of_bits_work_on_bits_of_integers_and_on_truth(target: str) -> None:
    x, truth = tf.constant([6, 3]), tf.constant([True, False])
    made = [x & 3, x | [8, 8], x ^ 1, ~x, 2 & x, truth & True, truth ^ truth, ~truth]
    with tf.Session(target) as session:
        values = [v.tolist() for v in session.run(made)]
    assert values == [
        [2, 3], [14, 11], [7, 2], [-7, -4], [2, 2], [True, False], [False, False], [False, True],
    ]  # fmt: skip


def test_pythons_operators_of_bits_do_not_mix_integers_and_truth() -> None:
    x, truth, text = tf.constant([6, 3]), tf.constant([True, False]), tf.constant("a")
    uses: list[Callable[[], object]] = [
        lambda: x & truth, lambda: truth | x, lambda: text ^ text, lambda: ~tf.constant(1.0),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(TypeError):
            use()


def test_what_says_how_it_becomes_a_tensor_does() -> None:
    class Points:
        def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> tf.Tensor:
            return tf.constant((1, 2), dtype=dtype, name=name)

    made = tf.convert_to_tensor(Points(), tf.int64, name="points")
    assert (made.dtype, made.op.name) == (tf.int64, "points")
    Points.__tf_tensor__ = lambda self, dtype=None, name=None: made  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="requested dtype"):
        tf.convert_to_tensor(Points(), tf.int32)


def test_sizes_of_a_shape_and_array_interfaces_become_constants() -> None:
    class Held:
        __array_interface__ = np.array([[b"ab", b"c"]]).__array_interface__

    with tf.Session() as session:
        assert session.run(tf.constant([[tf.Dimension(2)], [3]], tf.int64)).tolist() == [[2], [3]]
        assert session.run(tf.constant(Held())).tolist() == [[b"ab", b"c"]]
    with pytest.raises(TypeError, match="Dimension"):
        tf.constant([10, tf.Dimension(20)])


def test_quantized_types_are_described_as_records_of_one_integer() -> None:
    found = [(t.name, t.size, int(t), t.is_quantized, t.is_integer) for t in (tf.qint8, tf.quint16)]
    assert found == [("qint8", 1, 11, True, False), ("quint16", 2, 16, True, False)]
    assert tf.as_dtype(tf.qint32.as_numpy_dtype) is tf.qint32


@pytest.mark.parametrize("dtype", [tf.qint8, tf.quint8, tf.resource, tf.variant], ids=str)
def test_no_tensor_has_a_type_that_is_but_a_name(graph: tf.Graph, dtype: Any) -> None:
    with pytest.raises(TypeError, match=f"'x' would have dtype {dtype.name}"):
        tf.placeholder(dtype, name="x")
    assert not graph.get_operations()


def test_every_number_of_tensorflow_gives_its_dtype() -> None:
    numbers = sorted({*range(1, 34)} - {27})  # float8_e4m3b11fnuz has no counterpart
    numbers += [100 + number for number in numbers]
    assert [tf.DType(number).as_datatype_enum for number in numbers] == numbers


@pytest.mark.parametrize("number", [0, 99, 134])
def test_a_number_that_is_no_dtype_is_refused(number: int) -> None:
    with pytest.raises(TypeError, match=f"Cannot convert value {number}"):
        tf.DType(number)


def test_a_reference_type_is_another_than_its_base_and_tensors_have_the_base() -> None:
    reference = tf.as_dtype("float32_ref")
    assert (reference.name, reference.base_dtype, reference.size) == ("float32_ref", tf.float32, 4)
    assert reference != tf.float32
    assert tf.float32.is_compatible_with(reference)
    assert not reference.is_compatible_with(tf.float32)
    assert tf.get_variable("v", [1], reference).dtype is tf.float32
    assert tf.zeros([1], reference).dtype is tf.float32


AMONG_NUMBERS = [
    (lambda: tf.constant(True, tf.int32), tf.int32, 1),
    (lambda: tf.constant([2, True]), tf.int32, [2, 1]),
    (lambda: tf.constant([1.5, False]), tf.float32, [1.5, 0]),
    (lambda: tf.constant([2, 3]) * True, tf.int32, [2, 3]),
    (lambda: tf.constant([2.5]) + True, tf.float32, [3.5]),
    (lambda: tf.convert_to_tensor(True, tf.uint8), tf.uint8, 1),
]


@TARGETS
@pytest.mark.parametrize("case", range(len(AMONG_NUMBERS)))
def test_bools_among_numbers_are_1_and_0(target: str, case: int) -> None:
    build, dtype, expected = AMONG_NUMBERS[case]
    made = build()
    assert made.dtype == dtype
    np.testing.assert_array_equal(tf.Session(target).run(made), expected)


def test_numbers_are_no_bools() -> None:
    for value in (1, 1.0, [True, 0], "a"):
        with pytest.raises(TypeError, match="Expected bool"):
            tf.constant(value, tf.bool)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([np.float64(1.5)], tf.float32), ([np.int64(3)], tf.int32), ([np.int64(2**40)], tf.int64),
        ((np.float64(1), np.int64(2)), tf.float32), ([np.float16(1)], tf.float16),
        ([np.uint8(1), np.uint8(2)], tf.uint8), ([[np.float64(1)]], tf.float32),
    ],
)  # fmt: skip
def test_numpy_s_numbers_in_a_list_are_as_python_s(values: Any, dtype: Any) -> None:
    assert tf.constant(values).dtype == dtype
    assert tf.stack(values).dtype == dtype


def test_stacked_arrays_keep_their_dtype() -> None:
    for dtype in (np.float64, np.int64, np.float16, np.int8):
        assert tf.stack([np.ones(2, dtype), np.zeros(2, dtype)]).dtype == dtype
        assert tf.stack([np.ones(2, dtype)], axis=1).dtype == dtype
        whole = tf.stack(np.ones((2, 2), dtype))
        assert (whole.op.type, whole.dtype) == ("Const", dtype)


@TARGETS
def test_arrays_of_numbers_become_bools_for_logic(target: str) -> None:
    x, y = np.array([1.5, 0.0]), np.array([2, 3])
    made = [tf.logical_and(x, y), tf.logical_xor([True, True], y), tf.logical_not(x)]
    expected = [[True, False], [False, False], [False, True]]
    np.testing.assert_array_equal(tf.Session(target).run(made), expected)
    for logic in (tf.logical_and, tf.logical_or):
        with pytest.raises(TypeError, match="expected bool"):
            logic(tf.constant([1]), True)
    with pytest.raises(TypeError, match="Expected bool"):
        tf.logical_or([1], [True])


def test_what_a_feed_cannot_be_is_refused_as_numpy_refuses_it() -> None:
    fed = tf.placeholder(tf.int32)
    with tf.Session() as session:
        for value in ([1, None], {1: 2}, {1}, ..., object()):
            with pytest.raises(TypeError, match="is not compatible with Tensor"):
                session.run(tf.identity(fed), {fed: value})
        with pytest.raises(ValueError, match="is not compatible with Tensor"):
            session.run(tf.identity(fed), {fed: "a"})


@pytest.mark.parametrize("value", [3, [3], 2.5, "a"], ids=repr)
@pytest.mark.parametrize("dtype", [tf.qint8, tf.variant], ids=str)
def test_python_values_are_nothing_of_a_type_without_tensors(value: Any, dtype: Any) -> None:
    for make in (tf.constant, tf.make_tensor_proto, tf.convert_to_tensor):
        with pytest.raises(TypeError, match=f"Expected {dtype.name}, got .* instead"):
            make(value, dtype)


PAIRS: dict[str, Any] = {
    "absolute_difference": tf.losses.absolute_difference, "hinge": tf.losses.hinge_loss,
    "mean_squared": tf.losses.mean_squared_error, "log": tf.losses.log_loss,
    "huber": tf.losses.huber_loss, "pairwise": tf.losses.mean_pairwise_squared_error,
    "cosine": lambda a, b: tf.losses.cosine_distance(a, b, axis=1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_losses_of_differences_are_computed_in_float32(dtype: str) -> None:
    x = np.ones((2, 2), dtype)
    assert {name: loss(x, x).dtype for name, loss in PAIRS.items()} == dict.fromkeys(
        PAIRS, tf.float32
    )


def test_losses_of_logits_keep_their_dtype() -> None:
    for dtype in (tf.float16, tf.float64):
        x = tf.ones([2, 2], dtype)
        assert tf.losses.sigmoid_cross_entropy(x, x).dtype == dtype
        assert tf.losses.softmax_cross_entropy(x, x).dtype == dtype


@TARGETS
def test_numbers_become_the_floats_that_a_function_wants(target: str) -> None:
    image = np.arange(8.0).reshape(1, 2, 2, 2)
    made = [
        tf.image.crop_and_resize(image, [[0, 0, 1, 1]], [0], [2, 2]),
        tf.nn.in_top_k(np.array([[2, -1], [1, 3]]), [0, 0], 1),
    ]
    cut, top = tf.Session(target).run(made)
    np.testing.assert_array_equal(cut, image)
    assert top.tolist() == [True, False]


@TARGETS
def test_sizes_of_shapes_are_fed_as_numbers(target: str) -> None:
    shape = tf.placeholder(tf.float32, [2, 3]).shape
    fed = tf.placeholder(tf.int64)
    with tf.Session(target) as session:
        for value, expected in ((shape, [2, 3]), (shape[1], 3), ([shape[0], 7], [2, 7])):
            assert session.run(tf.identity(fed), {fed: value}).tolist() == expected
        with pytest.raises(TypeError, match="is not compatible with Tensor"):
            session.run(tf.identity(fed), {fed: tf.TensorShape([None, 2])})


@TARGETS
def test_a_constant_of_no_values_is_zeros_of_its_shape(target: str) -> None:
    made = [
        tf.constant([], shape=[2, 2]), tf.constant([], tf.int32, shape=[]),
        tf.constant([], tf.bool, shape=[1]), tf.constant([], tf.string, shape=[2]),
    ]  # fmt: skip
    found = [x.tolist() for x in tf.Session(target).run(made)]
    assert found == [[[0, 0], [0, 0]], 0, [False], [b"", b""]]


@TARGETS
def test_numpy_s_bool_decides_a_condition(target: str) -> None:
    made = [tf.cond(np.bool_(x), lambda: 1, lambda: 2) for x in (True, False)]
    assert tf.Session(target).run(made) == [1, 2]
    with pytest.raises(TypeError, match="Python bool"):
        tf.cond(True, lambda: 1, lambda: 2)


def test_more_boxes_than_int32_counts_are_not_chosen() -> None:
    for choose in (tf.image.non_max_suppression, tf.image.non_max_suppression_padded):
        with pytest.raises(TypeError, match="not match expected type of int32"):
            choose(tf.ones([1, 4]), [5.0], 2**31)
