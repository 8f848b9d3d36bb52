"""TensorFlow checkpoints that say impossible things with right checksums are refused."""

from __future__ import annotations

import contextlib
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from foreign_files import EDITS, FOREIGN, bounded, everything, mutated, nothing_runs
from hypothesis import given, settings
from tensorflow_tables import Rows, block, entry, field, masked, number, sealed, table_of

from graphio.support import errors
from graphio.train.interop import snappy, table
from graphio.train.interop.sources import open_source

RESTARTS = struct.pack("<2I", 0, 1)
FAR = number(0) + number(0) + number(1 << 40) + number(5)  # a footer's handles


def bundle(folder: Path, rows: Rows, data: bytes, head: bytes = b"\x08\1") -> Path:
    """A checkpoint of one data file."""
    (folder / "m.index").write_bytes(table_of([(b"", head), *rows]))
    (folder / "m.data-00000-of-00001").write_bytes(data)
    return folder / "m"


X = np.float32([1, 2, 3, 4]).tobytes()


def test_a_bundle_is_read_and_a_big_endian_one_is_swapped(tmp_path: Path) -> None:
    """The control of the refusals, with a second reader of the format: this file's writer."""
    rows = [(b"x", entry(1, (2, 2), 0, X))]
    assert open_source(bundle(tmp_path, rows, X)).array("x").tolist() == [[1, 2], [3, 4]]
    values = {
        b"a": (1, np.array([1.5, -2.0], ">f4")),
        b"b": (8, np.array([1 + 2j], ">c8")),
        b"c": (9, np.array([-3, 1 << 40], ">i8")),
        b"d": (10, np.array([True, False])),
    }
    data, rows = b"", []
    for name, (kind, array) in values.items():
        rows.append((name, entry(kind, array.shape, len(data), array.tobytes())))
        data += array.tobytes()
    source = open_source(bundle(tmp_path, rows, data, b"\x08\1\x10\1"))
    for name, (_, array) in values.items():
        assert source.array(name.decode()).tolist() == array.tolist()


@pytest.mark.parametrize(
    ("rows", "data", "head", "words"),
    [
        ([(b"x", entry(1, (5,), 0, X))], X, b"\x08\1", r"'x' float32\[5\] has 16 bytes"),
        ([(b"x", entry(1, (4,), 8, X))], X, b"\x08\1", "has 16 bytes, its values end at 24"),
        ([(b"x", entry(1, (2,), 0, X[:8]))], X, b"\x08\1", "has 16 bytes, its values end at 8"),
        ([(b"x", entry(1, (4,), -8, X))], X, b"\x08\1", "has 16 bytes at -8"),
        ([(b"x", entry(1, (4,), 1 << 62, X))], X, b"\x08\1", "its values end at"),
        ([(b"x", entry(1, (4,), 0, X, shard=1))], X, b"\x08\1", "of data file 1"),
        ([(b"x", entry(1, (4,), 0, X, shard=-1))], X, b"\x08\1", "of data file -1"),
        ([(b"x", entry(1, (-4,), 0, X))], X, b"\x08\1", "impossible"),
        ([(b"x", entry(1, (1 << 40, 1 << 40), 0, X))], X, b"\x08\1", "impossible"),
        ([(b"x", entry(1, (1,) * 17, 0, X))], X, b"\x08\1", "rank 17"),
        ([(b"a", entry(1, (4,), 0, X)), (b"b", entry(1, (4,), 0, X))], X, b"\x08\1", "overlap"),
        ([(b"b", entry(1, (4,), 0, X)), (b"a", entry(1, (0,), 0, b""))], X, b"\x08\1", "ascending"),
        ([(b"\xfe", entry(1, (4,), 0, X))], X, b"\x08\1", "not UTF-8"),
        ([(b"_CHECKPOINTABLE_OBJECT_GRAPH", entry(1, (4,), 0, X))], X, b"\x08\1", "not a string"),
        ([(b"x", field(1, 1) + field(2, field(3, 1)))], X, b"\x08\1", "unknown rank"),
        ([(b"x", b"\x08")], X, b"\x08\1", "cut off, too large"),
        ([(b"x", b"\x0f")], X, b"\x08\1", "wire type 7"),
        ([(b"x", b"\x00\1")], X, b"\x08\1", "field 0"),
        ([(b"x", b"\x12\x7f")], X, b"\x08\1", "a message is cut off"),
        ([(b"x", b"\x08" + b"\xff" * 9 + b"\x7f")], X, b"\x08\1", "cut off, too large"),
        ([(b"x", b"\x10\1")], X, b"\x08\1", "has no length"),
        ([(b"x", b"\x0a\0")], X, b"\x08\1", "is not a number"),
        ([], b"", b"", "header is missing"),
        ([], b"", b"\x08\0", "says 0 data files"),
        ([], b"", b"\x08\1\x10\2", "byte order 2"),
        ([], b"", b"\x08\1\x1a\2\x10\x09", "a reader of version 9"),
        ([(b"x", entry(1, (4,), 0, b"", slices=(b"",)))], b"", b"\x08\1", "has 0 dimensions"),
        (
            [(b"x", entry(1, (4,), 0, b"", slices=(field(1, field(1, 2) + field(2, 3)),)))],
            b"", b"\x08\1", "reaches beyond",
        ),
        ([(b"x", entry(1, (4,), 0, b"", slices=(field(1, b""),)))], b"", b"\x08\1", "is missing"),
        ([(b"x", entry(1, (4,), 0, X, slices=(field(1, b""),)))], X, b"\x08\1", "both slices"),
    ],
)  # fmt: skip
def test_a_bundle_that_says_impossible_things_is_refused(
    rows: Rows, data: bytes, head: bytes, words: str, tmp_path: Path
) -> None:
    path = bundle(tmp_path, rows, data, head)
    with nothing_runs(tmp_path), bounded(20), pytest.raises(errors.OpError, match=words):
        everything(path)


def parts(*positions: tuple[int, int], dims: tuple[int, ...] = (4,)) -> Rows:
    """A partitioned variable "p" with parts at (start, length); its bytes follow the others'."""
    whole = tuple(field(1, field(1, s) + field(2, n)) for s, n in positions)
    rows, at = {}, 0
    for position in positions:
        size = 4 * max(position[1], 0)
        rows[table.slice_key("p", [position])] = entry(1, position[1:], at, X[at : at + size])
        at += size
    return [*sorted(rows.items()), (b"p", entry(1, dims, 0, b"", slices=whole))]


@pytest.mark.parametrize(
    ("rows", "data", "words"),
    [
        (parts((0, 1), (0, 1), dims=(2,)), X[:8], "there twice"),
        (parts((0, 1), (1, 1)), X[:8], "do not cover it"),
        (parts((0, 1)), X[:4], "do not cover it"),
        (parts((0, 2), (1, 2)), X, "the slices of 'p' overlap"),
        (parts((0, 1), (1, 1), (1, -1), dims=(3,)), X[:8], "slices"),
    ],
)
def test_slices_that_are_not_the_whole_are_refused(
    rows: Rows, data: bytes, words: str, tmp_path: Path
) -> None:
    with pytest.raises(errors.DataLossError, match=words):
        everything(bundle(tmp_path, rows, data))


def test_the_slices_of_a_variable_are_put_together(tmp_path: Path) -> None:
    rows = parts((0, 1), (1, 1), dims=(2,))
    assert open_source(bundle(tmp_path, rows, X[:8])).array("p").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\x80"), (3, b"\x83"), (-1, b"\x7f"), (63, b"\xbf"), (64, b"\xc0\x40"),
     (8191, b"\xdf\xff"), (8192, b"\xe0\x20\0"), (1 << 40, b"\xfd\0\0\0\0\0")],
)  # fmt: skip
def test_keys_of_slices_are_order_preserving_numbers(value: int, data: bytes) -> None:
    if value != 1 << 40:
        assert table.slice_key("a", [(value, 0)]) == b"\0a\0\1\1\1" + data + b"\x80"
    bigger = table.slice_key("a", [(value + 1, 0)])
    assert bigger > table.slice_key("a", [(value, 0)])


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (table.MAGIC, "does not end as a table"),
        (table_of([(b"", b"\x08\1")], begin=1), "do not follow one another"),
        (table_of([(b"", b"\x08\1"), (b"x", b"")], bound=b"a"), "larger than its block's"),
        (table_of([(b"", b"\x08\1")], gap=1), "do not end where"),
        (table_of([], sealed(b"\0\1", 0)), "too short for its restart points"),
        (table_of([], sealed(struct.pack("<I", 1 << 31), 0)), "too short for its restart points"),
        (table_of([], sealed(b"\5\1\0k" + RESTARTS, 0)), "entry of a block is cut off"),
        (table_of([], sealed(b"\0\1\x7fk" + RESTARTS, 0)), "entry of a block is cut off"),
        (table_of([])[:-48] + FAR.ljust(40, b"\0") + table.MAGIC, "reaches beyond its end"),
    ],
)
def test_a_table_whose_blocks_are_elsewhere_is_refused(
    index: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "m.index").write_bytes(index)
    with pytest.raises(errors.DataLossError, match=words):
        open_source(tmp_path / "m")


def strings(*values: bytes, big: bool = False, tail: bytes = b"") -> tuple[bytes, bytes]:
    """The bytes of a string tensor and its entry "x"; their checksums are right."""
    order = ">" if big else "<"
    sizes = b"".join(struct.pack(order + "I", len(value)) for value in values)
    check = masked(sizes)[:: -1 if big else 1]
    body = check + b"".join(values) + tail
    data = b"".join(number(len(value)) for value in values) + body
    made = entry(7, (len(values),), 0, data)
    return data, made[:-4] + masked(sizes + body)


@pytest.mark.parametrize("big", [False, True])
def test_strings_of_either_byte_order_are_read(big: bool, tmp_path: Path) -> None:
    data, made = strings(b"one", b"", b"\0\xff", big=big)
    path = bundle(tmp_path, [(b"x", made)], data, b"\x08\1\x10\1" if big else b"\x08\1")
    assert open_source(path).array("x").tolist() == [b"one", b"", b"\0\xff"]


def test_strings_that_do_not_fill_their_bytes_are_refused(tmp_path: Path) -> None:
    data, made = strings(b"one", b"two", tail=b"!")
    path = bundle(tmp_path, [(b"x", made)], data)
    with pytest.raises(errors.DataLossError, match="do not add up to its bytes"):
        open_source(path).array("x")
    many = entry(7, (1 << 50,), 0, b"\1")
    path = bundle(tmp_path, [(b"x", many)], b"\1")
    with bounded(5), pytest.raises(errors.DataLossError, match="cut off"):
        open_source(path).array("x")


def test_a_table_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    """Keys that share a long start, and a snappy block of one long repetition."""
    long = b"\0" + number(60_000) + number(0) + b"k" * 60_000
    again = b"".join(number(60_000 + i) + b"\1\0" + b"k" for i in range(2000))
    content = sealed(long + again + struct.pack("<2I", 0, 1), 0)
    (tmp_path / "m.index").write_bytes(table_of([], content))
    with bounded(40), pytest.raises(errors.InvalidArgumentError, match="more than 64 times"):
        open_source(tmp_path / "m")
    with pytest.raises(errors.DataLossError, match="cannot become"):
        snappy.unpack(number(1 << 60) + b"\0a", "block")


def test_snappy_blocks_are_read_and_broken_ones_refused(tmp_path: Path) -> None:
    rows = block([(b"", b"\x08\1"), (b"x", entry(1, (4,), 0, X))])[:-5]
    literal = number(len(rows)) + bytes([61 << 2]) + (len(rows) - 1).to_bytes(2, "little") + rows
    (tmp_path / "m.index").write_bytes(table_of([], sealed(literal, 1)))
    (tmp_path / "m.data-00000-of-00001").write_bytes(X)
    assert open_source(tmp_path / "m").array("x").tolist() == [1, 2, 3, 4]
    # "abc", then nine bytes copied from three back, then four by two bytes of offset
    packed = number(16) + b"\x08abc" + bytes([(9 - 4) << 2 | 1, 3]) + bytes([3 << 2 | 2, 6, 0])
    assert snappy.unpack(packed, "block") == b"abcabcabcabcabca"
    for bad in (
        packed[:-1],
        packed + b"\0x",
        number(2) + b"\1\1",
        number(9) + b"\x20a",
        b"",
        b"\xff",
    ):
        with pytest.raises(errors.DataLossError):
            snappy.unpack(bad, "block")
    (tmp_path / "m.index").write_bytes(table_of([], sealed(literal, 7)))
    with pytest.raises(errors.InvalidArgumentError, match="packed by method 7"):
        open_source(tmp_path / "m")


def test_a_missing_data_file_and_an_unknown_type_are_named(tmp_path: Path) -> None:
    path = bundle(tmp_path, [(b"x", entry(21, (4,), 0, X)), (b"y", entry(1, (0,), 16, b""))], X)
    source = open_source(path)
    assert source.array("y").shape == (0,)
    with pytest.raises(errors.UnimplementedError, match="'x' has TensorFlow's element type 21"):
        source.array("x")
    (tmp_path / "m.data-00000-of-00001").unlink()
    with pytest.raises(errors.NotFoundError, match="m.data-00000-of-00001"):
        open_source(path)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(edits=EDITS)
def test_a_mutated_index_with_right_checksums_is_read_or_refused_with_our_errors(
    edits: list[tuple[str, float, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("t")
    shutil.copy(FOREIGN / "tf_saver.data-00000-of-00001", folder / "m.data-00000-of-00001")
    data = (FOREIGN / "tf_saver.index").read_bytes()
    first = mutated(data[: first_block(data)], edits)
    (folder / "m.index").write_bytes(table_of([], sealed(first, 0)))
    with nothing_runs(folder), contextlib.suppress(errors.OpError):
        everything(folder / "m")


def first_block(data: bytes) -> int:
    """How long the first block of a table is: the index block's only value says so."""
    for size in range(8, len(data)):
        if masked(data[: size + 1]) == data[size + 1 : size + 5]:
            return size
    raise AssertionError("no block")
