"""tf.contrib.framework: orthogonal kernels, matrices of checkpoints with other vocabularies,
py_func, smart_case, zero_initializer; against numpy and the rules of TensorFlow 1.15.5."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

framework = tf.contrib.framework
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def value(tensor: Any, target: str = "") -> Any:
    with tf.Session(target=target) as session:
        return session.run(tensor)


@TARGETS
@pytest.mark.parametrize(
    ("axes", "size", "inputs", "outputs"), [(1, 4, 2, 8), (2, 3, 8, 8), (3, 2, 1, 8), (2, 1, 2, 2)]
)
def test_an_orthogonal_convolution_keeps_the_norm(
    axes: int, size: int, inputs: int, outputs: int, target: str
) -> None:
    made = {
        1: framework.convolutional_orthogonal_1d,
        2: framework.convolutional_orthogonal_2d,
        3: framework.convolutional_orthogonal_3d,
    }
    make = made[axes](gain=2.0, seed=3)
    kernel = value(make([size] * axes + [inputs, outputs]), target)
    # on a circle a convolution multiplies each frequency by a matrix
    sizes = [8] * axes
    by_frequency = np.fft.fftn(kernel.astype("d"), sizes, axes=range(axes))
    for at in itertools.product(*map(range, sizes)):
        matrix = by_frequency[at]
        np.testing.assert_allclose(matrix @ matrix.conj().T, 4 * np.eye(inputs), atol=2e-5)
    assert np.abs(kernel).max(axis=(-1, -2)).min() > 0  # no part of the window is empty


@pytest.mark.parametrize("window", [[3], [2, 5], [1, 3, 4]])
def test_a_delta_kernel_is_orthogonal_in_the_middle(window: list[int]) -> None:
    make = framework.convolutional_delta_orthogonal(gain=3.0)
    kernel = value(make([*window, 2, 4]))
    middle = tuple((size - 1) // 2 for size in window)
    np.testing.assert_allclose(kernel[middle] @ kernel[middle].T, 9 * np.eye(2), atol=1e-5)
    kernel[middle] = 0
    assert not kernel.any()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("orthogonal_1d", [3, 3, 4, 4]),
        ("orthogonal_2d", [3, 4, 2, 2]),
        ("orthogonal_2d", [3, 3, 4, 2]),
        ("orthogonal_3d", [3, 3, 2, 2]),
        ("delta_orthogonal", [3, 3]),
        ("delta_orthogonal", [3, 3, 2]),
    ],
)
def test_kernels_of_other_shapes_are_refused(name: str, shape: list[int]) -> None:
    with pytest.raises(ValueError, match="dimensional|In_filters|equal"):
        getattr(framework, f"convolutional_{name}")()(shape)


def counted() -> Any:
    """An initializer that gives 1, 2, 3 and so on, over all its calls."""
    numbers = itertools.count(1)

    def make(shape: Any) -> Any:
        given = [next(numbers) for _ in range(int(np.prod(shape)))]
        return tf.constant(np.reshape(np.float32(given), shape))

    return make


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A checkpoint with w, w(i, j) = 10 i + j + 100, and vocabularies."""
    words = {
        "old_rows": "mercury\nvenus\nmars\n", "new_rows": "venus\njupiter\nmercury\n",
        "old_cols": "good\nbetter\nbest\n", "new_cols": "good\nbest\nfantastic\n",
    }  # fmt: skip
    for name, text in words.items():
        (tmp_path / name).write_text(text)
    w = np.float32([[100 + 10 * i + j for j in range(3)] for i in range(3)])
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.get_variable("w", initializer=w)
        tf.get_variable("bias", initializer=w[:, :1])
        session.run(tf.global_variables_initializer())
        assert made.op.name == "w"
        tf.train.Saver().save(session, str(tmp_path / "model"))
    return tmp_path


def files(folder: Path, *names: str) -> dict[str, str]:
    return {
        f"{age}_{name}_vocab_file": str(folder / f"{age}_{name}s")
        for age in ("old", "new")
        for name in names
    }


@TARGETS
def test_a_matrix_of_a_checkpoint_gets_the_order_of_new_vocabularies(
    old: Path, target: str
) -> None:
    make = framework.load_and_remap_matrix_initializer(
        str(old / "model"), "w", 3, 3, **files(old, "row", "col"), num_row_oov_buckets=2,
        num_col_oov_buckets=1, initializer=counted(),
    )  # fmt: skip
    made = tf.get_variable("new", [5, 4], initializer=make)
    with tf.Session(target=target) as session:
        session.run(made.initializer)
        assert session.run(made).tolist() == [
            [110, 112, 1, 12], [2, 3, 4, 13], [100, 102, 5, 14], [6, 7, 8, 15], [9, 10, 11, 16],
        ]  # fmt: skip


def test_one_axis_alone_may_have_another_order(old: Path) -> None:
    path = str(old / "model")
    rows = framework.load_and_remap_matrix_initializer(path, "w", 3, 3, **files(old, "row"))
    assert value(rows([3, 3])).tolist() == [[110, 111, 112], [0, 0, 0], [100, 101, 102]]
    columns = framework.load_and_remap_matrix_initializer(
        path, "w", 2, 3, **files(old, "col"), initializer=counted()
    )
    assert value(columns([2, 3])).tolist() == [[100, 102, 1], [110, 112, 2]]
    short = framework.load_and_remap_matrix_initializer(
        path, "w", 3, 3, 1, **files(old, "row")
    )  # of the old rows only mercury counts
    assert value(short([3, 3]))[:2].any() is np.False_


def test_a_line_of_a_vocabulary_ends_with_a_line_feed_alone(old: Path) -> None:
    # U+2028 and form feed end lines of Python's str.splitlines, not those of a vocabulary
    (old / "old_rows").write_text("me\u2028rcury\nve\x0cnus\r\n", newline="")
    (old / "new_rows").write_text("ve\x0cnus\nme\u2028rcury", newline="")
    make = framework.load_and_remap_matrix_initializer(
        str(old / "model"), "w", 2, 3, **files(old, "row")
    )
    assert value(make([2, 3])).tolist() == [[110, 111, 112], [100, 101, 102]]


def test_parts_of_a_variable_get_their_rows(old: Path) -> None:
    make = framework.load_and_remap_matrix_initializer(
        str(old / "model"), "w", 3, 3, **files(old, "row"), num_row_oov_buckets=1,
        initializer=counted(),
    )  # fmt: skip
    parts = [types.SimpleNamespace(var_offset=[offset, 0], full_shape=[4, 3]) for offset in (0, 2)]
    found = [value(make([2, 3], partition_info=part)).tolist() for part in parts]
    assert found == [[[110, 111, 112], [1, 2, 3]], [[100, 101, 102], [4, 5, 6]]]
    slot = framework.load_variable_slot_initializer(
        str(old / "model"), "w", parts[1], 3, 3, **files(old, "row"), num_row_oov_buckets=1
    )
    assert value(slot([2, 3])).tolist() == [[100, 101, 102], [0, 0, 0]]


def test_embeddings_and_biases_get_new_rows(old: Path) -> None:
    path, words = str(old / "model"), (str(old / "old_rows"), str(old / "new_rows"))
    make = framework.load_embedding_initializer(path, "w", 3, 3, *words, num_oov_buckets=300)
    found = value(make([303, 3]))
    assert found[[0, 2]].tolist() == [[110, 111, 112], [100, 101, 102]]
    limit = 2 / np.sqrt(3)  # truncated at two deviations
    assert 0.4 < found[3:].std() < 0.6 and np.abs(found[3:]).max() <= limit
    bias = framework.load_linear_multiclass_bias_initializer(path, "bias", 3, *words)
    assert value(bias([3, 1])).tolist() == [[110], [0], [100]]


@pytest.mark.parametrize(
    ("given", "shape", "error", "text"),
    [
        ({"initializer": 3}, [3, 3], TypeError, "callable"),
        ({}, [3, 3, 3], ValueError, "2-dim"),
        ({}, [0, 3], ValueError, "1st dim"),
        ({}, [3, 4], ValueError, "2nd dim"),
        ({}, [4, 3], ValueError, "exceed"),
        ({"new_row_vocab_file": None}, [3, 3], ValueError, "must both be specified"),
        ({"old_row_vocab_file": None, "new_row_vocab_file": None}, [3, 3], ValueError, "either"),
        ({"old_tensor_name": "v"}, [3, 3], tf.errors.NotFoundError, "v"),
        ({"new_row_vocab_size": 4}, [4, 3], tf.errors.InvalidArgumentError, "3 lines"),
        ({"new_col_vocab_size": 4}, [3, 4], tf.errors.InvalidArgumentError, "has 3 cols"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(
    given: dict[str, Any], shape: list[int], error: type[Exception], text: str, old: Path
) -> None:
    usual = {
        "ckpt_path": str(old / "model"), "old_tensor_name": "w", "new_row_vocab_size": 3,
        "new_col_vocab_size": 3, **files(old, "row"),
    }  # fmt: skip
    with pytest.raises(error, match=text):
        framework.load_and_remap_matrix_initializer(**{**usual, **given})(shape)


def test_matrices_are_of_float32(old: Path) -> None:
    make = framework.load_and_remap_matrix_initializer(
        str(old / "model"), "w", 3, 3, **files(old, "row")
    )
    with pytest.raises(TypeError, match="float32"):
        make([3, 3], tf.float64)


@TARGETS
def test_a_function_takes_and_gives_structures(target: str) -> None:
    def join(pair: Any, scale: Any) -> Any:
        return {"sum": (pair[0] + pair[1]) * scale, "both": [pair[0], np.float32(scale)]}

    given = [(tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0]))]
    found = framework.py_func(
        join, given, {"scale": tf.constant(2.0)},
        {"sum": tf.float32, "both": [tf.float32, tf.float32]}, {"sum": [2], "both": [[2], []]},
    )  # fmt: skip
    assert found["sum"].shape == [2] and found["both"][1].shape == []
    got = value(found, target)
    assert got["sum"].tolist() == [8, 14] and got["both"][0].tolist() == [1, 2]
    assert got["both"][1] == 2


def test_types_of_a_function_may_depend_on_its_arguments() -> None:
    x = tf.constant([1, 2, 3])
    found = framework.py_func(lambda v: v + v, [x], None, lambda v: v.dtype, lambda v: v.shape)
    assert (found.dtype, found.shape.as_list()) == (tf.int32, [3])
    assert value(found).tolist() == [2, 4, 6]
    with pytest.raises(TypeError, match="args must be list"):
        framework.py_func(lambda v: v, x, output_types=tf.int32)
    with pytest.raises(TypeError, match="kwargs must be dict"):
        framework.py_func(lambda v: v, [x], [x], tf.int32)


def test_the_first_predicate_that_holds_chooses() -> None:
    fed = tf.placeholder(tf.bool, [])
    calls = []

    def gives(number: int) -> Any:
        def function() -> Any:
            calls.append(number)
            return tf.constant(number)

        return function

    case = framework.smart_case
    assert value(case([(False, gives(1)), (tf.constant(True), gives(2)), (fed, gives(3))])) == 2
    assert calls == [2]
    found = case([(False, gives(1)), (fed, gives(2)), (True, gives(3)), (fed, gives(4))])
    assert 1 not in calls and 4 not in calls
    last = case([(fed, gives(5))], default=gives(6))
    with tf.Session() as session:
        assert [session.run([found, last], {fed: yes}) for yes in (True, False)] == [[2, 5], [3, 6]]
    assert value(case([(0, gives(1))], default=gives(7))) == 7
    with pytest.raises(tf.errors.InvalidArgumentError, match="no predicate holds"):
        case([(False, gives(1))])
    with pytest.raises(tf.errors.InvalidArgumentError, match="several"):
        case([(True, gives(1)), (True, gives(2))], exclusive=True)
    with pytest.raises(TypeError, match="predicate"):
        case([("yes", gives(1))])


@TARGETS
def test_a_variable_is_initialized_with_zeros_once(target: str) -> None:
    v = tf.get_variable("v", [2, 3], initializer=tf.ones_initializer())
    zeros = tf.contrib.slim.zero_initializer(v)
    with tf.Session(target=target) as session:
        assert session.run(zeros).tolist() == np.zeros([2, 3]).tolist()
        assert not session.run(v).any()
        with pytest.raises(tf.errors.InvalidArgumentError, match="already initialized"):
            session.run(zeros)
