"""Producers, batches and readers: what comes out, and the names of what they add to a graph."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import queue_names
from queue_runs import values_until_the_end

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def test_operations_variables_and_summaries_have_tensorflows_names() -> None:
    queue_names.build(tf)
    expected = (Path(__file__).parent / "queue_names.txt").read_text(encoding="utf-8")
    assert queue_names.lines(tf) == expected.splitlines()


# ---- producers ----


@TARGETS
def test_every_row_comes_once_an_epoch_the_same_of_all_tensors(target: str) -> None:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = tf.train.slice_input_producer([x, np.arange(6)], num_epochs=3, seed=2)
    found = values_until_the_end(rows, target)
    order = [int(number) for _, number in found]
    for epoch in range(3):
        assert sorted(order[epoch * 6 : epoch * 6 + 6]) == list(range(6))
    assert order != [*range(6)] * 3
    for row, number in found:
        np.testing.assert_array_equal(row, x[number])


def test_producers_refuse_nothing_to_produce() -> None:
    with pytest.raises(ValueError, match="non-null input tensor"):
        tf.train.string_input_producer([])
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.train.slice_input_producer([])
    with pytest.raises(ValueError, match="num_epochs must be > 0"):
        tf.train.limit_epochs(tf.constant(1), 0)
    with pytest.raises(ValueError, match="fully defined shape"):
        tf.train.input_producer(tf.placeholder(tf.float32))
    empty = tf.train.string_input_producer(tf.constant([], tf.string))
    (runner,) = tf.get_collection("queue_runners")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-null input tensor"):
            session.run(runner.enqueue_ops)
    assert empty.name == "input_producer"


# ---- batches ----


@TARGETS
def test_batches_have_the_examples_in_order_and_a_smaller_last_one(target: str) -> None:
    x = tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.batch(
        {"x": x, "text": tf.as_string(x)}, 3, allow_smaller_final_batch=True
    )  # fmt: skip
    found = values_until_the_end(batch, target)
    assert [b["x"].tolist() for b in found] == [[0, 1, 2], [3, 4, 5], [6]]
    assert found[1]["text"].tolist() == [b"3", b"4", b"5"]


def test_batches_of_rows_and_of_an_uneven_size_leave_the_rest() -> None:
    x = tf.train.range_input_producer(5, num_epochs=2, shuffle=False).dequeue()
    batch = tf.train.batch([tf.stack([x, x + 100])], 6, enqueue_many=True)
    assert [b.tolist() for b in values_until_the_end(batch)] == [
        [0, 100, 1, 101, 2, 102], [3, 103, 4, 104, 0, 100], [1, 101, 2, 102, 3, 103],
    ]  # fmt: skip


@TARGETS
def test_dynamic_padding_fills_a_batch_up(target: str) -> None:
    x = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.batch([tf.range(x)], 2, dynamic_pad=True, shapes=[[None]])
    assert [b.tolist() for b in values_until_the_end(batch, target)] == [
        [[0], [0]],
        [[0, 1, 0], [0, 1, 2]],
    ]


def test_sparse_tensors_are_batched() -> None:
    x = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    numbers = tf.SparseTensor([[1]], tf.stack([tf.cast(x, tf.float32)]), [3])
    words = tf.SparseTensor([[0], [2]], tf.stack([tf.as_string(x), "w"]), [3])
    batch = tf.train.batch([numbers, words, x], 2)
    found = values_until_the_end(
        [tf.sparse_tensor_to_dense(batch[0]), tf.sparse_tensor_to_dense(batch[1], b"")]
    )
    assert [f[0].tolist() for f in found] == [[[0, 0, 0], [0, 1, 0]], [[0, 2, 0], [0, 3, 0]]]
    assert found[1][1].tolist() == [[b"2", b"", b"w"], [b"3", b"", b"w"]]


def test_rows_of_sparse_tensors_are_examples() -> None:
    x = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    rows = tf.SparseTensor([[0, 1], [2, 0]], tf.stack([x, x * 10]), [3, 2])
    batch = tf.train.batch([rows], 3, enqueue_many=True)
    assert batch.dense_shape.shape.as_list() == [2]
    found = values_until_the_end(tf.sparse_tensor_to_dense(batch))
    assert [s.tolist() for s in found] == [[[0, k], [0, 0], [10 * k, 0]] for k in range(4)]


@TARGETS
def test_only_what_is_kept_comes(target: str) -> None:
    x = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
    scalar = tf.train.maybe_batch([x, x * 2], tf.equal(x % 3, 0), 2)
    assert [[p.tolist() for p in b] for b in values_until_the_end(scalar, target)] == [
        [[0, 3], [0, 6]], [[6, 9], [12, 18]],
    ]  # fmt: skip


def test_a_vector_says_which_rows_are_kept() -> None:
    x = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    kept = tf.train.maybe_batch([tf.stack([x, -x - 1])], [True, False], 2, enqueue_many=True)
    assert [b.tolist() for b in values_until_the_end(kept)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="cannot be a vector"):
        tf.train.maybe_batch([x], [True], 2)


def _twice(make: Callable[[], Any], target: str) -> list[list[int]]:
    orders = []
    for _ in range(2):
        with tf.Graph().as_default():
            orders.append(np.concatenate(values_until_the_end(make(), target)).tolist())
    return orders


@TARGETS
def test_shuffled_batches_have_every_example_in_a_seeds_order(target: str) -> None:
    def batches() -> Any:
        x = tf.train.range_input_producer(40, num_epochs=1, shuffle=False).dequeue()
        return tf.train.shuffle_batch([x], 5, capacity=40, min_after_dequeue=39, seed=3)

    one, two = _twice(batches, target)
    assert sorted(one) == list(range(40)) != one
    assert one == two  # the queue fills up before the first batch


@pytest.mark.parametrize("shuffled", [False, True])
def test_joined_batches_have_the_examples_of_all_threads(shuffled: bool) -> None:
    x, y = (
        tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue() for _ in range(2)
    )
    sets = [{"a": x}, {"a": y + 100}]
    batch = (
        tf.train.maybe_shuffle_batch_join(sets, 4, 30, 5, True, allow_smaller_final_batch=True)
        if shuffled
        else tf.train.batch_join(sets, 4, allow_smaller_final_batch=True)
    )
    found = np.concatenate([b["a"] for b in values_until_the_end(batch)]).tolist()
    assert sorted(found) == [*range(10), *range(100, 110)]
    assert ([v for v in found if v < 100] == list(range(10))) is not shuffled


def test_sets_of_tensors_that_differ_are_refused() -> None:
    x = tf.constant(1)
    with pytest.raises(TypeError, match="types to be consistent"):
        tf.train.batch_join([[x], [tf.constant(1.0)]], 4)
    with pytest.raises(ValueError, match="must have the same keys"):
        tf.train.batch_join([{"a": x}, {"b": x}], 4)
    with pytest.raises(ValueError, match="must be bigger than"):
        tf.train.shuffle_batch([x], 4, 10, 10)
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.train.batch([], 4)
    with pytest.raises(ValueError, match="infer Tensor's rank"):
        tf.train.batch([tf.placeholder(tf.float32)], 4)


# ---- readers ----


def _files(folder: Path, contents: Sequence[bytes]) -> list[str]:
    paths = [folder / f"{i}.data" for i in range(len(contents))]
    for path, data in zip(paths, contents, strict=True):
        path.write_bytes(data)
    return [str(path) for path in paths]


def _read(reader: Any, paths: Any, target: str = "cinfer") -> list[tuple[str, bytes]]:
    """Keys, without the folder, and values."""
    queue = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
    found = values_until_the_end(reader.read(queue), target)
    return [(key.decode().rsplit("/", 1)[-1], value) for key, value in found]


@TARGETS
def test_lines_have_the_numbers_of_their_files(tmp_path: Path, target: str) -> None:
    paths = _files(tmp_path, [b"a\nb\r\n\nc", b"", b"head\nd\n"])
    assert _read(tf.TextLineReader(), paths, target) == [
        ("0.data:1", b"a"), ("0.data:2", b"b"), ("0.data:3", b""), ("0.data:4", b"c"),
        ("2.data:1", b"head"), ("2.data:2", b"d"),
    ]  # fmt: skip
    assert _read(tf.TextLineReader(skip_header_lines=1), paths[2:], target) == [
        ("2.data:2", b"d")
    ]  # fmt: skip


def test_the_files_of_a_pattern_are_found_when_local_variables_are_initialized(
    tmp_path: Path,
) -> None:
    names = tf.train.match_filenames_once(str(tmp_path / "*.data"))
    _files(tmp_path, [b"x", b"yy"])
    assert names.name == "matching_filenames:0"
    assert sorted(_read(tf.WholeFileReader(), names)) == [("0.data", b"x"), ("1.data", b"yy")]


def test_records_of_one_length_overlap_by_the_hop(tmp_path: Path) -> None:
    paths = _files(tmp_path, [b"HH0123456789F", b"HHabcF"])
    plain = tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1)
    assert _read(plain, paths) == [
        ("0.data:0", b"012"), ("0.data:1", b"345"), ("0.data:2", b"678"), ("1.data:0", b"abc"),
    ]  # fmt: skip
    hopping = tf.FixedLengthRecordReader(4, header_bytes=2, footer_bytes=1, hop_bytes=3)
    assert [v for _, v in _read(hopping, paths)] == [b"0123", b"3456", b"6789"]
    apart = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1, hop_bytes=5)
    assert [v for _, v in _read(apart, paths[:1])] == [b"01", b"56"]
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"abcdef"))
    assert [v for _, v in _read(tf.FixedLengthRecordReader(3, encoding="GZIP"), [str(packed)])] == [
        b"abc", b"def",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="record_bytes is 0"):
        tf.FixedLengthRecordReader(0)


def test_records_have_their_offsets_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "r")
    with tf.python_io.TFRecordWriter(path) as writer:
        for record in (b"one", b"", b"three"):
            writer.write(record)
    assert _read(tf.TFRecordReader(), [path]) == [
        ("r:0", b"one"),
        ("r:19", b""),
        ("r:35", b"three"),
    ]
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.ZLIB)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        writer.write(b"packed")
    assert _read(tf.TFRecordReader(options=options), [path]) == [("r:0", b"packed")]
    Path(path).write_bytes(struct.pack("<Q", 5) + b"0000")
    queue = tf.FIFOQueue(2, tf.string)
    _, value = tf.TFRecordReader().read(queue)
    with tf.Session() as session:
        session.run(queue.enqueue(path))
        with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
            session.run(value)
        session.run(queue.enqueue(str(tmp_path / "absent")))
        with pytest.raises(tf.errors.NotFoundError, match="absent"):
            session.run(value)


def test_read_up_to_stays_in_a_file(tmp_path: Path) -> None:
    paths = _files(tmp_path, [b"a\nb\nc\n", b"d\n"])
    reader, queue = tf.TextLineReader(), tf.FIFOQueue(5, tf.string)
    keys, values = reader.read_up_to(queue, 2)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    with tf.Session() as session:
        session.run([queue.enqueue_many([paths]), queue.close()])
        assert session.run(values).tolist() == [b"a", b"b"]
        assert session.run(counts) == [2, 0]
        assert session.run(values).tolist() == [b"c"]
        assert session.run([keys, values])[0].tolist() == [f"{paths[1]}:1".encode()]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(values)
        assert session.run(counts) == [4, 2]


@TARGETS
def test_the_state_of_a_reader_is_restored_and_reset(target: str) -> None:
    reader, queue = tf.IdentityReader("identity"), tf.FIFOQueue(9, tf.string)
    _, value = reader.read(queue)
    state, given = reader.serialize_state(), tf.placeholder(tf.string, [])
    restore, counts = reader.restore_state(given), reader.num_records_produced()
    with tf.Session(target) as session:
        session.run(queue.enqueue_many([["x", "y", "z"]]))
        assert session.run(value) == b"x"
        saved = session.run(state)
        # TensorFlow's bytes: one piece of work begun, ended, one record, "x"
        assert saved == b"\x08\x01\x10\x01\x18\x01\x22\x01x"
        assert [session.run(value), session.run(value)] == [b"y", b"z"]
        assert session.run(counts) == 3
        session.run(restore, {given: saved})
        assert session.run(counts) == 1
        for damaged in (saved[1:], saved[:-1], saved + b"more", b""):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse state for I"):
                session.run(restore, {given: damaged})
        session.run(reader.reset())
        assert session.run(counts) == 0
        with pytest.raises(tf.errors.UnimplementedError, match="SerializeState"):
            session.run(tf.TextLineReader().serialize_state())
