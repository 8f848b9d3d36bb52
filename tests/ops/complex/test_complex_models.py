"""Models with complex numbers: rewritten for a run, in files, and as ONNX models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from complex_values import TARGETS, numbers

import graphio as tf
import graphio.onnx as tfonnx
from graphio.model.export import SignatureSpec, build_model
from graphio.model.rewrite import rewrite

X = numbers(4)


def built() -> tuple[Any, Any, Any, Any]:
    """Real inputs and outputs with complex numbers between them."""
    a = tf.placeholder(tf.float64, [4], name="a")
    b = tf.placeholder(tf.float64, [4], name="b")
    z = tf.complex(a, b)
    y = tf.sqrt(z * (z + 2j)) / tf.exp(z)
    return a, b, tf.abs(y, name="size"), tf.math.real(y, name="real")


def expected() -> list[Any]:
    y = np.sqrt(X * (X + 2j)) / np.exp(X)
    return [np.abs(y), y.real]


def test_a_run_makes_no_complex_number_that_is_taken_apart_again() -> None:
    with tf.Graph().as_default() as graph:
        a, b, size, real = built()
        spec = SignatureSpec("f", [("a", a), ("b", b)], [("size", size), ("real", real)])
        message, arrays = build_model(graph, [spec])
    made, _ = rewrite(message, arrays)
    assert {n.op for n in message.graph.node} >= {"Complex", "Real", "Imag"}
    assert {n.op for n in made.graph.node}.isdisjoint({"Complex", "Real", "Imag"})


@TARGETS
def test_a_saved_model_gives_the_same(target: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, size, real = built()
        tf.saved_model.simple_save(
            session, str(tmp_path / "m"), {"a": a, "b": b}, {"size": size, "real": real}
        )
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "m"))
        found = session.run(["size:0", "real:0"], {"a:0": X.real, "b:0": X.imag})
    np.testing.assert_allclose(found, expected(), rtol=1e-13)


def test_a_loaded_graph_has_the_gradients_of_its_nodes() -> None:
    with tf.Graph().as_default() as graph:
        z = tf.placeholder(tf.complex128, [4], name="z")
        tf.abs(tf.sqrt(z) / (z * z) + tf.log(z), name="y")
        definition = graph.as_graph_def()
        slope = tf.gradients(graph.get_tensor_by_name("y:0"), z)[0]
        with tf.Session() as session:
            before = session.run(slope, {z: X})
    with tf.Graph().as_default(), tf.Session() as session:
        z, y = tf.import_graph_def(definition, return_elements=["z:0", "y:0"], name="")
        found = session.run(tf.gradients(y, z)[0], {z: X})
    np.testing.assert_allclose(found, before, rtol=1e-11)


def test_onnx_has_the_computation_where_real_numbers_come_and_go() -> None:
    reference = pytest.importorskip("onnx.reference")
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, size, real = built()
        model = tfonnx.export(None, session, {"a": a, "b": b}, {"size": size, "real": real})
        with pytest.raises(tf.errors.UnimplementedError, match="export tf.real and tf.imag"):
            tfonnx.export(None, session, {"a": a}, {"z": tf.complex(a, a)})
    assert {node.domain for node in model.graph.node} == {""}
    with np.errstate(all="ignore"):
        found = reference.ReferenceEvaluator(model).run(None, {"a": X.real, "b": X.imag})
    np.testing.assert_allclose(found, expected(), rtol=1e-12)
