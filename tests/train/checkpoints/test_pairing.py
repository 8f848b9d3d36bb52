"""Tensors of two models that are the same under other names and with other axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command
from hypothesis import given
from hypothesis import strategies as st

import graphio as tf
from graphio.command_line import exits
from graphio.train.checkpoints.pairing import aligned, pairs

Array = np.ndarray[Any, Any]


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


@given(
    st.permutations(range(4)),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.integers(0, 3),
)
def test_renamed_and_transposed_tensors_are_found_by_their_values(
    order: list[int], shape: list[int], extra: int
) -> None:
    a = {"kernel": numbers(*shape), "other": numbers(7, seed=1)}
    moved = np.expand_dims(a["kernel"].transpose(order), extra)
    found = pairs(a, {"wt": moved, "x": numbers(8)})
    assert [(p.a, p.b, p.by) for p in found] == [("kernel", "wt", "values")]
    assert aligned(a, {"wt": moved}, found)["kernel"].tolist() == a["kernel"].tolist()


def test_names_that_both_have_are_left_alone() -> None:
    assert pairs({"w": numbers(2, 3)}, {"w": numbers(3, 2), "v": numbers(2, 3)}) == []


def test_of_equal_tensors_the_nearest_name_is_taken() -> None:
    zeros = np.zeros(4, np.float32)
    a = {"conv/bias": zeros, "conv/bias/Initializer/zeros": zeros, "dense/bias": zeros}
    found = pairs(a, {"dense/bias/out": zeros, "conv/bias/out": zeros})
    assert [(p.a, p.b) for p in found] == [
        ("conv/bias", "conv/bias/out"),
        ("dense/bias", "dense/bias/out"),
    ]


def test_other_values_are_paired_by_a_shape_that_no_other_has() -> None:
    a = {"w": numbers(2, 3), "v": numbers(5), "u": numbers(5, seed=3)}
    b = {"p": numbers(3, 2, seed=9), "q": numbers(5, seed=4), "r": numbers(5, seed=5)}
    (only,) = pairs(a, b)
    assert (only.a, only.b, only.how) == ("w", "p", "by shape, transposed")
    assert aligned(a, b, [only])["w"].tolist() == b["p"].T.tolist()
    half = {"p": numbers(2, 3).astype(np.float16)}
    assert [p.how for p in pairs({"w": numbers(2, 3)}, half)] == ["by shape"]
    assert pairs({"w": numbers(2, 2)}, {"p": numbers(2, 2).astype(np.int64)}) == []


def test_the_bits_of_values_count() -> None:
    nan, zero = np.float32([np.nan, 1]), np.float32([0.0, 1])
    assert [p.by for p in pairs({"a": nan}, {"b": nan.copy()})] == ["values"]
    assert [p.by for p in pairs({"a": zero}, {"b": -zero})] == ["shape"]
    strings = np.array([b"a", b"b"], object)
    assert [p.by for p in pairs({"a": strings}, {"b": strings.copy()})] == ["values"]


def test_diff_pairs_the_weights_of_an_exported_model(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graphio = Command(capfd)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        y = tf.layers.conv2d(x, 4, 3)
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(tmp_path / "c.gio", session, {"predict": ({"x": x}, {"y": y})})
        tf.onnx.export(tmp_path / "c.onnx", session, {"x": x}, {"y": y})
    done = graphio("diff", tmp_path / "c.gio", tmp_path / "c.onnx", "--json", code=exits.NO)
    paired = {row["a"]: row["how"] for row in done.json["paired"]}
    assert paired["conv2d/kernel"] == "by values, transposed"
    assert "conv2d/kernel" not in [row["name"] for row in done.json["values"]]
    text = graphio("diff", tmp_path / "c.gio", tmp_path / "c.onnx", code=exits.NO).out
    assert "conv2d/kernel is " in text and " in B, paired by values, transposed" in text
    graphio("diff", tmp_path / "c.gio", tmp_path / "c.gio")
