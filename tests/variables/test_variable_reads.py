"""When a variable is read: each case in both engines, by a session and from a saved file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from read_programs import differences
from tensorflow_messages import message, node
from variable_reads import CASES, Case

import graphio as tf
from graphio.model.export import SignatureSpec, build_model
from graphio.schema import tensorflow_pb2 as pb

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def initialized(target: str) -> tf.Session:
    session = tf.Session(target)
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def feeds_of(case: Case) -> list[dict[str, Any]]:
    return list(case.feeds) or [{}] * len(case.expected)


@EVERY
@TARGETS
def test_a_run_of_a_session_reads_by_the_rule(case: Case, target: str) -> None:
    fetches = case.build()
    with initialized(target) as session:
        for expected, feeds in zip(case.expected, feeds_of(case), strict=True):
            found = session.run(fetches, feeds)
            for label, value in expected.items():
                np.testing.assert_allclose(found[label], value, err_msg=label)
        for name, value in case.after.items():
            np.testing.assert_allclose(session.run(f"{name}:0"), value, err_msg=name)


@EVERY
@TARGETS
def test_a_saved_signature_reads_by_the_rule(case: Case, target: str, tmp_path: Path) -> None:
    fetches, state = case.build(), None
    targets = [value for value in fetches.values() if isinstance(value, tf.Operation)]
    outputs = {key: value for key, value in fetches.items() if value not in targets}
    with initialized("runtime") as session:
        for i, (expected, feeds) in enumerate(zip(case.expected, feeds_of(case), strict=True)):
            given = {f"x{k}": session.graph.get_tensor_by_name(n) for k, n in enumerate(feeds)}
            path = tmp_path / f"{i}.gio"
            tf.saved_model.save(path, session, {"run": (given, outputs, targets)})
            engine = target
            model = tf.saved_model.load(path, engine, state=state)
            state = model.state
            found = model.signature("run")(
                **{key: np.float32(v) for key, v in zip(given, feeds.values(), strict=True)}
            )
            for label, value in expected.items():
                np.testing.assert_allclose(found[label], value, err_msg=label)
    for name, value in case.after.items():
        np.testing.assert_allclose(state.get(name), value, err_msg=name)


@EVERY
def test_an_imported_meta_graph_reads_by_the_rule(case: Case) -> None:
    graph = tf.get_default_graph()
    fetches = {key: graph.as_graph_element(value).name for key, value in case.build().items()}
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta_graph)
        with initialized("runtime") as session:
            for expected, feeds in zip(case.expected, feeds_of(case), strict=True):
                found = session.run(fetches, feeds)
                for label, value in expected.items():
                    np.testing.assert_allclose(found[label], value, err_msg=label)


@TARGETS
def test_signatures_of_one_file_have_their_own_runs(target: str, tmp_path: Path) -> None:
    v, x = tf.Variable(1.0, name="v"), tf.placeholder(tf.float32, [], name="x")
    step = v.assign_add(x)
    clip = v.assign(tf.minimum(v, 4.0))
    path = tmp_path / "two.gio"
    with initialized("runtime") as session:
        signatures = {
            "train": ({"x": x}, {"v": v}, [step.op, clip.op]),
            "predict": ({"x": x}, {"y": v * x, "v": v}),
        }
        tf.saved_model.save(path, session, signatures)
    model = tf.saved_model.load(path, target)
    assert float(model.signature("train")(x=np.float32(2))["v"]) == 3
    found = model.signature("predict")(x=np.float32(10))
    assert (float(found["y"]), float(found["v"])) == (30, 3)
    assert float(model.signature("train")(x=np.float32(9))["v"]) == 4


def test_reads_are_named_below_their_variable_and_shift_no_other_name() -> None:
    def names(wait: bool) -> list[str]:
        with tf.Graph().as_default() as graph:
            v = tf.Variable(1.0, name="v")
            done = v.assign(2.0)
            with tf.control_dependencies([done] if wait else []):
                for _ in range(3):
                    tf.add(tf.identity(v), v)
                tf.cond(v > 0, lambda: v + 1.0, lambda: v * 2.0)
                v.read_value()
            return [operation.name for operation in graph.get_operations()]

    plain, waiting = names(wait=False), names(wait=True)
    assert [name for name in waiting if not name.startswith("v/read_")] == plain
    assert set(waiting) - set(plain) == {f"v/read_{i}" for i in range(1, 10)}


@TARGETS
@pytest.mark.parametrize("again", [False, True], ids=["built", "imported"])
def test_a_read_that_a_program_names_like_a_plain_one_is_none(again: bool, target: str) -> None:
    v = tf.Variable(1.0, name="v")
    added = v.assign_add(1.0)
    with tf.name_scope("v/"):
        late = v.read_value()
    with tf.control_dependencies([added]):
        plain = v + 0.0
    by_late, by_plain = tf.gradients([3.0 * late + plain], [late, plain.op.inputs[0]])
    names = [tensor.name for tensor in (added, late, plain, by_late, by_plain)]
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default() if again else tf.get_default_graph().as_default() as graph:
        if again:
            tf.train.import_meta_graph(meta_graph)
        with initialized(target) as session:
            assert session.run(names, {graph.get_tensor_by_name("v:0"): 7.0}) == [2, 2, 7, 3, 4]
            types = [graph.get_operation_by_name(f"v/read_{i}").type for i in (1, 2)]
    assert late.op.name == "v/read_1" and types == ["Identity", "PlainRead"]


def test_a_run_that_assigns_nothing_has_no_reads_of_its_own() -> None:
    v = tf.Variable([1.0], name="v")
    model, _ = build_model(v.graph, [SignatureSpec("", [], [("0", v.op.outputs[0])])])
    assert [(node.name, node.op) for node in model.graph.node] == [("v", "Variable")]


def test_a_debug_session_records_values_where_they_are_computed() -> None:
    v = tf.Variable(1.0, name="v")
    done = v.assign_add(1.0, name="done")
    session = tf.debug.DebugSession(tf.Session())
    session.run(tf.global_variables_initializer())
    assert session.run([v * 2.0, v, done]) == [2, 2, 2]
    assert session.last is not None and session.last["v/read:0"] == 1


def test_random_programs_read_by_the_rule() -> None:
    """python tests/variables/read_programs.py looks at more of them."""
    assert differences(2000) == []


@TARGETS
def test_what_is_fed_between_a_variable_and_its_alias_is_shown(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    value = tf.identity(v)
    aliases = [value[0], tf.identity(value)]
    with tf.control_dependencies([tf.no_op()]):
        read = v.value()
        behind = tf.identity(read)
    assign = v.assign([5.0, 6.0])
    with initialized(target) as session:
        part, whole, _ = session.run([*aliases, assign], {value: [9.0, 8.0]})
        assert part == 9 and whole.tolist() == [9, 8]
        assert session.run([behind, assign], {read: [7.0, 7.0]})[0].tolist() == [7, 7]
        assert session.run([behind, assign])[0].tolist() == [5, 6]


# ---- graphs of TensorFlow's ----


def tensorflow_graph() -> pb.GraphDef:
    """A step from v = 5 to -1, clipping built after it, and reads under dependencies."""
    return message(
        node("five", "Const", value=np.float32(5)),
        node("v", "VariableV2", dtype=np.float32, shape=()),
        node("v/Assign", "Assign", "v", "five"),
        node("v/read", "Identity", "v"),
        node("one", "Const", value=np.float32(1)),
        node("gradient", "Add", "v/read", "one"),
        node("train", "AssignSub", "v", "gradient"),
        node("low", "Const", value=np.float32(-3)),
        node("clipped", "Maximum", "v/read", "low"),
        node("clip", "Assign", "v", "clipped"),
        node("start", "Neg", "v/read"),
        node("same", "Identity", "v", "^train"),
        node("behind", "Neg", "v/read", "^train"),
        node("other", "Identity", "v/read"),
    )


@TARGETS
def test_consumers_of_an_imported_identity_are_uses_at_their_own_positions(target: str) -> None:
    names = ["train:0", "clip:0", "start:0", "same:0", "behind:0", "other:0", "v/read:0"]
    found = dict(
        zip(names, tf.import_graph_def(tensorflow_graph(), return_elements=names), strict=True)
    )

    def run(*fetched: str) -> list[float]:
        with initialized(target) as session:
            return [float(x) for x in session.run([found[f"{name}:0"] for name in fetched])]

    assert run("train", "clip") == [-1, -1]
    assert run("start", "train") == [-5, -1]
    assert run("same") == [-1]
    assert run("behind") == [1]
    assert run("other", "v/read", "train") == [-1, -1, -1]


@TARGETS
def test_reads_of_imported_resource_variables_stay_where_they_are(target: str) -> None:
    graph_def = message(
        node("five", "Const", value=np.float32(5)),
        node("v", "VarHandleOp", dtype=np.float32, shape=()),
        node("set", "AssignVariableOp", "v", "five"),
        node("before", "ReadVariableOp", "v", dtype=np.float32),
        node("add", "AssignAddVariableOp", "v", "before"),
        node("behind", "ReadVariableOp", "v", "^add", dtype=np.float32),
    )
    reads = tf.import_graph_def(graph_def, return_elements=["before:0", "behind:0"])
    with initialized(target) as session:
        assert [float(x) for x in session.run(reads)] == [5, 10]
