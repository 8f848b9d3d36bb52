"""Both engines: a run on arrays as they are, into arrays that are given, and on bound ones."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio import runtime

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
from graphio.cinfer import feeds  # noqa: E402
from graphio.support import errors  # noqa: E402

INVALID = errors.InvalidArgumentError
Array = np.ndarray[Any, Any]
TYPES = [
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
]
W = np.arange(6, dtype=np.float32).reshape(3, 2)
X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
Y = X @ W


def crooked(value: Array) -> Array:
    """The same numbers at odd addresses."""
    made = np.empty(value.nbytes + 1, np.uint8)[1:].view(value.dtype).reshape(value.shape)
    made[...] = value
    assert not made.flags.aligned
    return made


def signature(
    folder: Path,
    build: Callable[[], tuple[dict[str, Any], dict[str, Any]]],
    engine: Any = cinfer,
) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.save(folder / "model.gio", session, {"run": build()})
    return engine.load(folder / "model.gio").signature("run")


@pytest.fixture(params=["numpy 2's interface", "another numpy", "the Python runtime"])
def multiplied(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """y = x @ W: in C, through numpy's binary interface and without it, and in Python."""
    if request.param == "another numpy":
        monkeypatch.setattr(feeds, "_TABLE", None)

    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        return {"x": x}, {"y": tf.matmul(x, tf.constant(W))}

    return signature(tmp_path, build, runtime if "runtime" in request.param else cinfer)


def test_one_input_needs_no_list(multiplied: Any) -> None:
    for inputs in (X, [X], (X,)):
        (y,) = multiplied.run(inputs)
        np.testing.assert_array_equal(y, Y)
        assert y.flags.owndata and y.flags.writeable and type(y) is np.ndarray
    assert not np.shares_memory(multiplied.run(X)[0], multiplied.run(X)[0])
    assert multiplied.run(X[:0])[0].shape == (0, 2)


def test_arrays_of_other_classes_will_do(multiplied: Any) -> None:
    class Mine(np.ndarray[Any, Any]):
        pass

    tagged = X.astype(np.dtype(np.float32, metadata={"unit": "m"}))
    for x in (X.view(Mine), tagged, np.frombuffer(X.tobytes(), np.float32).reshape(2, 3)):
        np.testing.assert_array_equal(multiplied.run(x)[0], Y)


def test_results_go_into_arrays_that_are_given(multiplied: Any) -> None:
    out = np.zeros((2, 2), np.float32)
    for given in (out, [out], (out,)):
        out[:] = 0
        (same,) = multiplied.run(X, given)
        assert same is out
        np.testing.assert_array_equal(out, Y)
    assert (
        multiplied.run([X], out=out)[0] is out and multiplied.run(inputs=X, out=None)[0] is not out
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.zeros((2, 2)), "is float32, the array given for it float64"),
        (np.zeros((2, 4), np.float32)[:, ::2], "contiguous, aligned and writable"),
        (crooked(Y), "contiguous, aligned and writable"),
        (np.frombuffer(bytes(16), np.float32).reshape(2, 2), "contiguous, aligned and writable"),
        ([np.zeros((2, 2), np.float32)] * 2, "has 1 outputs, 2 arrays were given"),
        ([[0.0]], "must be arrays, not list"),
        (np.zeros((3, 2), np.float32), r"has shape \(3, 2\), the result has \(2, 2\)"),
        (np.zeros(4, np.float32), r"has shape \(4,\), the result has \(2, 2\)"),
        (np.zeros((1, 2), np.float32), r"needs 16 bytes, its buffer has 8|\(1, 2\).*\(2, 2\)"),
    ],
)
def test_arrays_that_cannot_take_a_result(multiplied: Any, given: Any, says: str) -> None:
    with pytest.raises(INVALID, match=says):
        multiplied.run(X, out=given)
    np.testing.assert_array_equal(multiplied.run(X)[0], Y)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "takes 1 inputs .x., 0 were given"),
        (X.astype(">f4"), "expected an array of float32"),
        (X.astype(np.int32), "is int32, expected"),
        (X.T, "not contiguous"),
        (X[0], r"is float32\[3\], expected (float32|shape )\[\?,3\]"),
        ([3.0], "is float, expected an array"),
    ],
)
def test_inputs_that_do_not_fit(multiplied: Any, inputs: Any, says: str) -> None:
    if isinstance(inputs, np.ndarray) and inputs.dtype.byteorder == ">" and sys.byteorder == "big":
        pytest.skip("that is this machine's order")
    with pytest.raises(INVALID, match=says):
        multiplied.run(inputs)


def test_odd_addresses_are_none_for_c(multiplied: Any) -> None:
    if isinstance(multiplied, runtime.Signature):
        np.testing.assert_array_equal(multiplied.run(crooked(X))[0], Y)
    else:
        with pytest.raises(INVALID, match="not aligned"):
            multiplied.run(crooked(X))


def test_names_and_sessions_copy_what_lies_at_odd_addresses(multiplied: Any) -> None:
    np.testing.assert_array_equal(multiplied(x=crooked(X))["y"], Y)
    with tf.Graph().as_default(), tf.Session("cinfer") as session:
        x = tf.placeholder(tf.float32, [2, 3])
        np.testing.assert_array_equal(session.run(x * 2.0, {x: crooked(X)}), X * 2)
        np.testing.assert_array_equal(session.run(x * 2.0, {x: crooked(X)}), X * 2)


def test_wrong_calls_are_type_errors(multiplied: Any) -> None:
    for call in (lambda: multiplied.run(), lambda: multiplied.run(X, None, None)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        multiplied.run(7)


def test_nothing_is_held_after_a_run(multiplied: Any) -> None:
    x, out = X.copy(), np.empty((2, 2), np.float32)
    inputs, outs = [x], [out]
    wrong = np.empty((3, 2), np.float32)
    counted, dtype = (x, out, inputs, outs, wrong), np.dtype(np.float32)
    multiplied.run(inputs, outs)
    dtypes = sys.getrefcount(dtype)
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(50):
        multiplied.run(inputs)
        multiplied.run(inputs, outs)
        for bad in (lambda: multiplied.run(inputs, [wrong]), lambda: multiplied.run([x, x])):
            with pytest.raises(INVALID):
                bad()
    assert [sys.getrefcount(o) for o in counted] == before
    assert sys.getrefcount(dtype) < dtypes + 50  # everybody has it


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_of_numpys_passes(dtype: Any, tmp_path: Path) -> None:
    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        x = tf.placeholder(tf.as_dtype(dtype), [None], name="x")
        return {"x": x}, {"y": tf.identity(x)}

    same = signature(tmp_path, build)
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    y, out = same.run(x)[0], np.empty(5, dtype)
    assert y.dtype == dtype and y.tobytes() == x.tobytes()
    assert same.run(x, out)[0] is out and out.tobytes() == x.tobytes()
    other = np.float32 if dtype is not np.float32 else np.float64
    with pytest.raises(INVALID):
        same.run(x.astype(other) if dtype not in (np.complex64, np.complex128) else x.real.copy())


def test_many_inputs_and_outputs(tmp_path: Path) -> None:
    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        xs = {f"x{i:02}": tf.placeholder(tf.float32, [None], name=f"x{i:02}") for i in range(20)}
        return xs, {f"y{i:02}": x + float(i) for i, x in enumerate(xs.values())}

    many = signature(tmp_path, build)
    inputs = [np.full(3, i, np.float32) for i in range(20)]
    bound = many.bind(*inputs)
    for found in (many.run(inputs), bound(), many.run(inputs, [np.empty_like(i) for i in inputs])):
        assert [v.tolist() for v in found] == [[2.0 * i] * 3 for i in range(20)]


def test_bound_arrays_are_seen_and_filled_by_every_call(multiplied: Any) -> None:
    x, y = X.copy(), np.empty((2, 2), np.float32)
    into, fresh = multiplied.bind(x, outputs=[y]), multiplied.bind(x)
    first = fresh()[0]
    x *= 2
    assert into()[0] is y
    np.testing.assert_array_equal(y, 2 * Y)
    np.testing.assert_array_equal(fresh()[0], 2 * Y)
    np.testing.assert_array_equal(first, Y)
    with pytest.raises(INVALID, match="float64"):
        multiplied.bind(x, outputs=[np.empty((2, 2))])
    for shape in [(3, 2), (4,)]:
        with pytest.raises(INVALID, match=r"has shape .*, the result has \(2, 2\)"):
            multiplied.bind(x, outputs=[np.empty(shape, np.float32)])()
    assert into()[0] is y
    with pytest.raises(ValueError, match=r"resize|referenc|own"):
        x.resize(1)  # C looks at this memory


def test_threads_run_one_signature_in_all_its_forms(multiplied: Any) -> None:
    wrong: list[str] = []

    def work(factor: float) -> None:
        x = X * np.float32(factor)
        want = (Y * np.float32(factor)).tobytes()
        out, mine = np.empty((2, 2), np.float32), np.empty((2, 2), np.float32)
        bound: Sequence[Callable[[], list[Array]]] = (
            multiplied.bind(x),
            multiplied.bind(x, outputs=[mine]),
        )
        for _ in range(200):
            found = [multiplied.run(x), multiplied.run([x], out), *(call() for call in bound)]
            if any(f[0].tobytes() != want for f in found):
                wrong.append(f"factor {factor}")

    threads = [threading.Thread(target=work, args=(f,)) for f in (1.0, 2.0, 4.0, 8.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ever_new_batch_sizes(multiplied: Any) -> None:
    rows = np.arange(900, dtype=np.float32).reshape(300, 3)
    for n in (*range(1, 300), *range(300, 0, -7)):
        np.testing.assert_array_equal(multiplied.run(rows[:n])[0], rows[:n] @ W)
