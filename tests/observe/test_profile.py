"""Profiles, traces and shares of the machine's limit; several threads in one session."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import ROOT

import graphio as tf
from graphio.model import costs
from graphio.schema.xplane_pb2 import XSpace

sys.path.insert(0, str(ROOT))
from benchmarks import limits

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
RNG = np.random.RandomState(0)


def net() -> tuple[tf.Graph, tf.Tensor, tf.Tensor]:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 300], name="x")
        w = tf.Variable(RNG.rand(300, 200).astype(np.float32))
        hidden = tf.nn.relu(tf.matmul(x, w, name="product"), name="hidden")
        y = tf.reduce_sum(hidden, 1, name="y")
    return graph, x, y


def session_of(graph: tf.Graph, target: str) -> tf.Session:
    session = tf.Session(target, graph=graph)
    with graph.as_default():
        session.run(tf.global_variables_initializer())
    return session


# ---- profiles ----


@TARGETS
def test_a_profile_tells_what_each_operation_takes(target: str) -> None:
    graph, x, y = net()
    found = tf.timeline.profile(session_of(graph, target), y, {x: np.ones((64, 300))}, runs=4)
    assert len(found.runs) == 4
    assert found.operations[0].name == "product" and found.operations[0].op == "MatMul"
    assert {"product", "hidden", "y"} <= {o.name for o in found.operations}
    assert sum(o.share for o in found.operations) == pytest.approx(1)
    assert found.seconds == pytest.approx(sum(o.seconds for o in found.operations))
    assert "product" in str(found) and "the minimum of 4 runs" in str(found)
    for o in found.operations:
        nodes = (n for run in found.runs for n in run.dev_stats[0].node_stats)
        least = min(n.all_end_rel_nanos for n in nodes if n.node_name == o.name)
        assert o.seconds == pytest.approx(least * 1e-9)


@TARGETS
def test_a_profile_is_a_file_of_tensorboards(target: str, tmp_path: Path) -> None:
    graph, x, y = net()
    found = tf.timeline.profile(session_of(graph, target), y, {x: np.ones((64, 300))}, runs=3)
    path = Path(found.save_tensorboard(tmp_path, "first"))
    assert path.parent == tmp_path / "plugins" / "profile" / "first"
    assert path.name.endswith(".xplane.pb")
    (plane,) = XSpace.FromString(path.read_bytes()).planes
    assert plane.name == "/host:CPU"  # the plane whose operations the plugin lists
    reported: dict[str, list[float]] = {}
    for line in plane.lines:
        assert 0 <= line.timestamp_ns < 60e9  # the plugin counts picoseconds in 64 bits
        ends = [e.offset_ps + e.duration_ps for e in line.events]
        assert line.duration_ps == max(ends) and min(e.offset_ps for e in line.events) == 0
        for event in line.events:
            name = plane.event_metadata[event.metadata_id].name
            reported.setdefault(name, []).append(event.duration_ps * 1e-12)
            if name == "product:MatMul":
                assert event.stats[0].str_value.split(", ")[0] == "x"
                assert plane.stat_metadata[event.stats[0].metadata_id].name == "inputs"
    times = {o.name: o.seconds for o in found.operations}
    for name in ("product:MatMul", "hidden:Relu", "y:Sum"):
        assert len(reported[name]) == 3 and min(reported[name]) == pytest.approx(
            times[name.split(":")[0]]
        )
    again = tf.timeline.profile(session_of(graph, target), y, {x: np.ones((64, 300))}, runs=1)
    assert again.save_tensorboard(str(tmp_path), "first") == str(path)
    (plane,) = XSpace.FromString(path.read_bytes()).planes
    assert sum(len(line.events) for line in plane.lines) == len(again.operations)


def test_a_profile_of_several_devices_has_a_plane_each(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32, [2], name="x")
            a = tf.exp(x, name="a")
        with tf.device("/cpu:1"):
            b = tf.exp(a, name="b")
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session("runtime", graph=graph, config=config) as session:
        found = tf.timeline.profile(session, b, {x: [1, 2]}, runs=2)
    space = XSpace.FromString(Path(found.save_tensorboard(tmp_path)).read_bytes())
    names = [
        {plane.event_metadata[k].display_name for k in plane.event_metadata}
        for plane in space.planes
    ]
    assert len(names) == 2 and "a" in names[0] and "b" in names[1]
    assert space.planes[0].name == "/host:CPU" and space.planes[1].name.endswith("CPU:1")


@TARGETS
def test_a_profile_is_a_trace(target: str, tmp_path: Path) -> None:
    graph, x, y = net()
    found = tf.timeline.profile(session_of(graph, target), y, {x: np.ones((64, 300))}, runs=2)
    found.save(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    boxes = {e["args"]["name"]: e for e in events if e["ph"] == "X"}
    assert boxes["product"]["dur"] > 0
    assert boxes["product"]["ts"] + boxes["product"]["dur"] <= boxes["y"]["ts"] + 1


def test_a_profile_needs_a_run() -> None:
    graph, x, y = net()
    with pytest.raises(ValueError, match="runs is 0, expected 1 or more"):
        tf.timeline.profile(session_of(graph, ""), y, {x: np.ones((1, 300))}, runs=0)


def test_steps_of_c_are_reported_in_their_order() -> None:
    graph, x, y = net()
    found = tf.timeline.profile(session_of(graph, "cinfer"), y, {x: np.ones((1, 300))}, runs=20)
    times = [n for run in found.runs for n in run.dev_stats[0].node_stats]
    starts = [n.all_start_nanos for n in times]
    assert starts == sorted(starts) and len({n.node_name for n in times}) > 1


def test_more_steps_are_noted_than_there_was_capacity_for() -> None:
    with tf.Graph().as_default() as graph:
        x = y = tf.placeholder(tf.float32, [4, 4])
        for _ in range(600):
            y = tf.matmul(y, x)
    found = tf.timeline.profile(tf.Session("cinfer", graph=graph), y, {x: np.eye(4)}, runs=1)
    assert sum(o.op == "MatMul" for o in found.operations) == 600


# ---- limits ----

CASES: list[tuple[str, list[tuple[int, ...]], tuple[int, ...], dict[str, Any], int]] = [
    ("MatMul", [(2, 3, 4), (4, 5)], (2, 3, 5), {}, 2 * 2 * 3 * 4 * 5),
    ("Gemm", [(4, 3), (4, 5), (5,)], (3, 5), {"transA": 1}, 2 * 3 * 4 * 5),
    ("Conv", [(1, 8, 9, 9), (6, 4, 3, 3)], (1, 6, 7, 7), {}, 2 * 6 * 49 * 4 * 9),
    ("Conv2D", [(1, 9, 9, 8), (3, 3, 4, 6)], (1, 7, 7, 6), {}, 2 * 6 * 49 * 4 * 9),
    ("Conv2DGradFilter", [(1, 9, 9, 4), (4,), (1, 7, 7, 6)], (3, 3, 4, 6), {}, 2 * 6 * 49 * 4 * 9),
    ("LSTM", [(5, 2, 3), (1, 16, 3), (1, 16, 4)], (5, 1, 2, 4), {}, 2 * 5 * 2 * (48 + 64)),
    ("ReduceSum", [(4, 5)], (4,), {}, 20),
    ("Add", [(4, 5), (5,)], (4, 5), {}, 20),
    ("FusedMatMul", [(3, 4), (4, 5), (5,)], (3, 5), {"ops": ["Add", "Relu"]}, 2 * 60 + 2 * 15),
    ("FusedElementwise", [(4, 5)], (4, 5), {"ops": ["Exp", "Neg", "Abs"]}, 60),
    ("Transpose", [(4, 5)], (5, 4), {}, 0),
]


@pytest.mark.parametrize(("op", "inputs", "output", "attrs", "expected"), CASES)
def test_operations_are_counted(op: str, inputs, output, attrs, expected: int) -> None:
    assert costs.operations(op, inputs, output, attrs) == expected


def test_operations_on_an_unknown_shape_are_unknown() -> None:
    assert costs.operations("MatMul", [None, (4, 5)], (3, 5), {}) is None


def test_views_move_nothing_and_a_gather_what_it_takes() -> None:
    assert costs.traffic("Reshape", [400, 16], [400]) == 0
    assert costs.traffic("Gather", [1 << 20, 80], [4000]) == 8080
    assert costs.traffic("Add", [400, 400], [400]) == 1200


def test_the_limit_is_the_slower_of_computing_and_moving() -> None:
    most = limits.Limits(1e9, {"L1": (1000, 1e9), "DRAM": (1 << 62, 1e8)})
    assert most.of(500, 1000) == (1e-6, "L1")
    assert most.of(5000, 1000) == (5e-6, "FMA")
    assert most.of(0, 2000) == (2e-5, "DRAM")


def test_the_table_has_every_node_beside_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    most = limits.Limits(1e9, {"L1": (1 << 15, 1e9), "DRAM": (1 << 62, 1e8)})
    monkeypatch.setattr(limits, "limits", lambda: most)
    graph, x, y = net()
    path, trace = str(tmp_path / "net.gio"), tmp_path / "run.json"
    session = session_of(graph, "")
    tf.saved_model.save(path, session, {"predict": ({"x": x}, {"y": y})})
    arguments = ["limits", path, "--batch", "8", "--runs", "2", "--trace", str(trace)]
    monkeypatch.setattr(sys, "argv", arguments)
    limits.main()
    text = capsys.readouterr().out
    assert "One core: 1 GFLOP/s, L1 1 GB/s, DRAM 0 GB/s." in text
    multiplied = next(line for line in text.splitlines() if "product" in line)
    assert "hidden" in multiplied and "FMA" in multiplied  # they run as one
    assert "| all |" in text
    events = json.loads(trace.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "X"}
    assert {"product", "hidden"} <= names


# ---- threads ----


def in_threads(work: list[Any]) -> None:
    """Calls all functions at the same time; what one raises is raised."""
    problems: list[BaseException] = []
    start = threading.Barrier(len(work))

    def run(function: Any) -> None:
        try:
            start.wait()
            function()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


@TARGETS
def test_threads_share_a_session_and_each_gets_its_own_result(target: str) -> None:
    graph, x, y = net()
    session = session_of(graph, target)
    feeds = [RNG.rand(1 + i, 300).astype(np.float32) for i in range(6)]
    expected = [session.run(y, {x: value}) for value in feeds]

    def runs(i: int) -> None:
        for _ in range(60):
            assert np.array_equal(session.run(y, {x: feeds[i]}), expected[i])

    in_threads([lambda i=i: runs(i) for i in range(6)])


@TARGETS
def test_threads_share_a_signature_in_every_form(target: str, tmp_path: Path) -> None:
    graph, x, y = net()
    path = str(tmp_path / "net.gio")
    tf.saved_model.save(path, session_of(graph, ""), {"predict": ({"x": x}, {"y": y})})
    signature = tf.saved_model.load(path, target).signature()
    feeds = [RNG.rand(1 + i % 3, 300).astype(np.float32) for i in range(6)]
    expected = [signature.run([value])[0].copy() for value in feeds]
    forms = [
        lambda v: signature.run([v])[0],
        lambda v: signature(x=v)["y"],
        lambda v: signature.run_watched([v], [], None)[0],
    ]
    if target == "cinfer":
        forms += [lambda v: signature.bind(v)()[0]]
        forms += [lambda v: signature.run(v, out=np.empty(len(v), np.float32))[0]]

    def runs(i: int) -> None:
        form = forms[i % len(forms)]
        for _ in range(60):
            assert np.array_equal(form(feeds[i]), expected[i])

    in_threads([lambda i=i: runs(i) for i in range(6)])


@TARGETS
def test_steps_of_threads_are_all_taken(target: str) -> None:
    with tf.Graph().as_default() as graph:
        counter = tf.Variable(np.zeros(1000, np.float32))
        add = tf.assign_add(counter, tf.ones(1000))
    session = session_of(graph, target)
    in_threads([lambda: [session.run(add) for _ in range(50)] for _ in range(4)])
    assert np.array_equal(session.run(counter), np.full(1000, 200, np.float32))


# ---- numpy's warnings ----


@pytest.mark.filterwarnings("error")
def test_runs_are_quiet_and_leave_numpy_as_it_was() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2])
        y = tf.log(x) / 0.0
    session, before = tf.Session("runtime", graph=graph), np.geterr()
    with np.errstate(divide="raise"):
        for _ in range(3):
            assert not np.isfinite(session.run(y, {x: [-1, 0]})).any()
        assert np.geterr()["divide"] == "raise"
    assert np.geterr() == before


def test_a_function_of_the_program_sees_its_context() -> None:
    import contextvars

    seen = []
    variable = contextvars.ContextVar("variable", default="unset")
    with tf.Graph().as_default() as graph:
        y = tf.py_func(lambda: seen.append(variable.get()) or np.float32(1), [], tf.float32)
    variable.set("set")
    tf.Session("runtime", graph=graph).run(y)
    assert seen == ["set"]


# ---- choosing without a branch ----


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "i8", "i1", "?"])
@pytest.mark.parametrize("size", [1, 100, 1000])
def test_what_is_chosen_has_the_bits_that_where_gives(dtype: str, size: int) -> None:
    from graphio.runtime.choosing import chosen, kept

    special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -3.5])
    with np.errstate(all="ignore"):
        x, y = (RNG.permutation(np.resize(special, size)).astype(dtype) for _ in range(2))
    condition = RNG.rand(size) < 0.5
    assert chosen(condition, x, y).tobytes() == np.where(condition, x, y).tobytes()
    assert chosen(condition, x, y[0]).tobytes() == np.where(condition, x, y[0]).tobytes()
    assert chosen(condition[:1], x, y).tobytes() == np.where(condition[:1], x, y).tobytes()
    expected = np.where(condition, x, x.dtype.type(0)).tobytes()
    assert kept(condition, x).tobytes() == expected
    assert kept(condition, x, x).tobytes() == expected or dtype in ("i1", "?")
