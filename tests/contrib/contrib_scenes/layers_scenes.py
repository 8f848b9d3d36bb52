"""Scenes of tf.contrib.layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

Scene = Callable[[Any, Any], Any]


def image(tf: Any, *shape: int) -> Any:
    """A constant of numbers that depend on its shape."""
    return tf.constant(numbers("image", shape or (2, 5, 6, 3)))


def layer(
    name: str, *arguments: Any, shape: tuple[int, ...] = (2, 5, 6, 3), **options: Any
) -> Scene:
    """A function of contrib.layers; options that are strings with a dot name its functions."""

    def scene(tf: Any, contrib: Any) -> Any:
        layers = contrib("layers")
        given = {
            key: getattr(layers, value[1:])
            if isinstance(value, str) and value.startswith(".")
            else getattr(tf.nn, value[3:])
            if isinstance(value, str) and value.startswith("nn.")
            else value
            for key, value in options.items()
        }
        return getattr(layers, name)(image(tf, *shape), *arguments, **given)

    return scene


def trained(name: str, *arguments: Any, **options: Any) -> Scene:
    """As layer: results after the updates, and the variables' values after them."""
    inner = layer(name, *arguments, **options)

    def scene(tf: Any, contrib: Any) -> Any:
        outputs = inner(tf, contrib)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS) + tf.get_collection("mine")
        with tf.control_dependencies([tf.identity(outputs), *updates]):
            after = [v.read_value() for v in tf.global_variables() if "moving" in v.op.name]
        return [outputs, *after]

    return scene


def by_placeholder(value: bool, **options: Any) -> Scene:
    """Batch normalisation whose mode a tensor decides."""

    def scene(tf: Any, contrib: Any) -> Any:
        training = tf.placeholder_with_default(value, [])
        return trained("batch_norm", is_training=training, **options)(tf, contrib)

    return scene


def scoped(tf: Any, contrib: Any) -> Any:
    """arg_scope with normalisation, regularizers and collections."""
    layers, framework = contrib("layers"), contrib("framework")
    given = {
        "normalizer_fn": layers.batch_norm,
        "normalizer_params": {"scale": True, "is_training": False},
        "weights_regularizer": layers.l2_regularizer(0.01),
        "variables_collections": {"weights": ["heavy"]},
        "outputs_collections": "outputs",
    }
    with framework.arg_scope([layers.conv2d, layers.fully_connected], **given):
        with framework.arg_scope([layers.conv2d], padding="VALID", stride=2):
            net = layers.conv2d(image(tf), 4, [3, 3], scope="first")
        net = layers.conv2d(net, 3, 1, activation_fn=None)
        net = layers.fully_connected(layers.flatten(net), 2)
    names = [v.op.name for v in tf.get_collection("heavy")]
    sizes = [len(tf.get_collection(name)) for name in ("outputs", "model_variables", "update_ops")]
    return [
        net,
        *tf.get_collection("outputs"),
        tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
        tf.constant(names),
        tf.constant(sizes),
    ]


def shared(tf: Any, contrib: Any) -> Any:
    """Two uses of the same variables."""
    layers = contrib("layers")
    one = layers.fully_connected(image(tf, 2, 3), 4, scope="a")
    two = layers.fully_connected(image(tf, 4, 3), 4, scope="a", reuse=True)
    with tf.variable_scope("b"):
        three = layers.conv2d(image(tf), 2, 3)
    with tf.variable_scope("b", reuse=True):
        four = layers.conv2d(image(tf, 1, 4, 4, 3), 2, 3)
    return one, two, three, four


def rows(tf: Any, contrib: Any) -> Any:
    """repeat, stack, and layers as partial functions."""
    layers = contrib("layers")
    net = layers.repeat(image(tf), 2, layers.conv2d, 4, [3, 3], scope="conv")
    net = layers.stack(layers.flatten(net), layers.fully_connected, [5, 4], scope="fc")
    net = layers.repeat(net, 2, layers.fully_connected, 4)
    net = layers.stack(net, layers.relu6, [[3], 2])
    return net, layers.linear(net, 2), layers.relu(net, 2), layers.elu(net, 2)


def regularized(tf: Any, contrib: Any) -> Any:
    """All regularizers."""
    layers = contrib("layers")
    x = image(tf, 3, 4)
    some = [
        layers.l1_regularizer(0.5),
        layers.l2_regularizer(0.25),
        layers.l1_l2_regularizer(0.5, 0.25),
        layers.sum_regularizer([layers.l1_regularizer(0.1), layers.l2_regularizer(0.2), None]),
        layers.l1_l2_regularizer(0.0, 0.5),
    ]
    total = layers.apply_regularization(some[1], [x, x * 2.0])
    return [r(x) for r in some] + [total]


def sequences(tf: Any, contrib: Any) -> Any:
    """Images as sequences and back."""
    layers = contrib("layers")
    flat = layers.images_to_sequence(image(tf))
    first = layers.images_to_sequence(image(tf, 2, 3, 5, 6), data_format="NCHW")
    back = layers.sequence_to_images(flat, 5)
    return flat, first, back, layers.sequence_to_images(flat, 5, "channels_first")


def sparse(tf: Any, contrib: Any) -> Any:
    """dense_to_sparse."""
    found = contrib("layers").dense_to_sparse(tf.constant([[1, 0, 2], [0, 0, 3]]))
    other = contrib("layers").dense_to_sparse(tf.constant([[1, 0, 2], [0, 0, 3]]), eos_token=3)
    return found.indices, found.values, found.dense_shape, other.values


def scaled_gradient(tf: Any, contrib: Any) -> Any:
    """scale_gradient."""
    x = tf.get_variable("x", [3])
    y = contrib("layers").scale_gradient(x * 2.0, 0.25)
    return y, tf.gradients(y * y, x)[0]


def one_hot(tf: Any, contrib: Any) -> Any:
    """one_hot_encoding."""
    layers = contrib("layers")
    labels = tf.constant([2, 0, 1])
    return layers.one_hot_encoding(labels, 3), layers.one_hot_encoding(labels, 4, 5.0, -1.0)


def dropped(tf: Any, contrib: Any) -> Any:
    """dropout where it changes nothing."""
    layers = contrib("layers")
    off = tf.placeholder_with_default(False, [])
    x = image(tf, 3, 4)
    return (
        layers.dropout(x, is_training=False),
        layers.dropout(x, 0.3, is_training=off),
        layers.dropout(x, 1.0),
    )


def optimized(**options: Any) -> Scene:
    """Three steps of optimize_loss; what a name gives is looked up where it is a function."""

    def scene(tf: Any, contrib: Any) -> Any:
        layers = contrib("layers")
        given = {k: v(tf, layers) if callable(v) else v for k, v in options.items()}
        net = layers.fully_connected(image(tf, 4, 3), 2, activation_fn=tf.nn.tanh)
        net = layers.batch_norm(net)
        loss = tf.reduce_mean(tf.square(net - 0.3))
        step = tf.train.get_or_create_global_step()
        given.setdefault("optimizer", "SGD")
        train = layers.optimize_loss(loss, step, given.pop("learning_rate", 0.1), **given)
        with tf.control_dependencies([train]):
            after = [tf.identity(v.read_value()) for v in tf.trainable_variables()]
            count = tf.identity(step.read_value())
        tags = sorted(s.op.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES))
        return [*after, count, tf.constant(tags)]

    return scene


def embedded(tf: Any, contrib: Any) -> Any:
    """Lookups of tf-slim's contrib that have no variable."""
    layers = contrib("layers")
    x = image(tf, 3, 4)
    return layers.unit_norm(x, 1), layers.maxout(x, 2), layers.softmax(x)


def clipped(tf: Any, layers: Any) -> Any:
    """A limit of gradients that adapts."""
    return layers.adaptive_clipping_fn(0.5, 0.9, 0.01, tf.train.get_global_step())


NORMED: dict[str, Any] = {"normalizer_fn": ".batch_norm", "normalizer_params": {"scale": True}}


def reversible(is_training: bool, sides: bool = False) -> Scene:
    """Two reversible layers, and the slopes by what they take."""

    def scene(tf: Any, contrib: Any) -> Any:
        def part(x: Any, side: Any = None) -> Any:
            y = tf.layers.dense(x, 3, activation=tf.tanh)
            return y if side is None else tf.layers.dense(y + side[0], 3)

        x1, x2, *side = (tf.constant(numbers(f"input {i}", (2, 3))) for i in range(2 + sides))
        found = contrib("layers").rev_block(
            x1, x2, part, [part, part], 2, side, is_training=is_training
        )
        return [*found, *tf.gradients(found, [x1, x2, *side])]

    return scene


def recomputed(tupled: bool) -> Scene:
    """A function that is computed again, and the slope by its argument."""

    def scene(tf: Any, contrib: Any) -> Any:
        @contrib("layers").recompute_grad(tupleize_grads=tupled)
        def part(x: Any, y: Any) -> Any:
            z = tf.layers.dense(x, 3, activation=tf.tanh) * y
            return tf.layers.dense(z, 2), tf.exp(y)

        given = [tf.constant(numbers(name, (2, 3))) for name in ("x", "y")]
        with tf.variable_scope("own", use_resource=True):
            found = part(*given)
        return [*found, *tf.gradients(found, given)]

    return scene


SCENES: dict[str, Scene] = {
    "rev_block": reversible(True),
    "rev_block with a side input": reversible(True, True),
    "rev_block as it is": reversible(False),
    "recompute_grad": recomputed(False),
    "recompute_grad of all at once": recomputed(True),
    "conv2d": layer("conv2d", 4, [3, 3]),
    "conv2d with stride": layer("conv2d", 4, 3, 2, "VALID", activation_fn=None),
    "conv2d with rate": layer("conv2d", 4, 3, rate=2),
    "conv2d channels first": layer("conv2d", 4, 3, data_format="NHWC", biases_initializer=None),
    "conv2d normalised": layer("conv2d", 4, 3, **NORMED),
    "conv1d": layer("conv1d", 4, 3, shape=(2, 7, 3)),
    "conv3d": layer("conv3d", 2, 2, shape=(2, 4, 4, 3, 2)),
    "convolution": layer("convolution", 2, [2, 3], activation_fn="nn.tanh"),
    "conv2d_transpose": layer("conv2d_transpose", 4, 3, 2),
    "conv2d_transpose valid": layer("conv2d_transpose", 2, [3, 2], [2, 1], "VALID", **NORMED),
    "conv3d_transpose": layer("conv3d_transpose", 2, 2, 2, shape=(1, 2, 3, 2, 2)),
    "conv2d_in_plane": layer("conv2d_in_plane", 3),
    "conv2d_in_plane normalised": layer("conv2d_in_plane", [3, 2], [1, 2], **NORMED),
    "separable_conv2d": layer("separable_conv2d", 4, 3, 2),
    "separable_conv2d normalised": layer("separable_conv2d", 4, [3, 3], 1, 2, **NORMED),
    "separable_conv2d depthwise": layer("separable_conv2d", None, 3, 2, rate=1),
    "fully_connected": layer("fully_connected", 4, shape=(3, 5)),
    "fully_connected of rank 3": layer("fully_connected", 4, activation_fn=None, shape=(2, 3, 5)),
    "fully_connected normalised": layer("fully_connected", 4, shape=(3, 5), **NORMED),
    "fully_connected layer_norm": layer(
        "fully_connected", 4, normalizer_fn=".layer_norm", shape=(3, 5)
    ),
    "bias_add": layer("bias_add", activation_fn="nn.relu"),
    "batch_norm": trained("batch_norm"),
    "batch_norm of rank 2": trained("batch_norm", decay=0.9, scale=True, shape=(4, 3)),
    "batch_norm of rank 3": trained("batch_norm", decay=0.9, shape=(4, 3, 2)),
    "batch_norm not fused": trained("batch_norm", decay=0.9, fused=False),
    "batch_norm at inference": trained("batch_norm", is_training=False, scale=True),
    "batch_norm updates at once": trained("batch_norm", updates_collections=None, decay=0.9),
    "batch_norm updates at once, not fused": trained(
        "batch_norm", updates_collections=None, decay=0.9, fused=False
    ),
    "batch_norm updates elsewhere": trained("batch_norm", updates_collections="mine", decay=0.9),
    "batch_norm without bias": trained(
        "batch_norm", zero_debias_moving_mean=True, decay=0.9, scale=True
    ),
    "batch_norm by a placeholder": by_placeholder(True, decay=0.9),
    "batch_norm by a placeholder, inference": by_placeholder(False, decay=0.9),
    "batch_norm by a placeholder, at once": by_placeholder(
        True, decay=0.9, updates_collections=None
    ),
    "batch_norm by a placeholder, at once, not fused": by_placeholder(
        True, decay=0.9, updates_collections=None, fused=False
    ),
    "batch_norm of rank 2 by a placeholder": by_placeholder(True, decay=0.9, shape=(4, 3)),
    "batch_norm with weights": trained(
        "batch_norm", batch_weights=np.float32([0.5, 2.0]), decay=0.9
    ),
    "batch_norm with an activation": trained("batch_norm", activation_fn="nn.relu", center=False),
    "layer_norm": layer("layer_norm"),
    "layer_norm of the last axes": layer("layer_norm", begin_norm_axis=2, begin_params_axis=2),
    "layer_norm of rank 2": layer("layer_norm", activation_fn="nn.relu", shape=(3, 5)),
    "instance_norm": layer("instance_norm"),
    "instance_norm channels first": layer("instance_norm", data_format="NCHW"),
    "group_norm": layer("group_norm", 2, shape=(2, 4, 3, 6)),
    "group_norm channels first": layer(
        "group_norm", 3, channels_axis=1, reduction_axes=(2, 3), shape=(2, 6, 3, 4)
    ),
    "group_norm by sums": layer("group_norm", 2, mean_close_to_zero=True, shape=(2, 4, 3, 6)),
    "max_pool2d": layer("max_pool2d", [3, 2]),
    "max_pool2d same": layer("max_pool2d", 3, 1, "SAME"),
    "avg_pool2d": layer("avg_pool2d", 2, padding="SAME"),
    "max_pool3d": layer("max_pool3d", 2, shape=(1, 4, 4, 4, 2)),
    "avg_pool3d": layer("avg_pool3d", 2, shape=(1, 4, 4, 4, 2)),
    "pool": layer("pool", 2, "MAX"),
    "pool of means": layer("pool", [2, 3], "AVG", "SAME", stride=2),
    "flatten": layer("flatten"),
    "softmax": layer("softmax"),
    "spatial_softmax": layer("spatial_softmax"),
    "spatial_softmax at a temperature": layer("spatial_softmax", 0.5, data_format="NCHW"),
    "maxout": layer("maxout", 2, shape=(3, 6)),
    "unit_norm": layer("unit_norm", 2),
    "poincare_normalize": layer("poincare_normalize", shape=(3, 5)),
    "legacy_fully_connected": layer("legacy_fully_connected", 4, shape=(3, 5)),
    "legacy_relu": layer("legacy_relu", 4, shape=(2, 3, 5)),
    "legacy_linear": layer("legacy_linear", 4, bias_init=None, shape=(3, 5)),
    "gdn": layer("gdn", shape=(2, 3, 4, 3)),
    "gdn inverse": layer("gdn", inverse=True, beta_min=0.1, gamma_init=0.5, shape=(2, 5, 3)),
    "arg_scope": scoped,
    "shared variables": shared,
    "rows of layers": rows,
    "regularizers": regularized,
    "sequences": sequences,
    "dense_to_sparse": sparse,
    "scale_gradient": scaled_gradient,
    "one_hot_encoding": one_hot,
    "dropout": dropped,
    "features": embedded,
    "optimize_loss": optimized(),
    "optimize_loss by Adam": optimized(optimizer="Adam", clip_gradients=0.01),
    "optimize_loss by others": optimized(
        optimizer=lambda tf, layers: tf.train.AdagradOptimizer,
        gradient_multipliers={"fully_connected/weights": 2.0},
        summaries=["gradients", "gradient_norm", "loss", "learning_rate"],
        name="mine",
        increment_global_step=False,
    ),
    "optimize_loss by Momentum": optimized(
        optimizer="Momentum",
        learning_rate_decay_fn=lambda tf, layers: lambda rate, step: rate * 0.5,
    ),
    "optimize_loss by RMSProp": optimized(optimizer="RMSProp", clip_gradients=clipped),
    "optimize_loss by Ftrl": optimized(optimizer="Ftrl", summaries=[]),
}
