"""Arguments that TensorFlow takes: values of other kinds, newer names, other shapes."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS, Table, check, gives

import graphio as tf

CASES: Table = {}
LOGITS = np.array([[1, 2, 3], [1, 1, 1]], np.float32)
LOSSES = [0.407606, 1.098612]


class Held:
    """An array behind one protocol."""

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array)


class ByArray(Held):
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._array if dtype is None else self._array.astype(dtype)


class ByDlpack(Held):
    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


# ---- labels of cross entropies ----


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int64", "float16", "float64"])
@pytest.mark.parametrize(
    "loss",
    [tf.nn.softmax_cross_entropy_with_logits, tf.nn.softmax_cross_entropy_with_logits_v2],
    ids=["first", "v2"],
)
def test_labels_of_any_numbers_are_cast_to_the_dtype_of_the_logits(
    loss: Any, kind: str, target: str
) -> None:
    labels = np.array([[0, 0, 1], [1, 0, 0]], kind)
    with tf.Graph().as_default(), tf.Session(target) as session:
        for given in (labels, labels.tolist(), tf.constant(labels)):
            found = session.run(loss(labels=given, logits=LOGITS))
            np.testing.assert_allclose(found, LOSSES, rtol=1e-5)


def test_labels_of_strings_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="labels have DataType string, expected numbers"):
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=[["a"]], logits=[[1.0]])


@gives(CASES, LOSSES)
def labels_in_a_list_of_one_have_as_many_rows() -> Any:
    x, y = (tf.placeholder(tf.float32, [None, 3]) for _ in range(2))
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=[y])
    return loss, {x: LOGITS, y: [[0, 0, 1], [1, 0, 0]]}


@gives(CASES, np.full([2, 2], np.log(3)))
def logits_of_more_axes_keep_their_shape_beside_flat_labels() -> Any:
    return tf.nn.softmax_cross_entropy_with_logits_v2(
        logits=tf.zeros([2, 2, 3]), labels=tf.one_hot([0, 1, 2, 0], 3)
    )


@gives(CASES, [2.407606, 1.098612])
def one_row_of_labels_serves_all_rows() -> Any:
    return tf.nn.softmax_cross_entropy_with_logits_v2(logits=LOGITS, labels=[[1.0, 0, 0]])


@gives(CASES, [2.407606, 1.098612])
def one_row_of_labels_serves_as_many_rows_as_are_fed() -> Any:
    x = tf.placeholder(tf.float32, [None, 3])
    return tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=[[1.0, 0, 0]]), {x: LOGITS}


@gives(CASES, [[-0.909969, 0.244728, 0.665241], [-0.666667, 0.333333, 0.333333]])
def logits_have_a_gradient_beside_one_row_of_labels() -> Any:
    x = tf.constant(LOGITS)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=[[1, 0, 0]])
    return tf.gradients(loss, x)[0]


@gives(CASES, 0.948154)
def weighted_cross_entropy_calls_targets_labels() -> Any:
    return tf.nn.weighted_cross_entropy_with_logits(labels=1.0, logits=0.5, pos_weight=2.0)


def test_both_names_of_an_argument_are_refused() -> None:
    with pytest.raises(ValueError, match="Can't specify both 'labels' and 'targets'"):
        tf.nn.weighted_cross_entropy_with_logits(1.0, 0.5, 2.0, targets=1.0)


@gives(CASES, sum(LOSSES) / 2)
def integer_weights_are_cast_to_the_losses() -> Any:
    return tf.losses.sparse_softmax_cross_entropy([2, 0], LOGITS, weights=tf.constant(1))


# ---- the newer names of arguments of convolutions ----


def _ones(*shape: int) -> Any:
    return tf.ones(shape)


#: the convolution of ones with ones, dilated, and how large the result is; each sum is 3 ** axes
DILATED = {
    "one axis": (
        lambda x, w: tf.nn.convolution(x, filters=w, padding="VALID", dilations=[2]), 1, 3.0,
    ),
    "two axes": (
        lambda x, w: tf.nn.convolution(x, w, padding="VALID", dilations=[2, 2]), 2, 9.0,
    ),
    "three axes": (
        lambda x, w: tf.nn.convolution(x, w, padding="VALID", dilations=[2, 2, 2]), 3, 27.0,
    ),
    "channels": (
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID", dilations=[2, 2]), 2, 9.0,
    ),
    "separable": (
        lambda x, w: tf.nn.separable_conv2d(
            x, w, [[[[1.0]]]], [1, 1, 1, 1], "VALID", dilations=[2, 2]
        ), 2, 9.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", DILATED)
def test_dilations_spread_the_window(name: str, target: str) -> None:
    build, axes, total = DILATED[name]
    with tf.Graph().as_default(), tf.Session(target) as session:
        y = build(_ones(1, *[8] * axes, 1), _ones(*[3] * axes, 1, 1))
        np.testing.assert_array_equal(session.run(y), np.full([1, *[4] * axes, 1], total))


def test_dilations_and_dilation_rate_are_one_argument() -> None:
    with pytest.raises(ValueError, match="'dilations' and 'dilation_rate', its old name"):
        tf.nn.convolution(_ones(1, 8, 8, 1), _ones(3, 3, 1, 1), "VALID", None, 2, dilations=2)


@gives(CASES, np.array([[[1, 1, 2, 1, 1]]]).reshape(1, 5, 1, 1) * np.ones([1, 5, 5, 1])
       * np.array([1, 1, 2, 1, 1]).reshape(1, 1, 5, 1))  # fmt: skip
def transposed_convolution_takes_new_names() -> Any:
    return tf.nn.conv2d_transpose(
        input=_ones(1, 2, 2, 1) * 1.0, filters=_ones(3, 3, 1, 1), output_shape=[1, 5, 5, 1],
        strides=2, padding="VALID",
    )  # fmt: skip


@gives(CASES, np.repeat([2.0, 6.0, 2.0, 6.0], [1, 1, 1, 1]).reshape(1, 1, 1, 4)[..., [0, 0, 1, 1]])
def groups_of_channels_have_filters_of_their_own() -> Any:
    x = tf.constant(np.array([1, 1, 3, 3], np.float32).reshape(1, 1, 1, 4))
    return tf.nn.conv2d(x, _ones(1, 1, 2, 4), 1, "VALID")


@gives(CASES, [[[[4.0, 4.0, 4.0, 4.0]]]])
def groups_of_channels_have_gradients() -> Any:
    x = _ones(1, 1, 1, 4)
    y = tf.nn.conv2d(x, _ones(1, 1, 2, 4), 1, "VALID")
    return tf.gradients(tf.reduce_sum(y * y) / 2, x)[0]


def test_filters_that_do_not_share_evenly_are_refused() -> None:
    with pytest.raises(ValueError, match="3 filters do not share evenly among the 2 groups"):
        tf.nn.conv2d(_ones(1, 4, 4, 4), _ones(1, 1, 2, 3), 1, "VALID")


PAIRS = [[0, 0], [1, 2], [0, 1], [0, 0]]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_gradients_by_explicit_padding_are_those_of_the_padded_convolution(
    form: str, target: str
) -> None:
    draw = np.random.default_rng(0)
    shape, pairs = ([2, 5, 6, 2], PAIRS)
    if form == "NCHW":
        shape, pairs = [2, 2, 5, 6], [PAIRS[0], PAIRS[3], *PAIRS[1:3]]
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(draw.normal(size=shape).astype(np.float32))
        w = tf.constant(draw.normal(size=[3, 2, 2, 3]).astype(np.float32))
        y = tf.nn.conv2d(x, w, 1, pairs, data_format=form)
        dy = tf.constant(draw.normal(size=y.shape.as_list()).astype(np.float32))
        found = [
            tf.nn.conv2d_backprop_input(shape, w, dy, 1, pairs, data_format=form),
            tf.nn.conv2d_backprop_filter(x, [3, 2, 2, 3], dy, 1, pairs, data_format=form),
        ]
        for one, other in zip(*session.run([found, tf.gradients(y, [x, w], dy)]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@gives(CASES, np.pad(np.ones([2, 2]), [[1, 2], [0, 1]]).reshape(1, 5, 3, 1))
def depthwise_convolution_pads_explicitly() -> Any:
    return tf.nn.depthwise_conv2d(_ones(1, 2, 2, 1), _ones(1, 1, 1, 1), [1, 1, 1, 1], PAIRS)


# ---- values of other kinds ----

NUMBERS = np.array([1.0, 2.5], dtype=object)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind, expected", [("float32", [1, 2.5]), ("int32", [1, 2])])
def test_an_array_of_numbers_as_objects_is_fed(kind: str, expected: Any, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(kind, [None])
        np.testing.assert_array_equal(session.run(tf.identity(x), {x: NUMBERS}), expected)


def test_an_object_that_is_no_number_is_not_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        with pytest.raises(ValueError, match="objects, such as NoneType"):
            session.run(tf.identity(x), {x: np.array([1.0, None])})


@pytest.mark.parametrize("wrap", [ByArray, ByDlpack])
@pytest.mark.parametrize(
    "take",
    [
        tf.constant,
        tf.convert_to_tensor,
        lambda value: tf.Variable(value).initialized_value(),
        lambda value: tf.constant(1.0) * value,
        lambda value: tf.data.Dataset.from_tensor_slices(value).batch(2)
        .make_one_shot_iterator().get_next(),
    ],
    ids=["constant", "convert_to_tensor", "Variable", "operand", "dataset"],
)  # fmt: skip
def test_an_array_behind_a_protocol_is_taken_wherever_a_tensor_is(take: Any, wrap: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(take(wrap(np.array([1, 2], np.float32))))
        np.testing.assert_array_equal(found, [1, 2])


@gives(CASES, [1.0, 2.5])
def an_array_of_objects_is_a_constant_of_the_dtype_requested() -> Any:
    return tf.constant(NUMBERS, tf.float32)


@gives(CASES, [[1.0, 2.0], [3.0, 4.0]])
def a_list_may_hold_arrays_of_other_libraries() -> Any:
    return tf.constant([ByArray([1.0, 2.0]), ByArray([3.0, 4.0])])


# ---- collections of other kinds ----


def test_variables_may_come_as_anything_that_gives_them() -> None:
    for chosen in (lambda d: d.values(), lambda d: set(d.values()), lambda d: iter(d.values())):
        with tf.Graph().as_default(), tf.Session() as session:
            named = {"a": tf.Variable(1.0), "b": tf.Variable(2.0)}
            step = tf.train.GradientDescentOptimizer(0.5).minimize(
                named["a"] * named["b"], var_list=chosen(named)
            )
            session.run(tf.global_variables_initializer())
            session.run(step)
            assert session.run([named["a"], named["b"]]) == [0.0, 1.5]


def test_a_fetch_keeps_the_class_of_its_mapping() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        given = collections.defaultdict(list, b=tf.constant(2), a=[tf.constant(1)])
        found = session.run(given)
        assert isinstance(found, collections.defaultdict) and found["c"] == []
        assert list(found) == ["b", "a", "c"] and found["a"] == [1] and found["b"] == 2
        ordered = session.run(collections.OrderedDict(b=given["b"], a=given["a"]))
        assert type(ordered) is collections.OrderedDict and list(ordered) == ["b", "a"]


def test_an_optimizer_tells_its_variables_of_the_graph_at_hand() -> None:
    optimizer, names = tf.train.MomentumOptimizer(0.1, 0.9), []
    for name in "ab":
        with tf.Graph().as_default():
            optimizer.minimize(tf.Variable(1.0, name=name) * 1.0)
            names.append([v.name for v in optimizer.variables()])
    assert names == [["a/Momentum:0"], ["b/Momentum:0"]]


class Scaled:
    factor = 10.0

    @tf.custom_gradient
    def multiply(self, x: Any, y: Any) -> Any:
        return x * y, lambda g: (g * self.factor, g * self.factor * 2)


@gives(CASES, [10.0, 20.0])
def a_method_has_a_gradient_of_its_own() -> Any:
    x, y = tf.constant(3.0), tf.constant(5.0)
    return tf.gradients(Scaled().multiply(x, y), [x, y])


# ---- versions ----


def test_programs_read_the_version_of_tensorflow_whose_interface_it_is() -> None:
    assert tf.__version__ == tf.VERSION == tf.version.VERSION == "1.15.5"
    assert tf.graphio_version != tf.VERSION


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_the_value_is_tensorflow_s(name: str, target: str) -> None:
    check(CASES, name, target)
