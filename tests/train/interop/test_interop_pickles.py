"""Pickles in files of torch.save: data is read, programs are refused, and nothing runs."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import EDITS, FOREIGN, bounded, everything, mutated, nothing_runs, torch_file
from hypothesis import given, settings

from graphio.support import errors
from graphio.train.interop.sources import open_source


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
    "a call of a class of storages": (P + b"ctorch\nFloatStorage\n)R.", "calls 'torch.FloatSt"),
    "a call of a value": (P + b"K\x01)R.", "calls 'int'"),
    "a huge LONG4": (P + b"\x8b\xff\xff\xff\x7f.", "opcode LONG4 at"),
    "a long LONG1": (P + b"\x8a\xff" + b"\xff" * 255 + b".", "a whole number of 255 bytes"),
    "a set": (pickle.dumps({1, 2}, 4), "opcode EMPTY_SET at"),
    "an out-of-band buffer": (P + b"\x97.", "opcode NEXT_BUFFER at"),
    "an opcode that does not exist": (P + b"\xff.", "which does not exist"),
    "a new protocol": (b"\x80\x09N.", "has protocol 9"),
    "a key whose hash collides": (P + b"}" + b"\x8a\x0a" + b"\1" * 10 + b"Ns.", "is of type int"),
    "a tuple as a key": (P + b"})Ns.", "is of type tuple"),
    "a reference to no storage": (P + b"K\x01Q.", "refers to something other than a storage"),
}
BROKEN: dict[str, tuple[bytes, str]] = {
    "an empty pickle": (b"", "it is cut off"),
    "nothing on the stack": (P + b".", "a value is missing"),
    "values left over": (P + b"K\1K\2.", "values are left over"),
    "bytes behind the end": (P + b"N.N.", "bytes follow its end"),
    "a length beyond the end": (P + b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx.", "it is cut off"),
    "a memo of nothing": (P + b"h\x05.", "value 5 is not in the memo"),
    "no mark": (P + b"t.", "a mark is missing"),
    "a mark as a value": (P + b"(\x85.", "a value is missing"),
    "a remembered mark": (P + b"(q\0.", "no value to remember"),
    "a frame beyond the end": (P + b"\x95\xff\0\0\0\0\0\0\0N.", "a frame is cut off"),
    "text other than UTF-8": (P + b"\x8c\1\xff.", "not UTF-8"),
    "an odd number of items": (P + b"}(Nu.", "a key has no value"),
    "an append to a string": (P + text("x") + b"Na.", "has no list to work on"),
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


def test_two_values_of_one_name_are_refused(tmp_path: Path) -> None:
    path = torch_file(tmp_path / "m.pt", pickle.dumps({"a.b": 1, "a": {"b": 2}}, 2))
    with pytest.raises(errors.InvalidArgumentError, match="two values have the name 'a.b'"):
        open_source(path)


# ---- the archive around the pickle ----


def with_entry(path: Path, name: str, data: bytes) -> Path:
    """The small archive of one tensor with one entry more."""
    torch_file(path, rebuild((2,), (1,), 0), {"0": np.array([1, 2, 3, 4], ">f4").tobytes()})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, data)
    return path


def test_big_endian_storages_are_swapped(tmp_path: Path) -> None:
    path = with_entry(tmp_path / "m.pt", "a/byteorder", b"big")
    assert open_source(path).array("w").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("b/data.pkl", "not one of torch.save's"),
        ("a/constants.pkl", "a TorchScript program; save the module's state_dict"),
        ("a/byteorder", "neither little nor big"),
    ],
)
def test_other_archives_are_refused(name: str, words: str, tmp_path: Path) -> None:
    path = with_entry(tmp_path / "m.pt", name, b"?")
    with pytest.raises(errors.OpError, match=words):
        open_source(path)


STORAGE = b"ctorch\nFloatStorage\n"
UNTYPED = b"ctorch.storage\nUntypedStorage\n"
COUNT = b"K\x04"


def reference(kind: bytes, key: bytes, count: bytes) -> bytes:
    """A storage's persistent id."""
    return b"(" + text("storage") + kind + key + text("cpu") + count + b"tQ"


@pytest.mark.parametrize(
    "storage",
    [
        reference(STORAGE, b"K\0", COUNT),
        reference(STORAGE, text("0"), text("4")),
        reference(STORAGE, text("0"), b"\x88"),
        reference(b"ctorch\nfloat32\n", text("0"), COUNT),
        reference(text("FloatStorage"), text("0"), COUNT),
    ],
)
def test_a_storage_that_is_described_by_something_else_is_refused(
    storage: bytes, tmp_path: Path
) -> None:
    path = torch_file(tmp_path / "m.pt", P + storage + b".", {"0": bytes(16)})
    with pytest.raises(errors.DataLossError, match="described by other things than its own"):
        open_source(path)


@pytest.mark.parametrize(
    ("storage", "dtype"),
    [
        (reference(STORAGE, text("0"), COUNT), b"ctorch\nuint16\n"),
        (reference(UNTYPED, text("0"), b"K\x10"), text("uint16")),
        (reference(UNTYPED, text("0"), b"K\x10"), b"ctorch\nFloatStorage\n"),
        (b"N", b"ctorch\nuint16\n"),
    ],
)
def test_a_tensor_of_bytes_needs_a_dtype(storage: bytes, dtype: bytes, tmp_path: Path) -> None:
    data = b"ctorch._utils\n_rebuild_tensor_v3\n(" + storage + b"K\0K\1\x85K\1\x85\x89N"
    path = torch_file(tmp_path / "m.pt", P + data + dtype + b"tR.", {"0": bytes(16)})
    with pytest.raises(errors.DataLossError, match="view of no storage, or has no dtype"):
        open_source(path)


# ---- values without end ----


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
    with bounded(400), pytest.raises(errors.InvalidArgumentError, match="are nested deeper"):
        open_source(path)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(edits=EDITS)
def test_a_mutated_pickle_is_read_or_refused_with_our_errors(
    edits: list[tuple[str, float, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The archive around it is valid, so that the pickle's bytes are reached."""
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
