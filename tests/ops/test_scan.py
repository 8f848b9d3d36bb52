"""Scan in both engines and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import BOTH, Builder, module, set_attribute, tensor_type
from gradient_check import check

import graphio as tf
from graphio.ops.control_flow.loops import scan_node
from graphio.ops.math import elementwise
from graphio.support import errors

F32 = tensor_type(np.float32)


def model(
    attrs: dict[str, Any] | None = None,
    *,
    inputs: int = 3,
    shapes: Any = (None, None, None),
    outputs: int = 2,
    gives: tuple[str, ...] = ("next", "product"),
) -> bytes:
    """h' = h + a * b, joined a * b * h, over pieces of a and b."""
    b = Builder()
    names = [b.placeholder(f"x{i}", np.float32, shapes[i]) for i in range(inputs)]
    node = b.node("scan", "Scan", names, [F32] * outputs, version=16)
    body = node.attr.add(key="body").value.g
    for name in ("h", "a", "b")[:inputs]:
        argument = body.input.add(name=name)
        argument.type.CopyFrom(F32)
    for name, op, sources in (
        ("times", "Mul", ("a", "b")),
        ("next", "Add", ("h", "times")),
        ("product", "Mul", ("times", "h")),
    ):
        made = body.node.add(name=name, op=op, version=14)
        made.input.extend(sources)
        made.output_type.add().CopyFrom(F32)
    body.output.extend(gives)
    for key, value in sorted({"num_scan_inputs": 2, **(attrs or {})}.items()):
        set_attribute(node, key, value)
    b.signature(
        {n: n for n in names}, {f"y{k}": f"scan:{k}" if k else "scan" for k in range(outputs)}
    )
    return b.bytes()


def expected(
    h: Any, a: Any, b: Any, axes: Any = (0, 0), ways: Any = (0, 0), out: Any = (0, 0)
) -> Any:
    pieces = [
        np.moveaxis(v, axis, 0)[:: -1 if way else 1]
        for v, axis, way in zip((a, b), axes, ways, strict=True)
    ]
    rows = []
    for p, q in zip(*pieces, strict=True):
        rows.append(p * q * h)
        h = h + p * q
    joined = np.stack(rows[:: -1 if out[1] else 1], out[0])
    return h, joined


def values(a_axis: int = 0, b_axis: int = 0, steps: int = 5) -> list[np.ndarray]:
    rng = np.random.RandomState(4)
    a, b = (rng.randn(steps, 2, 3).astype(np.float32) for _ in range(2))
    h = rng.randn(2, 3).astype(np.float32)
    return [
        h,
        np.ascontiguousarray(np.moveaxis(a, 0, a_axis)),
        np.ascontiguousarray(np.moveaxis(b, 0, b_axis)),
    ]


@BOTH
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("axes", [(0, 0), (1, 2), (-1, 0)])
@pytest.mark.parametrize("ways", [(0, 0), (1, 0), (1, 1)])
@pytest.mark.parametrize("out", [(0, 0), (1, 1), (-1, 0)])
def test_scan_cuts_and_joins(engine: str, known: bool, axes: Any, ways: Any, out: Any) -> None:
    given = values(*axes)
    attrs = {
        "scan_input_axes": list(axes),
        "scan_input_directions": list(ways),
        "scan_output_axes": [out[0]],
        "scan_output_directions": [out[1]],
    }
    data = model(attrs, shapes=[v.shape if known else None for v in given])
    found = module(engine).load(data).signature().run(given)
    for y, expected_values in zip(found, expected(*given, axes, ways, out), strict=True):
        np.testing.assert_allclose(y, expected_values, rtol=1e-6)


@BOTH
def test_the_attributes_have_defaults(engine: str) -> None:
    given = values()
    signature = module(engine).load(model()).signature()
    for _ in range(2):
        for y, expected_values in zip(signature.run(given), expected(*given), strict=True):
            np.testing.assert_allclose(y, expected_values, rtol=1e-6)


@BOTH
def test_no_step_gives_the_first_state(engine: str) -> None:
    given = values(steps=0)
    h, joined = module(engine).load(model()).signature().run(given)
    np.testing.assert_array_equal(h, given[0])
    assert joined.size == 0


@BOTH
def test_a_state_may_be_a_piece(engine: str) -> None:
    given = values()
    h, joined = module(engine).load(model(gives=("a", "h"))).signature().run(given)
    np.testing.assert_array_equal(h, given[1][-1])
    np.testing.assert_array_equal(joined, np.concatenate([given[0][None], given[1][:-1]]))


@BOTH
@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"num_scan_inputs": 0}, "num_scan_inputs is 0"),
        ({"num_scan_inputs": 4}, "num_scan_inputs is 4"),
        ({"scan_input_axes": [0]}, "scan_input_axes has 1 values"),
        ({"scan_input_axes": [0, 3]}, "axis 3"),
        ({"scan_output_axes": [-4]}, "axis -4"),
        ({"scan_input_directions": [0, 2]}, "scan_input_directions has the value 2"),
    ],
)
def test_wrong_attributes_are_refused(engine: str, attrs: Any, words: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=words):
        module(engine).load(model(attrs)).signature().run(values())


@BOTH
def test_pieces_of_two_lengths_are_refused(engine: str) -> None:
    h, a, b = values()
    with pytest.raises(errors.InvalidArgumentError, match=r"Scan 'scan'.*steps"):
        module(engine).load(model()).signature().run([h, a, b[1:]])


@BOTH
@pytest.mark.parametrize(
    ("axes", "words"), [([1, 0], "axis 1 is out of range"), ([0, 0], "2 steps")]
)
def test_a_branch_that_is_not_taken_refuses_nothing(engine: str, axes: Any, words: str) -> None:
    b = Builder()
    b.placeholder("c", np.bool_, [])
    names = [b.placeholder(name, np.float32, None) for name in ("h", "a", "b")]
    node = b.node("if", "If", ["c"], [F32], version=16)
    for key, op in (("else_branch", "Scan"), ("then_branch", "Identity")):
        branch = node.attr.add(key=key).value.g
        inner = branch.node.add(name=op, op=op, version=16)
        inner.input.extend(names if op == "Scan" else names[:1])
        inner.output_type.add().CopyFrom(F32)
        branch.output.append(op)
        branch.capture.extend(sorted(inner.input))
        if op == "Identity":
            continue
        body = inner.attr.add(key="body").value.g
        for name in ("state", "left", "right"):
            body.input.add(name=name).type.CopyFrom(F32)
        body.output.append("state")
        set_attribute(inner, "num_scan_inputs", 2)
        set_attribute(inner, "scan_input_axes", axes)
    b.signature({n: n for n in ("c", *names)}, {"y": "if"})
    signature = module(engine).load(b.bytes()).signature()
    given = [np.float32([1, 2, 3]), np.float32([1, 2, 3]), np.float32([1, 2])]
    assert signature.run([np.asarray(True), *given])[0].tolist() == [1, 2, 3]
    with pytest.raises(errors.InvalidArgumentError, match=f"Scan 'Scan'.*{words}"):
        signature.run([np.asarray(False), *given])


@BOTH
def test_a_state_may_grow(engine: str) -> None:
    h = np.zeros((1, 1), np.float32)
    a, b = (np.ones((4, 3, 1), np.float32) for _ in range(2))
    found = module(engine).load(model(gives=("next", "h"))).signature()
    with pytest.raises(errors.InvalidArgumentError, match="shape"):
        found.run([h, a, b])  # the joined states differ in shape
    last = module(engine).load(model(gives=("next",), outputs=1)).signature().run([h, a, b])[0]
    np.testing.assert_array_equal(last, np.full((3, 1), 4, np.float32))


def recurrence(h: Any, a: Any, b: Any, w: Any, **ways: Any) -> Any:
    def body(state: Any, pieces: Any) -> Any:
        (old,), (p, q) = state, pieces
        new = tf.tanh(elementwise.add(elementwise.multiply(p, old), tf.matmul(q, w)))
        return [new], [elementwise.multiply(new, old), tf.sin(p)]

    return scan_node(body, [h], [a, b], **ways)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(
    "ways",
    [
        {},
        {"cuts": [(1, True), (-1, False)], "joins": [(2, False), (0, True)]},
    ],
)
def test_scan_has_the_gradient_of_its_differences(ways: Any, unknown: bool) -> None:
    rng = np.random.RandomState(2)
    axes = [axis for axis, _ in ways.get("cuts", [(0, False)] * 2)]
    h, w = rng.randn(2, 3), rng.randn(3, 3)
    a, b = (np.moveaxis(rng.randn(4, 2, 3), 0, axis) for axis in axes)

    def function(*t: Any) -> Any:
        last, first, second = recurrence(*t, **ways)
        return tf.add_n([tf.reduce_sum(tf.sin(v * 0.7)) for v in (last, first, second)])

    shapes = (lambda v: [None] * v.ndim) if unknown else np.shape
    check(function, [h, np.ascontiguousarray(a), np.ascontiguousarray(b), w], shapes=shapes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gradient_through_scan_is_the_same_in_both_engines(dtype: str) -> None:
    pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    rng = np.random.RandomState(2)
    arrays = [rng.randn(*s).astype(dtype) for s in ((2, 3), (4, 2, 3), (4, 2, 3), (3, 3))]
    found = []
    for target in ("runtime", "cinfer"):
        with tf.Graph().as_default(), tf.Session(target) as session:
            xs = [tf.placeholder(dtype, [None] * v.ndim) for v in arrays]
            last, joined, _ = recurrence(*xs)
            gradients = tf.gradients([last, joined], xs)
            found.append(session.run(gradients, dict(zip(xs, arrays, strict=True))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@BOTH
def test_inputs_may_have_a_shape_that_only_the_run_knows(engine: str) -> None:
    """A scan over the indices of elements other than 0, in an outer Loop over other lengths."""
    b = Builder()
    x = b.placeholder("x", np.float32, [None])
    i64, f64 = tensor_type(np.int64), tensor_type(np.float64)
    b.node("places", "NonZero", [x], [i64], version=9)
    b.node("numbers", "Cast", ["places"], [f64], {"to": 11}, version=9)
    b.constant("zero", np.zeros(1))
    node = b.node("scan", "Scan", ["zero", "numbers"], [f64, f64], version=16)
    body = node.attr.add(key="body").value.g
    for name in ("total", "place"):
        body.input.add(name=name).type.CopyFrom(f64)
    made = body.node.add(name="next", op="Add", version=14)
    made.input.extend(["total", "place"])
    made.output_type.add().CopyFrom(f64)
    body.output.extend(["next", "next"])
    set_attribute(node, "num_scan_inputs", 1)
    set_attribute(node, "scan_input_axes", [1])
    set_attribute(node, "scan_output_directions", [1])
    b.signature({"x": "x"}, {"last": "scan", "sums": "scan:1"})
    signature = module(engine).load(b.bytes()).signature()
    for given in ([0, 1, 1, 0, 1], [1, 0], [0, 0, 0], [1] * 9):
        found = signature(x=np.float32(given))
        sums = np.cumsum(np.flatnonzero(given)).astype(np.float64)
        assert found["sums"].ravel().tolist() == sums[::-1].tolist()
        assert found["last"].tolist() == [sums[-1] if len(sums) else 0]


def test_a_scan_inside_a_loop_has_a_gradient() -> None:
    rng = np.random.RandomState(6)
    h, a, w = rng.randn(2, 3), rng.randn(3, 2, 3), rng.randn(3, 3)

    def function(h: Any, a: Any, w: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            last, joined, _ = recurrence(s, a, a, w)
            return i + 1, last + tf.reduce_sum(joined) * 0.1

        return tf.while_loop(lambda i, s: i < 2, body, [tf.constant(0), h])[1]

    check(function, [h, a, w], second=False)


def test_a_piece_of_another_type_than_before_is_refused() -> None:
    """A branch gives the joined output eight bytes an element, the other one."""
    b = Builder()
    flags = b.placeholder("flags", np.bool_, [None])
    kinds = {"then_branch": np.float64, "else_branch": np.int8}
    node = b.node("scan", "Scan", [flags], [tensor_type(np.float64)], version=16)
    body = node.attr.add(key="body").value.g
    body.input.add(name="flag").type.CopyFrom(tensor_type(np.bool_))
    chosen = body.node.add(name="chosen", op="If", version=11, input=["flag"])
    chosen.output_type.add().CopyFrom(tensor_type(np.float64))
    for key in sorted(kinds):
        branch = chosen.attr.add(key=key).value.g
        inner = Builder()
        inner.node(key, "Constant", [], [tensor_type(kinds[key], [4096])], version=1)
        set_attribute(inner.model.graph.node[0], "value", np.ones(4096, kinds[key]))
        branch.CopyFrom(inner.model.graph)
        branch.output.append(key)
    body.output.append("chosen")
    set_attribute(node, "num_scan_inputs", 1)
    b.signature({"flags": "flags"}, {"y": "scan"})
    signature = module("cinfer").load(b.bytes()).signature()
    assert signature(flags=np.array([True, True]))["y"].shape == (2, 4096)
    with pytest.raises(errors.InvalidArgumentError, match="scan output 0 is int8"):
        signature(flags=np.array([True, False]))
