"""The HTML that a notebook shows of graphs, models, states and checkpoints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import trained

import graphio as tf
from graphio import cinfer, runtime


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("files"))


def cells(shown: Any) -> list[str]:
    """The strings in an object's table."""
    return re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", shown._repr_html_())


def test_a_small_graph_is_a_table_and_a_picture() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.relu(tf.matmul(x, tf.get_variable("w", [2, 3])), name="y")
    assert {"operator", "MatMul", "Relu"} <= set(cells(graph))
    assert "<svg" in graph._repr_html_() and ">x</text>" in graph._repr_html_()


def test_a_large_graph_has_no_picture_and_an_empty_one_is_shown() -> None:
    graph = tf.Graph()
    with graph.as_default():
        y = tf.placeholder(tf.float32, [2])
        for _ in range(100):
            y = tf.exp(y)
    assert "<svg" not in graph._repr_html_() and "100" in cells(graph)
    assert "0 operations" in tf.Graph()._repr_html_()


@pytest.mark.parametrize("engine", [runtime, cinfer], ids=["runtime", "cinfer"])
def test_models_show_signatures_and_states_variables(engine: Any, files: Path) -> None:
    model = engine.load(files / "net.gio")
    assert ["predict", "x", "in", "float32[?,3]"] == cells(model)[4:8]
    assert {"w", "float32[3,2]", "24 bytes"} <= set(cells(model.state))


def test_checkpoints_and_their_differences_are_tables(files: Path) -> None:
    assert "w/Momentum" in cells(tf.train.list_checkpoint(files / "net-1"))
    found = tf.train.diff_checkpoints(files / "net-1", files / "net-2")
    assert {"global_step", "differs"} <= set(cells(found))


def test_tables_of_checkpoints_have_the_cells_that_are_printed(files: Path) -> None:
    listing = tf.train.list_checkpoint(files / "net-1")
    difference = tf.train.diff_checkpoints(files / "net-1", files / "net-2")
    for shown in (listing, difference):
        assert "w/Momentum" in cells(shown)
        assert [cell for cell in cells(shown) if cell not in str(shown)] == []


def test_a_profile_is_a_table() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.exp(tf.placeholder_with_default(np.float32([1]), [1]), name="y")
        assert "Exp" in cells(tf.timeline.profile(session, y, runs=1))


def test_names_are_escaped_and_long_tables_cut() -> None:
    from graphio.support import html

    shown = html.table("<t>", ("a",), [("<script>",)] * 70)
    assert "<script>" not in shown and "&lt;t&gt;" in shown and "and 20 more" in shown
