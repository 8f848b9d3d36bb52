"""Rewriting before the bytes: fewer nodes, the same bits, the same names."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import engines
import numpy as np
import pytest
from random_graphs import RandomModel

import graphio as tf
from graphio.model.export import SignatureSpec, build_model
from graphio.model.rewrite import PASSES, rewrite
from graphio.ops.base import emit
from graphio.schema import container, functions, fused
from graphio.schema.model_pb2 import Model
from graphio.support import errors

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
Array = np.ndarray[Any, Any]


def model_of(outputs: Sequence[Any], inputs: Sequence[Any] = ()) -> tuple[Model, list[Array]]:
    """The model that a Session would plan for fetches and feeds."""
    graph = tf.get_default_graph()
    spec = SignatureSpec(
        "run",
        [(f"in{k}", t) for k, t in enumerate(inputs)],
        [(f"out{k}", t) for k, t in enumerate(outputs)],
    )
    return build_model(graph, [spec])


def ops(model: Model) -> Counter[str]:
    """How often each operator is there, but for constants and placeholders."""
    return Counter(n.op for n in model.graph.node if n.op not in ("Constant", "Placeholder"))


def run(model: Model, arrays: Sequence[Array], feeds: Sequence[Any], engine: Any) -> list[Array]:
    found = engine.load(container.pack(model, arrays)).signature().run(list(feeds))
    return [np.asarray(y) for y in found]


def check(
    outputs: Sequence[Any], inputs: Sequence[Any], feeds: Sequence[Any], level: str = "exact"
) -> Model:
    """The rewritten model, which gives the same bits in cinfer and nearly the same in numpy."""
    from graphio import runtime

    model, arrays = model_of(outputs, inputs)
    made, kept = rewrite(model, arrays, level)
    before, after = run(model, arrays, feeds, cinfer), run(made, kept, feeds, cinfer)
    for x, y in zip(before, after, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        if level == "exact":
            assert x.tobytes() == y.tobytes()
        else:
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    for x, y in zip(before, run(made, kept, feeds, runtime), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    return made


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# ---- elementwise chains ----

UNARY: Sequence[Callable[[Any], Any]] = (
    *(tf.tanh, tf.sigmoid, tf.nn.relu, tf.exp, tf.abs, tf.negative, tf.square, tf.nn.elu),
    *(tf.floor, tf.sign, tf.sin, tf.nn.softplus, tf.nn.leaky_relu, tf.nn.relu6, tf.nn.selu),
)
BINARY: Sequence[Callable[[Any, Any], Any]] = (
    *(tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.divide),
)


@pytest.mark.parametrize("seed", range(30))
def test_any_elementwise_graph_gives_the_same_bits_with_fewer_nodes(seed: int) -> None:
    choose = random.Random(seed)
    shapes = [(5, 33), (33,), (5, 1), (1, 33), (), (5, 33)]
    inputs = [tf.placeholder(tf.float32, s) for s in shapes]
    values = [*inputs, tf.constant(0.5), tf.constant(numbers(33))]
    for _ in range(choose.randint(3, 40)):
        if choose.random() < 0.5:
            made = choose.choice(UNARY)(choose.choice(values[-8:]))
        else:
            made = choose.choice(BINARY)(choose.choice(values[-8:]), choose.choice(values))
        values.append(made)
    outputs = [values[-1], *(choose.choice(values[6:]) for _ in range(choose.randint(0, 2)))]
    feeds = [numbers(*s, seed=seed + k) for k, s in enumerate(shapes)]
    check(list(dict.fromkeys(outputs)), inputs, feeds)


def test_a_chain_becomes_one_node_and_stays_one_pass_over_memory() -> None:
    x, y = (tf.placeholder(tf.float32, [3, 70000]) for _ in range(2))
    z = x
    for _ in range(4):
        z = tf.sigmoid(tf.tanh(z * y) + x)
    made = check([z], [x, y], [numbers(3, 70000), numbers(3, 70000, seed=1)])
    assert ops(made) == {"FusedElementwise": 1}


def test_a_value_that_somebody_else_reads_is_computed_once() -> None:
    x = tf.placeholder(tf.float32, [4, 9])
    shared = tf.tanh(x)
    made = check([shared, tf.exp(shared) + 1.0, tf.sin(shared) * 2.0], [x], [numbers(4, 9)])
    assert ops(made) == {"Tanh": 1, "FusedElementwise": 2}


def test_a_small_value_is_not_computed_again_for_each_row() -> None:
    x, row = tf.placeholder(tf.float32, [50, 9]), tf.placeholder(tf.float32, [9])
    made = check([x * tf.exp(tf.tanh(row))], [x, row], [numbers(50, 9), numbers(9)])
    assert ops(made) == {"FusedElementwise": 1, "Mul": 1}


def test_a_large_array_meets_an_empty_one() -> None:
    x, y = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [1, None])
    feeds = [np.ones((70000, 1), np.float32), np.ones((1, 0), np.float32)]
    made = check([tf.nn.relu(x * 2.0 + y) - y], [x, y], feeds)
    assert ops(made)["FusedElementwise"]


def test_other_types_are_left_alone() -> None:
    x = tf.placeholder(tf.float64, [3])
    made = check([tf.tanh(x) + 1.0], [x], [numbers(3).astype(np.float64)])
    assert "FusedElementwise" not in ops(made)


# ---- MatMul and Gemm ----


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_a_layer_is_one_node(rows: int) -> None:
    x = tf.placeholder(tf.float32, [None, 30])
    w, b = tf.constant(numbers(30, 20)), tf.constant(numbers(20))
    made = check([tf.nn.relu(tf.matmul(x, w) + b, name="y")], [x], [numbers(rows, 30)])
    assert ops(made) == {"FusedMatMul": 1}
    (node,) = (n for n in made.graph.node if n.op == "FusedMatMul")
    assert node.name == "y" and node.tf_type == "Relu"


def test_a_convolution_takes_bias_rest_and_activation() -> None:
    x = tf.placeholder(tf.float32, [2, 8, 8, 3])
    w, b = tf.constant(numbers(3, 3, 3, 3)), tf.constant(numbers(3))
    y = tf.nn.relu6(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b) + x)
    made = check([y], [x], [numbers(2, 8, 8, 3)])
    assert ops(made) == {"FusedConv2D": 1}


def test_of_two_matmuls_the_later_one_takes_the_sum() -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    first, second = (tf.matmul(x, tf.constant(numbers(6, 5, seed=k))) for k in range(2))
    made = check([tf.tanh(first + second)], [x], [numbers(4, 6)])
    assert ops(made) == {"MatMul": 1, "FusedMatMul": 1}


def test_what_may_broadcast_the_matmul_does_not_join_it() -> None:
    x, more = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 5])
    y = tf.matmul(x, tf.constant(numbers(6, 5))) + more
    made = check([y], [x, more], [numbers(1, 6), numbers(7, 5)])
    assert ops(made) == {"MatMul": 1, "Add": 1}


def test_dimensions_of_one_name_may_have_different_sizes() -> None:
    # Nothing compares the sizes of inputs whose dimensions a file calls the same.
    x, b = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 3])
    y = tf.nn.relu(tf.matmul(x, tf.ones([2, 3])) + b)
    model, arrays = model_of([y], [x, b])
    for node in model.graph.node:
        for kind in node.output_type:
            for dimension in kind.tensor.shape.dim:
                if not dimension.HasField("size"):
                    dimension.symbol = "N"
    feeds = [np.ones((1, 2), np.float32), np.ones((4, 3), np.float32)]
    made, kept = rewrite(model, arrays)
    (found,) = run(made, kept, feeds, cinfer)
    assert found.tolist() == [[3.0, 3.0, 3.0]] * 4


def test_a_dimension_of_one_input_is_known_by_its_name() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.ones([2, 2])
    y = tf.matmul(x, w) + tf.reshape(x, [-1, 2])
    model, arrays = model_of([y], [x])
    for node in model.graph.node:
        for dimension in node.output_type[0].tensor.shape.dim:
            if not dimension.HasField("size"):
                dimension.symbol = "N"
    made, _ = rewrite(model, arrays)
    assert ops(made)["FusedMatMul"] == 1


def test_a_matmul_of_transposed_matrices_reads_them_the_other_way_round() -> None:
    a, b = tf.placeholder(tf.float32, [7, 40]), tf.placeholder(tf.float32, [33, 7])
    made = check(
        [tf.matmul(a, b, transpose_a=True, transpose_b=True)],
        [a, b],
        [numbers(7, 40), numbers(33, 7)],
    )
    assert ops(made) == {"Gemm": 1}


# ---- nodes that are removed ----


def test_identities_and_equal_nodes_go() -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    same = [tf.reduce_sum(tf.identity(tf.stop_gradient(x)), axis=1) for _ in range(3)]
    made = check([tf.stack(same)], [x], [numbers(3, 4)])
    assert ops(made)["ReduceSum"] == 1 and "Identity" not in ops(made)


def test_draws_are_never_merged() -> None:
    a, b = tf.random.uniform([5]), tf.random.uniform([5])
    model, arrays = model_of([a, b])
    made, _ = rewrite(model, arrays)
    assert ops(made)["RandomUniform"] == 2


def test_what_depends_on_constants_alone_is_a_constant() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.reshape(x, tf.concat([tf.shape(x)[1:], tf.constant([2])], 0))
    z = y + tf.exp(tf.constant(numbers(3, 2)) * 2.0)
    assert ops(check([z], [x], [numbers(2, 3)])) == {"Reshape": 1, "Add": 1}


def test_transposes_around_elementwise_nodes_cancel() -> None:
    x = tf.placeholder(tf.float32, [2, 3, 4, 5])
    there = tf.transpose(x, [0, 2, 3, 1])
    inner = tf.where(there > tf.constant(numbers(3)), there, tf.nn.relu(there * 0.5))
    back = tf.transpose(inner, [0, 3, 1, 2])
    made = check([tf.reduce_sum(back, 1)], [x], [numbers(2, 3, 4, 5)])
    assert "Transpose" not in ops(made)


def test_a_transpose_that_somebody_sees_stays() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    transposed = tf.transpose(x)
    made = check([transposed, tf.transpose(tf.exp(transposed)) + 1.0], [x], [numbers(2, 3)])
    assert ops(made)["Transpose"] >= 1


# ---- nodes that are kept ----


def test_a_value_that_is_fed_is_not_computed_or_passed_over() -> None:
    x = tf.placeholder(tf.float32, [3])
    middle = tf.tanh(x * 2.0)
    model, arrays = model_of([tf.exp(middle) + 1.0], [middle])
    made, kept = rewrite(model, arrays)
    (y,) = run(made, kept, [np.zeros(3, np.float32)], cinfer)
    assert y.tolist() == [2, 2, 2]


def test_a_constant_that_is_fed_is_no_constant() -> None:
    c = tf.constant([1.0, 2.0])
    again = tf.constant([1.0, 2.0])
    model, arrays = model_of([tf.exp(c) * tf.constant([3.0, 4.0]), again + 0.0], [c])
    made, kept = rewrite(model, arrays)
    y, other = run(made, kept, [np.zeros(2, np.float32)], cinfer)
    assert y.tolist() == [3, 4] and other.tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_any_graph_of_loops_and_branches_gives_the_same_bits(seed: int) -> None:
    made = RandomModel(seed, most_nodes=14)
    model, arrays = container.unpack(made.data)
    again = container.pack(*rewrite(model, arrays))
    both = [cinfer.load(data).signature() for data in (made.data, again)]
    for k in range(3):
        before, after = (s.run(made.feeds(100 * seed + k)) for s in both)
        assert [x.tobytes() for x in before] == [y.tobytes() for y in after]


def test_a_body_is_rewritten_though_the_graph_around_it_is_too() -> None:
    x = tf.placeholder(tf.float32, [5])
    y = tf.tanh(tf.identity(x) * 2.0) + 1.0
    _, z = tf.while_loop(
        lambda i, _: i < 3, lambda i, v: (i + 1, tf.sin(tf.exp(v) * 0.5) - y), [0, y]
    )
    made = check([z], [x], [numbers(5)])
    (loop,) = (node for node in made.graph.node if node.op == "Loop")
    (body,) = functions.subgraphs(loop)
    inside = Counter(node.op for node in body.node)
    assert inside["FusedElementwise"] == 1 and not inside.keys() & {"Sin", "Exp", "Identity"}


def test_control_inputs_and_their_order_stay() -> None:
    v = tf.Variable(tf.ones([3]), name="v")
    seen = v.read_value() * 2.0
    with tf.control_dependencies([seen]):
        changed = v.assign_add(tf.tanh(tf.ones([3]) * 3.0) + 1.0)
    with tf.control_dependencies([changed]):
        after = tf.tanh(v.read_value() + 1.0) * 3.0
    for target in ("runtime", "cinfer"):
        with tf.Session(target) as session:
            session.run(v.initializer)
            found = session.run([seen, after])
            expected = [np.full(3, 2.0), np.tanh(3.0 + np.tanh(3.0)) * 3 * np.ones(3)]
            np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("batch", [1, 8])
def test_training_leaves_the_same_bits(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphio.execution import session as module

    def weights(rewritten: bool) -> list[bytes]:
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x, y = tf.placeholder(tf.float32, [None, 6, 6, 2]), tf.placeholder(tf.int64, [None])
            h = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
            h = tf.layers.dense(tf.layers.flatten(h), 9, activation=tf.nn.tanh)
            z = tf.layers.dense(h, 3)
            loss = tf.losses.sparse_softmax_cross_entropy(y, z)
            step = tf.train.AdamOptimizer(0.1).minimize(loss)
            if not rewritten:
                monkeypatch.setattr(module, "rewrite_draft", lambda draft: False)
            with tf.Session("cinfer") as session:
                session.run(tf.global_variables_initializer())
                for k in range(3):
                    feed = {x: numbers(batch, 6, 6, 2, seed=k), y: np.arange(batch) % 3}
                    session.run(step, feed)
                return [np.asarray(v).tobytes() for v in session.run(tf.global_variables())]

    assert weights(True) == weights(False)


def test_gradients_of_activations_join_matmuls_of_any_batch() -> None:
    x = tf.placeholder(tf.float32, [None, 6])
    w, v = tf.constant(numbers(6, 5)), tf.constant(numbers(5, 4))
    loss = tf.reduce_sum(tf.matmul(tf.nn.relu(tf.matmul(x, w)), v) ** 2)
    made = check(tf.gradients(loss, [x]), [x], [numbers(3, 6)])
    assert "ReluGrad" not in ops(made)


def test_the_file_lists_what_was_done() -> None:
    x = tf.placeholder(tf.float32, [3])
    made, _ = rewrite(*model_of([tf.tanh(x * 2.0)], [x]))
    assert [(r.name, r.approximate, r.detail) for r in made.rewrite] == [
        ("fuse_elementwise", False, "1 times")
    ]


def test_a_model_with_nothing_to_do_is_left_as_it_is() -> None:
    x = tf.placeholder(tf.float32, [3])
    model, arrays = model_of([tf.tanh(x)], [x])
    made, kept = rewrite(model, arrays)
    assert made is model and kept == arrays


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="'fast', expected one of none, exact, approximate"):
        rewrite(Model(), [], "fast")


def test_every_pass_is_named_once() -> None:
    assert len({p.name for p in PASSES}) == len(PASSES)


def test_an_error_names_the_node_of_the_user() -> None:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
    z = tf.exp(tf.add(tf.tanh(x), y, name="mine"), name="last")
    with tf.Session("cinfer") as session, pytest.raises(errors.InvalidArgumentError) as caught:
        session.run(z, {x: np.ones((2, 3)), y: np.ones((4, 3))})
    assert caught.value.op is not None and caught.value.op.name == "mine"
    assert "Add 'mine'" in str(caught.value)


# ---- back to single nodes, and through files ----


def test_unfused_nodes_have_their_names_and_values_again() -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    multiplied = tf.matmul(x, tf.constant(numbers(6, 5)), name="product")
    y = tf.nn.relu6(multiplied + tf.constant(numbers(5)), name="y") * 0.5
    model, arrays = model_of([tf.identity(y, name="z")], [x])
    made, kept = rewrite(model, arrays)
    assert ops(made)["FusedMatMul"] == 1
    single = fused.unfused(made)
    assert {"product", "y"} <= {n.name for n in single.graph.node}
    assert not [op for op in ops(single) if op.startswith("Fused")]
    feeds = [numbers(4, 6)]
    (before,), (after,) = run(model, arrays, feeds, cinfer), run(single, kept, feeds, cinfer)
    assert before.tobytes() == after.tobytes()


def test_a_file_of_fused_nodes_is_imported_with_gradients(tmp_path: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    w = tf.Variable(numbers(6, 5), name="w")
    y = tf.tanh(tf.matmul(x, w) + 1.0, name="y")
    path = str(tmp_path / "m.gio")
    with tf.Session() as session:
        session.run(w.initializer)
        tf.saved_model.save(path, session, {"predict": ({"x": x}, {"y": y})})
        (expected,) = session.run(tf.gradients(y, [x]), {x: numbers(2, 6)})
    model, arrays = container.read(path)
    assert ops(model)["FusedMatMul"] == 1
    from graphio.model.importing import import_model

    with tf.Graph().as_default(), tf.Session() as session:
        found = import_model(model, arrays)
        inputs, outputs = found.inputs["predict"], found.outputs["predict"]
        assert outputs["y"].shape.as_list() == [None, 5]
        session.run(found.variables["w"].assign(numbers(6, 5)))
        grad = tf.gradients(outputs["y"], [inputs["x"]])[0]
        np.testing.assert_allclose(
            session.run(grad, {inputs["x"]: numbers(2, 6)}), expected, rtol=1e-5
        )


@engines.BOTH
def test_a_layer_without_a_bias_is_loaded_from_its_file(engine: str, tmp_path: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    w, v = (tf.Variable(numbers(*shape)) for shape in ((4, 3), (5, 3)))
    y = tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, w)), v, transpose_b=True))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(tmp_path / "m.gio"), session, {"predict": ({"x": x}, {"y": y})})
        expected = session.run(y, {x: numbers(2, 4)})
    assert ops(container.read(str(tmp_path / "m.gio"))[0])["FusedGemm"] == 1
    model = engines.module(engine).load(tmp_path / "m.gio")
    found = model.signature("predict")(x=numbers(2, 4))["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_no_fused_node_leaves_for_onnx() -> None:
    pytest.importorskip("onnx")
    from graphio.onnx import from_model

    x = tf.placeholder(tf.float32, [4, 6])
    y = tf.nn.relu6(tf.matmul(x, tf.constant(numbers(6, 5))) * 0.5) + tf.nn.elu(x[:, :5])
    made, kept = rewrite(*model_of([y], [x]))
    assert any(op.startswith("Fused") for op in ops(made))
    exported = from_model(container.pack(made, kept))
    assert {node.domain for node in exported.graph.node} == {""}
    again = cinfer.load(as_ours(exported)).signature()
    (before,) = run(made, kept, [numbers(4, 6)], cinfer)
    (after,) = again.run([numbers(4, 6)])
    assert before.tobytes() == after.tobytes()


def as_ours(exported: Any) -> bytes:
    """A model of ONNX as a file of ours."""
    from graphio.onnx import convert

    data = convert(exported)
    assert data is not None
    return data


@pytest.mark.parametrize("form", range(3))
@pytest.mark.parametrize("kind", ["erf", "tanh", "cube"])
def test_gelu_is_recognised(kind: str, form: int) -> None:
    x = tf.placeholder(tf.float32, [5, 40])
    cube = tf.pow(x, 3.0) if kind == "tanh" else x * x * x
    part = tf.erf(x / 1.4142135) if kind == "erf" else tf.tanh(0.79788456 * (x + 0.044715 * cube))
    y = [(x * (part + 1.0)) * 0.5, x * (0.5 * (1.0 + part)), (0.5 * x) * (1.0 + part)][form]
    made = check([y], [x], [numbers(5, 40)], "approximate")
    assert ops(made) == {"Gelu": 1}
    assert [r.name for r in made.rewrite if r.approximate] == ["recognise_gelu"]
    assert "Gelu" not in ops(check([y], [x], [numbers(5, 40)]))


@pytest.mark.parametrize("form", range(3))
def test_layer_normalisation_is_recognised(form: int) -> None:
    x = tf.placeholder(tf.float32, [3, 5, 40])
    centred = x - tf.reduce_mean(x, 2, keepdims=True)
    square = tf.pow(centred, 2.0) if form else centred * centred
    root = tf.sqrt(tf.reduce_mean(square, -1, keepdims=True) + 1e-5)
    y = centred / root if form < 2 else centred * tf.reciprocal(root)
    y = y * tf.constant(numbers(40)) + tf.constant(numbers(40, seed=1))
    made = check([y], [x], [numbers(3, 5, 40)], "approximate")
    assert ops(made) == {"LayerNormalization": 1}


def test_a_mean_over_another_axis_is_no_layer_normalisation() -> None:
    x = tf.placeholder(tf.float32, [3, 5, 5])
    centred = x - tf.reduce_mean(x, 1, keepdims=True)
    root = tf.sqrt(tf.reduce_mean(centred * centred, 1, keepdims=True) + 1e-5)
    y = centred / root * tf.constant(numbers(5)) + tf.constant(numbers(5, seed=1))
    assert "LayerNormalization" not in ops(check([y], [x], [numbers(3, 5, 5)], "approximate"))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_attention_is_recognised(order: str, masked: bool) -> None:
    q, v = (tf.placeholder(tf.float32, [2, 3, 7, 8]) for _ in range(2))
    if order == "rows":
        k, transposed = tf.placeholder(tf.float32, [2, 3, 7, 8]), [0, 1, 3, 2]
    else:
        k, transposed = tf.placeholder(tf.float32, [2, 7, 3, 8]), [0, 2, 3, 1]
    scores = tf.matmul(q, tf.transpose(k, transposed)) / np.float32(np.sqrt(8.0))
    if masked:
        scores += tf.constant(np.triu(np.full((7, 7), -1e9, np.float32), 1))
    y = tf.matmul(tf.nn.softmax(scores), v)
    feeds = [numbers(*t.shape.as_list(), seed=s) for s, t in enumerate((q, k, v))]
    made = check([y], [q, k, v], feeds, "approximate")
    assert ops(made)["Attention"] == 1 and "Softmax" not in ops(made)


#: shapes of queries, keys, values and a mask, and whether Attention computes the same
ATTENTIONS: Sequence[tuple[bool, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], Any]] = (
    (True, (2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), None),
    (True, (2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), (4, 5)),
    (True, (2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), (2, 1, 1, 5)),
    (True, (2, 3, 4, 8), (2, 1, 5, 8), (2, 1, 5, 6), (3, 4, 5)),
    (False, (2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), (4, 1)),
    (False, (2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), (2, 3, 1, 1)),
    (False, (2, 3, 4, 8), (1, 3, 5, 8), (1, 3, 5, 6), None),
    (False, (2, 1, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), None),
    (False, (2, 3, 4, 8), (2, 3, 5, 8), (2, 1, 5, 6), None),
    (False, (1, 1, 4, 8), (1, 1, 5, 8), (1, 1, 5, 6), (2, 3, 4, 5)),
    (False, (None, 3, 4, 8), (None, 3, 5, 8), (None, 3, 5, 6), None),
)


@pytest.mark.parametrize("case", ATTENTIONS)
def test_attention_is_put_only_where_nothing_else_is_spread(case: Any) -> None:
    fits, *shapes = case
    present = [shape for shape in shapes if shape is not None]
    tensors = [tf.placeholder(tf.float32, shape) for shape in present]
    q, k, v = tensors[:3]
    scores = tf.matmul(q, tf.transpose(k, [0, 1, 3, 2])) * 0.5
    if len(tensors) == 4:
        scores += tensors[3]
    y = tf.matmul(tf.nn.softmax(scores), v)
    feeds = [numbers(*(n or 2 for n in shape), seed=s) for s, shape in enumerate(present)]
    made = check([y], tensors, feeds, "approximate")
    assert ops(made)["Attention"] == int(fits)


#: how programs write the sizes of [batch, rows, heads, width] of x
HEADS: dict[str, Any] = {
    "the rest is the batch": lambda x: [-1, 7, 4, 2],
    "the rest is the rows": lambda x: [tf.shape(x)[0], -1, 4, 2],
    "both from x": lambda x: [tf.shape(x)[0], tf.shape(x)[1], 4, 2],
    "two of a slice": lambda x: tf.concat([tf.shape(x)[:2], [4, 2]], 0),
}


@pytest.mark.parametrize("sizes", HEADS)
@pytest.mark.parametrize("packed", [False, True])
def test_attention_of_heads_of_one_input_of_any_batch_is_recognised(
    sizes: str, packed: bool
) -> None:
    x = tf.placeholder(tf.float32, [None, 7 if "batch" in sizes else None, 8])
    if packed:
        both = tf.tensordot(x, tf.constant(numbers(8, 24)), 1)
        parts = tf.split(both, 3, axis=2)
    else:
        parts = [tf.tensordot(x, tf.constant(numbers(8, 8, seed=i)), 1) for i in range(3)]
    transposed = [tf.transpose(tf.reshape(part, HEADS[sizes](x)), [0, 2, 1, 3]) for part in parts]
    q, k, v = transposed
    scores = tf.matmul(q, tf.transpose(k, [0, 1, 3, 2])) * 0.5
    made = check([tf.matmul(tf.nn.softmax(scores), v)], [x], [numbers(3, 7, 8)], "approximate")
    assert ops(made)["Attention"] == 1


def test_the_rest_of_a_shape_is_known_only_where_all_else_cancels() -> None:
    x, other = (tf.placeholder(tf.float32, [None, None, 8]) for _ in range(2))
    rows = tf.reshape(x, [-1, 8])
    spread = tf.reshape(rows, [-1, tf.shape(other)[1], 8])
    y = tf.nn.relu(tf.matmul(spread, tf.constant(numbers(8, 8)))) + other
    model = check([y, rows], [x, other], [numbers(2, 6, 8), numbers(4, 3, 8)])
    matmuls = [n for n in model.graph.node if "MatMul" in n.op]
    assert [len(n.input) for n in matmuls] == [2]  # y may be larger than the MatMul's result


def test_a_score_that_somebody_reads_keeps_attention_in_parts() -> None:
    q, k, v = (tf.placeholder(tf.float32, [2, 3, 7, 8]) for _ in range(3))
    weights = tf.nn.softmax(tf.matmul(q, tf.transpose(k, [0, 1, 3, 2])))
    feeds = [numbers(2, 3, 7, 8, seed=s) for s in range(3)]
    made = check([tf.matmul(weights, v), weights], [q, k, v], feeds, "approximate")
    assert "Attention" not in ops(made)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_normalisation_of_other_channels_stays_an_error(channels: int) -> None:
    x = tf.placeholder(tf.float32, [None, None, 2])
    numbers = [tf.constant(np.ones(channels, np.float32)) for _ in range(4)]
    y = emit.node("BatchNormalization", [x, *numbers], tf.float32, (None, None, 2))
    model, arrays = model_of([tf.nn.relu(y)], [x])
    made, kept = rewrite(model, arrays)
    with pytest.raises(errors.InvalidArgumentError, match="one number for each of the"):
        run(made, kept, [np.ones((2, 4 - channels, 2), np.float32)], cinfer)


def test_an_approximate_rewrite_folds_a_batch_normalisation_and_says_so(tmp_path: Any) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    given = {
        "w": numbers(4, 3, 3, 3), "scale": numbers(4), "bias": numbers(4, seed=1),
        "mean": numbers(4, seed=2), "variance": np.abs(numbers(4, seed=3)) + 0.5,
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    kinds = {"x": [2, 3, 6, 6], "y": [2, 4, 4, 4]}
    infos = [helper.make_tensor_value_info(k, 1, s) for k, s in kinds.items()]
    tensors = [numpy_helper.from_array(v, k) for k, v in given.items()]
    source = onnx.helper.make_model(
        helper.make_graph(nodes, "g", infos[:1], infos[1:], tensors),
        opset_imports=[helper.make_opsetid("", 15)],
        ir_version=8,
    )
    from graphio.onnx.importing import import_model

    found = import_model(source, trainable=False)
    (x,), (y,) = found.inputs.values(), found.outputs.values()
    feeds = [numbers(2, 3, 6, 6)]
    exact = check([y], [x], feeds)
    assert ops(exact) == {"FusedConv": 1}
    assert not any(r.approximate for r in exact.rewrite)
    folded = check([y], [x], feeds, "approximate")
    (node,) = (n for n in folded.graph.node if n.op == "FusedConv")
    assert [a.value.strings.s for a in node.attr if a.key == "ops"] == [[b"Relu"]]
    assert ops(folded) == {"FusedConv": 1}
    assert [r.name for r in folded.rewrite if r.approximate] == ["fold_batch_norm"]
