"""A model in several files as Hugging Face lays it out: an index says which file has what."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from graphio.schema.checkpoint_index import is_safe_name
from graphio.storage import stores
from graphio.support import errors
from graphio.train.interop.reading import Array, damaged, find, is_file, parse_json, refused
from graphio.train.interop.source import Entry, Resource, Source

#: the index files that a folder may have, the better format first
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
#: without an index: the only file
ALONE = ("model.safetensors", "pytorch_model.bin")


class HuggingFaceSource:
    """The tensors of all files that an index names; these are in its folder.

    Args:
        path: of the index, `*.index.json`.
        data: the index.
        open_file: opens one of the files.

    Raises:
        NotFoundError: a file is missing.
        DataLossError: the index or a file is damaged, or they do not agree.
    """

    resources: Mapping[str, Resource] = {}

    def __init__(self, path: str, data: memoryview, open_file: Callable[[str], Source]) -> None:
        self.what = f"sharded model {path!r}"
        placed = _weight_map(data, self.what)
        folder, _ = stores.split(path)
        self.skipped: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        self._files: dict[str, Source] = {}
        expected: dict[str, set[str]] = {}
        for name, file in placed.items():
            expected.setdefault(file, set()).add(name)
        for file in sorted(expected):
            source = self._open(stores.join(folder, file), open_file)
            self._check(file, source.entries(), expected[file])
            self.skipped.update(source.skipped)
            self._entries.update(source.entries())
            self._files.update(dict.fromkeys(source.entries(), source))

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """A read-only array; errors as those of the file that it is in."""
        return find(self._files, name, self.what).array(name)

    def _open(self, path: str, open_file: Callable[[str], Source]) -> Source:
        if _leads_away(path):
            raise refused(self.what, f"the file {path!r} is a link that leads out of its folder")
        try:
            return open_file(path)
        except errors.NotFoundError:
            raise errors.NotFoundError(
                message=f"{self.what}: the file {path!r}, which its index names, is missing"
            ) from None

    def _check(self, file: str, there: Mapping[str, Entry], expected: set[str]) -> None:
        for name in sorted(expected ^ there.keys()):
            word = "lacks" if name in expected else "has"
            but = "says it has" if name in expected else "does not say so"
            raise damaged(self.what, f"{file} {word} {name!r}, the index {but}")


def _weight_map(data: memoryview, what: str) -> dict[str, str]:
    found = parse_json(bytes(data), what).get("weight_map")
    if not isinstance(found, dict):
        raise damaged(what, "its index has no weight_map")
    for name, file in found.items():
        if not isinstance(file, str) or not is_safe_name(file):
            raise damaged(
                what, f"{name!r} is listed under {file!r}, which is not a plain file name"
            )
    return found


def _leads_away(path: str) -> bool:
    """Whether a file is a link to elsewhere than its folder or, in Hugging Face's cache, the folder
    `blobs`, to which all files of a snapshot are links."""
    if stores.is_remote(path) or not os.path.islink(path):
        return False
    folder = os.path.realpath(os.path.dirname(path))
    allowed = {folder}
    if os.path.basename(os.path.dirname(folder)) == "snapshots":
        allowed.add(os.path.join(os.path.dirname(os.path.dirname(folder)), "blobs"))
    return os.path.dirname(os.path.realpath(path)) not in allowed


def inside(folder: str) -> str | None:
    """The index, or else the only file, of a model in a folder; None if there is none."""
    for name in (*INDEXES, *ALONE):
        path = stores.join(folder, name)
        if is_file(path):
            return path
    return None
