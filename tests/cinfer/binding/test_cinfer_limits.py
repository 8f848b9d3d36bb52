"""Limits that graphio.cinfer.load is given hold for the file and for its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.schema import container
from graphio.schema import model_pb2 as pb
from graphio.support import errors

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

NODES = 20000


def dense() -> bytes:
    """Nodes of some ten bytes, which take more than four times as much in memory."""
    made = pb.Model()
    for i in range(NODES):
        made.graph.node.add(name=f"{i:x}", op="", version=1)
    return container.pack(made, [], filled=False)


def doubling(path: Path) -> str:
    """x doubled ten times by a loop."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        zero = tf.constant(0)
        _, y = tf.while_loop(lambda i, _: i < 10, lambda i, y: [i + 1, y + y], [zero, x])
        tf.saved_model.save(str(path / "m.gio"), session, {"predict": ({"x": x}, {"y": y})})
    return str(path / "m.gio")


REFUSED: list[tuple[str, Any, dict[str, int], str]] = [
    ("a dense file", dense, {}, "needs more than 4 times its size .*raise the limit max_load"),
    ("less than usual", dense, {"max_load": 1}, "needs more than 1 times its size"),
    ("too many nodes", dense, {"max_load": 20, "max_nodes": 100}, "more than 100 nodes"),
    ("too many bytes", dense, {"max_load": 20, "max_bytes": 1000}, "the limit is 1000"),
]


@pytest.mark.parametrize(
    ("make", "limits", "reported"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_file_beyond_a_limit_is_refused(make: Any, limits: dict[str, int], reported: str) -> None:
    with pytest.raises(errors.ResourceExhaustedError, match=reported):
        cinfer.load(make(), limits=limits)


def test_a_dense_file_is_opened_by_whoever_allows_it() -> None:
    cinfer.load(dense(), limits={"max_load": 20}).close()


def test_a_run_keeps_to_the_limits_that_its_model_was_given(tmp_path: Path) -> None:
    path = doubling(tmp_path)
    x = np.ones(3, np.float32)
    model = cinfer.load(path, limits={"max_loop_steps": 10})
    np.testing.assert_array_equal(model.signature().run([x])[0], 1024 * x)
    few = cinfer.load(path, limits={"max_loop_steps": 9})
    with pytest.raises(errors.ResourceExhaustedError, match="9"):
        few.signature().run([x])
    small = cinfer.load(path, limits={"max_memory": 1000})
    with pytest.raises(errors.ResourceExhaustedError, match="limit of 1000"):
        small.signature().run([np.ones(1000, np.float32)])


def test_wrong_limits_are_named_all_at_once() -> None:
    wrong = {"max_nodes": -1, "max_load": 2**32, "max_depth": "8", "most": 3}
    with pytest.raises(errors.InvalidArgumentError) as raised:
        cinfer.load(dense(), limits=wrong)
    reported = str(raised.value)
    for part in ("max_nodes is -1", "max_load is 4294967296", "max_depth is '8'", "no 'most'"):
        assert part in reported
    assert "max_loop_steps" in reported
