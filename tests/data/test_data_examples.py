"""Batches of examples, of sparse rows, by reducers and in windows that overlap."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_pipelines import D, drain

import graphio as tf

experimental = tf.data.experimental
contrib = tf.contrib.data
FEATURES = {
    "n": tf.FixedLenFeature([], tf.int64),
    "x": tf.FixedLenFeature([2], tf.float32, default_value=[7.0, 8.0]),
}


def record(n: int, x: list[float]) -> bytes:
    features = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))}
    if x:
        features["x"] = tf.train.Feature(float_list=tf.train.FloatList(value=x))
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()


ROWS = [(1, [1.0, 2.0]), (2, []), (3, [5.0, 6.0])]


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = str(tmp_path / "records.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for n, x in ROWS:
            writer.write(record(n, x))
    return path


def test_a_batch_of_records_is_parsed() -> None:
    def data():
        return (
            D.from_tensor_slices([record(n, x) for n, x in ROWS])
            .batch(2)
            .apply(experimental.parse_example_dataset(FEATURES, 3))
        )

    assert drain(data) == [
        {"n": [1, 2], "x": [[1.0, 2.0], [7.0, 8.0]]},
        {"n": [3], "x": [[5.0, 6.0]]},
    ]


def test_what_is_not_a_vector_of_records_is_refused() -> None:
    with pytest.raises(ValueError, match="features was None"):
        experimental.parse_example_dataset(None)
    with pytest.raises(TypeError, match="vectors of strings"):
        D.range(3).apply(experimental.parse_example_dataset(FEATURES))


def test_files_of_records_become_batches_with_labels(records: str) -> None:
    def make(**more):
        return experimental.make_batched_features_dataset(
            records, 2, FEATURES, label_key="n", shuffle=False, **more
        )

    first = ({"x": [[1.0, 2.0], [7.0, 8.0]]}, [1, 2])
    assert drain(lambda: make(num_epochs=1)) == [first, ({"x": [[5.0, 6.0]]}, [3])]
    assert drain(lambda: make(num_epochs=1, drop_final_batch=True)) == [first]
    endless = drain(make, limit=3)
    assert endless == [
        first,
        ({"x": [[5.0, 6.0], [1.0, 2.0]]}, [3, 1]),
        ({"x": [[7.0, 8.0], [5.0, 6.0]]}, [2, 3]),
    ]
    with pytest.raises(ValueError, match="'m'.*must be one of the `features` keys"):
        experimental.make_batched_features_dataset(records, 2, FEATURES, label_key="m")


def test_shuffled_files_give_every_record_once_an_epoch(records: str) -> None:
    found = drain(lambda: contrib.make_batched_features_dataset(records, 1, FEATURES, num_epochs=2))
    assert sorted(batch["n"][0] for batch in found) == [1, 1, 2, 2, 3, 3]


def test_features_are_read_without_a_data_set(records: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        batch = contrib.read_batch_features(
            records, 3, FEATURES, randomize_input=False, num_epochs=1
        )
        assert session.run(batch["n"]).tolist() == [1, 2, 3]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch["n"])


def test_elements_of_different_sizes_are_batched_as_rows_of_a_sparse_tensor() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = D.range(1, 4).map(lambda n: tf.fill([n], n * 2))
        batches = data.apply(experimental.dense_to_sparse_batch(2, [4]))
        element = batches.make_one_shot_iterator().get_next()
        one = session.run(element)
        assert one.indices.tolist() == [[0, 0], [1, 0], [1, 1]]
        assert one.values.tolist() == [2, 4, 4]
        assert one.dense_shape.tolist() == [2, 4]
        two = session.run(element)
        assert (two.values.tolist(), two.dense_shape.tolist()) == ([6, 6, 6], [1, 4])


def test_an_element_beyond_the_row_is_refused() -> None:
    def data():
        return (
            D.range(1, 4)
            .map(lambda n: tf.fill([n], n))
            .apply(experimental.dense_to_sparse_batch(2, [2]))
            .map(lambda found: found.values)
        )

    with pytest.raises(tf.errors.InvalidArgumentError, match="row is too small"):
        drain(data)
    with pytest.raises(ValueError, match="give all its sizes"):
        experimental.dense_to_sparse_batch(2, [None])


def test_a_reducer_makes_one_element_of_each_key() -> None:
    reducer = experimental.Reducer(
        lambda key: key * 100, lambda total, value: total + value, lambda total: -total
    )

    def data():
        return D.range(10).apply(experimental.group_by_reducer(lambda x: 2 - x % 3, reducer))

    expected = [-(key * 100 + sum(x for x in range(10) if 2 - x % 3 == key)) for key in range(3)]
    assert drain(data) == expected
    with pytest.raises(TypeError, match="must be a tf.data.experimental.Reducer"):
        experimental.group_by_reducer(lambda x: x, len)


def test_a_data_set_is_reduced_from_the_state_of_key_0() -> None:
    reducer = contrib.Reducer(lambda key: key + 5, lambda a, b: a + b, lambda total: -total)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(contrib.reduce_dataset(D.range(4), reducer)) == 11
        with pytest.raises(TypeError, match="must be a `tf.data.Dataset`"):
            contrib.reduce_dataset([1], reducer)


@pytest.mark.parametrize("size, shift, stride", [(3, 1, 1), (3, 2, 1), (3, 1, 2), (2, 4, 3)])
def test_windows_overlap(size: int, shift: int, stride: int) -> None:
    last = (size - 1) * stride
    expected = [
        list(range(start, start + last + 1, stride)) for start in range(0, 10 - last, shift)
    ]
    window = contrib.sliding_window_batch(size, window_shift=shift, window_stride=stride)
    assert drain(lambda: D.range(10).apply(window)) == expected

    def pairs():
        return D.zip((D.range(10), D.range(0, 20, 2))).apply(window)

    assert drain(pairs) == [(row, [2 * x for x in row]) for row in expected]


def test_windows_have_the_structure_of_the_elements() -> None:
    window = contrib.sliding_window_batch(2)
    with tf.Graph().as_default():
        one = D.zip((D.range(3),)).apply(window).output_shapes
        assert isinstance(one, tuple) and [shape.ndims for shape in one] == [1]
        named = D.zip({"a": D.range(3)}).apply(window).output_shapes
        assert list(named) == ["a"]


def test_a_window_has_one_shift() -> None:
    old = contrib.sliding_window_batch(2, stride=2)
    assert drain(lambda: D.range(5).apply(old)) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="Cannot specify both"):
        contrib.sliding_window_batch(2, stride=2, window_shift=2)


def test_elements_of_another_shape_are_refused() -> None:
    shaped = contrib.assert_element_shape(([2], [None, 3]))

    def fed(rows):
        return D.from_generator(lambda: iter([([1, 2], rows)]), (tf.int64, tf.int64), (None, None))

    with tf.Graph().as_default():
        data = fed([[1, 2, 3]]).apply(shaped)
        assert [shape.as_list() for shape in data.output_shapes] == [[2], [None, 3]]
        with pytest.raises(ValueError, match="incompatible|compatible"):
            D.from_tensors(([1, 2, 3], [[1, 2, 3]])).apply(shaped)
    assert drain(lambda: fed([[1, 2, 3]]).apply(shaped)) == [([1, 2], [[1, 2, 3]])]
    with pytest.raises(tf.errors.InvalidArgumentError):
        drain(lambda: fed([[1, 2]]).apply(shaped))


def test_the_old_form_of_map_and_batch_is_map_and_batch() -> None:
    old = experimental.map_and_batch_with_legacy_function(lambda x: x * 2, 2)
    assert drain(lambda: D.range(3).apply(old)) == [[0, 2], [4]]
