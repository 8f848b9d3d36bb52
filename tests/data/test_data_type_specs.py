"""TypeSpecs of values, datasets and iterators."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from data_elements import elements
from value_cases import TARGETS

import graphio as tf

D = tf.data.Dataset
SPARSE = tf.SparseTensorValue([[0, 1]], np.array([7], np.int32), [2, 3])
SPECS: dict[str, tuple[Any, Any, Any]] = {
    # a spec; one that values of both may have, with it the narrowest of both; one of others
    "tensor": (
        tf.TensorSpec([2, 3], tf.int32),
        (tf.TensorSpec([2, None], tf.int32), tf.TensorSpec([2, None], tf.int32)),
        tf.TensorSpec([2, 3], tf.int64),
    ),
    "sparse": (
        tf.SparseTensorSpec([2, 3], tf.int32),
        (tf.SparseTensorSpec(None, tf.int32), tf.SparseTensorSpec(None, tf.int32)),
        tf.SparseTensorSpec([2, 4], tf.int32),
    ),
    "array": (
        tf.TensorArraySpec([3], tf.float32, True),
        (
            tf.TensorArraySpec([None], tf.float32, True, infer_shape=False),
            tf.TensorArraySpec([None], tf.float32, True, infer_shape=False),
        ),
        tf.TensorArraySpec([3], tf.float32, False),
    ),
    "slices": (
        tf.IndexedSlicesSpec([4, 2], indices_dtype=tf.int32),
        (
            tf.IndexedSlicesSpec([4, None], indices_dtype=tf.int32),
            tf.IndexedSlicesSpec([4, None], indices_dtype=tf.int32),
        ),
        tf.IndexedSlicesSpec([4, 2], indices_dtype=tf.int32, dense_shape_dtype=tf.int64),
    ),
    "dataset": (
        tf.data.DatasetSpec({"a": tf.TensorSpec([2])}, [5]),
        (
            tf.data.DatasetSpec({"a": tf.TensorSpec([None])}, [None]),
            tf.data.DatasetSpec({"a": tf.TensorSpec([None])}, [None]),
        ),
        tf.data.DatasetSpec({"b": tf.TensorSpec([2])}, [5]),
    ),
}


@pytest.mark.parametrize("kind", SPECS)
def test_specs_are_compared_by_what_they_say(kind: str) -> None:
    spec, (wider, both), other = SPECS[kind]
    assert isinstance(spec, tf.TypeSpec) and isinstance(spec, tf.data.experimental.Structure)
    for same in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):
        assert same == spec and hash(same) == hash(spec) and repr(same) == repr(spec)
    assert spec not in (wider, other) and spec != 5
    assert spec.is_compatible_with(wider) and wider.is_compatible_with(spec)
    assert not spec.is_compatible_with(other)
    assert not tf.TensorSpec([9], tf.string).is_compatible_with(spec)
    assert spec.most_specific_compatible_type(wider) == both
    if kind != "sparse":  # of which shapes that differ have a spec in common
        with pytest.raises(ValueError, match="compatible"):
            spec.most_specific_compatible_type(other)
    with pytest.raises(ValueError, match="compatible"):
        spec.most_specific_compatible_type(tf.TensorSpec([9], tf.string))


def test_a_spec_takes_values_of_its_kind() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor(*SPARSE)
        spec = tf.SparseTensorSpec([2, None], tf.int32)
        assert spec.is_compatible_with(sparse) and spec.is_compatible_with(SPARSE)
        assert spec.value_type is tf.SparseTensor
        assert tf.SparseTensorSpec.from_value(SPARSE) == tf.SparseTensorSpec([2, 3], tf.int32)
        with pytest.raises(TypeError, match="Expected SparseTensor or"):
            tf.SparseTensorSpec.from_value(3)
        assert not spec.is_compatible_with(tf.zeros([2, 3], tf.int32))
        assert not tf.SparseTensorSpec([3, 3], tf.int32).is_compatible_with(sparse)
        with pytest.raises(TypeError, match="Could not build a TypeSpec for"):
            spec.is_compatible_with(object())
        array = tf.TensorArray(tf.float32, 2, element_shape=[3])
        assert tf.TensorArraySpec([3]).is_compatible_with(array)
        assert tf.TensorArraySpec.from_value(array) == tf.TensorArraySpec([3])
        with pytest.raises(TypeError, match="to be a TensorArray"):
            tf.TensorArraySpec.from_value(3)
        rows = tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 4]), tf.constant([9, 3]))
        found = tf.IndexedSlicesSpec([9, 3], tf.float32, tf.int32, tf.int32, [2])
        assert found.is_compatible_with(rows) and found.value_type is tf.IndexedSlices
        assert not tf.IndexedSlicesSpec([8, 3], tf.float32, tf.int32, tf.int32).is_compatible_with(
            rows
        )
        with pytest.raises(ValueError, match="rank"):
            tf.IndexedSlicesSpec(indices_shape=[2, 2])
        data = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
        assert data.is_compatible_with(D.range(3)) and data.value_type is D


def test_datasets_and_iterators_have_specs() -> None:
    with tf.Graph().as_default():
        array = tf.TensorArray(tf.int64, 1, element_shape=()).unstack(tf.zeros([1], tf.int64))
        data = D.from_tensors({"d": (1.5, ["x", "y"]), "s": SPARSE, "a": array})
        spec = {
            "d": (tf.TensorSpec([], tf.float32), tf.TensorSpec([2], tf.string)),
            "s": tf.SparseTensorSpec([2, 3], tf.int32),
            "a": tf.TensorArraySpec([], tf.int64),
        }
        assert data.element_spec == spec == data.make_one_shot_iterator().element_spec
        assert data.output_shapes["a"] == [False, True]
        assert data.output_types["a"] == tf.int64 and data.output_classes["a"] is tf.TensorArray
        assert tf.data.experimental.get_structure(data) == spec
        with pytest.raises(TypeError, match="must be a Dataset or Iterator"):
            tf.data.experimental.get_structure(spec)
        windows = D.range(4).window(2)
        inside = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
        assert windows.element_spec == inside == windows.output_types == windows.output_shapes


@pytest.mark.parametrize("target", TARGETS)
def test_an_iterator_takes_the_types_shapes_and_classes_of_any_dataset(target: str) -> None:
    with tf.Graph().as_default():
        array = tf.TensorArray(tf.int64, 2, element_shape=()).unstack(tf.range(2, dtype=tf.int64))
        data = D.zip((D.range(2).window(2), D.from_tensors(array), D.from_tensors(SPARSE)))
        iterator = tf.data.Iterator.from_structure(
            data.output_types, data.output_shapes, output_classes=data.output_classes
        )
        assert iterator.element_spec == data.element_spec
        start = iterator.make_initializer(data)
        window, rows, sparse = iterator.get_next()
        total = window.reduce(np.int64(0), lambda a, b: a + b)
        with tf.Session(target=target) as session:
            session.run(start)
            found = session.run([total, rows.stack(), sparse])
        assert found[0] == 1 and found[1].tolist() == [0, 1] and found[2].values.tolist() == [7]
        with pytest.raises(TypeError, match="a class is <class 'int'>, expected tf.Tensor"):
            tf.data.Iterator.from_structure(tf.int32, [], output_classes=int)


@pytest.mark.parametrize("target", TARGETS)
def test_a_generator_has_a_signature(target: str) -> None:
    with tf.Graph().as_default():
        signature = (tf.TensorSpec([], tf.int32), tf.SparseTensorSpec([2, 3], tf.int32))
        data = D.from_generator(lambda: iter([(1, SPARSE)]), output_signature=signature)
        assert data.element_spec == signature
        assert elements(data.map(lambda n, s: n + tf.sparse.reduce_sum(s)), target) == [8]
        for given in ({}, {"output_types": tf.int32, "output_signature": signature[0]}):
            with pytest.raises(TypeError, match="either output_types"):
                D.from_generator(lambda: [1], **given)
        with pytest.raises(TypeError, match="`output_signature`: a component is"):
            D.from_generator(lambda: [1], output_signature=tf.int32)


@pytest.mark.parametrize("target", TARGETS)
def test_a_dataset_goes_through_a_tensor(target: str) -> None:
    experimental = tf.data.experimental
    with tf.Graph().as_default():
        data = D.range(4).map(lambda i: (i, tf.cast(i, tf.float32) / 2))
        spec = experimental.get_structure(data)
        same = experimental.from_variant(experimental.to_variant(data), spec)
        assert elements(same, target) == [(0, 0), (1, 0.5), (2, 1), (3, 1.5)]
        endless = experimental.from_variant(experimental.to_variant(data.repeat()), spec)
        assert elements(endless.take(1), target) == [(0, 0)]
        flag = tf.placeholder_with_default(False, [])
        variants = [experimental.to_variant(d) for d in (data, data.skip(3))]
        chosen = tf.cond(flag, lambda: variants[0], lambda: variants[1])
        iterator = experimental.from_variant(chosen, spec).make_initializable_iterator()
        step = iterator.get_next()
        with tf.Session(target=target) as session:
            session.run(iterator.initializer)
            assert session.run(step) == (3, 1.5)
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(step)
        with pytest.raises(TypeError, match="to_variant: expected a"):
            experimental.to_variant(3)
        with pytest.raises(TypeError, match="from_variant: expected a tensor"):
            experimental.from_variant(tf.zeros([]), spec)


def test_the_old_names_of_structures_make_specs() -> None:
    experimental = tf.data.experimental
    assert experimental.TensorStructure(tf.int32, [2]) == tf.TensorSpec([2], tf.int32)
    assert experimental.SparseTensorStructure(tf.int32, [2]) == tf.SparseTensorSpec([2], tf.int32)
    made = experimental.TensorArrayStructure(tf.int32, [2], True, False)
    assert made == tf.TensorArraySpec([2], tf.int32, True, False)
    assert experimental.DatasetStructure is tf.data.DatasetSpec
