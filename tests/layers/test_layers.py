"""tf.layers: names, variables, values, training, refusals; in both engines."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
RNG = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Any:
    RNG.seed(0)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def names(variables: Any) -> list[str]:
    return [v.name for v in variables]


def started(target: str) -> Any:
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return session


# ---- names, variables, reuse ----


def test_layers_and_their_variables_have_tensorflows_names() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    y = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.batch_normalization(y, training=True)
    y = tf.layers.max_pooling2d(y, 2, 2)
    assert y.name == "max_pooling2d/MaxPool:0" and y.shape.as_list() == [None, 4, 4, 4]
    y = tf.layers.flatten(y)
    assert y.name == "flatten/Reshape:0" and y.shape.as_list() == [None, 64]
    y = tf.layers.dense(y, 5)
    assert y.name == "dense/BiasAdd:0"
    y = tf.layers.dense(y, 6, use_bias=False)
    assert y.name == "dense_1/MatMul:0"
    y = tf.layers.dense(y, 7, tf.nn.relu, name="last")
    assert y.name == "last/Relu:0"
    assert names(tf.trainable_variables()) == [
        "conv2d/kernel:0", "conv2d/bias:0", "batch_normalization/gamma:0",
        "batch_normalization/beta:0", "dense/kernel:0", "dense/bias:0", "dense_1/kernel:0",
        "last/kernel:0", "last/bias:0",
    ]  # fmt: skip
    others = set(names(tf.global_variables())) - set(names(tf.trainable_variables()))
    assert others == {"batch_normalization/moving_mean:0", "batch_normalization/moving_variance:0"}


def test_scopes_prefix_a_layer_and_reuse_it() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.variable_scope("net"):
        a = tf.layers.dense(x, 2)
        b = tf.layers.dense(x, 2, name="fc")
    with tf.variable_scope("net", reuse=True):
        tf.layers.dense(x, 2)
    assert a.name == "net/dense/BiasAdd:0" and b.name == "net/fc/BiasAdd:0"
    tf.layers.dense(x, 2, name="own")
    again = tf.layers.dense(x, 2, name="own", reuse=True)
    assert again.name == "own_1/BiasAdd:0"
    assert names(tf.global_variables()) == [
        f"{scope}/{part}:0"
        for scope in ("net/dense", "net/fc", "own")
        for part in ("kernel", "bias")
    ]
    with pytest.raises(ValueError, match="own/kernel already exists"):
        tf.layers.dense(x, 2, name="own")


def test_a_layer_object_makes_its_variables_once() -> None:
    layer = tf.layers.Dense(4, activation="tanh", name="shared")
    assert not layer.built and layer.variables == []
    with pytest.raises(ValueError, match="has not been used yet"):
        layer.scope_name  # noqa: B018
    x = tf.placeholder(tf.float32, [None, 3])
    first, second = layer(x), layer.apply(2.0 * x)
    assert first.name == "shared/Tanh:0" and second.name == "shared/Tanh_1:0"
    assert layer.built and layer.scope_name == layer.name == "shared"
    assert (
        layer.variables == layer.trainable_variables == layer.weights == [layer.kernel, layer.bias]
    )
    assert layer.count_params() == 16 and layer.dtype == tf.float32
    assert names(tf.global_variables()) == ["shared/kernel:0", "shared/bias:0"]
    with pytest.raises(AttributeError, match="called 2 times"):
        layer.output  # noqa: B018
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        layer(tf.zeros([2, 5]))


def test_what_is_not_trainable_is_left_out() -> None:
    x = tf.zeros([2, 3])
    layer = tf.layers.Dense(2, trainable=False)
    layer(x)
    tf.layers.batch_normalization(x, training=True, trainable=False)
    assert tf.trainable_variables() == [] and len(layer.non_trainable_variables) == 2
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_a_layer_of_ones_own() -> None:
    class Scale(tf.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.factor = self.add_variable(
                "factor", [input_shape[-1].value], initializer=tf.constant_initializer(3.0)
            )
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    y = Scale()(tf.ones([2, 2]))
    assert names(tf.global_variables()) == ["scale/factor:0"]
    with started("") as session:
        assert session.run(y).tolist() == [[3, 3], [3, 3]]


def test_regularizers_constraints_and_initializers_reach_the_variables() -> None:
    square = lambda v: 0.5 * tf.reduce_sum(v * v)  # noqa: E731
    layer = tf.layers.Dense(
        2, kernel_initializer=tf.ones_initializer, bias_initializer="ones",
        kernel_regularizer=square, bias_regularizer=square, activity_regularizer=tf.reduce_sum,
        kernel_constraint=tf.identity,
    )  # fmt: skip
    layer(tf.ones([4, 3]))
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert layer.losses == losses and layer.kernel.constraint is tf.identity
    with started("") as session:
        assert session.run(losses) == [3.0, 1.0, 8.0]  # the last is the mean over the batch


# ---- values ----


@TARGETS
def test_dense_multiplies_along_the_last_axis(target: str) -> None:
    x = RNG.rand(2, 5, 3).astype(np.float32)
    layer = tf.layers.Dense(4, bias_initializer=tf.random_normal_initializer())
    y = layer(tf.placeholder_with_default(x, [None, 5, 3]))
    assert y.shape.as_list() == [None, 5, 4]
    with started(target) as session:
        got, kernel, bias = session.run([y, layer.kernel, layer.bias])
    np.testing.assert_allclose(got, x @ kernel + bias, rtol=1e-5, atol=1e-6)


@TARGETS
@pytest.mark.parametrize(
    "kind, axes", [("Conv1D", 1), ("Conv2D", 2), ("Conv3D", 3), ("SeparableConv2D", 2)]
)
def test_channels_first_is_channels_last_transposed(target: str, kind: str, axes: int) -> None:
    x = RNG.rand(2, *(5, 6, 4)[:axes], 3).astype(np.float32)
    make = getattr(tf.layers, kind)
    options = {"padding": "same", "bias_initializer": tf.constant_initializer([1.0, 2.0])}
    last = make(2, 3, name="one", **options)(x)
    with tf.variable_scope("", reuse=True):
        first = make(2, 3, name="one", data_format="channels_first", _scope="one", **options)(
            np.moveaxis(x, -1, 1)
        )
    assert last.shape.as_list() == [2, *x.shape[1:-1], 2]
    with started(target) as session:
        a, b = session.run([last, first])
    np.testing.assert_allclose(np.moveaxis(b, 1, -1), a, rtol=1e-5, atol=1e-6)


@TARGETS
def test_conv2d_is_the_sum_under_its_window(target: str) -> None:
    x = RNG.rand(1, 5, 5, 2).astype(np.float32)
    layer = tf.layers.Conv2D(3, [3, 2], strides=np.array([2, 1]), use_bias=False)
    y = layer(x)
    assert y.shape.as_list() == [1, 2, 4, 3]
    with started(target) as session:
        got, w = session.run([y, layer.kernel])
    want = np.tensordot(x[0, 2:5, 1:3], w, 3)
    np.testing.assert_allclose(got[0, 1, 1], want, rtol=1e-5, atol=1e-6)


@TARGETS
def test_causal_padding_looks_at_the_past_alone(target: str) -> None:
    x = np.arange(5, dtype=np.float32).reshape(1, 5, 1)
    y = tf.layers.conv1d(
        x, 1, 2, padding="causal", dilation_rate=2, kernel_initializer=tf.ones_initializer()
    )
    with started(target) as session:
        assert session.run(y).ravel().tolist() == [0, 1, 2, 4, 6]


@TARGETS
@pytest.mark.parametrize("padding, size", [("same", 6), ("valid", 7)])
@pytest.mark.parametrize("kind", ["Conv2DTranspose", "Conv3DTranspose"])
def test_a_transposed_convolution_enlarges(target: str, padding: str, size: int, kind: str) -> None:
    axes = int(kind[4])
    x = tf.placeholder(tf.float32, [None, *[3] * axes, 2])
    layer = getattr(tf.layers, kind)(4, 3, strides=2, padding=padding)
    y = layer(x)
    assert y.shape.as_list() == [None, *[size] * axes, 4]
    assert layer.kernel.shape.as_list() == [*[3] * axes, 4, 2]
    with started(target) as session:
        assert session.run(y, {x: np.ones((2, *[3] * axes, 2))}).shape == (2, *[size] * axes, 4)


@TARGETS
def test_a_separable_convolution_of_sequences_is_that_of_images_of_one_row(target: str) -> None:
    x = RNG.rand(2, 7, 3).astype(np.float32)
    layer = tf.layers.SeparableConv1D(4, 3, depth_multiplier=2, use_bias=False)
    y = layer(x)
    assert names(layer.variables) == [
        "separable_conv1d/depthwise_kernel:0", "separable_conv1d/pointwise_kernel:0",
    ]  # fmt: skip
    with started(target) as session:
        got, deep, point = session.run([y, layer.depthwise_kernel, layer.pointwise_kernel])
    windows = np.stack([x[:, i : i + 3] for i in range(5)], 1)  # n, position, window, channel
    between = np.einsum("npwc,wcm->npcm", windows, deep).reshape(2, 5, 6)
    np.testing.assert_allclose(got, between @ point[0], rtol=1e-5, atol=1e-6)


@TARGETS
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pooling_takes_the_largest_or_the_mean_of_a_window(target: str, axes: int) -> None:
    x = RNG.rand(2, *[4] * axes, 3).astype(np.float32)
    largest = getattr(tf.layers, f"max_pooling{axes}d")(x, 2, 2)
    mean = getattr(tf.layers, f"average_pooling{axes}d")(x, 2, 2)
    split = x.reshape(2, *[2] * (2 * axes), 3)
    inner = tuple(range(2, 2 * axes + 2, 2))
    with tf.Session(target) as session:
        a, b = session.run([largest, mean])
    np.testing.assert_array_equal(a, split.max(inner))
    np.testing.assert_allclose(b, split.mean(inner), rtol=1e-6)


@TARGETS
def test_dropout_drops_while_training_alone(target: str) -> None:
    x = np.ones((40, 50), np.float32)
    training = tf.placeholder(tf.bool, [])
    always = tf.layers.dropout(x, 0.25, seed=1, training=True)
    requested = tf.layers.dropout(x, 0.25, seed=1, training=training)
    rows = tf.layers.dropout(x, 0.5, noise_shape=[None, 1], training=True)
    never = tf.layers.dropout(x, 0.25)
    assert never.name == "dropout_3/Identity:0"
    with tf.Session(target) as session:
        a, b, c = session.run([always, requested, rows], {training: True})
        plain = session.run([requested, never], {training: False})
    for values in (a, b):
        assert (
            set(np.unique(values)) == {0, np.float32(1 / 0.75)} and 0.2 < (values == 0).mean() < 0.3
        )
    assert np.all(c == c[:, :1]) and 0 < (c == 0).mean() < 1
    np.testing.assert_array_equal(plain, [x, x])


# ---- batch normalisation ----


@TARGETS
@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("shape, axis", [((6, 3), -1), ((4, 2, 5, 3), -1), ((4, 3, 2, 5), 1)])
def test_batch_normalization_follows_the_batches(
    target: str, as_tensor: bool, shape: tuple[int, ...], axis: int
) -> None:
    training = tf.placeholder(tf.bool, []) if as_tensor else True
    feeds = {training: True} if as_tensor else {}
    x = (RNG.rand(*shape) * 3 + 1).astype(np.float32)
    others = tuple(i for i in range(len(shape)) if i != axis % len(shape))
    layer = tf.layers.BatchNormalization(axis, momentum=0.9)
    y = layer.apply(tf.placeholder_with_default(x, shape), training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert updates == layer.updates and len(updates) == 2
    with started(target) as session:
        got, *_ = session.run([y, *updates], feeds)
        mean, variance = session.run([layer.moving_mean, layer.moving_variance])
        if as_tensor:
            still, *_ = session.run([y, *updates], {training: False})
            after = session.run([layer.moving_mean, layer.moving_variance])
    kept = x.mean(others, keepdims=True), x.var(others, keepdims=True)
    np.testing.assert_allclose(got, (x - kept[0]) / np.sqrt(kept[1] + 1e-3), rtol=1e-3, atol=1e-5)
    count = x.size / 3
    sample = count / (count - 1) if len(shape) == 4 else 1.0
    np.testing.assert_allclose(mean, 0.1 * kept[0].ravel(), rtol=1e-4)
    np.testing.assert_allclose(variance, 0.9 + 0.1 * sample * kept[1].ravel(), rtol=1e-4)
    if as_tensor:
        np.testing.assert_array_equal(after, [mean, variance])
        at = [m.reshape(kept[0].shape) for m in (mean, variance)]
        np.testing.assert_allclose(still, (x - at[0]) / np.sqrt(at[1] + 1e-3), rtol=1e-4, atol=1e-5)


def test_batch_normalization_has_the_parameters_requested() -> None:
    x = tf.zeros([2, 4])
    tf.layers.batch_normalization(x, center=False, scale=False, name="bare")
    tf.layers.batch_normalization(x, [0, 1], name="places")
    tf.layers.batch_normalization(tf.zeros([2, 4], tf.float16), name="half")
    found = {v.op.name: v for v in tf.global_variables()}
    assert [n for n in found if n.startswith("bare")] == [
        "bare/moving_mean",
        "bare/moving_variance",
    ]
    assert found["places/gamma"].shape.as_list() == [2, 4]
    assert found["half/gamma"].dtype == tf.float32
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


@TARGETS
def test_a_network_of_layers_learns(target: str) -> None:
    tf.set_random_seed(4)
    images = RNG.rand(32, 8, 8, 1).astype(np.float32)
    classes = (images[:, :4].mean((1, 2, 3)) > images[:, 4:].mean((1, 2, 3))).astype(np.int64)
    x, training = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.bool, [])
    y = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
    y = tf.layers.batch_normalization(y, training=training)
    y = tf.layers.dropout(tf.layers.flatten(y), 0.1, training=training)
    logits = tf.layers.dense(y, 2)
    loss = tf.losses.sparse_softmax_cross_entropy(classes, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with started(target) as session:
        before = session.run(loss, {x: images, training: True})
        for _ in range(40):
            session.run(step, {x: images, training: True})
        after = session.run(loss, {x: images, training: False})
    assert after < 0.5 * before


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_flatten_makes_a_vector_a_column(target: str) -> None:
    x = tf.placeholder(tf.float32, [None])
    column = tf.layers.flatten(x)
    assert column.shape.as_list() == [None, 1]
    assert tf.layers.flatten(tf.zeros([3])).shape.as_list() == [3, 1]
    with tf.Session(target) as session:
        assert session.run(column, {x: [1.0, 2.0]}).tolist() == [[1.0], [2.0]]
        assert session.run(column, {x: []}).shape == (0, 1)


# ---- refusals ----


@pytest.mark.parametrize(
    "build, kind, words",
    [
        (
            lambda: tf.layers.dense(tf.zeros([3]), 2),
            ValueError,
            "min_ndim=2, found ndim=1",
        ),
        (
            lambda: tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2),
            ValueError,
            "last dimension of the inputs to `Dense` should be defined",
        ),
        (lambda: tf.layers.dense(tf.zeros([2, 2], tf.int32), 2), TypeError, "non-floating"),
        (
            lambda: tf.layers.dense(tf.placeholder(tf.float32), 2),
            ValueError,
            "requires a defined rank",
        ),
        (
            lambda: tf.layers.conv2d(tf.zeros([2, 784]), 2, 3),
            ValueError,
            r"Input 0 of layer conv2d_1 is incompatible .* expected ndim=4, found ndim=2",
        ),
        (
            lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [1, 4, 4, None]), 2, 3),
            ValueError,
            "channel dimension",
        ),
        (lambda: tf.layers.Conv2D(2, 3, padding="full"), ValueError, "`padding`.*'full'"),
        (lambda: tf.layers.Conv2D(2, (3, 3, 3)), ValueError, "`kernel_size`.*tuple of 2"),
        (lambda: tf.layers.Conv2D(2, None), ValueError, "`kernel_size`"),
        (lambda: tf.layers.Conv2D(2, 3, strides=0), ValueError, "`strides`"),
        (lambda: tf.layers.Conv2D(2, 3, data_format="NHWC"), ValueError, "channels_first"),
        (lambda: tf.layers.MaxPooling1D(2, 2)(tf.zeros([2, 3])), ValueError, "expected ndim=3"),
        (lambda: tf.layers.Dropout(1.5), ValueError, "rate"),
        (lambda: tf.layers.Dense(2, activation="wavy"), ValueError, "wavy.*relu"),
        (lambda: tf.layers.Dense(2, wrong=1), TypeError, "not understood"),
        (lambda: tf.layers.batch_normalization(tf.zeros([2, 2]), 5), ValueError, "Invalid axis"),
        (
            lambda: tf.layers.batch_normalization(tf.placeholder(tf.float32, [2, None])),
            ValueError,
            "undefined `axis`",
        ),
        (
            lambda: tf.layers.BatchNormalization(renorm=True, renorm_clipping={"rmix": 2.0}),
            ValueError,
            "rmix",
        ),
        (
            lambda: tf.layers.batch_normalization(tf.zeros([2, 2]), virtual_batch_size=-1),
            ValueError,
            "virtual_batch_size is -1",
        ),
        (
            lambda: tf.layers.batch_normalization(tf.zeros([2, 2]), 0, virtual_batch_size=1),
            ValueError,
            "axis 0",
        ),
        (
            lambda: tf.layers.batch_normalization(
                tf.zeros([2, 2]), virtual_batch_size=1, adjustment=lambda shape: (1.0, 0.0)
            ),
            ValueError,
            "adjustment",
        ),
        (
            lambda: tf.layers.batch_normalization(tf.zeros([2, 3, 3, 1]), renorm=True, fused=True),
            ValueError,
            "fused.*renorm",
        ),
        (lambda: tf.layers.MaxPooling2D(2, None), ValueError, "`strides`"),
        (lambda: tf.layers.Flatten()(tf.constant(0.0)), ValueError, "min_ndim=1"),
        (
            lambda: tf.layers.Conv2D(2, 3, strides=2, dilation_rate=(1, 2))(tf.zeros([1, 5, 5, 1])),
            ValueError,
            "strides > 1 not supported in conjunction with dilation_rate > 1",
        ),
        (
            lambda: tf.layers.Conv1D(2, 3, 2, "causal", dilation_rate=2)(tf.zeros([1, 5, 1])),
            ValueError,
            "strides > 1 not supported in conjunction with dilation_rate > 1",
        ),
        (
            lambda: tf.layers.batch_normalization(tf.zeros([2, 2]), fused=True),
            ValueError,
            "fused",
        ),
    ],
)
def test_what_a_layer_cannot_take_is_refused(build: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        build()
    assert tf.global_variables() == []


def test_a_failed_call_leaves_graph_and_layer_as_they_were() -> None:
    x = tf.placeholder(tf.float32, [None, 4, 4, 1])
    layer = tf.layers.Conv2D(2, 9, kernel_regularizer=tf.nn.l2_loss)
    for build in (
        lambda: tf.layers.conv2d(x, 2, 9, name="own"),
        lambda: tf.layers.conv2d(x, 2, 9),
        lambda: layer(x),
    ):
        with pytest.raises(ValueError, match="conv2d|own"):
            build()
    assert len(tf.get_default_graph().get_operations()) == 1 and not layer.built
    assert layer.variables == [] and layer.losses == [] and layer.kernel is None
    assert tf.layers.conv2d(x, 2, 3, name="own").name == "own/BiasAdd:0"
    assert tf.layers.conv2d(x, 2, 3).name == "conv2d/BiasAdd:0"
    assert layer(tf.zeros([1, 9, 9, 1])).name == "conv2d_1/BiasAdd:0"
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_a_copy_of_a_layer_shares_its_variables() -> None:
    layer = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer())
    y = layer(tf.constant([[1.0, 2.0]]))
    copied = copy.deepcopy(layer)
    again = copied(tf.constant([[2.0, 3.0]]))
    assert copied.kernel is layer.kernel and copied.graph is layer.graph
    assert copied.variables == layer.variables and len(tf.global_variables()) == 2
    assert layer.output is y
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(sess.run([y, again]), [[[3.0, 3.0]], [[5.0, 5.0]]])


def test_layers_without_names_are_counted_from_one() -> None:
    assert [tf.layers.Dense(1).name for _ in range(2)] == ["dense_1", "dense_2"]
    with tf.variable_scope("inner"):
        layer = tf.layers.Dense(1)
        assert layer.name == "dense_3" and layer(tf.zeros([1, 1])).name == "inner/dense/BiasAdd:0"


def test_what_a_custom_getter_keeps_from_training_is_not_trainable() -> None:
    def fixed(getter: Any, *arguments: Any, **options: Any) -> Any:
        options["trainable"] = False
        return getter(*arguments, **options)

    with tf.variable_scope("root", custom_getter=fixed):
        layer = tf.layers.Dense(1)
        layer(tf.zeros([1, 1]))
    assert layer.trainable_variables == [] and len(layer.non_trainable_variables) == 2


_BATCH = np.random.default_rng(7).normal(2.0, 3.0, (4, 3)).astype(np.float32)


@TARGETS
def test_a_renormalised_batch_is_corrected_by_averages_without_their_bias(target: str) -> None:
    x, training = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(
        momentum=0.5, epsilon=0.5, renorm=True, renorm_momentum=0.75, scale=False,
        renorm_clipping={"rmin": 0.9, "rmax": 1.1, "dmax": 0.2},
    )  # fmt: skip
    y = layer(x, training=training)
    assert len(layer.variables) == 7 and len(layer.updates) == 2
    means, stddevs, weight, moving = np.zeros(3), np.zeros(3), 0.0, np.zeros(3)
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            batch = _BATCH * (step + 1)
            mean, stddev = batch.mean(0), np.sqrt(batch.var(0) + 0.5)
            mixed_mean = means + (1 - weight) * mean
            mixed_stddev = stddevs + (1 - weight) * stddev
            r = np.clip(stddev / mixed_stddev, 0.9, 1.1)
            d = np.clip((mean - mixed_mean) / mixed_stddev, -0.2, 0.2)
            found, *_ = sess.run([y, *layer.updates], {x: batch, training: True})
            np.testing.assert_allclose(found, (batch - mean) / stddev * r + d, rtol=1e-4, atol=1e-5)
            means += (mean - means) / 4
            stddevs += (stddev - stddevs) / 4
            weight += (1 - weight) / 4
            moving += (means / weight - moving) / 2
            kept, *_ = sess.run([layer.moving_mean, *layer.updates], {x: batch, training: False})
            np.testing.assert_allclose(kept, moving, rtol=1e-4)


@TARGETS
def test_parts_of_a_batch_are_normalised_each_by_its_own_moments(target: str) -> None:
    x = tf.placeholder(tf.float32, [None, 2, 3])
    layer = tf.layers.BatchNormalization(1, momentum=0.5, virtual_batch_size=2, epsilon=0.25)
    y = layer(x, training=True)
    batch = np.random.default_rng(8).normal(1.0, 2.0, (6, 2, 3)).astype(np.float32)
    parts = batch.reshape(2, 3, 2, 3)
    mean = parts.mean((0, 3), keepdims=True)
    expected = (parts - mean) / np.sqrt(parts.var((0, 3), keepdims=True) + 0.25)
    assert y.shape.as_list() == [None, 2, 3]
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        found, *_ = sess.run([y, *layer.updates], {x: batch})
        np.testing.assert_allclose(found, expected.reshape(6, 2, 3), rtol=1e-4, atol=1e-5)
        kept = mean.mean(1, keepdims=True) / 2
        np.testing.assert_allclose(sess.run(layer.moving_mean), kept, rtol=1e-4)


@TARGETS
def test_an_adjustment_holds_while_training_only(target: str) -> None:
    x, training = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.bool, [])
    requested = []

    def adjustment(shape: Any) -> Any:
        requested.append(shape)
        return tf.constant([1.0, 2.0, 3.0]), tf.constant([0.5, 0.0, -1.0])

    layer = tf.layers.BatchNormalization(
        adjustment=adjustment,
        gamma_initializer=tf.constant_initializer(2.0),
        beta_initializer=tf.ones_initializer(),
    )
    y = layer(x, training=training)
    normal = (_BATCH - _BATCH.mean(0)) / np.sqrt(_BATCH.var(0) + 1e-3)
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run(y, {x: _BATCH, training: True})
        expected = (normal * [1.0, 2.0, 3.0] + [0.5, 0.0, -1.0]) * 2 + 1
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        found = sess.run(y, {x: _BATCH, training: False})
        np.testing.assert_allclose(found, _BATCH / np.sqrt(1 + 1e-3) * 2 + 1, rtol=1e-5)
        assert sess.run(requested[0], {x: _BATCH}).tolist() == [4, 3]
