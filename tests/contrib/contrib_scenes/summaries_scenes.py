"""Scenes of the summaries of tf.contrib.layers, slim and training: tags and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

Scene = Callable[[Any, Any], Any]
TABLE = numbers("table", (3, 5))


def record(tf: Any, contrib: Any, scene: Scene, **session: Any) -> list[Any]:
    """Tag, kind and values of all summaries of a scene, sorted by tag."""
    with tf.Graph().as_default():
        scene(tf, contrib)
        merged = tf.summary.merge_all()
        with tf.Session(**session) as run:
            run.run(tf.global_variables_initializer())
            message = run.run(merged)
    values = tf.Summary.FromString(message).value
    return sorted((_value(value) for value in values), key=str)


def _value(value: Any) -> list[Any]:
    if value.HasField("histo"):
        histogram = value.histo
        sums = (histogram.num, histogram.min, histogram.max, histogram.sum, histogram.sum_squares)
        return [value.tag, "histo", [float(f"{one:.7g}") for one in sums]]
    if value.HasField("image"):
        return [value.tag, "image", [value.image.height, value.image.width]]
    return [value.tag, "simple_value", [float(f"{value.simple_value:.7g}")]]


def of_tensors(tf: Any, contrib: Any) -> None:
    """Tensors by their ranks."""
    layers = contrib("layers")
    layers.summarize_tensor(tf.constant(2.5, name="one"))
    layers.summarize_tensor(tf.constant(TABLE, name="many"), "tag")
    assert layers.summarize_tensor(tf.constant("text")) is None
    assert layers.summarize_tensor(tf.constant([True])) is None


def of_activations(tf: Any, contrib: Any) -> None:
    """Results of functions that cut values off."""
    x = tf.constant(TABLE * 20)
    for function in (tf.nn.relu, tf.nn.relu6, tf.nn.softplus, tf.nn.tanh):
        contrib("layers").summarize_activation(function(x))


def of_collections(tf: Any, contrib: Any) -> None:
    """Tensors of collections."""
    layers, keys = contrib("layers"), tf.GraphKeys
    for name in ("first/weights", "second/weights"):
        w = tf.get_variable(
            name, initializer=TABLE, collections=[keys.GLOBAL_VARIABLES, keys.WEIGHTS]
        )
        tf.add_to_collection("others", tf.identity(w, name=name.replace("/", "_")))
    tf.add_to_collection(keys.BIASES, tf.constant(3.0, name="bias"))
    assert len(layers.summarize_collection("others")) == 2
    layers.summarize_collection("others", "first", lambda x: tf.summary.scalar("x", tf.norm(x)))
    contrib("slim").summarize_biases()
    layers.summarize_weights(name_filter="second.*")


def of_slim(tf: Any, contrib: Any) -> None:
    """Summaries by the names of tensors."""
    made = contrib("slim").summaries
    one, two = tf.constant(1.5, name="one"), tf.constant([[0.0, 2.0, 0.0]], name="two")
    picture = tf.constant(np.zeros((2, 4, 5, 3), np.float32), name="picture")
    made.add_histogram_summary(two)
    made.add_histogram_summary(two, "name", "prefix")
    made.add_histogram_summaries([one, two], prefix="more")
    made.add_image_summary(picture, prefix="at")
    made.add_image_summaries([picture], prefix="pictures")
    made.add_scalar_summary(one, "scalar", print_summary=True)
    made.add_scalar_summaries([one, tf.constant(4.0, name="four")], prefix="scalars")
    made.add_zero_fraction_summary(two, "share")
    made.add_zero_fraction_summaries([two, one], prefix="zeros")


def gradients(kind: str) -> Scene:
    """Gradients and their norms."""

    def scene(tf: Any, contrib: Any) -> None:
        x = tf.get_variable("at/x", initializer=TABLE)
        y = tf.get_variable("y", initializer=TABLE[0])
        rows = tf.IndexedSlices(tf.constant(TABLE[:2]), tf.constant([0, 2]))
        pairs = [(tf.constant(TABLE * 2), x), (rows, y), (None, x)]
        if kind == "slim":
            contrib("slim").learning.add_gradients_summaries(pairs)
        else:
            contrib("training").add_gradients_summaries(pairs)

    return scene


def optimized(tf: Any, contrib: Any) -> None:
    """A step of optimize_loss, with all of its summaries."""
    layers = contrib("layers")
    x = tf.get_variable("x", initializer=TABLE)
    loss = tf.reduce_sum(x * x)
    step = tf.get_variable("global_step", initializer=np.int64(0), trainable=False)
    layers.optimize_loss(
        loss, step, 0.1, "SGD", clip_gradients=1.0, summaries=layers.OPTIMIZER_SUMMARIES
    )


SCENES: dict[str, Scene] = {
    "tensors": of_tensors,
    "activations": of_activations,
    "collections": of_collections,
    "slim": of_slim,
    "gradients of training": gradients("training"),
    "gradients of slim": gradients("slim"),
    "optimize_loss": optimized,
}
