"""GraphDef and SavedModel messages of TensorFlow's."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Iterator

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

import graphio as tf
from fuzzing import bundles
from fuzzing.checkpoint_reader import folder
from fuzzing.messages import Mutator
from fuzzing.target import FOLDER, Mutate, Target, refusals
from graphio import runtime
from graphio.schema import tensorflow_pb2 as pb
from graphio.tensorflow_files import convert, import_model
from graphio.tensorflow_files import operators as rows
from graphio.tensorflow_files.reading import read_saved_model

GRAPH, SAVED, TEXT = "graph.pb", "saved_model.pb", "saved_model.pbtxt"
NAMES = (GRAPH, SAVED, TEXT)
LARGEST_SEED = 12_000


def run(data: bytes) -> None:
    """Imports a graph to train it if its length is odd, else converts it; that must be valid."""
    for name, content in bundles.unpack(NAMES, data).items():
        made = None
        with refusals():
            if name == GRAPH and len(content) % 2:
                with tf.Graph().as_default():
                    import_model(content, trainable=True)
            elif name == GRAPH:
                made = convert(content)
            else:
                bundles.lay(folder(), {name: content})
                found = read_saved_model(folder())
                made = convert(folder(), tags=found.meta_graphs[0].meta_info_def.tags)
        if made is not None:
            runtime.load(made)


def change(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Changes fields of one message, now and then its bytes."""
    files = bundles.unpack(NAMES, data)
    if not files or rng.random() < 0.02:
        return mutate(data, 16384)
    name = rng.choice(list(files))
    files[name] = _changed(name, files[name], rng, mutate)
    return bundles.pack(NAMES, files)


def _changed(name: str, data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    message: Message = pb.GraphDef() if name == GRAPH else pb.SavedModel()
    try:
        if name == TEXT:
            text_format.Parse(data.decode(), message)
        else:
            message.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError, text_format.ParseError):
        return mutate(data, 16384)
    if rng.random() < 0.05:
        return mutate(data, 16384)
    Mutator(rng, WORDS, mutate).change(message, rng.choice((1, 1, 1, 2, 4)))
    return text_format.MessageToString(message).encode() if name == TEXT else (
        message.SerializeToString()
    )  # fmt: skip


def seeds() -> Iterator[bytes]:
    """A node of every operator, a loop, a function, and small models that TensorFlow wrote."""
    for op in sorted(rows.ROWS):
        yield bundles.pack(NAMES, {GRAPH: _graph(op).SerializeToString()})
    for path in sorted((FOLDER.parent / "tensorflow_models").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                base = info.filename.rpartition("/")[2]
                if info.file_size <= LARGEST_SEED and base.endswith(".pb"):
                    name = SAVED if base == SAVED else GRAPH
                    yield bundles.pack(NAMES, {name: archive.read(info)})
    saved = pb.SavedModel()
    meta = saved.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(_graph("Relu"))
    signature = meta.signature_def["serving_default"]
    signature.inputs["x"].name, signature.outputs["y"].name = "x:0", "y:0"
    yield bundles.pack(NAMES, {TEXT: text_format.MessageToString(saved).encode()})


def _graph(op: str) -> pb.GraphDef:
    """A node of an operator that reads placeholders and constants."""
    made = pb.GraphDef()
    for name in ("x", "z"):
        node = made.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = 1
        shape = node.attr["shape"].shape
        shape.dim.add(size=2)
        shape.dim.add(size=3)
    constant = made.node.add(name="c", op="Const")
    constant.attr["dtype"].type = constant.attr["value"].tensor.dtype = 3
    constant.attr["value"].tensor.tensor_content = np.array([0, 1], np.int32).tobytes()
    constant.attr["value"].tensor.tensor_shape.dim.add(size=2)
    node = made.node.add(name="y", op=op, input=["x", "c"] if len(op) % 2 else ["x", "z"])
    node.attr["T"].type, node.attr["N"].i = 1, 2
    return made


WORDS = {"op": [*sorted(rows.ROWS), "Placeholder", "Const", "Enter", "Exit", "Merge", "Switch",
                "NextIteration", "LoopCond", "While", "StatelessIf", "PartitionedCall",
                "VarHandleOp", "ReadVariableOp", "NoOp", "AssignVariableOp"]}  # fmt: skip
TARGET = Target("tensorflow_importer", run, change, seeds)
