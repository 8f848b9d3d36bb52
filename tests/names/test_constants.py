"""Public constants against those of TensorFlow."""

from __future__ import annotations

import json

import constants
import pytest

import graphio as tf
from graphio.python import names

STORED = json.loads(constants.STORED.read_text(encoding="utf-8"))
THERE = [path for path in STORED if names.status(path).how == "there"]


@pytest.mark.parametrize("path", THERE)
def test_a_constant_is_that_of_tensorflow(path: str) -> None:
    assert constants.plain(names.resolve(path)) == STORED[path]


def test_the_version_of_graphs_is_the_one_that_is_written() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
    assert tf.GRAPH_DEF_VERSION == graph.as_graph_def().versions.producer == 134
    assert tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER == 0
    assert tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER == 0
