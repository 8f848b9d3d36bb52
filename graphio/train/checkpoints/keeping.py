"""Protecting checkpoints from retention: mark files next to a checkpoint.

`P.keep` marks what a program protects, `P.best` the best of a run. Each is a separate file, written
in one step, so that two processes never write to one list.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from graphio.storage import stores
from graphio.storage.files import SYSTEM, FileLayer
from graphio.support import api_guard, errors

__all__ = ["BEST", "KEPT", "keep_checkpoint", "mark", "marks", "unmark"]

KEPT, BEST = ".keep", ".best"
_STRINGS = {
    KEPT: b"Protected from retention: tf.train.keep_checkpoint(prefix, keep=False) ends it.\n",
    BEST: b"Among the best of its run: Saver(best_to_keep=...) protects it from retention.\n",
}


@api_guard.guarded
def keep_checkpoint(checkpoint_prefix: str | os.PathLike[str], keep: bool = True) -> None:
    """Protects a checkpoint from being deleted because newer ones were saved.

    Any process may call it, also while another one trains: the protection is a file next to the
    checkpoint, `prefix`.keep, which Savers of all processes and cinfer's saves obey. The checkpoint
    does not count among the max_to_keep newest once it would have been deleted.
    tf.train.remove_checkpoint deletes it all the same.

    Args:
        checkpoint_prefix: what save returned.
        keep: False ends the protection: the next save deletes it, if it is too old by then.

    Raises:
        NotFoundError: there is no such checkpoint, or it was deleted at this moment.
        UnavailableError, DiskFullError: the folder cannot be written.
    """
    store, base = stores.of(checkpoint_prefix)
    missing = errors.NotFoundError(message=f"there is no checkpoint {store.path(base)!r} to keep")
    if not store.exists(base + ".index"):
        raise missing
    if not keep:
        unmark(checkpoint_prefix, KEPT)
        return
    mark(checkpoint_prefix, KEPT)
    if not store.exists(base + ".index"):
        unmark(checkpoint_prefix, KEPT)
        raise missing


def mark(prefix: str | os.PathLike[str], kind: str, layer: FileLayer = SYSTEM) -> None:
    """Puts a mark, KEPT or BEST, durably."""
    store, base = stores.of(prefix, layer)
    store.put(base + kind, [_STRINGS[kind]])
    store.barrier()


def unmark(prefix: str | os.PathLike[str], kind: str, layer: FileLayer = SYSTEM) -> None:
    """Removes a mark, if it is there."""
    store, base = stores.of(prefix, layer)
    if store.remove(base + kind):
        store.barrier()


def marks(prefixes: Iterable[str]) -> dict[str, set[str]]:
    """The marks of each prefix; each folder is listed once.

    Raises:
        UnavailableError: a folder cannot be listed.
    """
    listed: dict[str, set[str]] = {}
    found = {}
    for prefix in prefixes:
        folder, base = stores.split(prefix)
        if folder not in listed:
            listed[folder] = _names(folder)
        found[prefix] = {kind for kind in (KEPT, BEST) if base + kind in listed[folder]}
    return found


def _names(folder: str) -> set[str]:
    try:
        return set(stores.of_folder(folder).names())
    except errors.UnavailableError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return set()
        raise
