"""`repr` of objects: one line with the engine, dtypes and shapes, or the facts that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        w = tf.get_variable("w", initializer=np.float32([[1.0], [10.0]]))
        words = tf.placeholder(tf.string)
        signatures = {
            "predict": ({"x": x}, {"y": tf.matmul(x, w)}),
            "train": ({}, {}, [tf.assign_add(w, tf.ones([2, 1]))]),
            "words": ({"in\nput": words}, {"out": tf.identity(words)}),
            "many": ({}, {f"y{i}": tf.constant(i) for i in range(10)}),
        }
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(tmp_path / "model.gio", session, signatures)
    return tmp_path / "model.gio"


@engines.BOTH
def test_a_signature_says_engine_dtypes_and_shapes(engine: str, path: Path) -> None:
    model: Any = engines.module(engine).load(path)
    named = {name: repr(model.signature(name)) for name in model.signatures}
    start = f"<graphio.{engine}.Signature"
    assert named["predict"] == f"{start} 'predict': x float32[?,2] -> y float32[?,1]>"
    assert named["train"] == f"{start} 'train': nothing -> nothing>"
    assert named["words"] == f"{start} 'words': in\\nput string[...] -> out string[...]>"
    assert named["many"].endswith("y7 int32[], and 2 more>")


@engines.BOTH
def test_a_model_and_its_state_say_what_they_hold(engine: str, path: Path) -> None:
    model: Any = engines.module(engine).load(path)
    start = f"<graphio.{engine}.Model of 'many', 'predict', 'train', 'words': 1 variable"
    assert repr(model).startswith(start)
    model.state.declare("empty", tf.float32.as_datatype_enum, [3])
    assert repr(model.state) == f"<graphio.{engine}.State: empty without value, w float32[2,1]>"


def test_a_closed_model_says_so(path: Path) -> None:
    model = tf.cinfer.load(path)
    model.close()
    assert repr(model).endswith("1 variable, closed>")


@engines.BOTH
def test_a_session_says_its_engine_and_what_has_values(engine: str) -> None:
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", initializer=1.0)
        tf.get_variable("w", initializer=2.0)
        session = tf.Session("cinfer" if engine == "cinfer" else "runtime")
        session.run(v.initializer)
        session.run(tf.report_uninitialized_variables())
        count = len(graph.operations)
        text = f"in {engine} of {count} operations, 1 of 2 variables with a value"
        assert repr(session) == f"<tf.Session {text}>"
        session.close()
        assert repr(session) == f"<tf.Session {text}, closed>"


def test_parts_of_a_program_say_what_they_are() -> None:
    with tf.Graph().as_default() as graph:
        tf.get_variable("v", initializer=1.0)
        dense = tf.layers.Dense(3, name="out")
        found = [
            tf.train.Saver(),
            tf.train.AdamOptimizer(),
            dense,
            tf.data.Dataset.range(3).make_one_shot_iterator(),
        ]
        before = repr(dense)
        dense(tf.zeros([1, 2]))
        assert [*map(repr, found)] == [
            "<tf.train.Saver: 1 variables, keeps 5>",
            "<tf.train.AdamOptimizer 'Adam'>",
            "<Dense layer 'out': 2 variables>",
            "<Iterator shapes: (), types: <dtype: 'int64'>>",
        ]
        assert before == "<Dense layer 'out': 0 variables, not built>"
        count = len(graph.operations)
        assert repr(graph) == f"<tf.Graph: {count} operations, 3 of them variables>"
        with tf.train.SingularMonitoredSession(checkpoint_dir=None) as session:
            inside, finalized = repr(session), repr(graph)
        assert inside.startswith("<tf.train.SingularMonitoredSession of <tf.Session in ")
        assert repr(session) == "<tf.train.SingularMonitoredSession of closed, hooks: none>"
        assert finalized.endswith("variables, finalized>")
