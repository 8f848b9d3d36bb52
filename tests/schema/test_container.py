"""The model file: what is written is read, and nothing else is."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import second_reader
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_samples import model, same

from graphio.schema import container, dtypes, small_types, tensors
from graphio.schema import model_pb2 as pb
from graphio.schema.crc32c import crc32c, crc32c_numpy
from graphio.storage import files
from graphio.support import errors

REFUSED = (errors.DataLossError, errors.UnimplementedError)


@pytest.fixture(scope="module")
def packed() -> bytes:
    return container.pack(*model())


def with_header(data: bytes, **changes: int) -> bytes:
    """The file with fields of its header changed and its checksum made right again."""
    positions = {"major": (8, "<H"), "minor": (10, "<H"), "flags": (12, "<I"), "length": (16, "<Q"),
              "start": (24, "<Q"), "size": (32, "<Q"), "reserved": (50, "<H")}  # fmt: skip
    made = bytearray(data)
    for name, value in changes.items():
        at, form = positions[name]
        struct.pack_into(form, made, at, value)
    struct.pack_into("<I", made, 60, crc32c(bytes(made[:60])))
    return bytes(made)


def test_what_is_packed_is_unpacked(packed: bytes, tmp_path: Path) -> None:
    message, arrays = model()
    for lazy in (False, True):
        read, found = container.unpack(packed, lazy)
        assert len(found) == 2 and all(map(same, found, arrays))
        del read.tensor[:]
        assert read == message
    container.write(tmp_path / "m.gio", message, arrays)
    assert (tmp_path / "m.gio").read_bytes() == packed == container.pack(message, arrays)
    _, found = container.read(tmp_path / "m.gio")
    assert all(map(same, found, arrays)) and not found[0].flags.writeable
    assert [p.name for p in tmp_path.iterdir()] == ["m.gio"]


def test_tensors_are_aligned(packed: bytes) -> None:
    message, _ = container.unpack(packed)
    (start,) = struct.unpack_from("<Q", packed, 24)
    assert start % 64 == 0 and all(t.offset % 64 == 0 for t in message.tensor)


@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_is_refused(packed: bytes, bit: int) -> None:
    for at in range(len(packed)):
        broken = bytearray(packed)
        broken[at] ^= 1 << bit
        with pytest.raises(REFUSED):
            container.unpack(bytes(broken))


def test_every_truncation_is_refused(packed: bytes) -> None:
    for length in range(len(packed)):
        with pytest.raises(REFUSED):
            container.unpack(packed[:length])


def test_trailing_bytes_are_refused(packed: bytes) -> None:
    for count in range(1, 65):
        with pytest.raises(REFUSED):
            container.unpack(packed + bytes(count))


def test_a_lazy_reader_finds_damage_at_first_touch(packed: bytes) -> None:
    broken = bytearray(packed)
    broken[-1] ^= 1
    _, found = container.unpack(bytes(broken), lazy=True)
    assert found[0].shape == (20,)
    with pytest.raises(errors.DataLossError, match="tensor 1"):
        found[1]


def test_versions_and_flags(packed: bytes) -> None:
    container.unpack(with_header(packed, minor=9))
    for change in ({"major": 2}, {"flags": 2}, {"flags": 3}, {"major": 0}):
        with pytest.raises(errors.UnimplementedError, match="written by a newer graphio"):
            container.unpack(with_header(packed, **change))
    with pytest.raises(errors.DataLossError, match="reserved"):
        container.unpack(with_header(packed, reserved=1))


@pytest.mark.parametrize("value", [0, 1, 63, 64, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("field", ["length", "start", "size"])
def test_impossible_lengths_are_refused(packed: bytes, field: str, value: int) -> None:
    with pytest.raises(REFUSED):
        container.unpack(with_header(packed, **{field: value}))


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", "f' is empty: its writer"),
        (b"\x89GIO", "^f: the model file is damaged"),
        (b"x" * 64, "f' is not a model file"),
        (b"\x89GIX\r\n\x1a\n" + bytes(64), "f' is the index of a checkpoint"),
    ],
)
def test_other_files_are_refused(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(errors.DataLossError, match=text):
        container.read(tmp_path / "f")
    with pytest.raises(errors.NotFoundError, match="no file"):
        container.read(tmp_path / "none")
    with pytest.raises(OSError):
        container.read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: setattr(t, "stored", False),
        lambda t: setattr(t, "offset", 64),
        lambda t: setattr(t, "nbytes", 1 << 63),
        lambda t: setattr(t, "dtype", 99),
        lambda t: setattr(t, "dtype", 2),
        lambda t: t.dims.append(2),
        lambda t: t.dims.append(-1),
        lambda t: t.dims.extend([1] * 17),
        lambda t: t.dims.extend([0, 1 << 62, 8]),
        lambda t: setattr(t, "data", b"x"),
    ],
)
def test_impossible_tensors_are_refused(packed: bytes, change: Any) -> None:
    message, _ = container.unpack(packed)
    change(message.tensor[0])
    graph = message.SerializeToString(deterministic=True)
    (old_length, old_start, size) = struct.unpack_from("<QQQ", packed, 16)
    start = -(-(64 + len(graph)) // 64) * 64
    header = bytearray(packed[:64])
    struct.pack_into("<QQQI", header, 16, len(graph), start, size, crc32c(graph))
    struct.pack_into("<I", header, 60, crc32c(bytes(header[:60])))
    made = bytes(header) + graph + bytes(start - 64 - len(graph)) + packed[old_start:]
    with pytest.raises(REFUSED):
        container.unpack(made)


def test_the_second_reader_agrees(tmp_path: Path) -> None:
    message, arrays = model()
    container.write(tmp_path / "m.gio", message, arrays)
    found = second_reader.read_model(str(tmp_path / "m.gio"))
    assert found["nodes"] == [(n.name, n.op, list(n.input)) for n in message.graph.node]
    assert all(map(same, found["tensors"], arrays))
    assert same(found["variables"]["w"], arrays[1])
    assert found["signatures"] == {"predict": ({"x": "x"}, {"y": "y"})}


def test_crc32c() -> None:
    assert crc32c(b"123456789") == crc32c_numpy(b"123456789") == 0xE3069283
    assert crc32c(b"") == crc32c_numpy(b"") == 0
    data = np.random.RandomState(0).bytes(300_001)
    whole = crc32c(data)
    assert whole == crc32c_numpy(data) == second_reader.crc32c(data)
    for cut in (0, 1, 64, 65536, 200_000):
        assert crc32c(data[cut:], crc32c(data[:cut])) == whole
        assert crc32c_numpy(data[cut:], crc32c_numpy(data[:cut])) == whole


DTYPES = [row.name for row in dtypes.TABLE if row.numpy is not None and row.name != "string"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 4), max_size=4), st.integers(0, 99))
def test_arrays_survive(dtype: str, shape: list[int], seed: int) -> None:
    raw = np.random.RandomState(seed).randint(0, 2, shape).astype(dtype)
    for array in (raw, raw.astype(raw.dtype.newbyteorder(">")), np.array(raw, order="F")):
        assert same(tensors.to_array(tensors.from_array(array)), raw)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=9), max_size=6))
def test_strings_survive(values: list[bytes]) -> None:
    array = np.empty(len(values), object)
    array[:] = values
    assert tensors.to_array(tensors.from_array(array)).tolist() == values


@pytest.mark.parametrize("number", dtypes.ML_DTYPES)
def test_types_that_numpy_lacks_survive(number: int) -> None:
    row = dtypes.of_number(number)
    kind = small_types.numpy_dtype(row)
    for count in range(6):
        array = np.array([1, 0, 1, 1, 0][:count], np.float32).astype(kind)
        message = tensors.from_array(array)
        assert message.dtype == number and len(message.data) == -(-count * row.bits // 8)
        assert tensors.to_array(message).tobytes() == array.tobytes()
        assert tensors.to_array(message).dtype == kind


def test_packed_types_start_at_the_low_bits() -> None:
    int4 = tensors.to_array(pb.Tensor(dtype=22, dims=[3], data=b"\x21\x0f"))
    assert int4.astype(int).tolist() == [1, 2, -1]
    uint2 = tensors.to_array(pb.Tensor(dtype=25, dims=[5], data=b"\xe4\x02"))
    assert uint2.astype(int).tolist() == [0, 1, 2, 3, 2]
    with pytest.raises(errors.DataLossError, match="filling bits"):
        tensors.to_array(pb.Tensor(dtype=22, dims=[3], data=b"\x21\x1f"))


def test_damaged_elements_are_refused() -> None:
    strings = tensors.from_array(np.array([b"ab", b"c"], object))
    for data in (strings.data[:-1], strings.data + b"x", strings.data[:15], b"\xff" * 16):
        with pytest.raises(errors.DataLossError):
            tensors.decode(8, (2,), data)
    with pytest.raises(errors.DataLossError, match="bool"):
        tensors.decode(9, (2,), b"\x00\x02")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are POSIX's")
def test_a_file_takes_the_place_of_no_pipe_and_no_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(files.OtherKindError, match=f"{name}'.* regular file"):
            container.write(tmp_path / name, pb.Model(), [])
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]
    assert not (tmp_path / "pipe").is_file()
    container.write(tmp_path / "file", pb.Model(), [])
    (tmp_path / "link").symlink_to(tmp_path / "file")
    container.write(tmp_path / "link", pb.Model(), [])
    container.write(tmp_path / "file", pb.Model(), [])
