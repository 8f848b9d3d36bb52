"""Queue runners of a MetaGraphDef: programs that build a graph, export it and train a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphio as tf
from graphio.queues.queue_runner import queue_runner_of

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize("scope", [None, "copy"])
def test_an_imported_graph_has_the_queue_runners(target: str, scope: str | None) -> None:
    with tf.Graph().as_default():
        numbers = tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue(name="next")
        tf.identity(numbers * 10, name="result")
        before = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].to_proto()
        graph = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(graph, import_scope=scope)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.to_proto(scope) == before
        result = f"{scope}/result:0" if scope else "result:0"
        with tf.Session(target=target) as sess:
            sess.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coordinator)
            assert len(threads) > 0
            assert [sess.run(result) for _ in range(6)] == [0, 10, 20, 0, 10, 20]
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(result)
            coordinator.request_stop()
            coordinator.join(threads)


def test_a_file_has_no_runners_of_queues_that_it_cannot_have(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        tf.train.range_input_producer(3).dequeue()
        tf.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with tf.Graph().as_default():
        tf.train.import_meta_graph(str(tmp_path / "graph.meta"))
        assert tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS) == []


@pytest.mark.parametrize(
    "item",
    [b"", b"\xff", b"[1]", b'{"none": 1}', b'{"queue_name": []}', b'{"queue_name": "gone"}',
     b"[" * 100_000],
)  # fmt: skip
def test_an_item_that_is_not_a_runner_of_the_graph_is_none(item: bytes) -> None:
    assert queue_runner_of(item, {}) is None
