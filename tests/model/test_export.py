"""From a graph to a Model message and back: pruning, order, sharing, names, determinism."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from folders import SUPPORT
from probes import PROBES, build

import graphio as tf
from graphio.model.export import SignatureSpec, build_model
from graphio.model.importing import import_model
from graphio.schema import container, verify


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def specs(signatures: dict[str, tuple]) -> list[SignatureSpec]:
    g = tf.get_default_graph()
    found = []
    for name, (inputs, outputs, *rest) in signatures.items():
        pairs = [[(k, g.as_graph_element(v)) for k, v in d.items()] for d in (inputs, outputs)]
        found.append(SignatureSpec(name, *pairs, rest[0] if rest else []))
    return found


def names(message: object) -> list[str]:
    return [node.name for node in message.node]  # type: ignore[attr-defined]


def test_a_run_keeps_what_it_needs_in_order_of_creation(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.exp(x, name="unused")
    y = tf.add(x, 1.0, name="y")
    model, arrays = build_model(graph, [SignatureSpec("", [("x", x)], [("y", y)])])
    assert names(model.graph) == ["x", "y/y", "y"] and arrays == []
    verify.verify(model)


def test_a_fed_intermediate_keeps_its_producer_in_the_file(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    middle = tf.exp(x, name="middle")
    y = tf.negative(middle, name="y")
    model, _ = build_model(graph, [SignatureSpec("", [("m", middle)], [("y", y)])])
    assert names(model.graph) == ["x", "middle", "y"]
    verify.verify(model)


def test_initializers_go_along_with_a_named_signature_only(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    fed = tf.placeholder(tf.float32, [2], name="fed")
    w = tf.Variable(fed, name="w")
    y = tf.add(v, w, name="y")
    run, _ = build_model(graph, [SignatureSpec("", [], [("y", y)])])
    assert names(run.graph) == ["v", "v/read", "w", "w/read", "y"]
    saved, _ = build_model(graph, [SignatureSpec("predict", [], [("y", y)])])
    assert [p.initializer for p in saved.variable] == ["v/Assign", ""]
    first = saved.variable[0]
    assert (first.node, first.initial_value, first.snapshot) == ("v", "v/initial_value", "v/read")
    assert first.trainable and [d.size for d in first.shape.dim] == [2]


def test_small_constants_are_inline_and_equal_large_ones_kept_once(graph: tf.Graph) -> None:
    large = np.arange(256, dtype=np.float32)
    total = sum((tf.reduce_sum(tf.constant(a)) for a in (large, large.copy(), large + 1)),
                tf.reduce_sum(tf.constant(large[:255])))  # fmt: skip
    model, arrays = build_model(graph, [SignatureSpec("s", [], [("y", total)])])
    assert len(arrays) == 2
    kinds = [
        a.value.WhichOneof("value") for n in model.graph.node if n.op == "Constant" for a in n.attr
    ]
    assert kinds.count("tensor") == 3 and "t" in kinds


def test_a_branch_is_written_without_what_nothing_needs(graph: tf.Graph) -> None:
    p = tf.placeholder(tf.bool, [], name="p")
    x, unused = (tf.placeholder(tf.float32, [], name=n) for n in ("x", "unused"))

    def branch() -> tf.Tensor:
        tf.exp(unused)
        return tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)

    y = tf.cond(p, branch, lambda: tf.constant(1.0))
    model, _ = build_model(graph, [SignatureSpec("", [("p", p), ("x", x)], [("y", y)])])
    assert names(model.graph) == ["p", "x", "cond/If"]
    branches = {a.key: a.value.g for a in model.graph.node[-1].attr}
    assert list(branches["then_branch"].capture) == ["x"]
    assert "cond/true/Exp" not in names(branches["then_branch"])
    verify.verify(model)


def test_nodes_say_where_they_were_built_and_what_tensorflow_calls_them(graph: tf.Graph) -> None:
    v = tf.Variable(1.0, name="v")
    node = v.op.node_def
    assert (node.op, node.domain) == ("VariableV2", "graphio")
    assert node.source.file == "test_export.py"
    assert (
        node.source.function
        == "test_nodes_say_where_they_were_built_and_what_tensorflow_calls_them"
    )
    assert list(node.attr) == ["dtype", "shape", "variable"]
    assert names(graph.as_graph_def()) == ["v/initial_value", "v", "v/Assign", "v/read"]


def test_the_whole_graph_carries_collections_seed_and_generators(graph: tf.Graph) -> None:
    tf.set_random_seed(7)
    v = tf.Variable(tf.random_normal([2]), name="v")
    tf.add_to_collection("mixed", v)
    for value in (v.value(), v.initializer, 3, 2.5, "text", object()):
        tf.add_to_collection("mixed", value)
    model, _ = build_model(graph, [], prune=False)
    assert model.has_seed and model.seed == 7
    assert [r.generator.seeded for r in model.resource] == [True]
    mixed = next(c for c in model.collection if c.name == "mixed")
    kinds = [item.WhichOneof("value") for item in mixed.item]
    assert kinds == ["variable", "tensor", "operation", "i", "d", "s"]


def test_operators_of_ours_bring_their_bodies(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    model, _ = build_model(graph, [SignatureSpec("train", [], [], [train])])
    assert "AdamStep" in [f.name for f in model.function]
    slots = {p.name: (p.slot_of, p.slot) for p in model.variable if p.slot_of}
    assert set(slots.values()) == {("v", "m"), ("v", "v")}


def test_the_same_program_writes_the_same_bytes(tmp_path: Path) -> None:
    program = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1])\n"
        "from probes import PROBES, build\n"
        "from graphio.model.export import build_model\n"
        "from graphio.schema import container\n"
        "for name in PROBES:\n"
        "    graph, probe = build(name)\n"
        "    data = container.pack(*build_model(graph, [], prune=False))\n"
        "    print(name, hashlib.sha256(data).hexdigest())\n"
    )

    def run(seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, str(SUPPORT)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("1") == run("2")


# ---- back into a graph ----


@pytest.mark.parametrize("name", PROBES)
def test_an_imported_graph_is_written_as_it_was(name: str) -> None:
    original, _ = build(name)
    model, arrays = build_model(original, [], prune=False)
    with tf.Graph().as_default() as again:
        import_model(*container.unpack(container.pack(model, arrays)))
        model_again, arrays_again = build_model(again, [], prune=False)
    assert container.pack(model, arrays) == container.pack(model_again, arrays_again)


@pytest.mark.parametrize("name", PROBES)
def test_signatures_of_an_imported_graph_give_the_same_values(name: str) -> None:
    original, probe = build(name)
    with original.as_default():
        model, arrays = build_model(original, specs(probe.signatures))
    with tf.Graph().as_default() as again:
        imported = import_model(model, arrays)
    results = []
    for g in (original, again):
        with g.as_default(), tf.Session() as session:
            if tf.global_variables():
                session.run(tf.global_variables_initializer())
            for signature, values in probe.script:
                if g is again:
                    inputs, outputs = imported.inputs[signature], imported.outputs[signature]
                    targets = imported.targets[signature]
                else:
                    inputs, outputs, *rest = probe.signatures[signature]
                    targets = rest[0] if rest else []
                feeds = {inputs[key]: value for key, value in values.items()}
                results.append(session.run([outputs, targets], feeds)[0])
    half = len(results) // 2
    for a, b in zip(results[:half], results[half:], strict=True):
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_array_equal(a[key], b[key])


def test_importing_twice_makes_names_and_state_of_their_own(graph: tf.Graph) -> None:
    v = tf.Variable([1.0], name="v")
    tf.set_random_seed(3)
    y = tf.identity(v + tf.random_uniform([1], name="r"), name="y")
    model, arrays = build_model(graph, [SignatureSpec("s", [], [("y", y)])])
    with tf.Graph().as_default() as again:
        one, two, three = (import_model(model, arrays, p) for p in (None, None, "in"))
        made = [i.variables["v"].op.name for i in (one, two, three)]
        assert made == ["v", "v_1", "in/v"]
        assert sorted(again.generators) == ["in/r/generator", "r/generator", "r/generator_1"]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(one.variables["v"].assign([10.0]))
            values = [float(session.run(i.outputs["s"]["y"])[0]) for i in (one, two, three)]
    assert values[0] == pytest.approx(values[1] + 9) and values[1] == values[2]


def test_gradients_go_through_an_imported_graph(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.cond(x[0] > 0.0, lambda: tf.exp(x), lambda: tf.cast(tf.cast(x, tf.float64), tf.float32))
    model, arrays = build_model(graph, [SignatureSpec("s", [("x", x)], [("y", y)])])
    with tf.Graph().as_default(), tf.Session() as session:
        imported = import_model(model, arrays)
        inner, outer = imported.inputs["s"]["x"], imported.outputs["s"]["y"]
        (dx,) = tf.gradients(outer, inner)
        np.testing.assert_allclose(
            session.run(dx, {inner: [1.0, 2.0]}), np.exp([1.0, 2.0]), rtol=1e-6
        )
        assert session.run(dx, {inner: [-1.0, 2.0]}).tolist() == [1, 1]


def test_a_model_cannot_be_imported_into_a_branch(graph: tf.Graph) -> None:
    model, arrays = build_model(graph, [])
    with pytest.raises(ValueError, match="body of a loop or branch"):
        tf.cond(tf.placeholder(tf.bool, []), lambda: import_model(model, arrays), lambda: 1)


@pytest.mark.parametrize(
    ("key", "metadata", "text"),
    [
        ("a\0b", {}, r"value of signature 's' 'a\\x00b' has a zero byte"),
        ("a", {"k": "\0"}, r"metadata '\\x00' has a zero byte"),
    ],
)
def test_a_zero_byte_in_what_c_programs_are_given_is_refused(
    graph: tf.Graph, key: str, metadata: dict[str, str], text: str
) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    spec = SignatureSpec("s", [(key, x)], [("y", x + 1.0)])
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        build_model(graph, [spec], metadata=metadata)


def test_a_signature_that_feeds_a_tensor_twice_is_refused(graph: tf.Graph) -> None:
    """No engine would load the file."""
    x = tf.placeholder(tf.float32, [2], name="x")
    spec = SignatureSpec("s", [("a", x), ("b", x)], [("y", x + 1.0)])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="feeds 'x:0' twice, as 'a' and as 'b'"
    ):
        build_model(graph, [spec])


# ---- invalid signatures ----


def test_a_signature_of_another_form_is_reported_with_the_form(
    graph: tf.Graph, tmp_path: Path
) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.identity(x, name="y")
    path = tmp_path / "m.gio"
    wrong = {
        "found inputs <tf.Tensor 'x:0'": (x, y),
        "found outputs [<tf.Tensor 'y:0'": ({"x": x}, [y]),
        "found targets <tf.Tensor 'y:0'": ({"x": x}, {"y": y}, y),
        "found ({'x': <tf.Tensor": ({"x": x},),
    }
    with tf.Session() as session:
        for found, entry in wrong.items():
            with pytest.raises(TypeError, match="'p' must be .inputs, outputs.* such as") as error:
                tf.saved_model.save(path, session, {"p": entry})
            assert found in str(error.value)
        with pytest.raises(TypeError, match=r"signatures is \[1\], expected a dict from names"):
            tf.saved_model.save(path, session, [1])
        with pytest.raises(TypeError, match=r"'m.gio', expected a tf.Session: save.path, session"):
            tf.saved_model.save(session, "m.gio", {"p": ({"x": x}, {"y": y})})
    assert not path.exists()


def test_a_signature_without_the_placeholders_that_it_needs_is_refused(
    graph: tf.Graph, tmp_path: Path
) -> None:
    """No run could feed them. Placeholders before fed values, or with a default, are not needed."""
    a, b, c = (tf.placeholder(tf.float32, [2], name=name) for name in "abc")
    total = tf.add(a, b, name="total")
    default = tf.placeholder_with_default([1.0, 1.0], [2])
    tf.get_variable("v", initializer=a)
    path = tmp_path / "m.gio"
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            good = ({"a": a, "b": b}, {"y": total})
            bad = {"one": ({"b": b}, {"y": total}), "two": ({}, {"y": total, "z": c}), "ok": good}
            tf.saved_model.save(path, session, bad)
        assert "signature 'one' needs 'a'; signature 'two' needs 'a', 'b', 'c'" in str(error.value)
        assert not path.exists()
        tf.saved_model.save(
            path, session, {"ok": good, "behind": ({"t": total}, {"y": total * default})}
        )
    found = tf.saved_model.load(path).signature("behind")(t=[2, 3])["y"]
    assert found.tolist() == [2, 3]
