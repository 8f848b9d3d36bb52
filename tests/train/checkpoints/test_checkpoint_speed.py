"""Fast paths of saving and restoring change no result: pieces, reading in place, mapping."""

from __future__ import annotations

import mmap
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphio as tf
from graphio.schema import checkpoint_writer
from graphio.schema.checkpoint import read_checkpoint, write_checkpoint
from graphio.schema.crc32c import crc32c, crc32c_numpy
from graphio.storage import files
from graphio.storage.files import SYSTEM, FileLayer
from graphio.support import buffers

Array = np.ndarray[Any, Any]
MEGABYTE = 1 << 20
PIECE = 1 << 15  # bytes at a time, here: small files have many pieces, too

ENGINES = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.OpenFile, "piece", PIECE)
    monkeypatch.setattr(checkpoint_writer, "PIECE", PIECE)
    monkeypatch.setattr(files, "JOINED", PIECE // 2)


@pytest.fixture(autouse=True)
def fresh_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def array(shape: Any, dtype: Any = np.float32) -> Array:
    """Any bits but those that no value has."""
    kind = np.dtype(dtype)
    data = np.random.RandomState(7).bytes(int(np.prod(shape)) * kind.itemsize)
    made = np.frombuffer(data, np.uint8)
    return (made & 1 if kind == np.bool_ else made).view(kind).reshape(shape).copy()


def one_of_each() -> dict[str, Array]:
    """Sizes around those at which the ways of reading change, and types that files pack."""
    sizes = (0, 1, PIECE // 64 - 1, PIECE // 64, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 5)
    found = {f"bytes{n}": array((n,), np.uint8) for n in sizes}
    found |= {f"floats{n}": array((n,)) for n in (3, PIECE // 4, PIECE // 2 + 1)}
    found["bools"] = array((PIECE,), np.bool_)
    found["wide"] = array((2, PIECE // 8, 2), np.complex128)
    found["bfloat"] = array((PIECE,), ml_dtypes.bfloat16)
    found["nibbles"] = (np.arange(3 * PIECE) % 15 - 7).astype(ml_dtypes.int4)
    found["texts"] = np.array([b"x" * n for n in (0, 5, PIECE)], object)
    found["scalar"] = np.array(3.5)
    return found


def same(a: Array, b: Array) -> bool:
    if a.dtype == object:
        return a.tolist() == b.tolist()
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("shard_bytes", [None, PIECE])
@pytest.mark.parametrize("how", ["read", "mapped", "in place"])
def test_values_of_every_size_and_type_come_back(
    how: str, shard_bytes: int | None, tmp_path: Path
) -> None:
    values = one_of_each()
    write_checkpoint(tmp_path / "m", values, shard_bytes=shard_bytes)
    found = read_checkpoint(tmp_path / "m", lazy=how != "read")
    into = {name: np.zeros_like(value) for name, value in values.items()}
    if how == "in place":
        found.read(into)
    for name, value in values.items():
        assert same(into[name] if how == "in place" else found.variables[name], value), name


@pytest.mark.parametrize("name", ["bytes1", f"bytes{PIECE // 64}", f"bytes{PIECE + 1}", "nibbles"])
@pytest.mark.parametrize("position", [0, -1])
def test_a_flipped_bit_is_found_in_each_way_of_reading(
    name: str, position: int, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path / "m", one_of_each())
    lazily = read_checkpoint(tmp_path / "m", lazy=True)
    row = next(v for v in lazily.index.variable if v.name == name)
    shard = tmp_path / lazily.index.shard[0].file
    data = bytearray(shard.read_bytes())
    data[row.offset + position % row.nbytes] ^= 4
    shard.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match=f"variable '{name}'"):
        read_checkpoint(tmp_path / "m")
    found = read_checkpoint(tmp_path / "m", lazy=True)
    with pytest.raises(tf.errors.DataLossError, match=f"variable '{name}'"):
        found.read({})
    assert found.variables["scalar"] == 3.5
    with pytest.raises(tf.errors.DataLossError, match=f"variable '{name}'"):
        found.variables[name]


def test_a_file_that_becomes_shorter_while_it_is_read_is_damaged(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": array((MEGABYTE,), np.uint8)})
    found = read_checkpoint(tmp_path / "m", lazy=True)
    shard = tmp_path / found.index.shard[0].file
    with open(shard, "r+b") as file:
        file.truncate(MEGABYTE // 2)
    with pytest.raises(tf.errors.DataLossError, match="ends at byte"):
        found.read()


def test_an_opened_checkpoint_is_read_though_its_files_are_gone(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {"w": array((10,))})
    found = read_checkpoint(tmp_path / "m", lazy=True)
    assert not found.replaced()
    write_checkpoint(tmp_path / "m", {"w": np.zeros(3)})
    assert found.replaced()
    found.read()
    assert same(found.variables["w"], array((10,)))


# ---- memory and calls ----


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """All arrays are numpy's own: tracemalloc sees no others."""
    monkeypatch.setattr(buffers, "LARGE", 1 << 60)


def peak_of(call: Any) -> int:
    """The most memory that a call has at a time, numpy's arrays included."""
    tracemalloc.start()
    try:
        keep = call()
        del keep
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_a_save_copies_no_tensor_and_a_restore_needs_memory_for_the_values_alone(
    tmp_path: Path,
) -> None:
    values = {f"w{i}": array((4 * MEGABYTE,), np.uint8) for i in range(6)}
    assert peak_of(lambda: write_checkpoint(tmp_path / "m", values)) < 2 * MEGABYTE
    total = 24 * MEGABYTE
    assert total <= peak_of(lambda: read_checkpoint(tmp_path / "m")) < total + 2 * MEGABYTE
    found = read_checkpoint(tmp_path / "m", lazy=True)
    assert peak_of(lambda: found.read(values)) < 2 * MEGABYTE
    assert peak_of(found.verify) < 6 * MEGABYTE


@pytest.mark.usefixtures("traced")
def test_the_runtime_keeps_what_was_read_without_a_copy(tmp_path: Path) -> None:
    value = array((8 * MEGABYTE,), np.uint8)
    variable = tf.get_variable("w", value.shape, tf.uint8)
    saver = tf.train.Saver()
    with tf.Session("runtime") as session:
        variable.load(value, session)
        assert peak_of(lambda: saver.save(session, str(tmp_path / "m"))) < 4 * MEGABYTE
    with tf.Session("runtime") as session:
        assert peak_of(lambda: saver.restore(session, str(tmp_path / "m"))) < 12 * MEGABYTE
        assert same(session.run(variable), value)


class Counting(FileLayer):
    """Counts writes."""

    writes = 0

    def write(self, handle: int, data: memoryview) -> int:
        self.writes += 1
        return SYSTEM.write(handle, data)


def test_small_variables_are_written_together(tmp_path: Path) -> None:
    layer = Counting()
    write_checkpoint(tmp_path / "m", {f"w{i}": array((25,)) for i in range(1000)}, layer=layer)
    assert layer.writes < 10


class Hinted(FileLayer):
    """Notes how much was written when parts began their way to the disk, and at the fsync."""

    def __init__(self) -> None:
        self.written = 0
        self.starts: list[tuple[int, int]] = []
        self.synced: list[tuple[int, int]] = []

    def create(self, path: str) -> int:
        self.written, self.starts = 0, []
        return SYSTEM.create(path)

    def write(self, handle: int, data: memoryview) -> int:
        count = SYSTEM.write(handle, data)
        self.written += count
        return count

    def start(self, handle: int, offset: int, count: int) -> None:
        assert offset == sum(n for _, n in self.starts)
        assert offset + count <= self.written
        self.starts.append((offset, count))
        SYSTEM.start(handle, offset, count)

    def fsync(self, handle: int) -> None:
        self.synced.append((self.written, sum(n for _, n in self.starts)))
        SYSTEM.fsync(handle)


def test_a_large_file_is_on_its_way_to_the_disk_before_the_fsync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "START", 8 * files.PAGE)
    values = {f"w{i}": array((40 * files.PAGE + 1,), np.uint8) for i in range(3)}
    layer = Hinted()
    write_checkpoint(tmp_path / "m", values, meta=b"graph", layer=layer)
    shard, *small = layer.synced
    assert 120 * files.PAGE < shard[0] and shard[1] % files.PAGE == 0
    assert shard[0] - shard[1] < files.START + files.PAGE
    assert small and all(started == 0 for _, started in small)
    assert same(read_checkpoint(tmp_path / "m").variables["w2"], values["w2"])


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.uint8, object])
@pytest.mark.parametrize("dims", [(), (0, 3), (5,), (2, buffers.LARGE // 4, 3)])
def test_uncleared_memory_has_its_dtype_and_shape_and_can_be_written(dims: Any, dtype: Any) -> None:
    made = buffers.uncleared(dims, np.dtype(dtype))
    assert made.shape == dims and made.dtype == np.dtype(dtype) and made.flags.c_contiguous
    made[...] = np.ones(dims, dtype)
    assert made.size == 0 or (made.reshape(-1)[-1] == 1 and made.flat[0] == 1)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="large pages are Linux's")
@ENGINES
def test_large_uncleared_memory_begins_where_a_large_page_does(target: str) -> None:
    if target == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    with tf.Session(target=target) as session:
        for extra in (0, 12345, 1 << 20):
            made = session.state.buffer(1, [buffers.LARGE // 4 + extra])
            assert made.ctypes.data % (1 << 21) == 0


@given(st.lists(st.integers(0, 3).flatmap(lambda n: st.integers(0, 10 ** (2 * n)))))
def test_joined_parts_are_the_same_bytes(sizes: list[int]) -> None:
    parts = [bytes([i % 256]) * n for i, n in enumerate(sizes)]
    found = list(files.joined(parts))
    assert b"".join(found) == b"".join(parts)
    assert all(len(part) for part in found) or not sum(sizes)


@given(st.lists(st.integers(0, 200)))
def test_blocks_are_the_same_bytes_from_multiples_of_their_size_on(sizes: list[int]) -> None:
    parts = [np.full(n, i, np.uint8).data for i, n in enumerate(sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", 64)
        found = list(files.in_blocks(parts))
    assert b"".join(found) == b"".join(parts)
    assert all(len(part) % 64 == 0 for part in found[:-1])
    assert all(len(part) for part in found)
    assert len(found) <= 2 * len(parts) + 1


@given(st.integers(0, 3000), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_the_checksum_in_c_is_that_of_the_tables(length: int, start: int, crc: int) -> None:
    data = memoryview(np.random.RandomState(3).bytes(3100))[start : start + length]
    assert crc32c(data, crc) == crc32c_numpy(data, crc)


# ---- lazily ----


def damaged_checkpoint(folder: Path) -> tuple[tf.train.Saver, Any, Any, str]:
    """Variables w, damaged, and b; the saver and the prefix."""
    w = tf.get_variable("w", initializer=tf.constant(array((3000,), np.int32)))
    b = tf.get_variable("b", initializer=tf.constant([1.0, 2.0]))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(folder / "m"))
    found = read_checkpoint(prefix, lazy=True)
    row = next(v for v in found.index.variable if v.name == "w")
    shard = folder / found.index.shard[0].file
    data = bytearray(shard.read_bytes())
    data[row.offset + 11] ^= 1
    shard.write_bytes(data)
    return saver, w, b, prefix


@ENGINES
def test_a_lazy_restore_finds_damage_when_the_variable_is_first_used(
    target: str, tmp_path: Path
) -> None:
    if target == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    saver, w, b, prefix = damaged_checkpoint(tmp_path)
    with tf.Session(target=target) as session:
        with pytest.raises(tf.errors.DataLossError, match="variable 'w'"):
            saver.restore(session, prefix)
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"w", b"b"]
        saver.restore(session, prefix, verify="lazy")
        assert session.run(tf.report_uninitialized_variables()).tolist() == []
        assert session.run(b).tolist() == [1.0, 2.0]
        for _ in range(2):
            with pytest.raises(tf.errors.DataLossError, match="variable 'w'"):
                session.run(w)
        with pytest.raises(tf.errors.DataLossError, match="variable 'w'"):
            saver.save(session, str(tmp_path / "other"))
        session.run(w.assign(np.ones(3000, np.int32)))
        assert session.run(w).sum() == 3000


@ENGINES
@pytest.mark.parametrize("verify", ["full", "lazy"])
def test_training_goes_on_from_what_was_read(target: str, verify: str, tmp_path: Path) -> None:
    if target == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    value = array((PIECE,), np.int32)
    w = tf.get_variable("w", initializer=tf.constant(value))
    step = tf.assign_add(w, tf.ones_like(w))
    flat = tf.train.Saver({"w": w}, reshape=True)
    with tf.Session(target=target) as session:
        session.run(tf.global_variables_initializer())
        prefix = flat.save(session, str(tmp_path / "m"))
        session.run(step)
        flat.restore(session, prefix, verify=verify)
        assert same(session.run(w), value)
        session.run([step, step])
        assert same(session.run(w), value + 1)
        flat.restore(session, prefix, verify=verify)
        assert same(session.run(w), value)
