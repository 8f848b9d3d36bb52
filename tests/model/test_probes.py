"""Each probe goes build, bytes, Python runtime, cinfer: the same values and the same state."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import SUPPORT
from probes import PROBES, build, floats, run_script

import graphio as tf
import graphio.cinfer
import graphio.runtime

ENGINES = {"runtime": graphio.runtime, "cinfer": graphio.cinfer}


def save(name: str, path: Path, target: str = "") -> tuple:
    graph, probe = build(name)
    with tf.Session(target, graph=graph) as session:
        if tf.global_variables():
            session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, probe.signatures)
    return graph, probe


def same(a: np.ndarray, b: np.ndarray, what: str) -> None:
    assert a.dtype == b.dtype and a.shape == b.shape, what
    if a.dtype.kind == "f":
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6, err_msg=what)
    else:
        assert np.array_equal(a, b), what


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_gives_the_same_values_and_state_in_both_engines(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gio"
    _, probe = save(name, path)
    models = {engine: module.load(str(path)) for engine, module in ENGINES.items()}
    outputs = {engine: run_script(model, probe) for engine, model in models.items()}
    for i, (a, b) in enumerate(zip(outputs["runtime"], outputs["cinfer"], strict=True)):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key], f"{name}, line {i}, {key}")
    states = [models[engine].state for engine in ENGINES]
    assert states[0].names() == states[1].names()
    for variable in states[0].names():
        same(states[0].get(variable), states[1].get(variable), variable)
    assert states[0].generators() == states[1].generators()


@pytest.mark.parametrize("target", ENGINES)
@pytest.mark.parametrize("name", PROBES)
def test_a_session_gives_what_the_saved_model_gives(name: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gio"
    graph, probe = save(name, path, target)
    module = ENGINES[target]
    expected = run_script(module.load(str(path)), probe)
    with tf.Session(target, graph=graph) as session:
        if tf.global_variables():
            session.run(tf.global_variables_initializer())
        for (signature, inputs), want in zip(probe.script, expected, strict=True):
            entry = probe.signatures[signature]
            feeds = {entry[0][key]: value for key, value in inputs.items()}
            operations = list(entry[2]) if len(entry) > 2 else []
            got = session.run([dict(entry[1]), operations], feeds)[0]
            for key in want:
                np.testing.assert_array_equal(np.asarray(got[key]), want[key], err_msg=key)


@pytest.mark.parametrize("target", ENGINES)
def test_a_fetch_added_after_the_graph_has_grown_and_the_state_has_changed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable([1.0, 2.0], name="v")
        session.run(v.initializer)
        session.run(v.assign_add([1.0, 1.0]))
        late = tf.reduce_sum(v * tf.constant([10.0, 100.0]))
        assert session.run(late) == 320.0
        u = tf.Variable(tf.identity(v) * 2.0, name="u")
        session.run(u.initializer)
        assert session.run(u).tolist() == [4.0, 6.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_adam_by_its_operator_and_by_its_body_alone_agree(engine: str, tmp_path: Path) -> None:
    from graphio.schema import container, functions

    path = tmp_path / "model.gio"
    _, probe = save("adam_step", path)
    model, tensors = container.read(str(path))
    expanded = functions.inline(model, lambda domain, op, version: op != "AdamStep")
    operators = {node.op for node in expanded.graph.node}
    assert "AdamStep" not in operators and "Sqrt" in operators
    module = ENGINES[engine]
    whole = module.load(str(path))
    body = module.load(container.pack(expanded, tensors))
    for a, b in zip(run_script(whole, probe), run_script(body, probe), strict=True):
        for key in a:
            if engine == "cinfer":
                assert a[key].tobytes() == b[key].tobytes(), key
            else:
                np.testing.assert_allclose(a[key], b[key], rtol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_node_without_kernel_runs_by_the_body_in_its_file(engine: str, tmp_path: Path) -> None:
    from graphio.schema import container

    path = tmp_path / "model.gio"
    _, probe = save("adam_step", path)
    model, tensors = container.read(str(path))
    for node in model.graph.node:
        if node.op == "AdamStep":
            node.op, node.domain = "AdamByAnotherName", "example.com"
    for function in model.function:
        if function.name == "AdamStep":
            function.name, function.domain = "AdamByAnotherName", "example.com"
    functions_in_order = sorted(model.function, key=lambda f: (f.domain, f.name, f.version))
    del model.function[:]
    model.function.extend(functions_in_order)
    renamed = container.pack(model, tensors)
    module = ENGINES[engine]
    pairs = zip(
        run_script(module.load(str(path)), probe),
        run_script(module.load(renamed), probe),
        strict=True,
    )
    for a, b in pairs:
        for key in a:
            np.testing.assert_allclose(a[key], b[key], rtol=1e-6)


@pytest.mark.parametrize("target", ENGINES)
def test_a_generator_goes_on_after_restore_in_a_new_process(target: str, tmp_path: Path) -> None:
    program = f"""
import sys; sys.path.insert(0, {str(SUPPORT)!r})
import graphio as tf
from probes import build
graph, probe = build("random_stream")
with graph.as_default():
    extra = tf.Variable(1.0, name="extra")
    saver = tf.train.Saver()
with tf.Session({target!r}, graph=graph) as session:
    outputs = probe.signatures["draw"][1]
    session.run(extra.initializer)
    if sys.argv[1] == "go on":
        saver.restore(session, {str(tmp_path / "c")!r})
    print({{k: v.tolist() for k, v in session.run(outputs).items()}})
    saver.save(session, {str(tmp_path / "c")!r})
    if sys.argv[1] == "straight":
        print({{k: v.tolist() for k, v in session.run(outputs).items()}})
"""

    def draw(how: str) -> list[str]:
        command = [sys.executable, "-c", program, how]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    straight = draw("straight")
    draw("start")
    assert draw("go on") == straight[1:]


def test_the_gradient_through_a_loop_is_right() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [3])
        _, y = tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.sin(h) * x), [0, x])
        (first,) = tf.gradients(y, x)
        (second,) = tf.gradients(first, x)
        at = floats(3).astype(np.float64)
        step = 1e-5
        values = {s: session.run([y, first], {x: at + s * step}) for s in (-1, 1)}
        got = session.run([first, second], {x: at})
        for order in (0, 1):
            numeric = (values[1][order] - values[-1][order]) / (2 * step)
            np.testing.assert_allclose(got[order], numeric, rtol=1e-6)
