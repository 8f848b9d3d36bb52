"""The hook that saves checkpoints, and its listeners."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.storage import stores
from graphio.summary.writer import FileWriterCache
from graphio.support import logging
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.hooks import SecondOrStepTimer, step_tensor
from graphio.train.loops.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

__all__ = ["CheckpointSaverHook", "CheckpointSaverListener"]


class CheckpointSaverListener:
    """The base of listeners to a CheckpointSaverHook's checkpoints."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> Any:
        """Called after a checkpoint was written; True requests a stop."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end."""


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints at the first step, every so often, and at the end; writes the graph for
    TensorBoard, once, where that is installed and the folder is of this machine.

    With an asynchronous Saver the steps in between wait for a copy only; the end waits until all
    is written, and so does each save if there are listeners.

    Args:
        checkpoint_dir: the folder.
        save_secs: every so many seconds.
        save_steps: or every so many steps.
        saver: None: the scaffold's, else one of the collection SAVERS, else of all variables.
        checkpoint_basename: of the files.
        scaffold: a Scaffold.
        listeners: CheckpointSaverListeners.
        metrics: name to a tensor of one number: fetched with every step, and saved with each
            checkpoint but the first, which comes before any step; see Saver.save.

    Raises:
        ValueError: saver and scaffold are both given, or not exactly one of save_secs, save_steps.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        *,
        metrics: Mapping[str, Any] | None = None,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._path = stores.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or [])
        self._metrics = dict(metrics or {})
        self._measured: Mapping[str, Any] | None = None  # in the last step

    def begin(self) -> None:
        self._step = step_tensor("CheckpointSaverHook")
        stores.make_folder(stores.split(self._path)[0])
        if self._saver is None and self._scaffold is None:
            savers = scopes.get_default_graph().get_collection("savers")
            self._saver = savers[0] if savers else Saver()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        FileWriterCache.show_graph(stores.split(self._path)[0], session.graph)
        self._save(session, int(session.run(self._step)))

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs([self._step, self._metrics])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        before, measured = run_values.results
        self._measured = measured or None
        if self._timer.should_trigger_for_step(int(before) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step) and self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            try:
                self._written()
            except Exception as error:  # of an earlier save: it must not keep the last one away
                warnings.warn(f"{error}; now the last checkpoint is saved", stacklevel=2)
            self._save(session, step)
        self._written()
        for listener in self._listeners:
            listener.end(session, step)

    def _chosen(self) -> Any:
        return self._saver if self._scaffold is None else self._scaffold.saver

    def _written(self) -> None:
        """Waits for what the Saver does in the background; raises its error."""
        wait = getattr(self._chosen(), "wait", None)
        if wait is not None:
            wait()

    def _save(self, session: Any, step: int) -> bool:
        """Whether a listener wants to stop."""
        self._timer.update_last_triggered_step(step)
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        more = {"metrics": self._measured} if self._measured is not None else {}
        self._chosen().save(session, self._path, global_step=step, **more)
        if self._listeners:
            self._written()
        stops = [listener.after_save(session, step) for listener in self._listeners]
        return any(stops)
