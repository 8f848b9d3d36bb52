"""Lookup tables that operations change: values of TensorFlow, checkpoints, what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contrib_scenes import lookup_scenes, recording

import graphio as tf

EXPECTED = recording.stored("lookup")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
lookup = tf.contrib.lookup


def table_class(name: str) -> Any:
    return (
        tf.lookup.experimental.DenseHashTable if name == "DenseHashTable" else getattr(lookup, name)
    )


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@TARGETS
@pytest.mark.parametrize("name", EXPECTED)
def test_a_table_has_the_pairs_of_tensorflow_after_each_step(name: str, target: str) -> None:
    assert lookup_scenes.record(tf, table_class, name, target=target) == EXPECTED[name]


def test_every_scene_is_recorded() -> None:
    assert list(EXPECTED) == list(lookup_scenes.SCENES)


def words(name: str = "words", **options: Any) -> Any:
    return lookup.MutableHashTable(tf.string, tf.int64, -1, name=name, **options)


def dense(**options: Any) -> Any:
    given: dict[str, Any] = {"empty_key": 0, "deleted_key": -1, **options}
    return lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, **given)


# ---- checkpoints ----


@TARGETS
def test_a_saver_saves_and_restores_tables_with_the_variables(target: str, tmp_path: Path) -> None:
    variable = tf.Variable(3.0, name="v")
    one = words()
    two = dense(empty_key=[0, 0], deleted_key=[0, 1], name="wide")
    words("forgotten", checkpoint=False)
    fill = [
        one.insert(["a", "b"], np.int64([1, 2])),
        two.insert(np.int64([[1, 2]]), np.int64([7])),
    ]
    saver = tf.train.Saver()
    with tf.Session(target=target) as session:
        session.run([tf.global_variables_initializer(), fill])
        path = saver.save(session, tmp_path / "model")
    found = tf.train.load_checkpoint(path)
    assert sorted(found.get_variable_to_shape_map()) == [
        "v", "wide-keys", "wide-values", "words-keys", "words-values",
    ]  # fmt: skip
    np.testing.assert_array_equal(found.get_tensor("wide-keys"), [[1, 2]])
    given = [one.lookup(tf.constant(["b", "c"])), one.size(), two.lookup(np.int64([[1, 2]]))]
    with tf.Session(target=target) as session:
        session.run(one.insert(["c"], np.int64([5])))
        saver.restore(session, path)
        values = [np.asarray(x).tolist() for x in session.run([*given, variable])]
    assert values == [[2, -1], 2, [7], 3.0]


def test_a_table_may_be_saved_under_another_name_and_empty(tmp_path: Path) -> None:
    table = words()
    with tf.Session() as session:
        path = tf.train.Saver({"other": table}).save(session, tmp_path / "model")
    assert tf.train.load_checkpoint(path).get_variable_to_shape_map() == {
        "other-keys": [0], "other-values": [0],
    }  # fmt: skip


def test_empty_buckets_of_a_checkpoint_of_tensorflow_are_left_out() -> None:
    table = dense(name="dense")
    stored = {"dense-keys": np.int64([[0], [5], [-1], [6]])}
    stored["dense-values"] = np.int64([[0], [7], [0], [8]])
    with tf.Session() as session:
        tf.train.Saver([table]).restore(session, stored)
        assert [x.tolist() for x in session.run(table.export())] == [[[5], [6]], [[7], [8]]]


def test_a_checkpoint_without_a_table_changes_nothing(tmp_path: Path) -> None:
    variable, table = tf.Variable(1.0, name="v"), words()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), table.insert(["a"], np.int64([1]))])
        path = tf.train.Saver([variable]).save(session, tmp_path / "model")
        session.run(variable.assign(2.0))
        with pytest.raises(tf.errors.NotFoundError, match="words-keys"):
            tf.train.Saver().restore(session, path)
        assert session.run([variable, table.size()]) == [2.0, 1]


def test_two_tables_of_one_name_cannot_be_saved_together() -> None:
    words(), words()
    with pytest.raises(ValueError, match="At least two variables have the same name: words"):
        tf.train.Saver()
    tf.Variable(1.0, name="alone-keys")
    with pytest.raises(ValueError, match="the same name: alone-keys"):
        tf.train.Saver([*tf.global_variables(), words("alone")])


# ---- sessions and errors ----


@TARGETS
def test_each_session_begins_with_an_empty_table(target: str) -> None:
    table = words()
    with tf.Session(target=target) as one, tf.Session(target=target) as two:
        one.run(table.insert(["a"], np.int64([1])))
        assert [s.run(table.size()) for s in (one, two)] == [1, 0]


@TARGETS
def test_a_table_is_filled_for_the_session_whose_initializer_ran(target: str) -> None:
    pairs = tf.lookup.KeyValueTensorInitializer(["a"], np.int64([1]))
    table = tf.lookup.StaticHashTable(pairs, -1)
    with tf.Session(target=target) as one, tf.Session(target=target) as two:
        one.run(tf.tables_initializer())
        assert one.run(table.lookup(tf.constant(["a"]))) == [1]
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            two.run(table.size())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deleted_key": 0}, "Empty and deleted keys cannot be equal"),
        ({"deleted_key": [0]}, "Empty and deleted keys must have same shape"),
        ({"initial_num_buckets": 12}, "Number of buckets must be at least 4 and a power of 2"),
    ],
)
def test_reserved_keys_and_buckets_are_checked_at_the_first_run(
    options: dict[str, Any], message: str
) -> None:
    size = dense(**options).size()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(size)


@TARGETS
def test_keys_and_values_that_do_not_fit_are_refused_by_the_run(target: str) -> None:
    table, wide = dense(), dense(empty_key=[0, 0], deleted_key=[0, 1])
    vectors = lookup.MutableHashTable(tf.string, tf.float32, [[1.0]])
    refused = {
        table.lookup(np.int64([5, 0])): "empty_key",
        table.insert(np.int64([-1]), np.int64([1])): "deleted_key",
        table.insert(np.int64([1, 2]), np.int64([1])): r"Expected shape \[2\]",
        wide.lookup(np.int64([1, 2, 3])): "Expected key shape",
        vectors.size(): "Default value must be a vector",
    }
    with tf.Session(target=target) as session:
        for fetch, message in refused.items():
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(fetch)


def test_other_dtypes_are_refused_when_the_operation_is_made() -> None:
    table = words()
    with pytest.raises(TypeError, match="Signature mismatch"):
        table.remove(tf.constant([1]))
    with pytest.raises(ValueError, match="dtype"):
        table.lookup(tf.constant([1]))
    pairs = tf.lookup.KeyValueTensorInitializer([1], [2])
    with pytest.raises(TypeError, match="Invalid key dtype, expected string but got int32"):
        pairs.initialize(table)
    with pytest.raises(ValueError, match="empty_key is not known"):
        dense(empty_key=tf.placeholder(tf.int64, []))


# ---- initializers, hashes, bases ----


@TARGETS
def test_an_initializer_fills_any_table_of_its_dtypes(target: str, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("x\ny\n")
    file = lookup.TextFileIdTableInitializer(str(tmp_path / "words"))
    vector = tf.lookup.KeyValueTensorInitializer(["a", "b"], np.int64([3, 4]))
    tables = [words("one"), words("two")]
    fill = [vector.initialize(tables[0]), file.initialize(tables[1])]
    assert tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS) == fill
    with tf.Session(target=target) as session:
        session.run(tf.tables_initializer())
        found = session.run([t.export() for t in tables])
    assert [[x.tolist() for x in pair] for pair in found] == [
        [[b"a", b"b"], [3, 4]], [[b"x", b"y"], [0, 1]],
    ]  # fmt: skip


@TARGETS
def test_a_hash_table_exports_its_pairs(target: str) -> None:
    table = lookup.HashTable(lookup.KeyValueTensorInitializer([3, 1], ["c", "a"]), "?")
    keys, values = table.export()
    assert (keys.shape.as_list(), values.shape.as_list()) == ([None], [None])
    with tf.Session(target=target) as session:
        session.run(table.init)
        assert [x.tolist() for x in session.run([keys, values])] == [[3, 1], [b"c", b"a"]]


def test_buckets_have_the_handle_of_their_table_and_a_known_hash() -> None:
    pairs = lookup.KeyValueTensorInitializer(["a"], np.int64([0]))
    table = lookup.HashTable(pairs, -1)
    assert lookup.IdTableWithHashBuckets(table, 2).resource_handle is table.resource_handle
    assert lookup.IdTableWithHashBuckets(None, 2).resource_handle is None
    with pytest.raises(ValueError, match="key must have size 2, got 3"):
        lookup.StrongHashSpec([1, 2, 3])
    with pytest.raises(TypeError, match="Must be unsigned integer"):
        lookup.StrongHashSpec([1.5, 2])
    unknown = lookup.IdTableWithHashBuckets(None, 2, lookup.HasherSpec("md5", None))
    with pytest.raises(ValueError, match="Unknown hasher md5"):
        unknown.lookup(tf.constant(["a"]))
    with pytest.raises(TypeError, match="must be of type HasherSpec"):
        lookup.IdTableWithHashBuckets(None, 2, "fasthash")


@TARGETS
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_a_vocabulary_of_numbers_takes_keys_of_its_dtype(dtype: Any, target: str) -> None:
    pairs = tf.lookup.KeyValueTensorInitializer(np.int64([42, 1]), np.int64([0, 1]))
    table = tf.lookup.StaticVocabularyTable(pairs, 3, lookup_key_dtype=dtype)
    keys = tf.constant([1, 42, 7], dtype)
    bucket = tf.strings.to_hash_bucket_fast(["7"], 3)
    assert table.key_dtype == dtype
    with tf.Session(target=target) as session:
        session.run(table.initializer)
        found, other, size = session.run([table.lookup(keys), bucket, table.size()])
    assert (found.tolist(), size) == ([1, 0, 2 + other[0]], 5)
    with pytest.raises(TypeError, match="expected non-integer but got int64"):
        tf.lookup.StaticVocabularyTable(pairs, 3, lookup_key_dtype=tf.string)


def test_bases_leave_the_rest_to_their_subclasses() -> None:
    class Two(lookup.TableInitializerBase):
        def initialize(self, table: Any) -> Any:
            return tf.lookup.KeyValueTensorInitializer(["a"], np.int64([2])).initialize(table)

    table = lookup.InitializableLookupTableBase(-1, Two(tf.string, tf.int64))
    assert isinstance(table, lookup.LookupInterface)
    with tf.Session() as session:
        session.run(table.initializer)
        assert session.run(table.lookup(tf.constant(["a", "b"]))).tolist() == [2, -1]
    base = lookup.LookupInterface(tf.string, tf.int64)
    assert (base.key_dtype, base.value_dtype) == (tf.string, tf.int64)
    for call in (base.size, lambda: base.lookup(["a"]), lambda: base.name):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError):
        lookup.TableInitializerBase(tf.string, tf.int64).initialize(table)
