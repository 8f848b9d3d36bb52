"""Functions of tf against the values that TensorFlow gave, in both engines."""

from __future__ import annotations

from pathlib import Path

import name_scenes
import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

STORED = {module: name_scenes.stored(module) for module in name_scenes.MODULES}
ROWS = [(module, name) for module in STORED for name in name_scenes.scenes(module)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("module", "name"), ROWS)
def test_a_scene_gives_the_values_of_tensorflow(module: str, name: str, target: str) -> None:
    found = name_scenes.values(tf, name_scenes.scenes(module)[name], target=target)
    assert len(found) == len(STORED[module][name])
    for i, (ours, theirs) in enumerate(zip(found, STORED[module][name], strict=True)):
        assert np.shape(ours) == np.shape(theirs), i
        if np.asarray(theirs).dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=3e-6, err_msg=str(i))
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=str(i))


@pytest.mark.parametrize("module", name_scenes.MODULES)
def test_every_scene_is_recorded(module: str) -> None:
    assert list(STORED[module]) == list(name_scenes.scenes(module))


def test_structures_are_compared_by_the_names_of_the_arguments() -> None:
    tf.nest.assert_same_structure(nest1=[1, (2,)], nest2=[3, (4,)])
    assert tf.nest.pack_sequence_as(structure=[1, (2,)], flat_sequence=[3, 4]) == [3, (4,)]
    assert tf.nest.is_nested(seq=[1]) and not tf.nest.is_nested(seq="text")


def test_tensors_are_keys_by_their_references() -> None:
    with tf.Graph().as_default():
        x, y = tf.constant(1.0), tf.constant(1.0)
        held = {x.experimental_ref(): "x", y.experimental_ref(): "y"}
        assert held[x.experimental_ref()] == "x" and held[y.experimental_ref()] == "y"
        assert x.experimental_ref().deref() is x
        slices = tf.IndexedSlices(x, tf.constant([0]))
        both = tf.add(slices.values, 1.0, name="both")
        assert slices.consumers() == [both.op]


def test_a_variable_scope_makes_variables() -> None:
    with tf.Graph().as_default():
        with tf.variable_scope("outer") as scope:
            pass
        made = scope.get_variable(None, "v", [2])
        assert made.op.name == "outer/v" and made.shape.as_list() == [2]


@pytest.mark.parametrize("target", TARGETS)
def test_classes_are_drawn_by_their_weights(target: str, tmp_path: Path) -> None:
    file = tmp_path / "weights.csv"
    file.write_text("a,1\nb,3\n\nc,0\nd,4\n")
    with tf.Graph().as_default(), tf.Session(target) as session:
        made = tf.nn.fixed_unigram_candidate_sampler(
            np.array([[1]]), 1, 4000, False, 5, vocab_file=str(file), num_reserved_ids=1, seed=4
        )
        drawn, _, expected = session.run(made)
    shares = np.bincount(drawn, minlength=5) / 4000
    np.testing.assert_allclose(shares, [0, 0.125, 0.375, 0, 0.5], atol=0.03)
    np.testing.assert_allclose(expected, np.array([0, 500, 1500, 0, 2000])[drawn], rtol=1e-5)


def test_weights_that_do_not_fit_are_refused() -> None:
    sampler = tf.nn.fixed_unigram_candidate_sampler
    given = (np.array([[1]]), 1, 2, False, 3)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="exactly one of"):
            sampler(*given)
        with pytest.raises(ValueError, match="there are 2 weights"):
            sampler(*given, unigrams=[1.0, 2.0])
        with pytest.raises(NotImplementedError, match="num_shards is 2"):
            sampler(*given, unigrams=[1.0, 2.0, 3.0], num_shards=2, shard=2)


def test_the_flags_of_assert_same_structure_are_not_tensors() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        for flag in ("check_types", "expand_composites"):
            with pytest.raises(TypeError):
                tf.nest.assert_same_structure(x, x, **{flag: x})
