"""Running the command `graphio` in this process, and files for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphio as tf
from graphio.command_line.app import main


@dataclass
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """Calls the command; by default it must succeed."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capture = capfd

    def __call__(self, *arguments: object, code: int = 0) -> Done:
        self._capture.readouterr()
        found = main([str(argument) for argument in arguments])
        captured = self._capture.readouterr()
        assert found == code, captured.out + captured.err
        return Done(found, captured.out, captured.err)


def trained(folder: Path) -> Path:
    """A folder with net.gio (predict, train), and checkpoints net-1 and net-2 of two steps."""
    graph = tf.Graph()
    with graph.as_default(), tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.placeholder(tf.float32, [None, 2], name="y")
        w = tf.get_variable(
            "w", initializer=tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
        )
        predicted = tf.nn.softmax(tf.matmul(x, w), name="predicted")
        loss = tf.reduce_mean(tf.square(predicted - y))
        step = tf.train.get_or_create_global_step()
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        for _ in range(2):
            session.run(train, {x: [[1, 2, 3]], y: [[1, 0]]})
            saver.save(session, str(folder / "net"), global_step=step)
        signatures = {
            "predict": ({"x": x}, {"p": predicted}),
            "train": ({"x": x, "y": y}, {"loss": loss}, [train]),
        }
        tf.saved_model.save(str(folder / "net.gio"), session, signatures)
    return folder


def small_onnx(path: Path, op: str = "Relu", domain: str = "") -> Path:
    """An ONNX file with one MatMul, whose batch is open, and one more node."""
    weights = np.arange(12, dtype=np.float32).reshape(3, 4) - 6
    nodes = [
        helper.make_node("MatMul", ["image", "w"], ["h"]),
        helper.make_node(op, ["h"], ["score"], domain=domain),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch", 4])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    opsets = [helper.make_opsetid("", 18)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path
