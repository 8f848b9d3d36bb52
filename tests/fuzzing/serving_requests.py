"""Bodies of requests to a server: TensorFlow Serving's methods and the Open Inference Protocol.

An input is a letter for the method, the length of the JSON in two bytes, and the body.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import random
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphio as tf
from fuzzing.messages import FLOATS, NUMBERS, STRINGS
from fuzzing.target import Mutate, Target, refusals
from graphio.serving import settings
from graphio.serving.open_inference import inference
from graphio.serving.servable import Servable
from graphio.serving.tensorflow_rest import methods

METHODS = {b"p": "predict", b"c": "classify", b"r": "regress"}
_LENGTH = struct.Struct("<H")
TYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint64", "bool", "string")
LOOP = asyncio.new_event_loop()
KEYS = (
    *("instances", "inputs", "examples", "context", "signature_name", "b64", "x", "y", "outputs"),
    *("name", "shape", "datatype", "data", "parameters", "binary_data_size", "binary_data", "id"),
    *("binary_data_output", "FP32", "FP16", "INT8", "INT64", "BOOL", "BYTES", "all", *TYPES),
)


def _model() -> Servable:
    """A signature for each type, one of all types, and those of classify and regress."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "model"
    utils, info = tf.saved_model.signature_def_utils, tf.saved_model.utils.build_tensor_info
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = {name: tf.placeholder(name, None) for name in TYPES}
        echoes = {name: tf.identity(feeds[name]) for name in TYPES}
        signatures = {
            name: utils.predict_signature_def({"x": feeds[name]}, {"y": echoes[name]})
            for name in TYPES
        }
        signatures["all"] = utils.predict_signature_def(feeds, echoes)
        x = tf.placeholder(tf.float32, [None, 2])
        label = tf.placeholder(tf.string, [None, 1])
        inputs = {"x": info(x), "y": info(label)}
        regressed = {"outputs": info(tf.reduce_sum(x, 1))}
        signatures["r"] = utils.build_signature_def(inputs, regressed, "tensorflow/serving/regress")
        classes = {"classes": info(label), "scores": info(x[:, :1])}
        signatures["c"] = utils.build_signature_def(inputs, classes, "tensorflow/serving/classify")
        records = tf.placeholder(tf.string, [None])
        labels = tf.expand_dims(records, 1)
        signatures["s"] = utils.classification_signature_def(records, labels, None)
        builder = tf.saved_model.builder.SavedModelBuilder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return Servable("model", 1, str(path), settings.of(str(path), {}))


MODEL = _model()


def run(data: bytes) -> None:
    """Answers a request; an answer must be JSON."""
    method, body = data[:1], data[3:]
    with refusals():
        if method in METHODS:
            json.loads(LOOP.run_until_complete(methods.answer(body, METHODS[method], MODEL)))
        elif len(data) >= 3:
            (length,) = _LENGTH.unpack_from(data, 1)
            header = None if length == 0xFFFF else str(length)
            written, size = LOOP.run_until_complete(inference.answer(body, header, MODEL))
            json.loads(written if size is None else written[:size])


def change(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Changes values of the JSON, now and then its bytes or those after it."""
    if len(data) < 4 or rng.random() < 0.1:
        return mutate(data, 8192)
    (length,) = _LENGTH.unpack_from(data, 1)
    body, rest = data[3 : 3 + length], data[3 + length :]
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return mutate(data, 8192)
    if rest and rng.random() < 0.2:
        rest = mutate(rest, 4096)
    for _ in range(rng.choice((1, 1, 2, 4))):
        message = _changed(message, rng)
    return _packed(data[:1], message, rest, known=length != 0xFFFF)


def _changed(value: Any, rng: random.Random) -> Any:
    """A value with a change somewhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.15:
            return {**value, rng.choice(KEYS): _any(rng)}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:at] + value[at + 1 :]
        if rng.random() < 0.15:
            return [*value, value[at]]
        return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]
    return [value] if rng.random() < 0.05 else _any(rng)


def _any(rng: random.Random) -> Any:
    make = rng.choice(
        (
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice(FLOATS),
            lambda: rng.choice((*STRINGS, *KEYS)),
            lambda: rng.choice((True, False, None, {}, [], [[]])),
            lambda: {"b64": rng.choice(("", "AA==", "_w", "*", "A"))},
            lambda: [_any(rng) for _ in range(rng.randrange(3))],
        )
    )
    return make()


def _packed(method: bytes, message: Any, rest: bytes = b"", known: bool = True) -> bytes:
    body = json.dumps(message).encode()
    length = len(body) if known and len(body) < 0xFFFF else 0xFFFF
    return method + _LENGTH.pack(length) + body + rest


def seeds() -> Iterator[bytes]:
    """A request of every form."""
    for name in TYPES:
        value = {"bool": True, "string": "a"}.get(name, 1)
        yield _packed(b"p", {"signature_name": name, "instances": [value, value]})
        yield _packed(b"p", {"signature_name": name, "inputs": {"x": [[value]]}})
        datatype = {"string": "BYTES", "bool": "BOOL"}.get(name, name.upper())
        datatype = datatype.replace("FLOAT", "FP")
        tensor = {"name": "x", "datatype": datatype, "shape": [2], "data": [value, value]}
        yield _packed(b"i", {"parameters": {"signature_name": name}, "inputs": [tensor]})
    rows = [{"x": [1.0, 2.0], "y": "a"}]
    yield _packed(b"r", {"signature_name": "r", "examples": rows})
    yield _packed(b"c", {"signature_name": "c", "context": rows[0], "examples": [{}, *rows]})
    feature = {"f": [1, 2], "g": 1.5, "h": {"b64": "AA=="}, "k": True}
    yield _packed(b"c", {"signature_name": "s", "examples": [feature]})
    sized = {"name": "x", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}
    outputs = [{"name": "y", "parameters": {"binary_data": True}}]
    parameters = {"signature_name": "float32", "binary_data_output": False}
    message = {"id": "1", "parameters": parameters, "inputs": [sized], "outputs": outputs}
    yield _packed(b"i", message, bytes(8))
    text = {**sized, "datatype": "BYTES", "parameters": {"binary_data_size": 9}}
    message = {"parameters": {"signature_name": "string"}, "inputs": [text]}
    yield _packed(b"i", message, b"\x01\x00\x00\x00a\x00\x00\x00\x00")
    yield _packed(b"p", {"signature_name": "all", "inputs": {name: [] for name in TYPES}})


TARGET = Target("serving_requests", run, change, seeds)
