"""First runs: the plan is made once, without messages of nodes, in time linear in the nodes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.execution import engines
from graphio.schema import nodes

TARGETS = ("runtime", "cinfer")
X = np.ones((3, 6), np.float32)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def step(layers: int) -> tuple[Any, dict[Any, Any]]:
    """A training step of some dense layers, and its feeds."""
    h = x = tf.placeholder(tf.float32, [None, 6])
    for _ in range(layers):
        h = tf.layers.dense(h, 6, activation=tf.nn.relu)
    return tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(h**2)), {x: X}


@pytest.mark.parametrize("target", TARGETS)
def test_a_first_run_makes_no_messages_of_nodes(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a graph became a message")

    monkeypatch.setattr(nodes, "fill_graph", refused)
    monkeypatch.setattr(nodes, "from_message", refused)
    train, feeds = step(2)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, feeds)


def test_a_first_run_loads_one_model_and_plans_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("graphio.cinfer", reason="the C library was not built")
    loaded = []
    load = engines.Engine.load

    def noted(engine: engines.Engine, source: Any, **options: Any) -> Any:
        loaded.append(load(engine, source, **options))
        return loaded[-1]

    train, feeds = step(2)
    start = tf.global_variables_initializer()
    with tf.Session("cinfer") as session:
        session.run(start)
        monkeypatch.setattr(engines.Engine, "load", noted)
        for _ in range(3):
            session.run(train, feeds)
        (model,) = loaded
        assert (model.stats().runs, model.stats().plans) == (3, 1)


@pytest.mark.parametrize("target", TARGETS)
def test_the_work_of_a_first_run_grows_with_the_number_of_nodes(target: str) -> None:
    few, some, many = (calls_of_first_run(target, layers) for layers in (4, 12, 28))
    assert many - some < 2.2 * (some - few)


def calls_of_first_run(target: str, layers: int) -> int:
    """How many Python functions and generators a first run enters."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    with tf.Graph().as_default():
        train, feeds = step(layers)
        start = tf.global_variables_initializer()
        with tf.Session(target) as session:
            session.run(start)
            sys.setprofile(counted)
            try:
                session.run(train, feeds)
            finally:
                sys.setprofile(None)
    return count
