"""RunOptions and RunMetadata: times, traces, deadlines; in both engines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def net() -> tuple[tf.Tensor, tf.Tensor]:
    x = tf.placeholder(tf.float32, [None, 300], name="x")
    y = tf.matmul(x, tf.ones([300, 200]), name="matmul")
    return x, tf.reduce_sum(tf.exp(y * 1e-3), name="total")


def traced(target: str, fetches, feeds=None, **config) -> tf.RunMetadata:
    metadata = tf.RunMetadata()
    with tf.Session(target, config=tf.ConfigProto(**config)) as session:
        session.run(fetches, feeds, options=TRACE, run_metadata=metadata)
    return metadata


@TARGETS
def test_a_trace_has_the_time_of_every_operation(target: str) -> None:
    x, total = net()
    before = time.time() * 1e6
    stats = traced(target, total, {x: np.ones((64, 300))}).step_stats
    after = time.time() * 1e6
    assert [d.device for d in stats.dev_stats] == [DEVICE]
    nodes = {n.node_name: n for n in stats.dev_stats[0].node_stats}
    assert {"matmul", "Exp", "total"} <= set(nodes)
    for node in nodes.values():
        assert before - 1 <= node.all_start_micros <= after
        assert 0 <= node.op_start_rel_micros <= node.op_end_rel_micros <= node.all_end_rel_micros
    assert nodes["matmul"].all_start_nanos < nodes["total"].all_start_nanos
    assert nodes["matmul"].op_end_rel_nanos > 0
    assert nodes["matmul"].timeline_label == "matmul = MatMul(x, ones)"


def test_the_python_runtime_tells_what_operations_gave() -> None:
    x, total = net()
    stats = traced("runtime", total, {x: np.ones((4, 300))}).step_stats
    multiplied = next(n for n in stats.dev_stats[0].node_stats if n.node_name == "matmul")
    (output,) = multiplied.output
    assert [d.size for d in output.tensor_description.shape.dim] == [4, 200]
    assert output.slot == 0 and output.tensor_description.dtype == tf.float32.number


def test_both_engines_tell_of_the_same_operations() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("made"):
        y = tf.sqrt(tf.constant([4.0, 9.0])) * x
        z = tf.tanh(tf.nn.relu(y + [1.0, 2.0]))
    reported = []
    for target in ("runtime", "cinfer"):
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        tf.Session(target).run([z], {x: [1, 2]}, options=options, run_metadata=metadata)
        (device,) = metadata.step_stats.dev_stats
        assert all(stats.all_start_micros > 0 for stats in device.node_stats)
        reported.append(sorted(stats.node_name for stats in device.node_stats))
    inside = [op.name for op in tf.get_default_graph().get_operations() if op.type != "Placeholder"]
    assert reported == [sorted(inside)] * 2


@TARGETS
def test_times_are_reported_by_device(target: str) -> None:
    x, total = net()
    with tf.device("/cpu:1"):
        more = tf.sqrt(total, name="more")
    stats = traced(target, more, {x: np.ones((4, 300))}, device_count={"CPU": 2}).step_stats
    assert [d.device[-1] for d in stats.dev_stats] == ["0", "1"]
    assert "more" in {n.node_name for n in stats.dev_stats[1].node_stats}


@TARGETS
def test_nothing_is_reported_that_was_not_requested(target: str) -> None:
    x, total = net()
    metadata = traced(target, total, {x: np.ones((4, 300))})
    assert len(metadata.step_stats.dev_stats) == 1 and not metadata.partition_graphs
    with tf.Session(target) as session:
        session.run(total, {x: np.ones((4, 300))}, run_metadata=metadata)
        assert not metadata.step_stats.dev_stats, "what was there is forgotten"
        session.run(total, {x: np.ones((4, 300))}, options=tf.RunOptions(trace_level=1))
        session.run([], options=TRACE, run_metadata=metadata)
        assert not metadata.step_stats.dev_stats


@TARGETS
def test_metadata_is_a_message(target: str) -> None:
    x, total = net()
    metadata = traced(target, total, {x: np.ones((4, 300))})
    again = tf.RunMetadata.FromString(metadata.SerializeToString())
    assert again == metadata and "matmul" in str(again)


@TARGETS
def test_a_traced_run_gives_what_another_gives(target: str) -> None:
    v = tf.Variable(1.0)
    step = tf.assign_add(v, 1.0)
    with tf.Session(target) as session:
        session.run(v.initializer)
        metadata = tf.RunMetadata()
        got = [session.run(step, options=TRACE, run_metadata=metadata) for _ in range(3)]
        assert got == [2.0, 3.0, 4.0] and session.run(v) == 4.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed"):
            session.run(tf.placeholder(tf.float32, []) + v, options=TRACE, run_metadata=metadata)


@TARGETS
def test_the_timeline_is_a_chrome_trace(target: str) -> None:
    x, total = net()
    stats = traced(target, total, {x: np.ones((64, 300))}).step_stats
    trace = json.loads(tf.timeline.Timeline(stats).generate_chrome_trace_format())["traceEvents"]
    assert trace[0] == {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": DEVICE}}
    boxes = {e["args"]["name"]: e for e in trace if e["ph"] == "X"}
    assert boxes["matmul"]["name"] == "MatMul" and boxes["matmul"]["args"]["inputs"][0] == "x"
    assert boxes["matmul"]["ts"] <= boxes["total"]["ts"]
    starts, ends = ([e["id"] for e in trace if e["ph"] == phase] for phase in "st")
    assert starts and starts == ends and len(set(starts)) == len(starts)
    plain = tf.timeline.Timeline(stats).generate_chrome_trace_format(show_dataflow=False)
    assert {e["ph"] for e in json.loads(plain)["traceEvents"]} == {"M", "X"}


# ---- deadlines ----


def endless() -> tf.Tensor:
    return tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0], name="endless")


@TARGETS
@pytest.mark.parametrize("where", ["run", "config"])
def test_a_run_that_takes_too_long_is_ended(target: str, where: str) -> None:
    loop, v = endless(), tf.Variable(1.0)
    config = tf.ConfigProto(operation_timeout_in_ms=250 if where == "config" else 0)
    options = tf.RunOptions(timeout_in_ms=250) if where == "run" else None
    with tf.Session(target, config=config) as session:
        session.run(v.initializer)
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out") as caught:
            session.run(loop, options=options)
        assert 0.24 < time.monotonic() - start < 15
        assert caught.value.error_code == tf.errors.DEADLINE_EXCEEDED
        assert session.run(v, options=options) == 1.0, "the session goes on"


# ---- refusals ----


@pytest.mark.parametrize(
    ("arguments", "kind", "word"),
    [
        ({"options": 3}, TypeError, "RunOptions"),
        ({"run_metadata": {}}, TypeError, "RunMetadata"),
        ({"options": tf.RunMetadata()}, TypeError, "RunOptions"),
    ],
)
def test_other_things_are_refused(arguments: dict, kind: type, word: str) -> None:
    x = tf.constant(1.0)
    with tf.Session() as session, pytest.raises(kind, match=word):
        session.run(x, **arguments)


def test_options_have_tensorflows_fields_and_types() -> None:
    options = tf.RunOptions(
        trace_level=tf.RunOptions.SOFTWARE_TRACE,
        timeout_in_ms=5,
        output_partition_graphs=True,
        report_tensor_allocations_upon_oom=True,
    )
    assert (options.trace_level, options.timeout_in_ms) == (1, 5)
    assert not tf.RunOptions().output_partition_graphs
    with pytest.raises(ValueError, match="no_such"):
        tf.RunOptions(no_such=1)
    with pytest.raises(TypeError, match="timeout_in_ms"):
        tf.RunOptions(timeout_in_ms="soon")
    with pytest.raises(TypeError, match="trace_level"):
        options.trace_level = 1.5


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_device_is_reported_though_its_nodes_need_no_step(target: str) -> None:
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            value = tf.constant(1.0)
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(target, config=config) as session:
            session.run(value, options=options, run_metadata=metadata)
    devices = [stats.device.rpartition("/")[2] for stats in metadata.step_stats.dev_stats]
    assert "device:CPU:1" in devices


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_each_nth_run_of_the_same_fetches_tells_its_costs(target: str) -> None:
    options = tf.GraphOptions(build_cost_model=2, build_cost_model_after=1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.identity(tf.exp(x, name="exp"), name="y")
        with tf.Session(target, config=tf.ConfigProto(graph_options=options)) as session:
            reported = []
            for _ in range(5):
                metadata = tf.RunMetadata()
                session.run(y, {x: [1.0, 2.0, 3.0]}, run_metadata=metadata)
                reported.append(metadata.HasField("cost_graph"))
                assert not metadata.HasField("step_stats")
                if reported[-1]:
                    costs = {node.name: node for node in metadata.cost_graph.node}
            session.run(x + 1, {x: [0.0] * 3}, run_metadata=metadata)
            assert not metadata.HasField("cost_graph")
    assert reported == [False, False, True, False, True]
    assert [i.preceding_node for i in costs["exp"].input_info] == [costs["x"].id]
    assert [o.size for o in costs["exp"].output_info] == [12] and costs["exp"].compute_cost >= 0
    assert costs["exp"].device.endswith("/device:CPU:0")
