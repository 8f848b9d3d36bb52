"""tf.contrib.learn.io: arrays, generators, DataFrames and files in batches. The expected numbers
are those of the Python of tensorflow_estimator 1.15 and TensorFlow 1.15.5."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

learn = tf.contrib.learn
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
#: in tests of what the data are, one thread gives them in their order
PLAIN = {"shuffle": False, "num_threads": 1}


@contextlib.contextmanager
def running(**options: Any) -> Iterator[tf.Session]:
    """A session in which the queues of the default graph are filled."""
    with tf.Session(**options) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        stop = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, stop)
        try:
            yield session
        finally:
            stop.request_stop()
            stop.join(threads)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def drained(found: Any, **options: Any) -> list[Any]:
    """The values of all runs until the data end."""
    values = []
    with running(**options) as session, contextlib.suppress(tf.errors.OutOfRangeError):
        while len(values) < 20:
            values.append(session.run(found))
    return values


@TARGETS
def test_rows_of_arrays_come_in_batches_that_go_on_over_epochs(target: str) -> None:
    x = {"b": np.arange(3) * 1.0, "a": np.arange(32, 35, dtype=np.int32)}
    found = learn.io.numpy_input_fn(x, np.arange(-3, 0), 2, num_epochs=2, **PLAIN)()
    assert list(found[0]) == ["a", "b"]
    assert (found[0]["a"].dtype, found[0]["b"].dtype) == (tf.int32, tf.float64)
    batches = [
        (f["a"].tolist(), f["b"].tolist(), y.tolist()) for f, y in drained(found, target=target)
    ]
    assert batches == [
        ([32, 33], [0, 1], [-3, -2]), ([34, 32], [2, 0], [-1, -3]), ([33, 34], [1, 2], [-2, -1]),
    ]  # fmt: skip


def test_the_last_batch_of_rows_may_be_smaller() -> None:
    found = learn.io.numpy_input_fn(np.arange(10.0).reshape(5, 2), None, 3, **PLAIN)()
    assert [rows.tolist() for rows in drained(found)] == [
        [[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9]],
    ]  # fmt: skip


def test_rows_without_end_fill_every_batch() -> None:
    features, target = learn.io.numpy_input_fn(
        {"x": np.arange(3)}, {"y": np.arange(3) + 5}, 2, num_epochs=None, **PLAIN
    )()
    assert features["x"].shape == [2]
    with running() as session:
        got = [session.run([features["x"], target["y"]]) for _ in range(4)]
    assert [x.tolist() for x, _ in got] == [[0, 1], [2, 0], [1, 2], [0, 1]]
    assert [y.tolist() for _, y in got] == [[5, 6], [7, 5], [6, 7], [5, 6]]


def test_rows_in_random_order_keep_their_targets() -> None:
    rows = np.arange(200)
    found = learn.io.numpy_input_fn({"x": rows}, rows + 1000, 50, queue_capacity=100)()
    got = drained(found)
    x = np.concatenate([features["x"] for features, _ in got])
    y = np.concatenate([target for _, target in got])
    assert sorted(x) == rows.tolist() and x.tolist() != np.roll(rows, -x[0]).tolist()
    np.testing.assert_array_equal(x + 1000, y)


@pytest.mark.parametrize(
    ("x", "y", "error", "text"),
    [
        ([1], None, TypeError, "x must be a dict or array; got list"),
        ({}, None, ValueError, "empty dict"),
        (np.zeros([0]), None, ValueError, "empty array"),
        (np.zeros([3]), {}, ValueError, "use None instead"),
        (np.zeros([3]), np.zeros([2]), ValueError, "mismatched"),
        ({"a": np.zeros([3])}, {"a": np.zeros([3])}, ValueError, "1 duplicate keys"),
        ({"a": np.zeros([0])}, None, ValueError, "no rows"),
    ],
)
def test_arrays_that_are_no_rows_are_refused(
    x: Any, y: Any, error: type[Exception], text: str
) -> None:
    made = learn.io.numpy_input_fn(x, y, **PLAIN)
    with pytest.raises(error, match=text):
        made()
    assert not tf.get_default_graph().get_operations()


def test_shuffle_is_a_bool() -> None:
    with pytest.raises(ValueError, match="shuffle must be provided"):
        learn.io.numpy_input_fn(np.zeros(3), shuffle=None)


def rows_of(count: int) -> Callable[[], Iterator[dict[str, Any]]]:
    def rows() -> Iterator[dict[str, Any]]:
        for number in range(count):
            yield {
                "a": np.ones(1) * number, "b": np.ones(1) * number + 32, "label": np.ones(1) - 33,
            }  # fmt: skip

    return rows


@TARGETS
def test_rows_of_a_generator_are_features_and_a_target(target: str) -> None:
    found = learn.io.generator_input_fn(rows_of(2), "label", 2, num_epochs=None, **PLAIN)()
    with running(target=target) as session:
        features, label = session.run(found)
    assert features["a"].tolist() == [[0], [1]] and features["b"].tolist() == [[32], [33]]
    assert list(features) == ["a", "b"] and label.tolist() == [[-32], [-32]]


def test_the_last_batch_of_a_generator_is_filled_from_the_next_epoch() -> None:
    features = learn.io.generator_input_fn(rows_of(2), None, 4, num_epochs=1, **PLAIN)()
    (got,) = drained(features)
    assert got["a"].tolist() == [[0], [1], [0], [1]]
    features, targets = learn.io.generator_input_fn(rows_of(3), ["label", "a"], 2, **PLAIN)()
    assert sorted(targets) == ["a", "label"] and list(features) == ["b"]


def test_shorter_rows_of_a_generator_are_padded() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for length in (1, 3, 2):
            yield {"x": np.full([2, length], length), "n": np.array(length)}

    made = learn.io.generator_input_fn(rows, "n", 6, num_epochs=None, pad_value=-1, **PLAIN)
    features, count = made()
    assert features["x"].shape.as_list() == [6, 2, None]
    with running() as session:
        x, n = session.run([features["x"], count])
    assert n.tolist() == [1, 3, 2, 1, 3, 2] and x.shape == (6, 2, 3)
    assert x[0].tolist() == [[1, -1, -1]] * 2 and x[2].tolist() == [[2, 2, -1]] * 2
    with pytest.raises(NotImplementedError, match="padding and shuffling"):
        learn.io.generator_input_fn(rows, pad_value=-1)()


@pytest.mark.parametrize(
    ("x", "key", "error", "text"),
    [
        (np.arange(3), None, TypeError, "x must be generator function; got ndarray"),
        (lambda: np.arange(3), None, TypeError, r"x\(\) must be generator; got ndarray"),
        (lambda: (n for n in [1, 2]), None, TypeError, r"x\(\) must yield dict; got int"),
        (rows_of(2), np.float32(1), TypeError, "target_key must be str or Container"),
        (rows_of(2), ["label", 3], TypeError, "got int"),
        (rows_of(2), ["label", "target"], KeyError, "target_key not in yielded dict"),
    ],
)
def test_generators_of_no_dicts_are_refused(
    x: Any, key: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        learn.io.generator_input_fn(x, key)


def test_rows_without_a_key_end_the_threads_with_an_error() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"a": np.ones(1), "b": np.ones(1)}
        yield {"a": np.ones(1), "c": np.ones(1)}

    features = learn.io.generator_input_fn(rows, None, 2, num_epochs=1, **PLAIN)()
    with pytest.raises(KeyError, match="key mismatch"), running() as session:
        for _ in range(3):
            session.run(features)


def test_functions_give_the_feeds_of_each_run() -> None:
    x = tf.placeholder(tf.float32, [])
    queue = tf.FIFOQueue(8, tf.float32, [[]])
    left = iter([{x: 1.0}, {x: 2.0}])

    def feeds() -> dict[Any, float]:
        try:
            return next(left)
        except StopIteration:
            raise tf.errors.OutOfRangeError(None, None, "ended") from None

    made = tf.contrib.training.FeedingQueueRunner(queue, [queue.enqueue(x)], feed_fns=[feeds])
    tf.train.add_queue_runner(made)
    assert [float(value) for value in drained(queue.dequeue())] == [1.0, 2.0]
    with pytest.raises(NotImplementedError, match="feed_fns"):
        made.to_proto()
    with pytest.raises(ValueError, match="feed_fns has 2 functions"):
        tf.contrib.training.FeedingQueueRunner(queue, [queue.close()], feed_fns=[feeds, feeds])


def files_in(folder: Path) -> str:
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    return str(folder / "*.txt")


def test_files_of_a_shared_queue_go_on_where_a_restored_session_was(tmp_path: Path) -> None:
    pattern = files_in(tmp_path)
    _, lines = learn.read_keyed_batch_examples_shared_queue(
        pattern, 2, tf.TextLineReader, randomize_input=False, queue_capacity=3
    )
    assert [(v.op.name, v.dtype.base_dtype) for v in tf.global_variables()] == [
        ("obtain_next/obtain_next_counter", tf.int64),
        ("obtain_next/obtain_next_expanded_list", tf.string),
    ]
    with running() as session:
        assert [session.run(lines).tolist() for _ in range(4)] == [
            [b"a1", b"a2"], [b"b1", b"b2"], [b"c1", b"c2"], [b"a1", b"a2"],
        ]  # fmt: skip
    counter = tf.global_variables()[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(counter.assign(1))
        threads = tf.train.start_queue_runners(session, stop := tf.train.Coordinator())
        assert session.run(lines).tolist() == [b"c1", b"c2"]
        stop.request_stop()
        stop.join(threads)


def test_files_of_a_shared_queue_end_after_their_epochs(tmp_path: Path) -> None:
    pattern = files_in(tmp_path)
    keys, lines = learn.read_keyed_batch_examples_shared_queue(
        pattern, 5, tf.TextLineReader, num_epochs=2, queue_capacity=20, seed=3
    )
    assert tf.global_variables()[-1].op.name == "obtain_next/obtain_next_filename_counter"
    got = np.concatenate([line for _, line in drained([keys, lines])])
    assert sorted(got) == sorted([b"a1", b"a2", b"b1", b"b2", b"c1", b"c2"] * 2)


def test_features_of_a_shared_queue_are_parsed(tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for x in range(4):
            x_feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[x]))
            features = tf.train.Features(feature={"x": x_feature})
            writer.write(tf.train.Example(features=features).SerializeToString())
    keys, found = learn.io.read_keyed_batch_features_shared_queue(
        path, 2, {"x": tf.FixedLenFeature([], tf.int64)}, tf.TFRecordReader,
        randomize_input=False, num_epochs=1, num_queue_runners=1,
    )  # fmt: skip
    got = drained([keys, found["x"]])
    assert [x.tolist() for _, x in got] == [[0, 1], [2, 3]]
    assert all(key.startswith(path.encode()) for names, _ in got for key in names)


def test_a_file_of_an_address_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("content")
    address = (tmp_path / "there").as_uri()
    path, _ = learn.datasets.base.urlretrieve_with_retry(address, str(tmp_path / "here"))
    assert Path(path).read_text() == "content" and path == str(tmp_path / "here")
    with pytest.raises(OSError, match="no_such"):
        learn.datasets.base.urlretrieve_with_retry((tmp_path / "no_such").as_uri())


def test_other_data_than_data_frames_stay_as_they_are() -> None:
    given = [1, 2]
    names = ("pandas_data", "pandas_matrix", "pandas_labels", "dask_data", "dask_labels")
    for name in names:
        extract = getattr(learn.io, f"extract_{name}")
        assert extract(given) is given and extract is getattr(learn, f"extract_{name}")
    with pytest.raises(TypeError, match="x must be a pandas DataFrame; got list"):
        learn.io.pandas_input_fn(given)


def test_learn_knows_which_packages_of_tables_there_are() -> None:
    for found, package in ((learn.io.HAS_PANDAS, "pandas"), (learn.io.HAS_DASK, "dask")):
        assert found is (importlib.util.find_spec(package) is not None)


def frames(pd: Any) -> Any:
    table = {"a": np.arange(4, dtype=np.int32), "b": np.arange(32.0, 36.0), "c": list("wxyz")}
    x = pd.DataFrame(table, index=np.arange(100, 104))
    return x, pd.Series(np.arange(-32, -28), index=x.index)


@TARGETS
def test_rows_of_a_data_frame_come_by_columns(target: str) -> None:
    x, y = frames(pytest.importorskip("pandas"))
    assert learn.io.HAS_PANDAS
    found = learn.io.pandas_input_fn(x, y, 3, **PLAIN)()
    one, two = drained(found, target=target)
    assert {key: value.tolist() for key, value in one[0].items()} == {
        "a": [0, 1, 2], "b": [32, 33, 34], "c": [b"w", b"x", b"y"],
    }  # fmt: skip
    assert one[1].tolist() == [-32, -31, -30] and two[1].tolist() == [-29]
    both = learn.io.pandas_input_fn(x, y.to_frame("a"), 4, **PLAIN)()
    ((features, aims),) = drained(both)
    assert sorted(features) == ["a", "b", "c"] and aims["a"].tolist() == [-32, -31, -30, -29]


def test_targets_of_another_index_are_refused() -> None:
    x, y = frames(pytest.importorskip("pandas"))
    with pytest.raises(ValueError, match="mismatched"):
        learn.io.pandas_input_fn(x, y.reset_index(drop=True))
    with pytest.raises(ValueError, match="Cannot use name b"):
        learn.io.pandas_input_fn(x, y, target_column="b")
    with pytest.raises(TypeError, match="string"):
        learn.io.pandas_input_fn(x, y, target_column=3)


def test_data_frames_are_arrays() -> None:
    pd = pytest.importorskip("pandas")
    x, _ = frames(pd)
    numbers = x[["a", "b"]]
    found = learn.extract_pandas_data(numbers)
    assert found.dtype == np.float64 and found.tolist() == [[0, 32], [1, 33], [2, 34], [3, 35]]
    assert learn.extract_pandas_matrix(numbers).tolist() == found.tolist()
    assert learn.extract_pandas_labels(x[["a"]]).tolist() == [[0], [1], [2], [3]]
    with pytest.raises(ValueError, match=r"must be int, float, or bool. Found: 'c'"):
        learn.extract_pandas_data(x)
    with pytest.raises(ValueError, match="Only one column"):
        learn.extract_pandas_labels(numbers)


def test_rows_of_dask_are_counted_over_its_partitions() -> None:
    dask = pytest.importorskip("dask.dataframe")
    x, _ = frames(pytest.importorskip("pandas"))
    parts = dask.from_pandas(x[["a", "b"]], npartitions=2).map_partitions(
        lambda part: part.reset_index(drop=True)
    )
    found = learn.extract_dask_data(parts)
    assert found.divisions == (0, 2, 4)
    assert found.compute().index.tolist() == [0, 1, 2, 3]
    assert found.compute()["b"].tolist() == [32, 33, 34, 35]
    assert learn.extract_dask_labels(parts["a"]).compute().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Only one column"):
        learn.extract_dask_labels(parts)
