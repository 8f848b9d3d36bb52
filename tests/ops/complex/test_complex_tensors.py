"""Complex dtypes as ordinary ones: constants, feeds, variables, files, printing, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from complex_values import KINDS, TARGETS, agree, check_gradient, numbers, run

import graphio as tf

Z = np.array([1 + 2j, 3 - 1j], np.complex64)


# ---- Python's numbers and arrays ----


@TARGETS
def test_numbers_of_python_and_numpy_become_complex_tensors(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        made = [tf.constant(1j), tf.constant([1, 2j]), tf.constant(Z)]
        assert [t.dtype for t in made] == [tf.complex128, tf.complex128, tf.complex64]
        assert tf.convert_to_tensor([1.0, 2 + 1j], tf.complex64).dtype == tf.complex64
        x = tf.placeholder(tf.complex64, [2])
        assert session.run(x, {x: [1, 2.5]}).tolist() == [1, 2.5]
        assert session.run(x, {x: [1j, 2]}).tolist() == [1j, 2]
        assert session.run(tf.constant(Z - Z[:1], tf.bool)).tolist() == [False, True]
        assert session.run(x * 2j, {x: Z}).tolist() == [-4 + 2j, 2 + 6j]


def test_a_complex_number_for_a_real_tensor_is_an_error_that_says_what_to_do() -> None:
    with tf.Graph().as_default():
        for build in (
            lambda: tf.constant([1.0, 2.0]) * 2j,
            lambda: tf.constant(1j, tf.float32),
            lambda: tf.constant(Z, tf.float32),
        ):
            with pytest.raises(TypeError, match=r"\.real.*complex64"):
                build()
        with pytest.raises(TypeError, match=r"complex64.*tf\.abs"):
            tf.floor(tf.constant(Z))
        x = tf.placeholder(tf.float32, [2])
        with tf.Session() as session, pytest.raises(TypeError, match=r"complex: feed its \.real"):
            session.run(x, {x: Z})


@pytest.mark.parametrize(
    "build",
    [
        tf.nn.top_k,
        tf.sort,
        tf.argmax,
        tf.reduce_max,
        tf.nn.relu,
        tf.assert_positive,
        lambda z: tf.assert_less(z, z),
        lambda z: tf.global_norm([z]),
        lambda z: tf.clip_by_value(z, 0, 1),
    ],
)
def test_what_orders_numbers_refuses_complex_ones_while_the_graph_is_built(build: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="no complex64|complex64, exp"):
        build(tf.constant(Z))


# ---- operators that move elements ----

MOVES: dict[str, tuple[Any, Any]] = {
    "concat": (lambda z: tf.concat([z, z], 0), lambda z: np.concatenate([z, z])),
    "stack": (lambda z: tf.stack([z, z], 1), lambda z: np.stack([z, z], 1)),
    "tile": (lambda z: tf.tile(z, [2, 1]), lambda z: np.tile(z, [2, 1])),
    "pad": (lambda z: tf.pad(z, [[1, 0], [0, 1]]), lambda z: np.pad(z, [[1, 0], [0, 1]])),
    "reverse": (lambda z: tf.reverse(z, [1]), lambda z: z[:, ::-1]),
    "where": (lambda z: tf.where(tf.abs(z) > 1, z, -z), lambda z: np.where(abs(z) > 1, z, -z)),
    "slice": (lambda z: z[1:, ::2], lambda z: z[1:, ::2]),
    "roll": (lambda z: tf.roll(z, 1, 0), lambda z: np.roll(z, 1, 0)),
    "expand": (lambda z: tf.broadcast_to(z, [2, 3, 3]), lambda z: np.broadcast_to(z, [2, 3, 3])),
    "diagonal": (tf.matrix_diag_part, np.diagonal),
    "diagonals": (lambda z: tf.matrix_diag(z)[0], lambda z: np.diag(z[0])),
    "band": (lambda z: tf.matrix_band_part(z, 0, -1), np.triu),
    "boolean_mask": (
        lambda z: tf.boolean_mask(z, [True, False, True]), lambda z: z[[True, False, True]],
    ),
    "one_hot": (
        lambda z: tf.one_hot([0, 2], 3, on_value=z[0, 0], off_value=z[1, 1]),
        lambda z: np.where(np.eye(3)[[0, 2]] == 1, z[0, 0], z[1, 1]),
    ),
    "unstack": (lambda z: tf.unstack(z)[1], lambda z: z[1]),
    "sequence": (
        lambda z: tf.reverse_sequence(z, [1, 3, 2], 1), lambda z: np.stack(
            [z[0], z[1, ::-1], np.concatenate([z[2, 1::-1], z[2, 2:]])]
        ),
    ),
}  # fmt: skip


@TARGETS
@KINDS
@pytest.mark.parametrize("name", MOVES)
def test_elements_move_as_numpys(target: str, kind: str, name: str) -> None:
    agree(target, kind, *MOVES[name], numbers(3, 3))


@TARGETS
@pytest.mark.parametrize("name", [name for name in MOVES if name != "one_hot"])
def test_gradients_follow_the_elements(target: str, name: str) -> None:
    check_gradient(target, MOVES[name][0], numbers(3, 3))


@TARGETS
def test_functions_along_rows_have_gradients(target: str) -> None:
    check_gradient(target, lambda z: tf.map_fn(lambda x: x * x, z), numbers(3))
    check_gradient(target, lambda z: tf.scan(lambda a, x: a * x, z), numbers(3))
    check_gradient(target, lambda z: tf.foldl(lambda a, x: a * x + a, z), numbers(3))


# ---- variables and files ----


@TARGETS
def test_variables_are_assigned_added_to_and_scattered_into(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        v = tf.get_variable("v", [2], tf.complex64, tf.zeros_initializer())
        steps = [
            v.assign(Z), tf.assign_add(v, Z), tf.assign_sub(v, 2 * Z), tf.scatter_add(v, [0], [5j]),
            tf.scatter_update(v, [1], [7j]), tf.scatter_mul(v, [1], [1j]),
            tf.scatter_div(v, [1], [2j]), tf.scatter_sub(v, [1], [1j]),
        ]  # fmt: skip
        session.run(tf.global_variables_initializer())
        found = [session.run(step).tolist() for step in steps]
    assert found[:3] == [Z.tolist(), (2 * Z).tolist(), [0, 0]]
    assert found[3:] == [[5j, 0], [5j, 7j], [5j, -7], [5j, 3.5j], [5j, 2.5j]]


@TARGETS
def test_a_variable_descends_along_its_gradient(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        v = tf.Variable(np.array([3 + 4j, -1j]))
        loss = tf.reduce_sum(tf.abs(v - (1 - 2j)) ** 2)
        (slope,) = tf.gradients(loss, [v])
        step = v.assign_sub(0.25 * slope)
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(step)
        np.testing.assert_allclose(session.run(v), [1 - 2j, 1 - 2j], rtol=1e-12)


@pytest.mark.parametrize(("saved", "restored"), [("runtime", "cinfer"), ("cinfer", "runtime")])
def test_checkpoints_and_meta_graphs_cross_the_engines(
    saved: str, restored: str, tmp_path: Path
) -> None:
    with tf.Graph().as_default(), tf.Session(target=saved) as session:
        v = tf.Variable(numbers(3).astype(np.complex64), name="v")
        y = tf.exp(v, name="y")
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "m"))
        expected = session.run([v, y])
    with tf.Graph().as_default(), tf.Session(target=restored) as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "m.meta"))
        saver.restore(session, str(tmp_path / "m"))
        found = session.run(["v:0", "y:0"])
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
        v = tf.global_variables()[0]
        slope = tf.gradients(tf.abs(session.graph.get_tensor_by_name("y:0")), v)[0]
        np.testing.assert_allclose(session.run(slope), np.abs(expected[1]), rtol=1e-5, atol=1e-6)


@TARGETS
def test_a_graph_def_keeps_the_values(target: str) -> None:
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.complex64, [2], name="a")
        tf.sqrt(a * 2j + tf.constant(Z), name="y")
        definition = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        (y,) = tf.import_graph_def(definition, return_elements=["y:0"], name="")
        found = session.run(y, {"a:0": Z})
    np.testing.assert_allclose(found, np.sqrt(Z * 2j + Z), rtol=1e-6)


# ---- printing, bits, functions of Python, assertions ----


@TARGETS
def test_text_bits_and_functions_of_python(target: str, capfd: Any) -> None:
    text, printed, floats, back, called = run(
        target,
        lambda z: [
            tf.as_string(z), tf.Print(z, [z]), tf.bitcast(z, tf.float32),
            tf.bitcast(tf.bitcast(z, tf.float32), tf.complex64),
            tf.py_func(lambda a: a * 1j, [z], tf.complex64),
        ],
        Z,
    )  # fmt: skip
    assert text.tolist() == [b"(1.000000,2.000000)", b"(3.000000,-1.000000)"]
    assert floats.tolist() == [[1, 2], [3, -1]]
    np.testing.assert_array_equal(back, Z)
    np.testing.assert_array_equal(printed, Z)
    np.testing.assert_array_equal(called, Z * np.complex64(1j))
    assert "(1,2) (3,-1)" in capfd.readouterr().err


@TARGETS
def test_assertions_compare_complex_numbers(target: str) -> None:
    def checked(z: Any) -> Any:
        with tf.control_dependencies([tf.assert_near(z, z * (1 + 1e-8)), tf.assert_equal(z, z)]):
            return tf.identity(z)

    assert run(target, checked, Z).tolist() == Z.tolist()
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(target, lambda z: tf.assert_near(z, z + 1e-3j), Z)


@TARGETS
def test_fillings_and_casts_with_limits(target: str) -> None:
    made = run(
        target,
        lambda z: [
            tf.zeros_like(z), tf.ones_like(z), tf.fill([2], z[0]), tf.eye(2, dtype=tf.complex64),
            tf.saturate_cast(z * 1e30, tf.int8),
            tf.saturate_cast(tf.cast(z, tf.complex128) * 1e300, tf.complex64),
        ],
        Z,
    )  # fmt: skip
    assert made[0].tolist() == [0, 0] and made[1].tolist() == [1, 1]
    assert made[2].tolist() == [1 + 2j] * 2 and made[3].tolist() == [[1, 0], [0, 1]]
    most = float(np.finfo(np.float32).max)
    assert made[4].tolist() == [127, 127] and made[5].tolist() == [
        most + most * 1j,
        most - most * 1j,
    ]


@TARGETS
def test_jacobians_take_the_parts_for_numbers(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target):
        x = tf.placeholder(tf.complex64, [])
        y = x * (5 + 7j)
        one, other = tf.test.compute_gradient(x, [], y, [], np.complex64(2 - 1j))
    assert one.tolist() == [[5, 7], [-7, 5]]
    np.testing.assert_allclose(other, one, atol=1e-2)


@TARGETS
def test_vectors_are_normalized_to_length_one(target: str) -> None:
    agree(
        target, "complex64", lambda z: tf.nn.l2_normalize(z, 0), lambda z: z / np.linalg.norm(z), Z
    )
