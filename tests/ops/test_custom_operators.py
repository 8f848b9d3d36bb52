"""Custom operators: built, differentiated, saved and run in both engines."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from folders import ROOT

import graphio as tf
from graphio.engine import custom
from graphio.schema import operators
from graphio.support import errors

X = np.random.RandomState(0).randn(5, 3).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g
    for key in [k for k in custom._registered if k[0] == "com.example"]:
        del custom._registered[key]
        operators.table()._rows.pop(key, None)


def scaled(**changes: Any) -> tf.CustomOperator:
    """y = tanh(scale x), with some things otherwise."""
    return tf.register_operator(
        **{
            "domain": "com.example",
            "name": "ScaledTanh",
            "inputs": ["x: T"],
            "outputs": ["y: T"],
            "types": {"T": "float32 float64"},
            "attributes": {"scale": ("float", 1.0)},
            "shape": lambda shapes, scale: shapes,
            "kernel": lambda x, scale: np.tanh(x.dtype.type(scale) * x),
            "gradient": lambda op, dy: dy * op.get_attr("scale") * (1.0 - tf.square(op.outputs[0])),
            **changes,
        }
    )


def run(target: str, fetches: Any, feed: Any = None) -> Any:
    engines.module(target)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


@engines.BOTH
def test_it_computes_and_differentiates(engine: str) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = scaled()(x, scale=2.0, name="squash")
    (gradient,) = tf.gradients(tf.reduce_sum(y), [x])
    assert y.op.name == "squash" and y.op.type == "ScaledTanh" and y.shape.as_list() == [None, 3]
    got, slope = run(engine, [y, gradient], {x: X})
    expected = np.tanh(2.0 * X.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(slope, 2.0 * (1.0 - expected**2), rtol=1e-5, atol=1e-6)


@engines.BOTH
def test_a_file_names_it_and_runs_wherever_it_is_registered(engine: str, tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = scaled()(x, scale=0.5) + 1.0
    with tf.Session() as session:
        tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": x}, {"y": y})})
    load = engines.module(engine).load
    signature = load(tmp_path / "m.gio").signature("run")
    for rows in (5, 1, 0, 3):
        found = signature(x=X[:rows])["y"]
        np.testing.assert_allclose(found, np.tanh(0.5 * X[:rows]) + 1, rtol=1e-6)
    custom._registered.clear()
    operators.table()._rows.pop(("com.example", "ScaledTanh"))
    with pytest.raises(errors.UnimplementedError, match=r"com\.example.*ScaledTanh version 1"):
        load(tmp_path / "m.gio")


@engines.BOTH
def test_inputs_may_be_absent_or_any_number_and_outputs_several(engine: str) -> None:
    made = tf.register_operator(
        "com.example",
        "Gather2",
        inputs=["x: T", "bias: T?", "rest: U*0"],
        outputs=["sum: T", "count: int64"],
        types={"T": "float32", "U": "float32 int32"},
        attributes={"axes": ("ints", [0]), "weights": ("floats", []), "mode": ("string", "é")},
        shape=lambda shapes, axes, weights, mode: [shapes[0][len(axes) :], ()],
        kernel=lambda x, bias=None, *rest, axes, weights, mode: (
            x.sum(tuple(axes)) + (0 if bias is None else bias) + np.float32(sum(weights)),
            np.int64(len(rest) + 100 * len(mode)),
        ),
    )
    rest = tf.constant([1, 2], tf.int32)
    total, count = made(X, None, rest, rest, axes=[0], weights=[0.5, 2])
    one, none = made(X, tf.ones([3]), mode="two", axes=[0])
    assert total.shape.as_list() == [3] and count.dtype == tf.int64
    alone, _ = made(X, axes=[0])
    got = run(engine, [total, count, one, none, alone])
    np.testing.assert_allclose(got[0], X.sum(0) + 2.5, rtol=1e-5)
    np.testing.assert_allclose(got[2], X.sum(0) + 1, rtol=1e-5)
    assert (got[1], got[3]) == (102, 300)
    np.testing.assert_allclose(got[4], X.sum(0), rtol=1e-5)


@engines.BOTH
def test_a_node_gets_the_newest_version_that_is_not_newer_than_its_own(
    engine: str, tmp_path: Path
) -> None:
    first = scaled(version=2)
    x = tf.placeholder(tf.float32, [None, 3])
    y = first(x)
    scaled(version=5, kernel=lambda x, scale: -x)
    z = scaled(version=4, kernel=lambda x, scale: x + 4)(x)
    got = run(engine, [y, z], {x: X})
    np.testing.assert_allclose(got[0], np.tanh(X), rtol=1e-6)
    np.testing.assert_array_equal(got[1], X + 4)


@engines.BOTH
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"kernel": lambda x, scale: x[:1]}, errors.InvalidArgumentError, r"float32\[1, 3\]; its"),
        ({"kernel": lambda x, scale: x.astype("f8")}, errors.InvalidArgumentError, "is float64"),
        ({"kernel": lambda x, scale: (x, x)}, errors.InvalidArgumentError, "returned 2 values"),
        ({"kernel": lambda x, scale: 1 // 0}, errors.UnknownError, "ZeroDivisionError"),
        ({"kernel": lambda x, scale: x.fill(0)}, errors.InvalidArgumentError, "read-only"),
    ],
    ids=["shape", "dtype", "count", "raises", "writes"],
)
def test_a_kernel_that_breaks_its_word_is_an_error_of_the_run(
    engine: str, change: Any, error: Any, message: str
) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = scaled(**change)(x, name="mine")
    with pytest.raises(error, match=message) as found:
        run(engine, y, {x: X})
    assert "mine" in str(found.value)


@engines.BOTH
def test_what_a_kernel_raised_is_the_cause(engine: str) -> None:
    def kernel(x: Any, scale: float) -> Any:
        raise KeyError("mine")

    x = tf.placeholder(tf.float32, [None, 3])
    with pytest.raises(errors.OpError) as found:
        run(engine, scaled(kernel=kernel)(x), {x: X})
    assert isinstance(found.value.__cause__, KeyError)


def test_what_is_wrong_with_a_declaration_is_reported_at_once() -> None:
    with pytest.raises(ValueError) as found:
        tf.register_operator(
            "com.example",
            "Bad",
            inputs=["x: T", "rest: U*", "z: V"],
            outputs=["y: W?"],
            types={"T": "float31", "U": "float32", "W": "float32"},
            attributes={"a": ("tensor",), "b": ("int", 1.5)},
            shape=lambda shapes: shapes,
        )
    for part in (
        "'z: V': V is neither",
        "output 'y: W?': no input",
        "outputs are neither optional",
        "only the last input",
        "float31 is not a type",
        "attribute a: ('tensor',)",
        "attribute b: its default 1.5 is not of kind int",
        "neither kernel nor library",
    ):
        assert part in str(found.value)


def test_a_shape_rule_that_fails_is_named() -> None:
    with pytest.raises(ValueError, match=r"the shape rule of com\.example\.ScaledTanh failed"):
        scaled(shape=lambda shapes, scale: [("q",)])(X)
    with pytest.raises(ValueError, match="shape is int, expected a function.*gradient is str"):
        scaled(shape=5, gradient="none")


@pytest.mark.parametrize(
    ("name", "domain"), [("Relu", ""), ("Relu", "ai.onnx"), ("F", "graphio"), ("no name", "a.b")]
)
def test_names_and_domains_of_others_are_refused(name: str, domain: str) -> None:
    with pytest.raises(ValueError, match="is taken|is not a name"):
        scaled(domain=domain, name=name)


def test_a_call_that_does_not_fit_is_refused_while_building() -> None:
    made = scaled(attributes={"scale": ("float",)})
    with pytest.raises(TypeError, match=r"'other'; attribute 'scale' is required. It has: scale"):
        made(X, other=1)
    with pytest.raises(TypeError, match="'scale' is '2', expected float"):
        made(X, scale="2")
    with pytest.raises(TypeError, match="is int32, expected float32 or float64"):
        made(tf.constant([1, 2]), scale=1)
    with pytest.raises(TypeError, match=r"takes the inputs \(x\), got 2"):
        made(X, X, scale=1)
    with pytest.raises(LookupError, match="No gradient defined"):
        x = tf.constant(X)
        nothing = scaled(name="Flat", gradient=None)
        tf.gradients(nothing(x), [x])


@engines.BOTH
def test_a_stateful_one_is_computed_each_time(engine: str) -> None:
    calls = []
    made = scaled(stateful=True, kernel=lambda x, scale: (calls.append(1), x)[1])
    pure = scaled(name="Pure", kernel=lambda x, scale: (calls.append(2), x)[1])
    one, other = made(X) + made(X), pure(X) + pure(X)
    engines.module(engine)
    with tf.Session(engine) as session:
        for _ in range(3):
            session.run([one, other])
    assert calls.count(1) == 6
    assert calls.count(2) <= 2  # of constants: computed once, ahead of the runs


def test_onnx_files_carry_it(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    import graphio.onnx

    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.identity(scaled()(x, scale=3.0), name="y")
    with tf.Session() as session:
        tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": x}, {"y": y})})
    graphio.onnx.from_model(tmp_path / "m.gio", tmp_path / "m.onnx")
    found = onnx.load(tmp_path / "m.onnx")
    assert ("com.example", 1) in [(o.domain, o.version) for o in found.opset_import]
    assert [n.domain for n in found.graph.node if n.op_type == "ScaledTanh"] == ["com.example"]
    graphio.onnx.convert(tmp_path / "m.onnx", tmp_path / "back.gio")
    for engine in engines.NAMES:
        got = engines.module(engine).load(tmp_path / "back.gio").signature()(x=X)
        np.testing.assert_allclose([*got.values()][0], np.tanh(3 * X), rtol=1e-6)


# ---- kernels in C ----


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's shared library."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("library") / "libscaled_tanh.so"
    source = ROOT / "examples" / "custom_operator" / "scaled_tanh.c"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    include = ["-I", str(ROOT / "cinfer" / "include")]
    command = [compiler, "-O2", "-shared", "-fPIC", *flags, *include, str(source), "-o", str(made)]
    subprocess.run([*command, "-lm"], check=True)
    return made


def test_a_library_serves_cinfer_without_a_kernel_in_python(library: Path, tmp_path: Path) -> None:
    cinfer = engines.module("cinfer")
    x = tf.placeholder(tf.float32, [None, 3])
    y = scaled(kernel=None, library=library)(x, scale=2.0)
    expected = np.tanh(2 * X)
    np.testing.assert_allclose(run("cinfer", y, {x: X}), expected, rtol=1e-6)
    with pytest.raises(errors.UnimplementedError, match=r"com\.example ScaledTanh"):
        run("runtime", y, {x: X})
    with tf.Session("cinfer") as session:
        tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": x}, {"y": y})})
    custom._registered.clear()
    for threads in (1, 2):
        model = cinfer.load(tmp_path / "m.gio", operators=[library], threads=threads)
        large = np.tile(X, (4000, 1))
        np.testing.assert_allclose(
            model.signature("run")(x=large)["y"], np.tile(expected, (4000, 1)), rtol=1e-6
        )


def test_a_kernel_in_c_is_preferred_and_its_errors_name_the_node(library: Path) -> None:
    engines.module("cinfer")
    made = scaled(kernel=lambda x, scale: 0 * x, library=library)
    x = tf.placeholder(tf.float32, [None, 3])
    assert np.any(run("cinfer", made(x), {x: X}))
    assert not np.any(run("runtime", made(x), {x: X}))
    double = tf.placeholder(tf.float64, [2])
    with pytest.raises(errors.UnimplementedError, match="'wide'.*x is float64, expected float32"):
        run("cinfer", made(double, name="wide"), {double: [1.0, 2.0]})


def test_an_attribute_of_another_kind_is_an_error_of_the_node(library: Path) -> None:
    engines.module("cinfer")
    made = scaled(attributes={"scale": ("int", 2)}, library=library, kernel=None)
    x = tf.placeholder(tf.float32, [None, 3])
    with pytest.raises(errors.InvalidArgumentError, match="'mine'.*attribute scale is not a float"):
        run("cinfer", made(x, name="mine"), {x: X})


def test_what_is_no_library_of_operators_is_reported(tmp_path: Path) -> None:
    cinfer = engines.module("cinfer")
    data, _ = engines.one_node("Abs", [X], {}, [np.float32], version=6)
    with pytest.raises(errors.NotFoundError, match="no shared library"):
        cinfer.load(data, operators=[tmp_path / "none.so"])
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(errors.InvalidArgumentError, match="must export"):
        cinfer.load(data, operators=[tmp_path / "text.so"])


def test_the_example_learns(library: Path) -> None:
    program = ROOT / "examples" / "custom_operator" / "custom_operator.py"
    for arguments in ([], [str(library)]):
        done = subprocess.run(
            [sys.executable, str(program), *arguments], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert float(done.stdout.split()[1]) < 0.01
