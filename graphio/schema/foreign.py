"""Files that graphio does not open at this point: their kind, by their bytes, and what to do."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

__all__ = ["check_source", "kind_of", "kind_of_name"]

_SAVED_MODEL = "writes a SavedModel folder, which tf.saved_model.load and `graphio convert` take"
_WEIGHTS = "tf.train.Saver.restore and `graphio convert` read them"


def check_source(source: Any) -> None:
    """Raises TypeError: it is neither a path nor bytes."""
    if isinstance(source, (str, os.PathLike)):
        return
    try:
        memoryview(source)
    except TypeError:
        found = "None" if source is None else f"of type {type(source).__name__}"
        raise TypeError(
            f"source is {found}, expected a path or the bytes of a model file"
        ) from None


class _Form(NamedTuple):
    """The first bytes of a kind of file, from an offset on, and its description in messages."""

    begins: bytes
    text: str
    offset: int = 0


_FORMS = (
    _Form(
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, as Keras writes (.h5): `keras.models.load_model(path).export(folder)` "
        f"{_SAVED_MODEL}; weights alone go as .npz or .safetensors",
    ),
    _Form(
        b"TFL3",
        "a TensorFlow Lite model (.tflite): convert the SavedModel or Keras model that it was made "
        "from",
        4,
    ),
    _Form(b"GGUF", "a GGUF file: take the .safetensors or ONNX files that it was made of"),
    _Form(b"\x93NUMPY", f"an array of numpy's (.npy): weights without a graph, {_WEIGHTS}"),
    _Form(b"\x1f\x8b", "packed with gzip: unpack it first, `gunzip` or `tar xzf`"),
    _Form(b"BZh", "packed with bzip2: unpack it first, `bunzip2` or `tar xjf`"),
    _Form(b"\xfd7zXZ\x00", "packed with xz: unpack it first, `unxz` or `tar xJf`"),
    _Form(b"\x28\xb5\x2f\xfd", "packed with zstd: unpack it first, `unzstd`"),
    _Form(b"7z\xbc\xaf\x27\x1c", "packed with 7-Zip: unpack it first"),
    _Form(b"ustar", "a tar archive: unpack it first, `tar xf`", 257),
    _Form(
        b"version https://git-lfs.github.com/",
        "a Git LFS pointer, not the file that it stands for: `git lfs pull` fetches that",
    ),
    _Form(
        b"\x80",
        "a bare pickle, as torch.save wrote before version 1.6 and as pickle.dump writes; a pickle "
        "is a program and is not opened. In torch: torch.onnx.export writes a model, "
        "torch.save(torch.load(old, weights_only=True), new) weights",
    ),
)
#: kinds recognised by the ending of the name alone, for their bytes are those of other messages,
#: too
_ENDINGS = {
    ".mlmodel": "a Core ML model: convert the model that it was made from",
    ".pb": "a graph of TensorFlow's: graphio.tensorflow_files.load and `graphio convert` take it; "
    "of a saved_model.pb, its folder",
    ".pbtxt": "a graph of TensorFlow's as text: graphio.tensorflow_files.load and `graphio "
    "convert` take it",
}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: by a name inside of a zip archive
_ZIPPED = (
    (
        re.compile(rb"model\.weights\.h5"),
        "a Keras model (.keras): `keras.models.load_model(path).export(folder)` " + _SAVED_MODEL,
    ),
    (
        re.compile(rb"/data\.pkl"),
        "a file of torch.save's: torch.onnx.export writes the model as ONNX; weights alone are "
        "read by tf.train.Saver.restore and `graphio convert`",
    ),
    (re.compile(rb"\.npy"), f"an archive of arrays (.npz): weights without a graph, {_WEIGHTS}"),
    (re.compile(rb"saved_model\.pb"), "a zip archive of a SavedModel: unpack it, name its folder"),
    (re.compile(rb""), "a zip archive: unpack it first, `unzip`"),
)
_PAGE = re.compile(rb"\s*<(!doctype\s+html|html|\?xml)", re.IGNORECASE)
_SAFETENSORS = re.compile(rb".{6}\0\0\{", re.DOTALL)  # the length of a header, and the header
_HEAD = 512
_TAIL = 1 << 16  # where a zip archive lists its files


def kind_of_name(path: str) -> str | None:
    """The kind of file that the ending of a path alone suggests; None: none."""
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def kind_of(data: Any) -> str | None:
    """The kind of a file and what to do with it: "a TensorFlow Lite model (.tflite): convert ...".

    Args:
        data: its bytes, mapped or read; little of them is looked at.

    Returns:
        None: it is none of the known kinds.
    """
    head = bytes(data[:_HEAD])
    if not head:
        return "empty: its writer or its download did not finish"
    if head.startswith(_ZIP):
        tail = bytes(data[-_TAIL:])
        return next(text for pattern, text in _ZIPPED if pattern.search(tail))
    for form in _FORMS:
        if head[form.offset :].startswith(form.begins):
            return form.text
    if _PAGE.match(head):
        return "a web page or XML: the address gave that in the place of the file"
    if _SAFETENSORS.match(head):
        return f"a safetensors file: weights without a graph, {_WEIGHTS}"
    return None
