"""Devices: scopes, what a session has, what is sent between two; in both engines."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
CPU = "/job:localhost/replica:0/task:0/device:CPU:"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def placed(*scopes) -> str:
    """The device of an operation inside scopes, the outermost first."""
    if not scopes:
        return tf.constant(1.0).device
    with tf.device(scopes[0]):
        return placed(*scopes[1:])


# ---- names ----


@pytest.mark.parametrize(
    ("scopes", "device"),
    [
        (["/cpu:0"], "/device:CPU:0"),
        (["/CPU:0"], "/device:CPU:0"),
        (["gpu:1"], "/device:GPU:1"),
        (["/gpu"], "/device:GPU:*"),
        (["/device:XLA_CPU:0"], "/device:XLA_CPU:0"),
        (["/job:ps"], "/job:ps"),
        (["/job:ps/replica:1/task:2/cpu:3"], "/job:ps/replica:1/task:2/device:CPU:3"),
        (["/job:ps/task:1", "/gpu:0"], "/job:ps/task:1/device:GPU:0"),
        (["/job:ps/gpu:0", "/job:worker"], "/job:worker/device:GPU:0"),
        (["/job:ps", None, "/cpu:1"], "/device:CPU:1"),
        (["/job:ps", None], ""),
        (["/job:ps", ""], "/job:ps"),
        (["/job:ps", lambda op: "/cpu:1"], "/job:ps/device:CPU:1"),
        ([lambda op: op.device + "/job:ps", "/gpu:3"], "/job:ps/device:GPU:3"),
        ([lambda op: None], ""),
        ([tf.DeviceSpec(job="ps", device_type="cpu", device_index=2)], "/job:ps/device:CPU:2"),
    ],
)
def test_scopes_merge_into_a_canonical_name(scopes: list, device: str) -> None:
    assert placed(*scopes) == device
    assert tf.constant(1.0).device == ""


@pytest.mark.parametrize("name", ["bogus", "/cpu:x", "/task:one", "/cpu:0/gpu:0", "cpu:0:0"])
def test_what_is_no_device_is_refused_on_entry(name: str, graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match=name.split("/")[-1]):
        tf.device(name).__enter__()
    assert tf.constant(1.0).device == "" and len(graph.get_operations()) == 1


def test_a_device_is_a_name_or_a_function() -> None:
    with pytest.raises(TypeError, match="int"):
        tf.device(3).__enter__()  # type: ignore[arg-type]
    with tf.device(lambda op: 3), pytest.raises(TypeError, match="int"):
        tf.constant(1.0)


def test_a_function_sees_the_finished_operation() -> None:
    seen = []

    def choose(op: tf.Operation) -> str:
        seen.append((op.name, op.type, len(op.inputs), op.outputs[0].shape.as_list()))
        return "/cpu:0" if op.type == "MatMul" else ""

    x = tf.ones([2, 2], name="x")
    with tf.device(choose):
        y = tf.matmul(x, x, name="y")
    assert ("y", "MatMul", 2, [2, 2]) in seen and y.device == "/device:CPU:0"


def test_colocation_takes_the_other_device_alone() -> None:
    with tf.device("/cpu:1"):
        v = tf.Variable(1.0)
    with tf.device("/job:ps"), tf.colocate_with(v):
        assert tf.constant(1.0).device == "/device:CPU:1"
    with tf.device("/job:ps"), tf.colocate_with(None, ignore_existing=True):
        assert tf.constant(1.0).device == ""
    with pytest.raises(ValueError, match="None"):
        tf.colocate_with(None).__enter__()
    with pytest.raises(TypeError, match="str"):
        tf.colocate_with("v").__enter__()


def test_colocation_groups_are_those_of_the_operations_around() -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    with tf.colocate_with(a):
        one = tf.constant(3.0)
        with tf.colocate_with(b):
            both = tf.constant(4.0)
        with tf.colocate_with(b, ignore_existing=True):
            other = tf.constant(5.0)
        with tf.colocate_with(one):
            through = tf.constant(6.0)
    after = tf.constant(7.0, name="after")
    groups = [t.op.colocation_groups() for t in (one, both, other, through, after)]
    assert groups == [
        [b"loc:@a"],
        [b"loc:@a", b"loc:@b"],
        [b"loc:@b"],
        [b"loc:@a"],
        [b"loc:@after"],
    ]
    assert both.op.get_attr("_class") == [b"loc:@a", b"loc:@b"]
    with pytest.raises(ValueError, match="_class"):
        after.op.get_attr("_class")


def test_colocation_is_stronger_than_a_device_scope_inside() -> None:
    with tf.device("/cpu:1"):
        a = tf.constant(1.0)
    with tf.colocate_with(a), tf.device("/cpu:0"):
        assert tf.constant(1.0).device == "/device:CPU:1"


def test_device_scopes_hold_in_their_thread() -> None:
    graph, seen = tf.get_default_graph(), []

    def build() -> None:
        with graph.as_default():
            seen.append(tf.constant(1.0).device)

    with tf.device("/cpu:1"):
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
        seen.append(tf.constant(1.0).device)
    assert seen == ["", "/device:CPU:1"]


def test_branches_and_loops_inherit_the_scope() -> None:
    seen = []

    def inside(*_: tf.Tensor) -> tf.Tensor:
        seen.append(tf.constant(1.0).device)
        return tf.constant(2.0)

    with tf.device("/cpu:1"):
        tf.cond(tf.placeholder(tf.bool, []), inside, inside)
        tf.while_loop(lambda i: i < 3.0, inside, [0.0])
    assert set(seen) == {"/device:CPU:1"} and len(seen) >= 3


def test_devices_are_kept_in_files() -> None:
    with tf.device("/job:ps/cpu:1"):
        tf.constant(1.0, name="c")
    definition = tf.get_default_graph().as_graph_def()
    assert definition.node[0].device == "/job:ps/device:CPU:1"


def test_parts_of_a_name() -> None:
    spec = tf.DeviceSpec.from_string("/job:ps/task:1/gpu:*")
    assert (spec.job, spec.task, spec.device_type, spec.device_index) == ("ps", 1, "GPU", None)
    assert spec.to_string() == "/job:ps/task:1/device:GPU:*"
    merged = spec.make_merged_spec(tf.DeviceSpec(task=2, device_index=0))
    assert merged.to_string() == "/job:ps/task:2/device:GPU:0"
    assert spec == tf.DeviceSpec.from_string("/job:ps/task:1/device:GPU:*") != merged


# ---- the devices of a session ----


@TARGETS
def test_a_missing_device_fails_the_runs_that_need_it(target: str) -> None:
    with tf.device("/gpu:7"):
        there = tf.constant(1.0, name="there") + 1.0
    here = tf.constant(1.0) + 1.0
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(there)
        assert session.run(here) == 2.0
    text = caught.value.message
    assert "/device:GPU:7" in text and f"[ {CPU}0 ]" in text and "allow_soft_placement" in text
    assert caught.value.op.device == "/device:GPU:7"


@TARGETS
@pytest.mark.parametrize("device", ["/gpu:0", "/cpu:9", "/job:ps", "/job:localhost/task:3/cpu:0"])
def test_soft_placement_runs_it_here(target: str, device: str) -> None:
    with tf.device(device):
        x = tf.constant(2.0) * 3.0
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(target, config=config) as session:
        assert session.run(x) == 6.0


def test_devices_are_listed() -> None:
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3, "GPU": 0})) as session:
        found = session.list_devices()
    assert [d.name for d in found] == [f"{CPU}{i}" for i in range(3)]
    assert {d.device_type for d in found} == {"CPU"}
    assert all(d.memory_limit_bytes > 0 for d in found)
    assert len({d.incarnation for d in found}) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="device_count"):
        tf.Session(config=tf.ConfigProto(device_count={"CPU": -1}))


def test_placements_are_logged_on_demand(capfd: pytest.CaptureFixture) -> None:
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        session.run(tf.add(1.0, 2.0, name="sum"))
    assert f"sum: (Add): {CPU}0" in capfd.readouterr().err


# ---- several devices ----


def run_on(target: str, count: int, fetches, feeds=None, init=None):
    config = tf.ConfigProto(device_count={"CPU": count})
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    with tf.Session(target, config=config) as session:
        if init is not None:
            session.run(init)
        values = session.run(fetches, feeds, options=options, run_metadata=metadata)
    return values, metadata.partition_graphs


@TARGETS
def test_values_go_from_device_to_device_once(target: str) -> None:
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/cpu:1"):
        y = x * 2.0
        z = y + x
    with tf.device("/cpu:2"):
        total = tf.reduce_sum(z) + tf.reduce_sum(y)
    value, parts = run_on(target, 3, total, {x: [1.0, 2.0]})
    assert value == 15.0
    assert len(parts) == 3
    by_device = {part.node[0].device: part for part in parts}
    assert sorted(by_device) == [f"{CPU}{i}" for i in range(3)]
    ops = {device[-1]: [n.op for n in part.node] for device, part in by_device.items()}
    assert ops["0"].count("_Send") == 1 and ops["0"].count("_Recv") == 0
    assert ops["1"].count("_Recv") == 1 and ops["1"].count("_Send") == 2
    assert ops["2"].count("_Recv") == 2 and ops["2"].count("_Send") == 0
    for device, part in by_device.items():
        assert {n.device for n in part.node} == {device}
        names = {n.name for n in part.node}
        read = {v.lstrip("^").split(":")[0] for n in part.node for v in n.input}
        assert read <= names, "a part reads what it has"
        assert all(not n.input for n in part.node if n.op == "_Recv")


@TARGETS
def test_training_over_two_devices_is_training_on_one(target: str) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/cpu:0"):
        w = tf.Variable([[1.0], [2.0]])
    with tf.device("/cpu:1"):
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
        (gradient,) = tf.gradients(loss, [w])
    with tf.device("/cpu:0"):
        step = w.assign_sub(0.125 * gradient)
    feed = {x: np.array([[1.0, 0.5], [0.25, 1.0]])}
    init = tf.global_variables_initializer()
    got, parts = run_on(target, 2, step, feed, init)
    with tf.Session(target, config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(init)
        np.testing.assert_array_equal(got, session.run(step, feed))
    assert len(parts) == 2


@TARGETS
def test_bodies_read_what_was_sent(target: str) -> None:
    with tf.device("/cpu:1"):
        a, n = tf.constant([1.0, 2.0]) * 1.0, tf.constant(3) + 0
    x = tf.placeholder(tf.bool, [])
    branch = tf.cond(x, lambda: a * 2.0, lambda: tf.cond(x, lambda: a, lambda: -a))
    _, loop = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + a), [0, a])
    (got, looped), parts = run_on(target, 2, [branch, loop], {x: False})
    assert got.tolist() == [-1.0, -2.0] and looped.tolist() == [4.0, 8.0]
    assert len(parts) == 2


@TARGETS
def test_a_run_on_one_device_is_one_part(target: str) -> None:
    with tf.device("/cpu:1"):
        x = tf.constant(1.0) + 1.0
    value, parts = run_on(target, 2, x)
    assert value == 2.0 and len(parts) == 1
    assert not any(n.op in ("_Send", "_Recv") for n in parts[0].node)


@TARGETS
def test_what_is_fed_is_sent_too(target: str) -> None:
    with tf.device("/cpu:1"):
        middle = tf.placeholder(tf.float32, []) + 1.0
    value, _ = run_on(target, 2, middle * 10.0, {middle: 2.0})
    assert value == 20.0
