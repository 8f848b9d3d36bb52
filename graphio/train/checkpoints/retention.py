"""Retention of checkpoints: the newest, the best, one in so many hours, and protected ones."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from graphio.schema import checkpoint
from graphio.storage import files, stores
from graphio.support import api_guard
from graphio.train.checkpoints import checkpoint_state, keeping
from graphio.train.checkpoints.checkpoint_state import checkpoint_exists, read_state
from graphio.train.checkpoints.keeping import BEST
from graphio.train.checkpoints.ranking import Ranking

__all__ = ["FOR_EVER", "Retention", "remove_checkpoint"]

HOUR = 3600.0
FOR_EVER = 10000.0  # hours: what TensorFlow means by never


class Kept(NamedTuple):
    """A checkpoint.

    Attributes:
        path: its prefix as it was given.
        full_path: the same, absolute.
        time: seconds since 1970.
        value: what the best are chosen by; None: it is not among them.
    """

    path: str
    full_path: str
    time: float
    value: float | None = None


class Retention:
    """The list of checkpoints of one Saver, and the rules by which they go.

    Attributes:
        max_to_keep: how many are kept; 0: all.
        hours: of those to be deleted, one in so many hours is kept.
        ranking: which are the best, and are not deleted as long as they are; None: none.
    """

    def __init__(self, max_to_keep: int, hours: float, ranking: Ranking | None = None) -> None:
        self.max_to_keep, self.hours, self.ranking = max_to_keep, hours, ranking
        self._next_preserved = time.time() + hours * HOUR
        # Replaced, never changed: others may read while a save in the background writes.
        self._kept: tuple[Kept, ...] = ()
        self._expired: tuple[str, ...] = ()
        self._adopted = False  # the list is that of another process

    def paths(self) -> list[str]:
        """Of the checkpoints that are kept, oldest first; those kept for good left out."""
        return [kept.path for kept in self._kept]

    def best(self) -> list[str]:
        """Of the checkpoints that are kept the best, the best first."""
        return [kept.path for kept in self._best()]

    def _best(self) -> list[Kept]:
        if self.ranking is None:
            return []
        kept = self._kept
        return [kept[i] for i in self.ranking.best([one.value for one in kept])]

    def replace(self, kept: Sequence[tuple[str, float]]) -> None:
        """Takes over a list of checkpoints with their times, oldest first."""
        value = self.ranking.saved_value if self.ranking is not None else lambda _: None
        self._kept = tuple(
            Kept(path, stores.absolute(path), moment, value(path)) for path, moment in kept
        )
        self._adopted = False

    def record(
        self,
        where: str,
        full_path: str,
        latest_filename: str | None,
        layer: files.FileLayer,
        *,
        meta_suffix: str = "meta",
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Writes the state file after a commit, then deletes what is too old.

        Args:
            where: the prefix as it was given.
            full_path: the same, absolute: the process may have changed its directory.
            latest_filename: of the state file.
            layer: the operating system.
            meta_suffix: of the graph files that are deleted with their checkpoints.
            metrics: what was saved with it.
        """
        self._leave_others(full_path, latest_filename)
        marks = self._note(where, full_path, metrics)
        self._mark_best(marks, layer)
        times = [kept.time for kept in self._kept]
        state = checkpoint_state.as_state(
            full_path,
            [kept.full_path for kept in self._kept],
            times if np.isfinite(times).all() else None,
            self._next_preserved - self.hours * HOUR if self.hours < FOR_EVER else None,
        )
        state.expired = list(self._expired)
        checkpoint_state.write_state(stores.split(full_path)[0], state, latest_filename, layer)
        self._unmark_others(marks, layer)
        self._delete_expired(layer, meta_suffix)

    def _leave_others(self, full_path: str, latest_filename: str | None) -> None:
        """Of a list that was taken over only the checkpoints of the run that goes on may go.

        A process that restores from one folder and saves to another, or under another name, has
        only read the list.
        """
        if not self._adopted:
            return
        self._adopted = False
        if (latest_filename or checkpoint_state.STATE_FILE) != checkpoint_state.STATE_FILE:
            self._kept, self._expired = (), ()
        self._kept = tuple(one for one in self._kept if _run(one.full_path) == _run(full_path))
        self._expired = tuple(path for path in self._expired if _run(path) == _run(full_path))

    def _note(
        self, where: str, full_path: str, metrics: Mapping[str, float] | None
    ) -> Mapping[str, Set[str]]:
        """Adds the newest checkpoint; the oldest expire or are preserved. Returns the marks of
        those that it has looked at."""
        if not self.max_to_keep:
            return {}
        value = self.ranking.value(metrics) if self.ranking is not None else None
        kept = [one for one in self._kept if _identity(one.full_path) != _identity(full_path)]
        self._kept = (*kept, Kept(where, full_path, time.time(), value))
        needed = {_identity(one.full_path) for one in self._kept}
        self._expired = tuple(path for path in self._expired if _identity(path) not in needed)
        old = self._kept[: max(len(self._kept) - self.max_to_keep, 0)]
        if not (old or self._expired or self.ranking):
            return {}
        marks = self._marks()
        if marks is not None:
            self._expire(old, marks)
        return marks or {}

    def _marks(self) -> Mapping[str, Set[str]] | None:
        """Of all that may be deleted; None, with a warning, if that cannot be known now."""
        try:
            return keeping.marks([*(one.full_path for one in self._kept), *self._expired])
        except OSError as error:
            warnings.warn(
                f"no checkpoint is deleted now: which are protected cannot be known: {error}",
                stacklevel=2,
            )
            return None

    def _expire(self, old: Sequence[Kept], marks: Mapping[str, Set[str]]) -> None:
        """Of those that are not among the newest the protected and the best stay in the list."""
        best = {one.full_path for one in self._best()}
        # Marks of the best that another Saver has put count where this one knows no best.
        ending = {BEST} if self.ranking is not None else set()
        self._expired = tuple(path for path in self._expired if not marks[path] - ending)
        for one in old:
            if one.full_path in best or marks[one.full_path] - ending:
                continue
            self._kept = tuple(other for other in self._kept if other is not one)
            if math.isfinite(one.time) and one.time > self._next_preserved:
                self._go_on_after(one.time)
            else:
                self._expired += (one.full_path,)

    def _mark_best(self, marks: Mapping[str, Set[str]], layer: files.FileLayer) -> None:
        """Others that delete from this list, such as a C program, obey the marks."""
        for one in self._best():
            if BEST not in marks.get(one.full_path, ()):
                keeping.mark(one.full_path, BEST, layer)

    def _unmark_others(self, marks: Mapping[str, Set[str]], layer: files.FileLayer) -> None:
        """Removes the marks of those that are not among the best any more."""
        best = {one.full_path for one in self._best()}
        for full_path, found in marks.items():
            if self.ranking is not None and BEST in found and full_path not in best:
                keeping.unmark(full_path, BEST, layer)

    def _go_on_after(self, moment: float) -> None:
        """The hours go on from their grid; after a pause unused ones are left out."""
        step = self.hours * HOUR
        passed = (moment - self._next_preserved) // step if step > 0 else 0.0
        self._next_preserved += (passed + 1) * step

    def _delete_expired(self, layer: files.FileLayer, meta_suffix: str) -> None:
        """A file that cannot be deleted is tried again after the next save."""
        failed = []
        for path in self._expired:
            try:
                store, base = stores.of(path, layer)
                if store.exists(base + keeping.KEPT):
                    failed.append(path)  # protected since the list was made
                    continue
                checkpoint.delete(path, layer, meta_suffix=meta_suffix)
            except OSError as error:
                failed.append(path)
                warnings.warn(
                    f"the checkpoint '{path}' is not needed any more but cannot be deleted: "
                    f"{error}; the new one is saved",
                    stacklevel=2,
                )
        self._expired = tuple(failed)

    def adopt(self, where: str) -> None:
        """Takes over the list of the state file of a restored checkpoint's folder."""
        if self._kept or not self.max_to_keep:
            return
        where = stores.plain(where)
        folder = stores.split(where)[0]
        if not _has_list(folder):
            return
        state = read_state(folder)
        if state is None:
            return
        listed, expired = (
            list(dict.fromkeys(_where(folder, path) for path in paths))
            for paths in (state.all_model_checkpoint_paths, state.expired)
        )
        if where not in listed:
            return
        moments = dict(zip(listed, state.all_model_checkpoint_timestamps, strict=False))
        if len(moments) != len(state.all_model_checkpoint_timestamps):
            moments = {}  # some were listed twice: which is whose cannot be known
        found = checkpoint_state.existing_with_times(listed)
        self.replace([(path, moments.get(path, moment)) for path, moment in found])
        self._adopted = True
        self._expired = tuple(
            stores.absolute(path)
            for path in expired
            if path not in listed and checkpoint_state.older_than_state(path)
        )
        if state.last_preserved_timestamp:
            self._next_preserved = state.last_preserved_timestamp + self.hours * HOUR

    def go_on_from(self, where: str) -> None:
        """A checkpoint that was restored counts as listed where its folder has no state file: a
        kill may have come before the first one."""
        where = stores.plain(where)
        if self.max_to_keep and not self._kept and not _has_list(stores.split(where)[0]):
            self.replace(checkpoint_state.existing_with_times([where]))
            self._adopted = True


@api_guard.guarded
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: Any = None, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes a checkpoint, ours or a TensorFlow V2 one, be it protected or not: the index first,
    so that none is ever left half."""
    for kind in (keeping.KEPT, BEST):  # before: one that is saved under this name is not protected
        keeping.unmark(checkpoint_prefix, kind)
    checkpoint.delete(checkpoint_prefix)
    if meta_graph_suffix != "meta":
        store, base = stores.of(checkpoint_prefix)
        store.remove(f"{base}.{meta_graph_suffix}")


def _has_list(folder: str) -> bool:
    return stores.of_folder(folder).exists(checkpoint_state.STATE_FILE)


def _where(folder: str, path: str) -> str:
    """A listed checkpoint at its path; next to the list if the folder was moved."""
    return path if checkpoint_exists(path) else stores.join(folder, stores.split(path)[1])


def _identity(path: str) -> str:
    """The same for every spelling of a path."""
    folder, base = stores.split(path)
    return stores.join(stores.real(folder), base)


def _run(path: str) -> str:
    """The common path of one run's checkpoints: without the step."""
    return re.sub(r"-\d+$", "", _identity(path))
