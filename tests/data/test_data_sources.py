"""tf.data: where elements come from."""

from __future__ import annotations

import collections
import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_pipelines import drain, plain, rest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.data import npz

D = tf.data.Dataset


def test_components_keep_their_names_and_dtypes() -> None:
    Point = collections.namedtuple("Point", "x y")
    data = D.from_tensor_slices(Point(np.arange(2, dtype=np.uint8), {"k": ["a", "b"]}))
    assert data.output_types == Point(tf.uint8, {"k": tf.string})
    assert data.output_shapes == Point(tf.TensorShape([]), {"k": tf.TensorShape([])})
    assert data.output_classes == Point(tf.Tensor, {"k": tf.Tensor})
    with tf.Session() as session:
        found = session.run(data.make_one_shot_iterator().get_next())
    assert isinstance(found, Point)
    assert plain(found) == (0, {"k": b"a"})


def test_a_list_is_a_tensor_and_a_tuple_is_a_structure() -> None:
    assert D.from_tensors([1, 2]).output_shapes.as_list() == [2]
    assert len(D.from_tensors((1, 2)).output_shapes) == 2


def test_what_the_array_becomes_later_changes_nothing() -> None:
    array = np.arange(3)
    data = D.from_tensor_slices(array)
    array[:] = 9
    assert drain(lambda: data) == [0, 1, 2]


def test_what_a_run_gives_can_be_changed_without_harm() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        element = D.from_tensors([1, 2]).repeat(2).make_one_shot_iterator().get_next()
        session.run(element)[:] = 7
        assert plain(session.run(element)) == [1, 2]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, "a scalar, which has no slices"),
        (([1, 2], [1, 2, 3]), "component 0 has 2 slices, component 1 has 3"),
        ((), "no components"),
    ],
)
def test_slices_that_cannot_be_are_refused(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        D.from_tensor_slices(value)


def test_slices_that_are_indexed_are_refused() -> None:
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    with pytest.raises(TypeError, match="a component is of IndexedSlices; give its parts"):
        D.from_tensors(slices)
    with pytest.raises(TypeError, match="a component is of IndexedSlices; give its parts"):
        D.from_tensor_slices(slices)


def test_tensors_that_differ_in_length_are_found_when_the_iterator_begins() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = [tf.placeholder(tf.int32, [None]) for _ in range(2)]
        iterator = D.from_tensor_slices(tuple(sizes)).make_initializable_iterator()
        with pytest.raises(tf.errors.InvalidArgumentError, match="component 1 has 2 slices"):
            session.run(iterator.initializer, {sizes[0]: [1], sizes[1]: [1, 2]})


@pytest.mark.parametrize(
    ("args", "expected"), [((3,), [0, 1, 2]), ((1, 3), [1, 2]), ((5, 0, -2), [5, 3, 1])]
)
def test_range_counts_as_pythons(args: tuple[int, ...], expected: list[int]) -> None:
    assert drain(lambda: D.range(*args)) == expected


def test_range_refuses_steps_and_arguments_that_cannot_be() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="step cannot be zero"):
        drain(lambda: D.range(1, 5, 0))
    with pytest.raises(ValueError, match="takes 1 to 3 numbers"):
        D.range()
    with pytest.raises(TypeError, match="expected an integer, got 2.5"):
        D.range(2.5)


# ---- generators ----


def test_a_generator_is_called_anew_for_every_pass() -> None:
    calls = []

    def generator() -> Any:
        calls.append(1)
        yield from range(3)

    assert drain(lambda: D.from_generator(generator, tf.int32).repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert len(calls) == 2


def test_a_generator_gets_its_arguments_as_arrays() -> None:
    def generator(count: Any) -> Any:
        for i in range(count):
            yield {"a": [i] * i, "b": "x" * i}

    types, shapes = {"a": tf.float32, "b": tf.string}, {"a": [None], "b": []}
    found = drain(lambda: D.from_generator(generator, types, shapes, args=(tf.constant(3),)))
    assert found == [{"a": [float(i)] * i, "b": b"x" * i} for i in range(3)]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ((1, 2), "InvalidArgumentError", "did not match the expected structure"),
        ("text", "InvalidArgumentError", "could not be converted to the expected type"),
        ([1, 2, 3], "InvalidArgumentError", r"element of shape \(3,\) where .* \(2,\) was"),
    ],
)
def test_what_a_generator_may_not_yield(value: Any, kind: str, words: str) -> None:
    def generator() -> Any:
        yield value

    types: Any = (tf.int32, tf.int32, tf.int32) if isinstance(value, tuple) else tf.int32
    shapes: Any = ([], [], []) if isinstance(value, tuple) else [2]
    with pytest.raises(getattr(tf.errors, kind), match=words):
        drain(lambda: D.from_generator(generator, types, shapes))


def test_an_exception_of_a_generator_comes_out_with_its_text() -> None:
    def generator() -> Any:
        yield 1
        raise KeyError("lost")

    with tf.Graph().as_default(), tf.Session() as session:
        element = D.from_generator(generator, tf.int32).make_one_shot_iterator().get_next()
        assert session.run(element) == 1
        with pytest.raises(tf.errors.UnknownError, match=r"KeyError: 'lost' \[from_generator \("):
            session.run(element)


def test_only_a_function_can_be_a_generator() -> None:
    with pytest.raises(TypeError, match="must be callable"):
        D.from_generator([1, 2], tf.int32)


# ---- arrays in files ----


@pytest.mark.parametrize("packed", [False, True])
def test_the_arrays_of_an_npz_file(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.npz"
    x, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "ccc"])
    (np.savez_compressed if packed else np.savez)(path, x=x, y=y)
    made = tf.data.experimental.NpzDataset
    assert drain(lambda: made(path))[2] == {"x": [4.0, 5.0], "y": b"ccc"}
    assert drain(lambda: made(str(path), keys=["y", "x"]).batch(3)) == [
        ([b"a", b"b", b"ccc"], x.tolist())
    ]
    with pytest.raises(ValueError, match=r"has no \['z'\]; has \['x', 'y'\]"):
        made(path, keys=["z"])


def test_a_npy_file_stays_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(1000, dtype=np.int16).reshape(500, 2))
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.experimental.NpzDataset(path).skip(498)
        assert rest(session, data.make_one_shot_iterator().get_next()) == [[996, 997], [998, 999]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_arrays_of_damaged_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    packed = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
    packed(str(path) + ".npz", x=np.arange(12.0).reshape(3, 4), y=np.array(["a", "bb"]))
    content = bytearray(Path(f"{path}.npz").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.sampled_from([0, 32, 40, 255]))
    path.write_bytes(content)
    with contextlib.suppress(tf.errors.DataLossError, tf.errors.ResourceExhaustedError):
        npz.arrays(str(path))  # a length that is damaged may say more than is taken


def test_npz_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError):
        tf.data.experimental.NpzDataset(tmp_path / "none.npz")
    (tmp_path / "text").write_text("nothing of the sort")
    with pytest.raises(tf.errors.DataLossError, match=r"is not a \.npy or \.npz file"):
        tf.data.experimental.NpzDataset(tmp_path / "text")
