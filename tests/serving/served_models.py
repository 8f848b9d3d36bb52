"""Models that the tests of serving use."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import graphio as tf
from graphio.schema import example_pb2

NUMBERS = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
NUMBERS += ("float16", "float32", "float64")


def half_plus_three(folder: Path, added: float = 3.0) -> Path:
    """x / 2 + 3, as TensorFlow Serving's documentation has it: predict, regress and classify.

    Signatures that end in "_records" take serialized tf.Example, as its exporters write them.
    """
    utils, builder = tf.saved_model.signature_def_utils, tf.saved_model.builder
    with tf.Graph().as_default(), tf.Session() as session:
        serialized = tf.placeholder(tf.string, [None], name="tf_example")
        parsed = tf.parse_example(serialized, {"x": tf.FixedLenFeature([1], tf.float32)})["x"]
        x = tf.placeholder(tf.float32, [None], name="plain")
        half = tf.get_variable("a", [], initializer=tf.constant_initializer(0.5))
        session.run(tf.global_variables_initializer())
        signatures = {
            "serving_default": utils.predict_signature_def({"x": x}, {"y": x * half + added}),
            "regress_records": utils.regression_signature_def(serialized, parsed * half + added),
        }
        info = tf.saved_model.utils.build_tensor_info
        y = tf.expand_dims(x * half + added, 1)
        labels = tf.tile(tf.constant([["low", "high"]]), tf.stack([tf.shape(x)[0], 1]))
        parts = {"classes": info(labels), "scores": info(tf.concat([-y, y], 1))}
        for name, method, outputs in (
            ("tensorflow/serving/regress", "regress", {"outputs": info(y)}),
            ("classify_x", "classify", parts),
            ("labels", "classify", {"classes": parts["classes"]}),
            ("scores", "classify", {"scores": parts["scores"]}),
        ):
            signatures[name] = utils.build_signature_def(
                {"x": info(x)}, outputs, f"tensorflow/serving/{method}"
            )
        saved = builder.SavedModelBuilder(str(folder))
        saved.add_meta_graph_and_variables(session, ["serve"], signatures)
        saved.save()
    return folder


def parse_x(inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The host function of half_plus_three: the feature x of each record."""
    examples = [example_pb2.Example.FromString(record) for record in inputs[0].tolist()]
    values = [e.features.feature["x"].float_list.value[0] for e in examples]
    return [np.array(values, np.float32).reshape(-1, 1)]


def sensors(path: Path) -> Path:
    """Three inputs and outputs of different types, those of the documentation's example."""
    with tf.Graph().as_default(), tf.Session() as session:
        tag = tf.placeholder(tf.string, [None], name="tag")
        signal = tf.placeholder(tf.int32, [None, 5], name="signal")
        sensor = tf.placeholder(tf.float32, [None, 2, 2], name="sensor")
        outputs = {
            "tag": tf.identity(tag),
            "total": tf.reduce_sum(signal, 1),
            "twice": sensor * 2.0,
        }
        inputs = {"tag": tag, "signal": signal, "sensor": sensor}
        tf.saved_model.save(str(path), session, {"serving_default": (inputs, outputs)})
    return path


def echoes(path: Path) -> Path:
    """A signature for each type that gives back what it gets, and some of other forms."""
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = {}
        for name in (*NUMBERS, "string", "complex64"):
            x = tf.placeholder(name, None, name=f"x_{name}")
            signatures[name] = ({"x": x}, {"y": tf.identity(x)})
        x = tf.placeholder(tf.string, [None], name="binary")
        signatures["binary"] = ({"x": x}, {"y_bytes": tf.identity(x)})
        x = tf.placeholder(tf.float32, [None], name="uneven")
        signatures["uneven"] = ({"x": x}, {"y": x, "sum": tf.reduce_sum(x, keepdims=True)})
        signatures["scalar"] = ({"x": x}, {"y": tf.reduce_sum(x)})
        tf.saved_model.save(str(path), session, signatures)
    return path


def layer(path: Path, scale: float = 1.0) -> Path:
    """softmax(x W), of four features and three classes."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        w = tf.get_variable("w", initializer=weights() * np.float32(scale))
        session.run(tf.global_variables_initializer())
        y = tf.nn.softmax(tf.matmul(x, w))
        tf.saved_model.save(str(path), session, {"predict": ({"x": x}, {"y": y})})
    return path


def trained(path: Path) -> Path:
    """A number, and a step that changes it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        step = tf.assign_add(v, tf.reduce_sum(x)).op
        session.run(tf.global_variables_initializer())
        signatures = {"predict": ({"x": x}, {"y": x + v}), "train": ({"x": x}, {}, [step])}
        tf.saved_model.save(str(path), session, signatures)
    return path


def weights() -> np.ndarray:
    """W of `layer`."""
    return np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def softmax(x: np.ndarray) -> np.ndarray:
    """The outputs of `layer`, in float64."""
    powers = np.exp(np.asarray(x, np.float64) @ weights().astype(np.float64))
    return powers / powers.sum(axis=-1, keepdims=True)


def endless(path: Path) -> Path:
    """Counts to a number, which may take for ever."""
    with tf.Graph().as_default(), tf.Session() as session:
        most = tf.placeholder(tf.int64, [], name="most")
        count = tf.while_loop(lambda i: i < most, lambda i: i + 1, [tf.constant(0, tf.int64)])
        tf.saved_model.save(str(path), session, {"count": ({"most": most}, {"count": count})})
    return path
