"""tf.contrib.framework.nest: the results that TensorFlow's module gives."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

nest = tf.contrib.framework.nest
Pair = namedtuple("Pair", ["first", "second"])
DEEP = {"b": [1, (2, 3)], "a": Pair(4, {"x": 5})}
SHALLOW = {"b": [0, 0], "a": 0}


def test_leaves_have_the_paths_of_keys_fields_and_positions() -> None:
    paths = [("a", "first"), ("a", "second", "x"), ("b", 0), ("b", 1, 0), ("b", 1, 1)]
    assert list(nest.yield_flat_paths(DEEP)) == paths
    assert nest.flatten_with_tuple_paths(DEEP) == list(zip(paths, [4, 5, 1, 2, 3], strict=True))
    joined = nest.flatten_with_joined_string_paths(DEEP, separator=".")
    assert joined[1] == ("a.second.x", 5) and joined[-1] == ("b.1.1", 3)
    assert nest.flatten_with_tuple_paths(7) == [((), 7)]


def test_functions_are_mapped_with_paths() -> None:
    made = nest.map_structure_with_paths(lambda path, one, two: (path, one + two), DEEP, DEEP)
    assert made["a"].second["x"] == ("a/second/x", 10) and made["b"][0] == ("b/0", 2)
    made = nest.map_structure_with_tuple_paths(lambda path, leaf: len(path) * leaf, DEEP)
    assert made == {"b": [2, (6, 9)], "a": Pair(8, {"x": 15})}


def test_structures_are_taken_apart_up_to_a_shallower_one() -> None:
    assert nest.flatten_up_to(SHALLOW, DEEP) == [Pair(4, {"x": 5}), 1, (2, 3)]
    assert nest.flatten_with_tuple_paths_up_to([0, 0], [1, (2, 3)]) == [((0,), 1), ((1,), (2, 3))]
    made = nest.map_structure_up_to([0, (0,)], lambda a, b: (a, b), [1, ([2],)], [3, (4,)])
    assert made == [(1, 3), (([2], 4),)]
    made = nest.map_structure_with_tuple_paths_up_to({"k": 0}, lambda p, v: (p, v), {"k": [1]})
    assert made == {"k": (("k",), [1])}
    nest.assert_shallow_structure(SHALLOW, DEEP)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nest.assert_shallow_structure([1], 2), TypeError, "input must also be a sequence"),
        (lambda: nest.assert_shallow_structure([1, 2], [1]), ValueError, "same sequence length"),
        (lambda: nest.assert_shallow_structure([1], (1,)), TypeError, "different types"),
        (lambda: nest.flatten_up_to({"a": 1}, {"b": 1}), ValueError, "has no key 'a'"),
        (lambda: nest.map_structure_up_to([1], abs), ValueError, "Cannot map over no sequences"),
        (lambda: nest.flatten_dict_items({(1, 1): (2, 3)}), ValueError, "key 1 is not unique"),
        (lambda: nest.flatten_dict_items([1]), TypeError, "must be a dictionary"),
        (lambda: tf.contrib.framework.smart_constant_value("x"), TypeError, "must be a Tensor"),
    ],
)
def test_structures_that_differ_are_refused(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()


def test_keys_that_are_structures_are_flattened() -> None:
    assert nest.flatten_dict_items({(4, 5, (6, 8)): ("a", "b", ("c", "d")), 1: 2}) == {
        4: "a", 5: "b", 6: "c", 8: "d", 1: 2
    }  # fmt: skip


def test_a_function_chooses_the_shallow_structure() -> None:
    shallow = nest.get_traverse_shallow_structure(lambda s: not isinstance(s, tuple), DEEP)
    assert shallow == {"b": [True, False], "a": False}


def test_known_truths_are_found() -> None:
    known = tf.contrib.framework.smart_constant_value
    with tf.Graph().as_default():
        assert known(True) is True and known(0) is False
        assert known(tf.constant(np.bool_(True))) is True
        assert known(tf.placeholder(tf.bool, [])) is None


def test_the_names_of_structures_are_those_of_the_package_too() -> None:
    framework = tf.contrib.framework
    assert framework.is_sequence([1]) and not framework.is_sequence("text")
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1.0], [2])
        assert framework.is_sequence_or_composite(sparse) and not framework.is_nested(sparse)
        assert len(framework.flatten_with_tuple_paths(sparse, expand_composites=True)) == 3
    assert framework.pack_sequence_as([0, (0,)], framework.flatten([1, (2,)])) == [1, (2,)]
    framework.assert_same_structure([1], [2])
    assert framework.map_structure(abs, [-1]) == [1]
