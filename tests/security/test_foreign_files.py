"""Files that are something else: every opener says what they are and what to do."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command

import graphio as tf
from graphio import tensorflow_files
from graphio.command_line import exits
from graphio.schema import foreign
from graphio.support import errors


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return data.getvalue()


def tarred() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.gio"))
    return data.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
#: by name: the bytes, and words of the message
FILES: dict[str, tuple[bytes, str]] = {
    "net.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), r"an HDF5 file, as Keras .* writes a SavedModel"),
    "net.keras": (
        zipped("metadata.json", "config.json", "model.weights.h5"),
        r"a Keras model .* writes a SavedModel folder",
    ),
    "net.tflite": (b"\x1c\0\0\0TFL3" + bytes(64), "a TensorFlow Lite model"),
    "net.gguf": (b"GGUF" + bytes(64), "a GGUF file"),
    "net.zip": (zipped("net.gio"), "a zip archive: unpack it first"),
    "saved.zip": (zipped("m/saved_model.pb"), "a zip archive of a SavedModel"),
    "net.gio.gz": (gzip.compress(b"x" * 99), "packed with gzip: unpack it first"),
    "net.tar": (tarred(), "a tar archive"),
    "net.bz2": (b"BZh91AY&SY" + bytes(32), "packed with bzip2"),
    "net.xz": (b"\xfd7zXZ\0" + bytes(32), "packed with xz"),
    "net.zst": (b"\x28\xb5\x2f\xfd" + bytes(32), "packed with zstd"),
    "page.gio": (b"\n<!DOCTYPE html><html>404</html>", "a web page"),
    "pointer.gio": (LFS, "a Git LFS pointer, not the file"),
    "nothing.gio": (b"", "empty: its writer or its download did not finish"),
}
#: weights, which restores and the command line read
WEIGHTS: dict[str, tuple[bytes, str]] = {
    "net.safetensors": ((2).to_bytes(8, "little") + b"{}", "a safetensors file: weights without"),
    "net.npz": (zipped("w.npy"), "an archive of arrays .* weights without a graph"),
    "net.npy": (b"\x93NUMPY\x01\0" + bytes(64), "an array of numpy's"),
    "net.pt": (zipped("archive/data.pkl"), "a file of torch.save's: torch.onnx.export writes"),
    "old.pth": (b"\x80\x02}q\0.", "a bare pickle"),
}
#: messages, which only their names tell
NAMED: dict[str, tuple[bytes, str]] = {
    "net.mlmodel": (b"\x08\x01\x12\x01" + bytes(32), "a Core ML model"),
    "saved_model.pb": (b"\x08\x01\x12\x03abc", "a graph of TensorFlow's: .* its folder"),
}
OPENERS: dict[str, Callable[[str], Any]] = {
    "runtime": tf.runtime.load,
    "cinfer": tf.cinfer.load,
    "saved_model": tf.saved_model.load,
    "runtime, bytes": lambda path: tf.runtime.load(Path(path).read_bytes()),
    "cinfer, bytes": lambda path: tf.cinfer.load(Path(path).read_bytes()),
    "onnx": tf.onnx.load,
    "onnx, bytes": lambda path: tf.onnx.load(Path(path).read_bytes()),
    "tensorflow": tensorflow_files.load,
}


@pytest.mark.parametrize("opener", OPENERS)
def test_every_opener_of_models_says_what_a_file_is(opener: str, tmp_path: Path) -> None:
    expected = FILES | WEIGHTS | (NAMED if opener in ("runtime", "cinfer", "saved_model") else {})
    if opener == "tensorflow":
        del expected["nothing.gio"]  # an empty GraphDef, which is reported as that
    for name, (data, words) in expected.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(errors.DataLossError, match=words) as caught:
            OPENERS[opener](str(tmp_path / name))
        assert "bytes" in opener or name in caught.value.message


def test_a_session_that_loads_a_file_in_place_of_a_folder_is_reported(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for name, (data, words) in FILES.items():
            (tmp_path / name).write_bytes(data)
            with pytest.raises(OSError, match=f"{name} is a file, expected the folder.*{words}"):
                tf.saved_model.load(session, ["serve"], str(tmp_path / name))


def test_a_restore_says_what_a_file_is(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [2])
        saver = tf.train.Saver()
        for name, (data, words) in FILES.items():
            (tmp_path / name).write_bytes(data)
            with pytest.raises(errors.InvalidArgumentError, match=words):
                saver.restore(session, str(tmp_path / name))


def test_the_command_line_says_what_a_file_is(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graphio = Command(capfd)
    for name, (data, _) in (FILES | {"net.mlmodel": NAMED["net.mlmodel"]}).items():
        (tmp_path / name).write_bytes(data)
        found = graphio("inspect", tmp_path / name, code=exits.FILE).err
        kind = foreign.kind_of(data) or foreign.kind_of_name(name)
        assert found == f"graphio: '{tmp_path / name}' is {kind}\n"
    (tmp_path / "net.onnx").write_bytes(LFS)
    assert "Git LFS pointer" in graphio("inspect", tmp_path / "net.onnx", code=exits.FILE).err


@pytest.mark.parametrize("load", [tf.runtime.load, tf.cinfer.load])
def test_a_folder_is_reported_with_what_opens_it(
    load: Callable[[str], Any], tmp_path: Path
) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"tf\.saved_model\.load opens those"):
        load(str(tmp_path))


def test_what_reads_on_is_not_mistaken_for_something_else(tmp_path: Path) -> None:
    """Weights are read by those who read weights; other bytes have no name."""
    np.savez(tmp_path / "w.npz", v=np.ones(2, np.float32))
    assert tf.train.load_variable(str(tmp_path / "w.npz"), "v").tolist() == [1, 1]
    assert foreign.kind_of(b"nothing known") is None
    assert foreign.kind_of(b"\x08\x07\x12\x04abcd") is None
