"""tf.test.Benchmark: what it runs and reports."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import graphio as tf


class Sums(tf.test.Benchmark):
    """Measures a sum that counts its runs."""

    def benchmark_sum(self, sess: tf.Session, fetched: Any, **settings: Any) -> dict[str, Any]:
        return self.run_op_benchmark(sess, fetched, **settings)


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_benchmark_runs_as_often_as_it_reports(
    target: str, caplog: pytest.LogCaptureFixture
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        runs = tf.Variable(0)
        x = tf.placeholder(tf.int32, [])
        sess.run(runs.initializer)
        settings = {"feed_dict": {x: 2}, "burn_iters": 3, "min_iters": 4, "mbs": 8}
        with caplog.at_level(logging.INFO, "graphio"):
            found = Sums().benchmark_sum(sess, runs.assign_add(x), **settings)
        assert sess.run(runs) == 2 * (3 + 4)
    assert (found["iters"], found["name"], found["extras"]) == (4, None, {})
    assert found["throughput"] == 8 / found["wall_time"]
    assert "Benchmark [Sums.benchmark_sum] iters: 4, wall_time: " in caplog.text


def test_a_benchmark_gives_the_trace_of_one_more_run(caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default(), tf.Session() as sess, caplog.at_level(logging.INFO, "graphio"):
        added = tf.add(tf.placeholder_with_default(1.0, []), 1.0, name="added")
        settings = {"burn_iters": 0, "min_iters": 1, "store_trace": True, "name": "small"}
        found = Sums().benchmark_sum(sess, added, extras={"size": 2}, **settings)
    events = json.loads(found["full_trace_chrome_format"])["traceEvents"]
    assert any("added" in str(event) for event in events)
    assert "Benchmark [Sums.small]" in caplog.text and "extras: {'size': 2}" in caplog.text


def test_a_benchmark_without_runs_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match="min_iters is 0, expected 1 or more"):
            Sums().benchmark_sum(sess, tf.constant(1.0), min_iters=0)
    assert tf.test.Benchmark.is_abstract() and not Sums.is_abstract()


def test_the_configuration_of_benchmarks_leaves_dependencies_as_they_are() -> None:
    config = tf.test.benchmark_config()
    assert config.graph_options.rewrite_options.dependency_optimization == 2
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        assert sess.run(tf.constant(3)) == 3


def test_a_benchmark_evaluates_in_the_default_session_or_a_new_one() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        with tf.Session() as sess:
            sess.run(v.assign(5.0))
            assert Sums().evaluate({"v": v, "w": [v + 1.0]}) == {"v": 5.0, "w": [6.0]}
        assert Sums().evaluate(tf.constant(3)) == 3
