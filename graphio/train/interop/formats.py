"""Detection of a foreign file's format, by its bytes."""

from __future__ import annotations

import os

from graphio.schema import foreign
from graphio.storage import stores
from graphio.support import errors
from graphio.train.interop import huggingface, table
from graphio.train.interop.npz import MAGIC as NPY
from graphio.train.interop.npz import NpySource, NpzSource
from graphio.train.interop.reading import damaged, is_file, map_bytes, refused
from graphio.train.interop.safetensors import SafetensorsSource
from graphio.train.interop.source import Source
from graphio.train.interop.tensorflow import TensorFlowSource
from graphio.train.interop.torch_file import TorchSource
from graphio.train.interop.zip_file import ZipFile

#: first bytes of files that are not read: what they are and what to do
REFUSED = (
    (
        b"\x80",
        "it is a bare pickle, as torch.save wrote before version 1.6 and as pickle.dump writes; a "
        "pickle is a program. In torch: torch.save(torch.load(old, weights_only=True), new)",
    ),
    (b"\x89GIO", "it is a model of graphio's, not a checkpoint; open it with graphio.runtime.load"),
    (b"\x89GIX", "it is the index of a checkpoint; give the path without '.index'"),
)


def open_foreign(where: str, unpacked: int | None = None) -> Source:
    """The values of a file, folder or prefix that is not a checkpoint of graphio.

    Args:
        where: its path.
        unpacked: bytes that the packed parts of a file may become; see graphio.schema.packed.

    Raises:
        ResourceExhaustedError: they become more.
        NotFoundError, DataLossError, InvalidArgumentError: as interop.sources.open_source.
    """
    path = stores.plain(where)
    if is_file(path):
        index = path.endswith(".index.json")
        return _open_index(path, unpacked) if index else _open_file(path, unpacked)
    if is_file(path + ".index"):
        if is_tensorflow(path):
            return TensorFlowSource(path)
        text = "it neither starts as the index of a checkpoint of ours nor ends as TensorFlow's do"
        raise damaged(f"checkpoint {path!r}", text)
    found = huggingface.inside(path)
    if found is not None:
        return open_foreign(found, unpacked)
    saved = stores.join(stores.join(path, "variables"), "variables")
    if is_file(saved + ".index"):
        return TensorFlowSource(saved)
    if os.path.isdir(path):
        known = ", ".join((*huggingface.INDEXES, *huggingface.ALONE))
        text = "of a folder of checkpoints, tf.train.latest_checkpoint gives the newest"
        raise refused(f"folder {path!r}", f"it has none of {known} and is not a SavedModel; {text}")
    raise errors.NotFoundError(message=f"there is no checkpoint {path!r} and no such file")


def is_tensorflow(prefix: str) -> bool:
    """Whether an index that is there is one of TensorFlow's."""
    return bytes(map_bytes(stores.plain(prefix) + ".index")[-len(table.MAGIC) :]) == table.MAGIC


def _open_index(path: str, unpacked: int | None) -> Source:
    def open_file(file: str) -> Source:
        return _open_file(file, unpacked)

    return huggingface.HuggingFaceSource(path, map_bytes(path), open_file)


def _open_file(path: str, unpacked: int | None) -> Source:
    data = map_bytes(path)
    start = bytes(data[:9])
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        archive = ZipFile(data, f"zip file {path!r}", unpacked)
        if any(name.endswith("/data.pkl") for name in archive.members):
            return TorchSource(path, archive)
        if not archive.members or any(name.endswith(".npy") for name in archive.members):
            return NpzSource(path, archive)
    if start[:6] == NPY:
        return NpySource(path, data)
    if start[8:] == b"{":
        return SafetensorsSource(path, data)
    for mark, text in REFUSED:
        if start.startswith(mark):
            raise refused(f"file {path!r}", text)
    if bytes(data[-len(table.MAGIC) :]) == table.MAGIC:
        text = "it is the index of a TensorFlow checkpoint; give the path without '.index'"
        if not path.endswith(".index"):
            text = "it is a TensorFlow checkpoint of version 1; TensorFlow 1 saves it as version 2"
        raise refused(f"file {path!r}", text)
    if kind := foreign.kind_of(data):
        raise refused(f"file {path!r}", f"it is {kind}")
    raise refused(
        f"file {path!r}",
        "it is none of .safetensors, .npz, .npy, a file of torch.save's or a checkpoint (of which "
        f"the prefix is given); it starts with {start!r}",
    )
