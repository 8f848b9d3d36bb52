"""Writes the models of this folder with a real TensorFlow (2.21): python make.py [name ...]

NAME.zip holds a SavedModel folder NAME or a frozen graph NAME.pb, and NAME.npz, what TensorFlow
computes: arrays `signature/input/x` and `signature/output/y`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import operator_cases
import tensorflow as tf

RESULTS = Path(__file__).resolve().parent
HERE = Path(tempfile.mkdtemp())
layers = tf.keras.layers


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


def _record(name: str, values: dict[str, np.ndarray]) -> None:
    np.savez(HERE / f"{name}.npz", **values)


def _folder(name: str, values: dict[str, dict[str, np.ndarray]]) -> None:
    """Runs the signatures of a folder that was just written and records what they give."""
    folder = HERE / name
    (folder / "fingerprint.pb").unlink(missing_ok=True)
    loaded = tf.saved_model.load(str(folder))
    made = {}
    for signature, inputs in values.items():
        found = loaded.signatures[signature](**{k: tf.constant(v) for k, v in inputs.items()})
        made |= {f"{signature}/input/{k}": v for k, v in inputs.items()}
        made |= {f"{signature}/output/{k}": v.numpy() for k, v in found.items()}
    _record(name, made)


def _keras(name: str, model: tf.keras.Model, x: np.ndarray) -> None:
    """Exports a Keras model, whose weights are drawn, so that no statistic is 0 or 1."""
    generator = np.random.default_rng(3)
    for weight in model.weights:
        drawn = generator.normal(size=weight.shape) * 0.4
        is_variance = "variance" in weight.path
        weight.assign(np.abs(drawn) + 0.5 if is_variance else drawn)
    model.export(str(HERE / name), verbose=False)
    signature = tf.saved_model.load(str(HERE / name)).signatures["serving_default"]
    key = next(iter(signature.structured_input_signature[1]))
    _folder(name, {"serving_default": {key: x}})


def mlp() -> None:
    """A Keras multilayer perceptron."""
    inputs = tf.keras.Input((8,), name="x")
    hidden = layers.Dense(16, activation="relu")(inputs)
    hidden = layers.Dense(12, activation="gelu")(hidden)
    outputs = layers.Dense(4, activation="softmax")(layers.Dropout(0.2)(hidden))
    _keras("mlp", tf.keras.Model(inputs, outputs), _random(5, 8))


def cnn() -> None:
    """Convolutions with batch normalisation and pooling."""
    inputs = tf.keras.Input((12, 12, 3), name="x")
    y = layers.Conv2D(6, 3, padding="same")(inputs)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.MaxPooling2D()(y)
    y = layers.Conv2D(8, 3, strides=2, padding="valid")(y)
    y = layers.LeakyReLU(0.1)(layers.BatchNormalization(scale=False)(y))
    y = layers.AveragePooling2D(2, padding="same", strides=1)(y)
    outputs = layers.Dense(4)(layers.Flatten()(y))
    _keras("cnn", tf.keras.Model(inputs, outputs), _random(3, 12, 12, 3))


def lstm() -> None:
    """A Keras LSTM over sequences of any length, its states kept by a second one."""
    inputs = tf.keras.Input((None, 5), name="x")
    y = layers.LSTM(6, return_sequences=True)(inputs)
    outputs = layers.Dense(3)(layers.LSTM(4)(y))
    _keras("lstm", tf.keras.Model(inputs, outputs), _random(2, 7, 5))


def mobilenet() -> None:
    """Inverted residuals as in MobileNet v2, of few channels."""
    inputs = tf.keras.Input((24, 24, 3), name="x")

    def unit(x: tf.Tensor, wide: int, narrow: int, stride: int) -> tf.Tensor:
        y = layers.BatchNormalization()(layers.Conv2D(wide, 1, use_bias=False)(x))
        y = layers.ReLU(6.0)(y)
        if stride == 2:
            y = layers.ZeroPadding2D(((0, 1), (0, 1)))(y)
        padding = "valid" if stride == 2 else "same"
        y = layers.DepthwiseConv2D(3, strides=stride, padding=padding, use_bias=False)(y)
        y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(narrow, 1, use_bias=False)(y))
        return layers.Add()([x, y]) if stride == 1 and x.shape[-1] == narrow else y

    y = layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(inputs)
    y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
    y = unit(unit(y, 12, 6, 1), 12, 8, 2)
    y = layers.GlobalAveragePooling2D()(unit(y, 16, 8, 1))
    outputs = layers.Dense(5, activation="softmax")(y)
    _keras("mobilenet", tf.keras.Model(inputs, outputs), _random(2, 24, 24, 3))


def while_loop() -> None:
    """A TensorFlow 1 program with tf.while_loop and tf.cond, frozen: as bytes and as text."""
    v1 = tf.compat.v1
    x = _random(3, 4)
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        fed = v1.placeholder(tf.float32, [None, 4], name="x")
        with v1.variable_scope("net", use_resource=False):
            w = v1.get_variable("w", initializer=_random(4, 4) * 0.5)
            b = v1.get_variable("b", initializer=np.float32([0.1, -0.2, 0.3, 0.05]))
        _, state, total = v1.while_loop(
            lambda i, h, t: v1.logical_and(i < 6, v1.reduce_sum(t) < 1000.0),
            lambda i, h, t: [i + 1, v1.tanh(v1.matmul(h, w) + b + fed), t + v1.reduce_sum(h)],
            [v1.constant(0), fed, v1.constant(0.0)],
        )
        scaled = v1.cond(total > 0.0, lambda: state * 2.0 + b, lambda: state - 1.0)
        y = v1.identity(scaled, name="y")
        z = v1.identity(total, name="z")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            found = session.run([y, z], {fed: x})
            frozen = v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["y", "z"]
            )
        v1.enable_control_flow_v2()
    v1.train.write_graph(frozen, str(HERE), "while_loop.pb", as_text=False)
    v1.train.write_graph(frozen, str(HERE), "while_loop.pbtxt", as_text=True)
    _record("while_loop", {"main/input/x": x, "main/output/y": found[0], "main/output/z": found[1]})


class _Two(tf.Module):
    """A module with two signatures, a branch and a loop; they share variables."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(_random(4, 3), name="w")
        self.table = tf.Variable(_random(6, 4), name="table")
        self.steps = tf.Variable(3, trainable=False, name="steps")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def score(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        y = x @ self.w
        if tf.reduce_sum(x) > 0.0:
            y = tf.sigmoid(y)
        else:
            y = y * tf.cast(self.steps, tf.float32)
        return {"scores": y, "best": tf.argmax(y, axis=1)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "words")])
    def embed(self, words: tf.Tensor) -> dict[str, tf.Tensor]:
        rows = tf.gather(self.table, words)
        for _ in tf.range(self.steps):
            rows = tf.tanh(rows) + rows[:, ::-1] * 0.5
        return {"rows": rows, "mean": tf.reduce_mean(rows @ self.w, axis=0)}


def signatures() -> None:
    """A SavedModel with two signatures."""
    module = _Two()
    folder = HERE / "signatures"
    tf.saved_model.save(
        module, str(folder), signatures={"score": module.score, "embed": module.embed}
    )
    words = np.int32([0, 3, 5, 3])
    _folder("signatures", {"score": {"x": _random(3, 4)}, "embed": {"words": words}})


def tensorflow1() -> None:
    """The files of a TensorFlow 1 program's simple_save: a partitioned variable, one that does not
    train, and an optimizer's."""
    v1, x = tf.compat.v1, _random(3, 4)
    with tf.Graph().as_default():
        fed = v1.placeholder(tf.float32, [None, 4], name="x")
        parts = v1.fixed_size_partitioner(2, axis=0)
        w = v1.get_variable("w", [4, 6], partitioner=parts, use_resource=False)
        b = v1.get_variable("b", [6], trainable=False, use_resource=True)
        y = tf.nn.relu(tf.matmul(fed, tf.convert_to_tensor(w)) + b, name="y")
        step = v1.train.AdamOptimizer().minimize(tf.reduce_sum(y))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(step, {fed: x})
            v1.saved_model.simple_save(session, str(HERE / "tensorflow1"), {"x": fed}, {"y": y})
            found = session.run(y, {fed: x})
    _record("tensorflow1", {"serving_default/input/x": x, "serving_default/output/y": found})


def frozen_lstm() -> None:
    """A Keras LSTM frozen as TensorFlow 2 does it: its loop becomes Switch and Merge again."""
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2 as freeze,
    )

    inputs = tf.keras.Input((5, 3), name="x")
    model = tf.keras.Model(inputs, layers.Dense(2)(layers.LSTM(4)(inputs)))
    spec, x = tf.TensorSpec([None, 5, 3], tf.float32, name="x"), _random(2, 5, 3)
    frozen = freeze(tf.function(model).get_concrete_function(spec))
    tf.io.write_graph(frozen.graph.as_graph_def(), str(HERE), "frozen_lstm.pb", as_text=False)
    (found,) = tf.nest.flatten(frozen(tf.constant(x)))
    _record("frozen_lstm", {"main/input/x": x, "main/output/Identity": found.numpy()})


def operators() -> None:
    """A frozen graph with a node or more of each operator that graphio reads."""
    v1, fed = tf.compat.v1, operator_cases.inputs()
    with tf.Graph().as_default() as graph:
        positions = {k: v1.placeholder(v.dtype, v.shape, name=k) for k, v in fed.items()}
        made = operator_cases.cases(operator_cases.V(**positions))
        ends = {k: v1.identity(y, name=f"case/{k}") for k, y in made.items()}
        with v1.Session() as session:
            found = session.run(ends, {positions[k]: v for k, v in fed.items()})
    v1.train.write_graph(graph, str(HERE), "operators.pb", as_text=False)
    values = {f"main/input/{k}": v for k, v in fed.items()}
    _record("operators", values | {f"main/output/case/{k}": v for k, v in found.items()})


def _pack(name: str) -> None:
    """Everything that was written for a model, into one archive."""
    paths = [p for p in sorted(HERE.rglob("*")) if p.is_file()]
    with zipfile.ZipFile(RESULTS / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            relative = path.relative_to(HERE).as_posix()
            if relative.split("/")[0].partition(".")[0] == name:
                entry = zipfile.ZipInfo(relative)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())


MODELS: dict[str, Callable[[], None]] = {
    made.__name__: made
    for made in (
        mlp,
        cnn,
        lstm,
        mobilenet,
        while_loop,
        signatures,
        tensorflow1,
        frozen_lstm,
        operators,
    )
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or MODELS:
        tf.keras.backend.clear_session()
        MODELS[chosen]()
        _pack(chosen)
