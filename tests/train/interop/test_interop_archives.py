"""Broken and malicious zip archives and files of numpy are refused."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from foreign_files import bounded, everything, nothing_runs

import graphio as tf
from graphio.support import errors
from graphio.train.interop.sources import open_source


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


def test_a_numpy_header_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.npy").write_bytes(b"\x93NUMPY\1\0\xff\xff{'descr'")
    with pytest.raises(errors.DataLossError, match="its header ends at 65545, there are 18 bytes"):
        open_source(tmp_path / "m.npy")


@pytest.mark.parametrize("kind", ["|S0", "<U0"])
def test_endless_strings_of_no_bytes_are_refused(kind: str, tmp_path: Path) -> None:
    for count in (3, 1 << 40):
        head = io.BytesIO()
        header = {"descr": kind, "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(head, header)
        (tmp_path / "m.npy").write_bytes(head.getvalue())
        if count == 3:
            assert open_source(tmp_path / "m.npy").array("m").tolist() == [b""] * 3
            continue
        with pytest.raises(errors.DataLossError, match="1099511627776 strings without a byte"):
            open_source(tmp_path / "m.npy").array("m")


def test_text_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    data = io.BytesIO()
    np.save(data, np.array(["ab"]))
    for code in (0x110000, 0xD800, 0xFFFFFFFF):
        raw = data.getvalue()[:-4] + code.to_bytes(4, "little")
        (tmp_path / "m.npy").write_bytes(raw)
        with pytest.raises(errors.DataLossError, match="characters outside Unicode"):
            everything(tmp_path / "m.npy")


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


def end(at: int, form: str, *values: int) -> Callable[[bytearray], None]:
    """Writes numbers into the end record, or before it."""

    def edit(data: bytearray) -> None:
        struct.pack_into(form, data, len(data) - 22 + at, *values)

    return edit


def local(at: int, form: str, value: int) -> Callable[[bytearray], None]:
    """Writes a number into the first entry, which is at the start."""

    def edit(data: bytearray) -> None:
        struct.pack_into(form, data, at, value)

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
        (edited(46, "<B", 0xFF), "not UTF-8"),
        (edited(46, "<B", ord("s")), "there twice"),
        (edited(28, "<H", 60000), "entry of its zip directory is broken"),
        (end(4, "<H", 1), "several parts"),
        (end(10, "<H", 3), "several parts"),
        (end(8, "<2H", 1, 1), "bytes too many"),
        (end(8, "<2H", 3, 3), "is cut off"),
        (local(35 + 168, "<B", 0), "not where the directory says"),
        (local(26, "<H", 9999), "not where the directory says"),
        (local(30, "<B", ord("x")), "described in two ways"),
        (local(35 + 128 + 3, "<B", 1), "checksum of the entry 's.npy'"),
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


#: of an archive's last records: the large end record, its locator, the small one
LOCATOR, LARGE = -20, -76


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (end(LOCATOR + 4, "<I", 1), "not where it should be"),
        (end(LOCATOR + 8, "<Q", 5), "not where it should be"),
        (end(LOCATOR + 16, "<I", 2), "not where it should be"),
        (end(LARGE, "<B", 0), "zip64 end record is broken"),
        (end(LARGE + 4, "<Q", 45), "zip64 end record is broken"),
        (end(LARGE + 32, "<Q", 1 << 60), "several parts"),
        (end(LARGE + 24, "<2Q", 1 << 60, 1 << 60), "is cut off"),
        (end(LARGE + 48, "<Q", 1 << 63), "does not end where"),
        (end(10, "<H", 7), "its two zip end records differ"),
        (end(12, "<I", 7), "its two zip end records differ"),
    ],
)
def test_a_broken_end_of_a_large_archive_is_refused(
    edit: Callable[[bytearray], None], words: str, tmp_path: Path
) -> None:
    """Our own exports always have the records of large archives."""
    path = tmp_path / "m.npz"
    tf.train.export_variables({"a": [1.0], "b": [2.0]}, path)
    data = bytearray(path.read_bytes())
    assert len(everything(path)) == 2
    edit(data)
    path.write_bytes(data)
    with pytest.raises(errors.OpError, match=words):
        everything(path)


def test_an_archive_whose_entries_share_bytes_is_refused(tmp_path: Path) -> None:
    """The trick of small bombs: an entry is inside another one's bytes."""
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
