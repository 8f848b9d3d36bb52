"""tf.data: datasets that read files, and TFRecord files in Python."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_pipelines import drain, rest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.data import records

D = tf.data.Dataset


def packed(kind: str, data: bytes) -> bytes:
    return {"": data, "GZIP": gzip.compress(data), "ZLIB": zlib.compress(data)}[kind]


# ---- lines ----


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_lines_lose_their_ends_only(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    paths[0].write_bytes(packed(kind, b"a\r\n\n b \nlast"))
    paths[1].write_bytes(packed(kind, "ü\n".encode()))
    names = [str(p) for p in paths]
    expected = [b"a", b"", b" b ", b"last", "ü".encode()]
    assert drain(lambda: tf.data.TextLineDataset(names, kind)) == expected
    assert (
        drain(lambda: tf.data.TextLineDataset(names[0], kind).skip(2).repeat(2))
        == [
            b" b ",
            b"last",
        ]
        * 2
    )


def test_lines_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    lines = [b"x" * size for size in (0, 300_000, 5, 262_143, 262_144)]
    (tmp_path / "t").write_bytes(b"\n".join(lines))
    assert drain(lambda: tf.data.TextLineDataset(str(tmp_path / "t"))) == lines


def test_names_may_be_tensors_or_a_dataset(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    names = [str(tmp_path / name) for name in "ab"]
    found = drain(lambda: tf.data.TextLineDataset(D.from_tensor_slices(names)))
    assert found == [b"a1", b"a2", b"b1", b"b2"]
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.string, [None])
        iterator = tf.data.TextLineDataset(fed).make_initializable_iterator()
        session.run(iterator.initializer, {fed: names[1:]})
        assert rest(session, iterator.get_next()) == [b"b1", b"b2"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    data = tf.data.TextLineDataset(str(tmp_path / "none"))
    with pytest.raises(
        tf.errors.NotFoundError, match=r"none; No such file or directory \[TextLine"
    ):
        drain(lambda: data)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression_type: BZ"):
        tf.data.TextLineDataset("x", "BZ")
    with pytest.raises(TypeError, match="`filenames` must be"):
        tf.data.TextLineDataset(3)


def test_a_file_that_is_not_packed_as_it_should_be(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"plain text\n" * 10)
    for kind in ("GZIP", "ZLIB"):
        with pytest.raises(tf.errors.DataLossError, match="damaged compressed data"):
            drain(lambda k=kind: tf.data.TextLineDataset(str(tmp_path / "t"), k))


def test_files_are_listed_by_pattern(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.py"):
        (tmp_path / name).write_text("")
    expected = [str(tmp_path / n).encode() for n in ("a.txt", "b.txt")]
    assert drain(lambda: D.list_files(str(tmp_path / "*.txt"), shuffle=False)) == expected
    assert sorted(drain(lambda: D.list_files([str(tmp_path / "*.txt")], seed=1))) == expected


@pytest.mark.parametrize(
    ("make", "error"),
    [(tf.data.make_one_shot_iterator, tf.errors.OutOfRangeError),
     (tf.data.make_initializable_iterator, tf.errors.InvalidArgumentError)],
)  # fmt: skip
def test_no_file_matches(make: Any, error: type[Exception], tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        following = make(D.list_files(str(tmp_path / "*.none"))).get_next()
        with pytest.raises(error, match="No files matched pattern"):
            session.run([op for op in graph.get_operations() if op.type == "MakeIterator"])
            session.run(following)


# ---- records ----


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.binary(max_size=40), max_size=6),
    st.sampled_from(["", "GZIP", "ZLIB"]),
)
def test_records_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, written: list[bytes], kind: str
) -> None:
    path = str(tmp_path_factory.mktemp("records") / "r")
    with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(kind)) as writer:
        for record in written:
            writer.write(record)
            writer.flush()
    assert list(tf.python_io.tf_record_iterator(path, kind)) == written
    assert drain(lambda: tf.data.TFRecordDataset(path, kind)) == written


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_options_of_zlib_change_the_size_and_nothing_else(tmp_path: Path, kind: str) -> None:
    near = np.random.RandomState(3).bytes(2000)
    written, sizes = [near * 4, b"ab" * 900, near], {}
    for name, options in {
        "plain": {},
        "method": {"compression_method": zlib.DEFLATED, "output_buffer_size": 64},
        "level": {"compression_level": 0},
        "window": {"window_bits": 8},
        "strategy": {"compression_strategy": zlib.Z_HUFFMAN_ONLY},
        "flushed": {"flush_mode": zlib.Z_FULL_FLUSH, "input_buffer_size": 1000},
        "memory": {"mem_level": 1},
    }.items():
        path = tmp_path / name
        with tf.python_io.TFRecordWriter(
            str(path), tf.python_io.TFRecordOptions(kind, **options)
        ) as writer:
            for record in written:
                writer.write(record)
        assert list(tf.python_io.tf_record_iterator(path, kind)) == written
        sizes[name] = path.stat().st_size
    plain = sizes["plain"]
    assert sizes.pop("method") == plain
    assert all(size >= plain for size in sizes.values())
    assert min(sizes["level"], sizes["window"], sizes["strategy"], sizes["flushed"]) > plain


def test_options_of_records_are_taken_in_tensorflows_order() -> None:
    given = (zlib.Z_SYNC_FLUSH, 1000, 64, 9, 3, zlib.DEFLATED, 5, zlib.Z_FILTERED)
    options = tf.python_io.TFRecordOptions("GZIP", *given)
    found = (
        options.flush_mode,
        options.input_buffer_size,
        options.output_buffer_size,
        options.window_bits,
        options.compression_level,
        options.compression_method,
        options.mem_level,
        options.compression_strategy,
    )
    assert found == given


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_a_writer_that_is_given_up_has_written_its_records(tmp_path: Path, kind: str) -> None:
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "r"), kind)
    writer.write(b"one")
    del writer
    assert list(tf.python_io.tf_record_iterator(tmp_path / "r", kind)) == [b"one"]


def test_records_that_are_still_being_written_are_read_on(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    framed = [records.framed(r) for r in (b"one", b"two", b"three")]
    path.write_bytes(framed[0])
    iterator = tf.python_io.tf_record_iterator(path)
    assert list(iterator) == [b"one"]
    with path.open("ab", buffering=0) as file:
        file.write(framed[1] + framed[2][:-1])
        assert next(iterator) == b"two"
        for _ in range(2):
            with pytest.raises(tf.errors.DataLossError, match="truncated"):
                next(iterator)
        file.write(framed[2][-1:])
    assert list(iterator) == [b"three"]


def test_the_bytes_of_a_record_are_those_of_the_format() -> None:
    # The check value of CRC-32C, of "123456789", is e3069283 (RFC 3720, appendix B.4).
    crc = 0xE3069283
    masked = ((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8 & 0xFFFFFFFF
    framed = records.framed(b"123456789")
    assert framed[:8] == struct.pack("<Q", 9)
    assert framed[12:21] == b"123456789"
    assert struct.unpack("<I", framed[21:])[0] == masked


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-1], "truncated record at 0"),
        (lambda data: data[:5], "truncated record at 0"),
        (lambda data: data[:14], "truncated record at 0"),
        (lambda data: bytes([data[0] ^ 1]) + data[1:], "corrupted record at 0"),
        (lambda data: data[:13] + b"?" + data[14:], "corrupted record at 0"),
        (lambda data: data + data[:-1] + b"?", "corrupted record at 25"),
    ],
)
def test_damaged_records(tmp_path: Path, change: Any, words: str) -> None:
    path = tmp_path / "r"
    path.write_bytes(change(records.framed(b"123456789")))
    with pytest.raises(tf.errors.DataLossError, match=words):
        drain(lambda: tf.data.TFRecordDataset(str(path)))
    with pytest.raises(tf.errors.DataLossError, match=words):
        list(tf.python_io.tf_record_iterator(str(path)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_files_of_anything_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(["", "GZIP", "ZLIB"]))
    good = b"".join(records.framed(b"x" * n) for n in (0, 5, 40))
    content = bytearray(packed(kind, data.draw(st.sampled_from([good, b"a\nbc\n"]))))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("any") / "f"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    for make in (
        lambda: tf.data.TextLineDataset(str(path), kind),
        lambda: tf.data.TFRecordDataset(str(path), kind),
        lambda: tf.data.FixedLengthRecordDataset(str(path), 3, 1, 1, compression_type=kind),
    ):
        try:
            assert all(isinstance(element, bytes) for element in drain(make))
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError):
            pass


def test_a_length_that_lies_takes_no_memory(tmp_path: Path) -> None:
    length = (1 << 39).to_bytes(8, "little")
    head = length + records.masked_crc(length).to_bytes(4, "little")
    (tmp_path / "r").write_bytes(head + b"short")
    with pytest.raises(tf.errors.DataLossError, match="truncated record"):
        drain(lambda: tf.data.TFRecordDataset(str(tmp_path / "r")))


def test_compressed_lines_that_are_cut_short(tmp_path: Path) -> None:
    for kind in ("GZIP", "ZLIB"):
        (tmp_path / "t").write_bytes(packed(kind, b"line\n" * 100)[:-3])
        with pytest.raises(tf.errors.DataLossError, match="damaged compressed data"):
            drain(lambda k=kind: tf.data.TextLineDataset(str(tmp_path / "t"), k))


def test_packed_records_are_unpacked_no_further_than_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "z").write_bytes(zlib.compress(bytes(1 << 26)))
    with records.opened(str(tmp_path / "z"), "ZLIB") as file:
        tracemalloc.start()
        assert file.read(12) == bytes(12)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()
        assert len(file.read()) == (1 << 26) - 12


def test_what_a_writer_refuses(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "none" / "r"))
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "r"))
    with pytest.raises(TypeError, match="must be bytes"):
        writer.write("text")  # type: ignore[arg-type]
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"late")
    with pytest.raises(ValueError, match="Not a valid compression_type"):
        tf.python_io.TFRecordOptions("LZ4")


def test_a_dataset_is_written_by_a_run(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        path = tf.placeholder(tf.string, [])
        writer = tf.data.experimental.TFRecordWriter(path, "GZIP")
        write = writer.write(D.from_tensor_slices(["a", "bc", ""]))
        session.run(write, {path: str(tmp_path / "r")})
        with pytest.raises(TypeError, match="elements must be scalar strings"):
            writer.write(D.range(3))
    assert list(tf.python_io.tf_record_iterator(tmp_path / "r", "GZIP")) == [b"a", b"bc", b""]


def test_records_of_one_length(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    Path(path).write_bytes(b"head" + b"aabbcc" + b"ft")
    made = tf.data.FixedLengthRecordDataset
    assert drain(lambda: made(path, 2, 4, 2)) == [b"aa", b"bb", b"cc"]
    assert drain(lambda: made([path], 4)) == [b"head", b"aabb", b"ccft"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a multiple of the record length"):
        drain(lambda: made(path, 5))
    with pytest.raises(tf.errors.InvalidArgumentError, match="record_bytes must be > 0"):
        drain(lambda: made(path, 0))


# ---- csv ----


def test_columns_are_converted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('x,n,s\n1.5,7,"a, ""b"""\n,8,two\n2.5,9,"line\nbreak"\n')
    made = tf.data.experimental.CsvDataset
    data = made(str(path), [[0.25], tf.int64, tf.string], header=True)
    assert data.output_types == (tf.float32, tf.int64, tf.string)
    assert drain(lambda: data) == [
        (1.5, 7, b'a, "b"'),
        (0.25, 8, b"two"),
        (2.5, 9, b"line\nbreak"),
    ]
    chosen = made([str(path)], [tf.int32], header=True, select_cols=[1])
    assert drain(lambda: chosen) == [(7,), (8,), (9,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2", "Expect 1 fields but have 2"),
        ("one", "Field is not a valid int32: 'one'"),
        ("99999999999", "Field is not a valid int32"),
        ("1_0", "Field is not a valid int32"),
        ("٣", "Field is not a valid int32"),
        ('"1', "a quoted field does not end"),
        ("NA", "Field is required but missing"),
    ],
)
def test_rows_that_cannot_be_converted(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t").write_text(text + "\n")
    data = tf.data.experimental.CsvDataset(str(tmp_path / "t"), [tf.int32], na_value="NA")
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        drain(lambda: data)


def test_csv_arguments_that_do_not_fit() -> None:
    made = tf.data.experimental.CsvDataset
    with pytest.raises(ValueError, match="the same length"):
        made("x", [tf.int32], select_cols=[0, 1])
    with pytest.raises(ValueError, match="strictly increasing"):
        made("x", [tf.int32, tf.int32], select_cols=[1, 0])
    with pytest.raises(TypeError, match="a column is uint8"):
        made("x", [tf.uint8])


def test_csv_files_as_batches_of_features(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,name,y\n1,a,0\n2,b,1\n3.5,c,0\n")
    data = tf.data.experimental.make_csv_dataset(
        str(tmp_path / "*.csv"), 2, label_name="y", num_epochs=1, shuffle=False
    )
    assert drain(lambda: data) == [
        ({"x": [1, 2], "name": [b"a", b"b"]}, [0, 1]),
        ({"x": [3.5], "name": [b"c"]}, [0]),
    ]
    one = tf.data.experimental.make_csv_dataset(
        str(tmp_path / "a.csv"), 2, select_columns=["x"], shuffle_seed=1
    )
    assert set(one.output_types) == {"x"}
    assert len(drain(lambda: one, limit=7)) == 7
    with pytest.raises(ValueError, match="must be one of the columns"):
        tf.data.experimental.make_csv_dataset(str(tmp_path / "a.csv"), 2, label_name="z")


# ---- a cache in a file ----


def test_a_cache_in_a_file_serves_later_programs(tmp_path: Path) -> None:
    path = str(tmp_path / "cache")
    calls = []

    def generator() -> Any:
        calls.append(1)
        yield from ((i, np.arange(i)) for i in range(3))

    def make() -> Any:
        return D.from_generator(generator, (tf.int32, tf.int64), ([], [None])).cache(path).repeat(2)

    expected = [(0, []), (1, [0]), (2, [0, 1])] * 2
    assert drain(make) == expected
    assert drain(make) == expected
    assert len(calls) == 1


def test_the_name_of_a_cache_is_a_text() -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(TypeError, match="filename is 3, expected a string"),
    ):
        D.range(3).cache(3)


def test_a_cache_that_was_not_filled_is_filled_anew(tmp_path: Path) -> None:
    path = str(tmp_path / "cache")
    assert drain(lambda: D.range(5).cache(path), limit=2) == [0, 1]
    assert drain(lambda: D.range(5).cache(path)) == [0, 1, 2, 3, 4]
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        drain(lambda: D.range(5).cache(str(tmp_path / "none" / "cache")))
