"""Damaged and malicious files of other frameworks: refused with words, and nothing runs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import shutil
import struct
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.schema import errors
from graphio.schema.crc32c import crc32c
from graphio.train.interop import formats, snappy, table
from graphio.train.sources import open_source

FOREIGN = Path(__file__).resolve().parent / "golden" / "foreign"
Found = dict[str, tuple[Any, ...]]
Rows = list[tuple[bytes, bytes]]  # keys and values of a table


def everything(path: Path) -> Found:
    """All values of a file, compared by their bytes."""
    source = open_source(path)
    found = {name: source.array(name) for name in source.entries()}
    return {
        name: (str(a.dtype), a.shape, a.tolist() if a.dtype == object else a.tobytes())
        for name, a in found.items()
    }


# ---- nothing runs ----

#: what a reader may do: open files below this folder for reading
_ALLOWED: list[str] = []
_SEEN: list[str] = []
_QUIET = {"object.__getattr__", "object.__setattr__", "object.__delattr__", "mmap.__new__"}


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _ALLOWED or event.startswith(("array", "builtins.id", "sys._getframe", "gc.")):
        return
    if (
        event == "open"
        and str(arguments[0]).startswith(_ALLOWED[0])
        and arguments[1] in (None, "r")
    ):
        return
    if event not in _QUIET and not event.startswith("os.listdir"):
        _SEEN.append(f"{event} {arguments!r:.200}")


sys.addaudithook(_audit)


@contextlib.contextmanager
def nothing_runs(folder: Path) -> Iterator[None]:
    """Fails when anything inside imports, compiles, executes, or opens a file elsewhere."""
    _SEEN.clear()
    _ALLOWED.append(str(folder))
    try:
        yield
    finally:
        _ALLOWED.clear()
    assert not _SEEN


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """The modules that the readers import late are there before anything is watched."""
    assert formats
    for name in ("torch_state.pt", "tf_saver"):
        everything(FOREIGN / name)


def test_the_watch_sees_an_import_an_exec_and_an_open(tmp_path: Path) -> None:
    for act in (
        lambda: exec("1"),
        lambda: __import__("colorsys"),
        lambda: open("/dev/null").close(),
        lambda: open(tmp_path / "x", "w").close(),
    ):
        sys.modules.pop("colorsys", None)
        with pytest.raises(AssertionError), nothing_runs(tmp_path):
            act()


# ---- pickles ----


def torch_file(path: Path, data: bytes, storages: dict[str, bytes] | None = None) -> Path:
    """An archive like torch.save's around a pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", data)
        for key, content in (storages or {}).items():
            archive.writestr(f"a/data/{key}", content)
    return path


class Runs:
    """Pickled, it is a call of os.system."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/graphio_was_here",)


class Evaluates:
    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


class Gets:
    def __reduce__(self) -> Any:
        return getattr, (os, "system")


class Built:
    def __init__(self) -> None:
        self.state = 1


def text(value: str) -> bytes:
    """A short text's opcodes."""
    return b"\x8c" + bytes([len(value)]) + value.encode()


P = b"\x80\x02"
TRICKS: dict[str, tuple[bytes, str]] = {
    "os.system by protocol 2": (pickle.dumps({"w": Runs()}, 2), "system'"),
    "os.system by protocol 4": (pickle.dumps({"w": Runs()}, 4), "system'"),
    "os.system by protocol 0": (pickle.dumps(Runs(), 0), "system'"),
    "eval": (pickle.dumps(Evaluates(), 2), "asks for '__builtin__.eval'"),
    "getattr": (P + b"c__builtin__\ngetattr\n.", "asks for '__builtin__.getattr'"),
    "a dotted name": (P + text("torch") + text("serialization.os.system") + b"\x93.", "asks for"),
    "a name in a known module": (P + b"ctorch\nload\n.", "asks for 'torch.load'"),
    "a class with attributes": (pickle.dumps(Built(), 2), "asks for '.*_reconstructor|asks for"),
    "NEWOBJ": (P + b"ctorch\nSize\n)\x81.", "opcode NEWOBJ at"),
    "NEWOBJ_EX": (P + b"ctorch\nSize\n)}\x92.", "opcode NEWOBJ_EX at"),
    "INST": (P + b"(ios\nsystem\n.", "opcode INST at"),
    "OBJ": (P + b"(ctorch\nSize\no.", "opcode OBJ at"),
    "EXT1": (P + b"\x82\x01.", "opcode EXT1 at"),
    "EXT2": (P + b"\x83\x01\0.", "opcode EXT2 at"),
    "EXT4": (P + b"\x84\x01\0\0\0.", "opcode EXT4 at"),
    "PERSID": (P + b"Pstorage\n.", "opcode PERSID at"),
    "BUILD of no dict": (P + b"ctorch\nSize\n)R}b.", "sets attributes of an object"),
    "BUILD of a function": (P + b"ctorch\nSize\n}b.", "sets attributes of an object"),
    "a call of what is no function": (P + b"ctorch\nFloatStorage\n)R.", "calls 'torch.FloatSt"),
    "a call of a value": (P + b"K\x01)R.", "calls 'int'"),
    "a huge LONG4": (P + b"\x8b\xff\xff\xff\x7f.", "opcode LONG4 at"),
    "a long LONG1": (P + b"\x8a\xff" + b"\xff" * 255 + b".", "a whole number of 255 bytes"),
    "a set": (pickle.dumps({1, 2}, 4), "opcode EMPTY_SET at"),
    "an out-of-band buffer": (P + b"\x97.", "opcode NEXT_BUFFER at"),
    "an opcode that does not exist": (P + b"\xff.", "which does not exist"),
    "a new protocol": (b"\x80\x09N.", "has protocol 9"),
    "a key whose hash collides": (P + b"}" + b"\x8a\x0a" + b"\1" * 10 + b"Ns.", "is of type int"),
    "a tuple as a key": (P + b"})Ns.", "is of type tuple"),
    "a reference to no storage": (P + b"K\x01Q.", "refers to something that is no storage"),
}
BROKEN: dict[str, tuple[bytes, str]] = {
    "an empty pickle": (b"", "it is cut off"),
    "nothing on the stack": (P + b".", "a value is missing"),
    "values left over": (P + b"K\1K\2.", "values are left over"),
    "bytes behind the end": (P + b"N.N.", "bytes follow its end"),
    "a length beyond the end": (P + b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx.", "it is cut off"),
    "a memo of nothing": (P + b"h\x05.", "value 5 was never remembered"),
    "no mark": (P + b"t.", "a mark is missing"),
    "a mark as a value": (P + b"(\x85.", "a value is missing"),
    "a remembered mark": (P + b"(q\0.", "no value to remember"),
    "a frame beyond the end": (P + b"\x95\xff\0\0\0\0\0\0\0N.", "a frame is cut off"),
    "text that is no UTF-8": (P + b"\x8c\1\xff.", "no UTF-8"),
    "an odd number of items": (P + b"}(Nu.", "a key has no value"),
    "an append to a text": (P + text("x") + b"Na.", "has no list to work on"),
    "an unended name": (P + b"ctorch", "a name is cut off"),
    "wrong arguments": (P + b"ccollections\nOrderedDict\n(NNtR.", "that it does not have"),
    "a parameter of nothing": (P + b"ctorch._utils\n_rebuild_parameter\n(NNNtR.", "no tensor"),
    "a tensor of nothing": (P + b"ctorch._utils\n_rebuild_tensor_v2\n(NK\0))NNtR.", "no storage"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_pickle_that_is_a_program_is_refused_by_name(trick: str, tmp_path: Path) -> None:
    data, words = TRICKS[trick]
    path = torch_file(tmp_path / "m.pt", data)
    with nothing_runs(tmp_path), pytest.raises(errors.InvalidArgumentError, match=words):
        open_source(path)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_pickle_is_data_loss(kind: str, tmp_path: Path) -> None:
    data, words = BROKEN[kind]
    path = torch_file(tmp_path / "m.pt", data)
    with nothing_runs(tmp_path), pytest.raises(errors.DataLossError, match=words):
        open_source(path)


def test_every_opcode_that_is_read_is_of_protocol_2_or_4_and_makes_data(tmp_path: Path) -> None:
    """All 256 first bytes: what is taken is a short list."""
    taken = []
    for code in range(256):
        path = torch_file(tmp_path / "m.pt", P + b"NNN" + bytes([code]) + b"\0" * 16 + b".")
        with nothing_runs(tmp_path):
            try:
                open_source(path)
            except errors.InvalidArgumentError as error:
                if "has the opcode" in error.message and "at byte 5;" in error.message:
                    continue
            except errors.DataLossError:
                pass
        taken.append(chr(code))
    assert "".join(taken) == "".join(
        sorted("()BCGJKMNQRTUX]abcehjqrstu}.\x80\x85\x86\x87\x88\x89\x8a\x8c\x8d\x8e\x93\x94\x95")
    )


def rebuild(size: tuple[int, ...], stride: tuple[int, ...], offset: int, count: int = 4) -> bytes:
    """A state dict of one float32 tensor "w" over the storage "0"."""

    def number(value: int) -> bytes:
        return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(map(number, values)) + b"t"

    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu")
    storage += number(count) + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + numbers(size)
    return (
        P + b"}" + text("w") + tensor + numbers(stride) + b"\x89ccollections\nOrderedDict\n)RtRs."
    )


@pytest.mark.parametrize(
    ("size", "stride", "offset", "words"),
    [
        ((5,), (1,), 0, "reaches beyond its 4 elements"),
        ((2, 2), (3, 1), 1, "reaches beyond"),
        ((4,), (1,), 1, "reaches beyond"),
        ((2,), (1 << 62,), 0, "reaches beyond"),
        ((), (), 4, "reaches beyond"),
        ((0,), (1,), 1 << 62, "reaches beyond"),
        ((1 << 24, 1 << 24), (0, 0), 0, "repeats its 4 elements"),
        ((1 << 62, 1 << 62), (0, 0), 0, "impossible"),
        ((-1,), (1,), 0, "no sizes or strides"),
        ((2,), (-1,), 1, "no sizes or strides"),
        ((2,), (1,), -1, "no sizes or strides"),
        ((2,), (1, 1), 0, "1 sizes and 2 strides"),
        ((1,) * 17, (1,) * 17, 0, "rank 17"),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int, words: str, tmp_path: Path
) -> None:
    data = rebuild(size, stride, offset)
    path = torch_file(tmp_path / "m.pt", data, {"0": np.float32([1, 2, 3, 4]).tobytes()})
    with pytest.raises(errors.OpError, match=words):
        open_source(path)


def test_tensors_that_lie_in_their_storage_are_read(tmp_path: Path) -> None:
    """The control of the test above."""
    storage = {"0": np.float32([1, 2, 3, 4]).tobytes()}
    for size, stride, offset, value in (
        ((2, 2), (1, 2), 0, [[1, 3], [2, 4]]),
        ((2,), (2,), 1, [2, 4]),
        ((0, 9), (5, 1), 4, []),
    ):
        path = torch_file(tmp_path / "m.pt", rebuild(size, stride, offset), storage)
        assert open_source(path).array("w").tolist() == value


@pytest.mark.parametrize(
    ("storages", "words"),
    [
        ({}, "bytes of the storage '0' are missing"),
        ({"0": b"123"}, "of 4 elements has 3 bytes"),
        ({"0": b"1" * 17}, "of 4 elements has 17 bytes"),
    ],
)
def test_a_storage_of_another_size_is_refused(
    storages: dict[str, bytes], words: str, tmp_path: Path
) -> None:
    path = torch_file(tmp_path / "m.pt", rebuild((4,), (1,), 0), storages)
    with pytest.raises(errors.DataLossError, match=words):
        open_source(path)


# ---- bombs ----


@contextlib.contextmanager
def bounded(megabytes: int) -> Iterator[None]:
    """Fails when Python takes more memory inside."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes << 20


def doubling(levels: int) -> bytes:
    """Dicts that hold the one before twice: 2^levels values in a few bytes."""
    data = P + b"](}" + text("x") + b"Nsq\0"
    for i in range(1, levels):
        data += b"}(" + text("a") + b"h" + bytes([i - 1]) + text("b") + b"h" + bytes([i - 1])
        data += b"uq" + bytes([i])
    return data + b"e."


def long_names() -> bytes:
    """Many values under one very long name."""
    name = b"X" + (500_000).to_bytes(4, "little") + b"n" * 500_000
    return P + b"}" + name + b"](" + b"N" * 400_000 + b"es."


@pytest.mark.parametrize(
    "data",
    [
        doubling(40),
        doubling(200),
        P + b"]" * 50_000 + b"a" * 49_999 + b".",
        P + b"N" + b"\x85" * 50_000 + b".",
        P + b"]q\0h\0a.",
        long_names(),
    ],
    ids=["2^40 values", "2^200 values", "deep lists", "deep tuples", "a cycle", "long names"],
)
def test_values_without_end_are_refused(data: bytes, tmp_path: Path) -> None:
    path = torch_file(tmp_path / "m.pt", data)
    with bounded(400), pytest.raises(errors.InvalidArgumentError, match="lie in each other deeper"):
        open_source(path)


def test_a_zip_bomb_is_bounded_by_what_its_entry_says(tmp_path: Path) -> None:
    """200 MB of zeros in 200 KB: an honest entry; then one that claims less than it unpacks to."""
    path = tmp_path / "m.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(200 << 20))
    with bounded(50), pytest.raises(errors.DataLossError, match="does not start as a .npy"):
        open_source(path)
    head = io.BytesIO()
    np.lib.format.write_array(head, np.zeros(8))
    data = head.getvalue() + bytes(50 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", data)
    raw = path.read_bytes()
    size, small = len(data).to_bytes(4, "little"), len(head.getvalue()).to_bytes(4, "little")
    assert raw.count(size) == 2
    path.write_bytes(raw.replace(size, small))
    with bounded(20), pytest.raises(errors.DataLossError, match="does not unpack to its size"):
        open_source(path).array("x")


def test_a_numpy_header_larger_than_its_bytes_is_refused(tmp_path: Path) -> None:
    head = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 30, 1 << 20)}
    np.lib.format.write_array_header_1_0(head, header)
    (tmp_path / "m.npy").write_bytes(head.getvalue() + bytes(64))
    with bounded(5), pytest.raises(errors.DataLossError, match="64 bytes follow its header"):
        open_source(tmp_path / "m.npy")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'descr': '<f8', 'shape': (1,)}",
        "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 300 + ",)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "(" * 5000,
        " " * 9000 + "{",
    ],
)
def test_numpy_headers_are_never_evaluated(header: str, tmp_path: Path) -> None:
    text = header.encode() + b"\n"
    path = tmp_path / "m.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(8))
    with nothing_runs(tmp_path), pytest.raises(errors.DataLossError):
        open_source(path)


# ---- zip archives ----


def npz(path: Path) -> bytearray:
    """A small archive with one stored and one deflated array."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, kind in (("s", zipfile.ZIP_STORED), ("d", zipfile.ZIP_DEFLATED)):
            data = io.BytesIO()
            np.lib.format.write_array(data, np.arange(5.0))
            archive.writestr(f"{name}.npy", data.getvalue(), kind)
    return bytearray(path.read_bytes())


def central(data: bytearray, number: int) -> int:
    """Where the number-th entry of the directory is."""
    at = -1
    for _ in range(number + 1):
        at = data.index(b"PK\1\2", at + 1)
    return at


def edited(at: int, form: str, value: int) -> Callable[[bytearray], None]:
    """Writes a number into the second entry of the directory."""

    def edit(data: bytearray) -> None:
        struct.pack_into(form, data, central(data, 1) + at, value)

    return edit


def end(at: int, form: str, value: int) -> Callable[[bytearray], None]:
    """Writes a number into the end record."""

    def edit(data: bytearray) -> None:
        struct.pack_into(form, data, len(data) - 22 + at, value)

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (edited(8, "<H", 1), "is encrypted"),
        (edited(8, "<H", 1 << 5), "is packed by method 8, flags 0x20"),
        (edited(10, "<H", 12), "is packed by method 12"),
        (edited(10, "<H", 0), "cannot become"),
        (edited(16, "<I", 5), "given in two ways"),
        (edited(24, "<I", 1 << 31), "larger than the file can be"),
        (edited(24, "<I", 100_000), "cannot become"),
        (edited(42, "<I", 0), "described in two ways|overlaps"),
        (edited(42, "<I", 5000), "starts beyond the entries"),
        (edited(46, "<B", ord("x")), "described in two ways"),
        (edited(46, "<B", 0xFF), "no UTF-8"),
        (edited(46, "<B", ord("s")), "there twice"),
        (edited(28, "<H", 60000), "entry of its zip directory is broken"),
        (end(4, "<H", 1), "several parts"),
        (end(10, "<H", 3), "several parts"),
        (end(12, "<I", 5), "does not end where"),
        (end(16, "<I", 5), "does not end where"),
        (end(20, "<H", 5), "bytes follow the end"),
    ],
)
def test_a_broken_archive_is_refused(
    edit: Callable[[bytearray], None], words: str, tmp_path: Path
) -> None:
    data = npz(tmp_path / "m.npz")
    assert len(everything(tmp_path / "m.npz")) == 2
    edit(data)
    (tmp_path / "m.npz").write_bytes(data)
    with pytest.raises(errors.OpError, match=words):
        everything(tmp_path / "m.npz")


def test_an_archive_whose_entries_share_bytes_is_refused(tmp_path: Path) -> None:
    """The trick of small bombs: an entry lies in another one's bytes."""
    data = npz(tmp_path / "m.npz")
    second = central(data, 1)
    inner = bytes(data[: struct.unpack_from("<I", data, second + 42)[0]])
    row = bytearray(data[central(data, 0) : second])
    struct.pack_into("<I", row, 42, 31)  # behind the header of "o", which is 30 bytes and its name
    sizes = (zlib.crc32(inner), len(inner), len(inner), 1, 0)
    body = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, *sizes) + b"o" + inner
    outer = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, *sizes, 0, 0, 0, 0, 0)
    directory = outer + b"o" + row
    tail = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 2, 2, len(directory), len(body), 0)
    (tmp_path / "m.npz").write_bytes(body + directory + tail)
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        assert archive.namelist() == ["o", "s.npy"]  # a lenient reader takes it
    with pytest.raises(errors.DataLossError, match="overlaps another"):
        open_source(tmp_path / "m.npz")


# ---- safetensors ----


def header(text: str | bytes, data: bytes = b"") -> bytes:
    """A safetensors file of a header and bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return len(raw).to_bytes(8, "little") + raw + data


def row(name: str = "a", kind: str = "U8", shape: Any = (1,), offsets: Any = (0, 1)) -> str:
    """A tensor's line of the header."""
    value = {"dtype": kind, "shape": shape, "data_offsets": offsets}
    return f"{json.dumps(name)}:{json.dumps(value)}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (header("{}")[:7], "none of .safetensors"),
        ((1 << 63).to_bytes(8, "little") + b"{}", "at most 100000000"),
        ((99).to_bytes(8, "little") + b"{}", "2 follow"),
        (header("{"), "JSON is broken"),
        (header("{} x"), "JSON is broken"),
        (header('{"a":' + "[" * 50_000 + "}"), "JSON is broken"),
        (header(b'{"\xff":1}'), "JSON is broken"),
        (header('{"a":NaN}'), "JSON is broken"),
        (header('{"a":' + "9" * 5000 + "}"), "JSON is broken"),
        (header("{" + row("\ud800") + "}", b"x"), "JSON is broken"),
        (header("{" + row() + "," + row() + "}", b"x"), "twice"),
        (
            header('{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
            "twice",
        ),
        (header('{"a":{"dtype":"U8","shape":[1]}}', b"x"), "lacks one of"),
        (header('{"a":1}', b"x"), "lacks one of"),
        (header("{" + row(shape=[-1]) + "}", b"x"), "of another type"),
        (header("{" + row(shape=[True]) + "}", b"x"), "of another type"),
        (header("{" + row(shape=[1.0]) + "}", b"x"), "of another type"),
        (header("{" + row(shape="1") + "}", b"x"), "of another type"),
        (header("{" + row(offsets=[1, 0]) + "}", b"x"), "has the data_offsets"),
        (header("{" + row(offsets=[0, 1, 1]) + "}", b"x"), "has the data_offsets"),
        (header("{" + row(shape=[2]) + "}", b"x"), "has 1 bytes"),
        (header("{" + row(kind="F32") + "}", b"x"), "has 1 bytes"),
        (header("{" + row(shape=[1 << 40, 1 << 40]) + "}", b"x"), "impossible"),
        (header("{" + row(shape=[1] * 17) + "}", b"x"), "rank 17"),
        (header("{" + row() + "}", b"xy"), "end at 1, 2 bytes"),
        (header("{" + row() + "}"), "end at 1, 0 bytes"),
        (header("{" + row() + "," + row("b") + "}", b"x"), "overlaps"),
        (header("{" + row() + "," + row("b", offsets=[2, 3]) + "}", b"xyz"), "after a gap"),
        (header('{"__metadata__":{"a":1}}'), "__metadata__ is no map"),
        (header('{"__metadata__":[]}'), "__metadata__ is no map"),
    ],
)
def test_a_broken_safetensors_file_is_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with nothing_runs(tmp_path), pytest.raises(errors.OpError, match=words):
        open_source(path)


@pytest.mark.parametrize(
    "name", ["../m.safetensors", "/etc/passwd", "a/m.safetensors", "..", "", ".hidden", "a\0b", 1]
)
def test_an_index_leads_to_no_file_outside_its_folder(name: Any, tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    tf.train.export_variables({"a": [1.0]}, tmp_path / "m.safetensors")
    index = inside / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": name}}))
    with nothing_runs(inside), pytest.raises(errors.DataLossError, match="no plain file name"):
        open_source(index)


@pytest.mark.parametrize(
    ("weight_map", "kind", "words"),
    [
        (dict.fromkeys("abz", "m.safetensors"), errors.DataLossError, "lacks 'z'"),
        ({"a": "m.safetensors"}, errors.DataLossError, "has 'b', the index does not say so"),
        ({"a": "x.safetensors"}, errors.NotFoundError, "'.*x.safetensors', which its index names"),
        ([], errors.DataLossError, "has no weight_map"),
    ],
)
def test_an_index_that_does_not_agree_with_its_files_is_refused(
    weight_map: Any, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    tf.train.export_variables({"a": [1.0], "b": [2.0]}, tmp_path / "m.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(kind, match=words):
        open_source(index)


# ---- every bit and every length ----

#: file of a golden checkpoint: what is opened, the bits of a byte that are flipped, and which
#: bytes its format does not protect
FLIPPED = {
    "tf_sharded.index": ("tf_sharded", 8),
    "tf_sharded.data-00000-of-00002": ("tf_sharded", 8),
    "tf_saver.index": ("tf_saver", 1),
    "tf_saver.data-00000-of-00001": ("tf_saver", 1),
    "tf_objects.data-00000-of-00001": ("tf_objects", 1),
    "torch_tiny.pt": ("torch_tiny.pt", 8),
}


def unprotected(file: str, data: bytes) -> set[int]:
    """Bytes that a flip may change without any value changing."""
    if file.startswith("tf"):
        return set()
    read = ("data.pkl", "byteorder", "data/0")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside: set[int] = set()
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename)
            start += struct.unpack_from("<H", data, info.header_offset + 28)[0]
            if info.filename.split("/", 1)[1] in read:
                inside.update(range(start, start + info.file_size))
    return set(range(len(data))) - inside


@pytest.mark.parametrize("file", FLIPPED)
def test_a_flipped_bit_is_refused_or_changes_no_value(file: str, tmp_path: Path) -> None:
    opened, bits = FLIPPED[file]
    for part in FOREIGN.glob(f"{Path(opened).stem}.*"):
        shutil.copy(part, tmp_path)
    path, data = tmp_path / file, (FOREIGN / file).read_bytes()
    truth, free = everything(tmp_path / opened), unprotected(file, data)
    refused = 0
    for at in range(len(data)):
        for bit in range(bits) if at not in free else [at % 8]:
            flipped = bytearray(data)
            flipped[at] ^= 1 << (bit if bits == 8 else at % 8)
            path.write_bytes(flipped)
            try:
                found = everything(tmp_path / opened)
            except errors.OpError:
                refused += 1
                continue
            assert found == truth, f"byte {at}, bit {bit} changed a value"
            assert at in free, f"byte {at}, bit {bit} was not noticed"
    assert refused >= (len(data) - len(free)) * bits > 0


@pytest.mark.parametrize("file", [*FLIPPED, "torch_training.pt", "tf_objects.index"])
def test_a_file_cut_off_anywhere_is_refused(file: str, tmp_path: Path) -> None:
    opened = file if file.endswith(".pt") else file.split(".")[0]
    for part in FOREIGN.glob(f"{Path(opened).stem}.*"):
        shutil.copy(part, tmp_path)
    data = (FOREIGN / file).read_bytes()
    step = 1 if len(data) < 600 else 7
    for length in range(0, len(data), step):
        (tmp_path / file).write_bytes(data[:length])
        with pytest.raises(errors.OpError):
            everything(tmp_path / opened)
    (tmp_path / file).write_bytes(data + b"\0")
    with pytest.raises(errors.OpError):
        everything(tmp_path / opened)


# ---- TensorFlow checkpoints ----


def number(value: int) -> bytes:
    """A varint."""
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def masked(data: bytes) -> bytes:
    """A checksum as TensorFlow stores it."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def block(rows: Rows, packing: int = 0) -> bytes:
    """A block with its trailer; keys are not shared."""
    content = b"".join(b"\0" + number(len(k)) + number(len(v)) + k + v for k, v in rows)
    return sealed(content + struct.pack("<2I", 0, 1), packing)


def sealed(content: bytes, packing: int) -> bytes:
    """Bytes with the trailer of a block."""
    content += bytes([packing])
    return content + masked(content)


def table_of(rows: Rows, data: bytes | None = None) -> bytes:
    """An index file of one block."""
    first = block(rows) if data is None else data
    filters, index = block([]), block([(b"\xff", number(0) + number(len(first) - 5))])
    places = (len(first), len(filters) - 5, len(first) + len(filters), len(index) - 5)
    footer = b"".join(map(number, places)).ljust(40, b"\0")
    return first + filters + index + footer + table.MAGIC


def field(tag: int, value: int | bytes) -> bytes:
    """A protobuf field; a checksum's is fixed."""
    if isinstance(value, bytes):
        return number(tag << 3 | 2) + number(len(value)) + value
    return number(tag << 3) + number(value & ((1 << 64) - 1))


def entry(
    kind: int, dims: tuple[int, ...], offset: int, data: bytes, *, size: int | None = None,
    shard: int = 0, slices: tuple[bytes, ...] = ()
) -> bytes:  # fmt: skip
    """A BundleEntry."""
    shape = b"".join(field(2, field(1, dim)) for dim in dims)
    made = field(1, kind) + field(2, shape) + field(3, shard) + field(4, offset)
    made += field(5, len(data) if size is None else size) + b"\x35" + masked(data)
    return made + b"".join(field(7, extents) for extents in slices)


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
        ([(b"x", entry(1, (5,), 0, X))], X, b"\x08\1", r"float32\[5\] has 16 bytes"),
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
        ([(b"\xfe", entry(1, (4,), 0, X))], X, b"\x08\1", "no UTF-8"),
        ([(b"_CHECKPOINTABLE_OBJECT_GRAPH", entry(1, (4,), 0, X))], X, b"\x08\1", "is no text"),
        ([(b"x", b"\x08")], X, b"\x08\1", "cut off, too large"),
        ([(b"x", b"\x0f")], X, b"\x08\1", "wire type 7"),
        ([(b"x", b"\x00\1")], X, b"\x08\1", "field 0"),
        ([(b"x", b"\x12\x7f")], X, b"\x08\1", "a message is cut off"),
        ([(b"x", b"\x08" + b"\xff" * 9 + b"\x7f")], X, b"\x08\1", "cut off, too large"),
        ([(b"x", b"\x10\1")], X, b"\x08\1", "has no length"),
        ([(b"x", b"\x0a\0")], X, b"\x08\1", "is no number"),
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


def parts(*places: tuple[int, int], dims: tuple[int, ...] = (4,)) -> Rows:
    """A partitioned variable "p" with parts at (start, length); each lies at its start."""
    whole = tuple(field(1, field(1, s) + field(2, n)) for s, n in places)
    rows = {
        table.slice_key("p", [place]): entry(1, place[1:], 4 * i, X[4 * i : 4 * (i + place[1])])
        for i, place in enumerate(places)
    }
    return [*sorted(rows.items()), (b"p", entry(1, dims, 0, b"", slices=whole))]


@pytest.mark.parametrize(
    ("rows", "data", "words"),
    [
        (parts((0, 1), (0, 1), dims=(2,)), X[:8], "there twice"),
        (parts((0, 1), (1, 1)), X[:8], "are not its whole"),
        (parts((0, 1)), X[:4], "are not its whole"),
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


# ---- mutated files ----

SEEDS = ("torch_tiny.pt", "torch_state.pt", "tf_saver", "tf_objects", "m.npz", "m.safetensors")


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("seeds")
    shutil.copytree(FOREIGN, folder, dirs_exist_ok=True)
    np.savez_compressed(folder / "m.npz", a=np.arange(4.0), t=np.array(["x", "yz"]))
    tf.train.export_variables({"a": np.arange(3.0), "b": np.float32(1)}, folder / "m.safetensors")
    return folder


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["put", "cut", "double", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=9),
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, edits: list[tuple[str, float, bytes]]) -> bytes:
    """Bytes after some edits, each at a fraction of their length."""
    for kind, fraction, piece in edits:
        at = int(len(data) * fraction)
        if kind == "put":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "insert":
            data = data[:at] + piece + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + len(piece) :]
        else:
            data = data[:at] + data[at : at + 40 * len(piece)] + data[at:]
    return data


@pytest.mark.parametrize("seed", SEEDS)
@settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(edits=EDITS, target=st.integers(0, 1))
def test_a_mutated_file_is_read_or_refused_with_our_errors(
    seed: str, edits: list[tuple[str, float, bytes]], target: int, seeds: Path, tmp_path: Path
) -> None:
    stem = Path(seed).stem
    files = sorted(p for p in seeds.glob(f"{stem}.*") if "expected" not in p.name)
    for i, file in enumerate(files):
        data = file.read_bytes()
        hit = i == target % len(files)
        (tmp_path / file.name).write_bytes(mutated(data, edits) if hit else data)
    with nothing_runs(tmp_path), contextlib.suppress(errors.OpError):
        everything(tmp_path / seed)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(edits=EDITS)
def test_a_mutated_pickle_is_read_or_refused_with_our_errors(
    edits: list[tuple[str, float, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The archive around it is whole, so that the pickle's bytes are reached."""
    folder = tmp_path_factory.mktemp("p")
    with zipfile.ZipFile(FOREIGN / "torch_state.pt") as archive:
        data = {i.filename: archive.read(i) for i in archive.infolist()}
    root = "torch_state/"
    pickled = mutated(data.pop(root + "data.pkl"), edits)
    with zipfile.ZipFile(folder / "m.pt", "w") as archive:
        archive.writestr(root + "data.pkl", pickled)
        for name, content in data.items():
            archive.writestr(name, content)
    with nothing_runs(folder), contextlib.suppress(errors.OpError):
        everything(folder / "m.pt")


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
