"""Datasets, objects and None as components of elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_elements import SPARSE, elements
from value_cases import TARGETS

import graphio as tf

# ---- datasets in elements ----


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_may_give_datasets(target: str) -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(4)
        single = data.map(lambda i: tf.data.Dataset.from_tensors(i)).flat_map(lambda x: x)
        assert elements(single, target) == [0, 1, 2, 3]
        counted = data.map(lambda i: {"n": i, "d": tf.data.Dataset.range(i).map(lambda j: j + i)})
        batches = counted.flat_map(lambda e: e["d"].batch(3).map(lambda b: (e["n"], b)))
        found = [(n, b.tolist()) for n, b in elements(batches, target)]
        assert found == [(1, [1]), (2, [2, 3]), (3, [3, 4, 5])]
        spec = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
        assert counted.output_classes == {"n": tf.Tensor, "d": spec}
        windows = data.window(2).map(lambda w: (w, w.batch(2)), 2)
        pairs = windows.interleave(lambda w, b: tf.data.Dataset.zip((w, b.repeat())), 2)
        again = [(i, b.tolist()) for i, b in elements(pairs, target)]
        assert again == [(0, [0, 1]), (2, [2, 3]), (1, [0, 1]), (3, [2, 3])]


def test_a_dataset_in_an_element_is_saved_in_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inner = tf.data.Dataset.range(3).map(lambda i: tf.data.Dataset.range(10 * i, 10 * i + 3))
        data = inner.shuffle(3, seed=1).flat_map(lambda d: d)
        iterator = tf.data.make_initializable_iterator(data)
        following = iterator.get_next()
        session.run(iterator.initializer)
        session.run(tf.Variable(1).initializer)
        saver = tf.train.Saver()
        session.run(following)
        path = saver.save(session, str(tmp_path / "c"))
        first = [int(session.run(following)) for _ in range(8)]
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert [int(session.run(following)) for _ in range(8)] == first


def test_datasets_that_cannot_be_in_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphio.data.elements._MOST_HELD", 100)
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(2)
        endless = data.map(lambda i: tf.data.Dataset.range(3).repeat())
        with pytest.raises(tf.errors.ResourceExhaustedError, match="more than 100 elements"):
            elements(endless.flat_map(lambda d: d.take(1)))
        with pytest.raises(ValueError, match="must return a scalar boolean"):
            data.filter(lambda i: data)
        with pytest.raises(TypeError, match="a component is a dataset"):
            endless.padded_batch(2, [])


@pytest.mark.parametrize("target", TARGETS)
def test_a_source_holds_datasets(target: str) -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        pairs = D.range(3).map(lambda i: {"i": i, "w": tf.as_string(i)})
        one = D.from_tensors((pairs, np.int64(7))).flat_map(
            lambda d, n: d.map(lambda e: e["i"] * n)
        )
        assert elements(one, target) == [0, 7, 14]
        spec = {"i": tf.TensorSpec([], tf.int64), "w": tf.TensorSpec([], tf.string)}
        assert D.from_tensors(pairs).output_classes == tf.data.DatasetSpec(spec)
        several = D.from_tensor_slices([D.range(2), D.range(3)])
        assert elements(several.flat_map(lambda d: d), target) == [0, 1, 0, 1, 2]
        apart = D.from_tensors([D.range(2), D.range(3)]).flat_map(D.from_tensor_slices)
        assert elements(apart.flat_map(lambda d: d.skip(1)), target) == [1, 1, 2]


@pytest.mark.parametrize("target", TARGETS)
def test_datasets_go_through_batches(target: str) -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        made = D.range(5).map(lambda i: D.from_tensors(i).repeat(2)).batch(2).map(lambda d: d)
        assert made.unbatch().dataset_spec.inside.inside is not None
        found = elements(made.unbatch().flat_map(lambda d: d), target)
        assert found == [i for i in range(5) for _ in range(2)]


def test_a_program_sees_the_dataset_that_is_a_component() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default(), tf.Session() as session:
        window = D.range(4).window(3).make_one_shot_iterator().get_next()
        total = window.reduce(np.int64(10), lambda state, x: state + x)
        assert session.run([total, total]) == [13, 13]
        assert session.run(total) == 13
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(total)


def test_a_function_reduces_the_dataset_that_it_is_given(tmp_path: Path) -> None:
    D, zero = tf.data.Dataset, np.int64(0)
    with tf.Graph().as_default():
        sums = D.range(5).window(2).map(lambda w: w.reduce(zero, lambda s, x: s + x))
        assert elements(sums) == [1, 5, 4]

        def write(key: Any, group: Any) -> Any:
            name = tf.string_join([str(tmp_path / "shard"), tf.as_string(key)])
            write = tf.data.experimental.TFRecordWriter(name).write(group.map(tf.as_string))
            with tf.control_dependencies([write]):
                return D.from_tensors(tf.identity(key))

        made = D.range(5).apply(tf.data.experimental.group_by_window(lambda i: i % 2, write, 9))
        assert elements(made) == [0, 1]
        assert elements(tf.data.TFRecordDataset(str(tmp_path / "shard1"))) == [b"1", b"3"]


# ---- structures ----


class Pair:
    """An object that says how it is taken apart; its name is not a component."""

    def __init__(self, name: str, x: Any, y: Any) -> None:
        self.name, self.x, self.y = name, x, y

    def __tf_flatten__(self) -> Any:
        return (self.name,), (self.x, self.y)

    @classmethod
    def __tf_unflatten__(cls, fixed: Any, parts: Any) -> Pair:
        return cls(*fixed, *parts)


def test_objects_are_elements() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        made = D.range(3).map(lambda i: Pair("p", i, (i, 1)))
        found = elements(made.map(lambda p: {"q": Pair(p.name + "!", p.y[0], p.x + 1)}).batch(2))
        assert [(e["q"].name, e["q"].x.tolist(), e["q"].y.tolist()) for e in found] == [
            ("p!", [0, 1], [1, 2]),
            ("p!", [2], [3]),
        ]
        assert tf.nest.map_structure(lambda v: v + 1, Pair("a", 1, [2])).y == [3]


def test_attrs_objects_are_elements_and_fetches() -> None:
    attr = pytest.importorskip("attr")

    @attr.s
    class Point:
        x = attr.ib()
        y = attr.ib()

    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensors(Point(1, 2.0)).map(lambda p: Point(p.y, p.x + 1))
        assert elements(data) == [Point(2.0, 2)]


def test_none_is_a_structure_without_components() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        made = D.from_tensors((5, None)).map(lambda x, nothing: {"x": x, "none": nothing})
        assert elements(made.repeat(2).batch(2).map(lambda e: e["x"]))[0].tolist() == [5, 5]
        assert made.output_types == {"x": tf.int32, "none": None}
        assert elements(D.range(1).map(lambda x: (x, None)).map(lambda x, y: (x, y is None)))[0][1]


@pytest.mark.parametrize("target", TARGETS)
def test_a_tensor_array_is_a_component(target: str) -> None:
    D = tf.data.Dataset

    def counted(n: Any) -> Any:
        made = tf.TensorArray(tf.int64, tf.cast(n, tf.int32), element_shape=())
        return made.unstack(tf.range(n))

    with tf.Graph().as_default():
        arrays = D.range(4).map(counted)
        assert arrays.output_classes is tf.TensorArray and arrays.output_types == tf.int64
        assert elements(arrays.map(lambda a: tf.reduce_sum(a.stack())), target) == [0, 0, 1, 3]
        slices = arrays.flat_map(lambda a: D.from_tensor_slices(a.identity().stack()))
        assert elements(slices, target) == [0, 0, 1, 0, 1, 2]


def test_the_shape_of_a_sparse_value_is_known() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        assert D.from_tensors(SPARSE).output_shapes.as_list() == [3, 3]
        assert D.from_tensor_slices(SPARSE).output_shapes.as_list() == [3]
        assert D.from_tensors(SPARSE).batch(2).output_shapes.as_list() == [None, 3, 3]
        seen = []
        D.from_tensors((SPARSE, 1)).map(lambda s, i: seen.append(s.get_shape().as_list()) or i)
        assert seen == [[3, 3]]


def test_elements_may_become_none() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        nothing = D.from_tensors(None)
        for made in (
            D.range(2).map(lambda x: None),
            D.range(2).flat_map(lambda x: nothing),
            D.range(2).interleave(lambda x: nothing),
        ):
            assert made.element_specs is None
            assert elements(made.enumerate().map(lambda i, none: i)) == [0, 1]
        iterator = tf.data.Iterator.from_structure(None, None)
        assert iterator.make_initializer(nothing) is not None
