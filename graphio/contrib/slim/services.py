"""Checkpoints and summaries of a training loop, saved after given times."""

from __future__ import annotations

import os
import time
from typing import Any

from graphio.protos.graph_io import write_graph
from graphio.summary.writer import FileWriter
from graphio.support import logging
from graphio.train.loops.step_counter import global_step as step_of

__all__ = ["USE_DEFAULT", "Services"]

#: of arguments: train makes them by itself
USE_DEFAULT = 0


class Services:
    """Saves checkpoints and summaries in a folder.

    Args:
        logdir: the folder; None: nothing is saved.
        graph: whose description is written, too.
        saver: of the checkpoints, at `logdir/model.ckpt`.
        summary_op: None: no summaries.
        summary_writer: USE_DEFAULT: of logdir; None: no summaries.
        global_step: variable.
        save_secs, summary_secs: after which time each is saved again; 0: never.
    """

    def __init__(
        self,
        logdir: str | None,
        graph: Any,
        saver: Any,
        summary_op: Any,
        summary_writer: Any,
        global_step: Any,
        save_secs: float,
        summary_secs: float,
    ) -> None:
        self._logdir, self._graph, self._saver = logdir, graph, saver
        self._summary_op, self._step = summary_op, global_step
        self._seconds = {"save": save_secs, "summary": summary_secs}
        self._next = dict.fromkeys(self._seconds, 0.0)
        self.writer = summary_writer
        if summary_writer is USE_DEFAULT:
            self.writer = FileWriter(logdir) if logdir else None

    def start(self, session: Any) -> None:
        """Writes the graph, and saves for the first time."""
        if self._logdir:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self.writer:
            self.writer.add_graph(self._graph)
        self.after_step(session)

    def after_step(self, session: Any) -> None:
        """Saves what is due."""
        if not self._logdir:
            return
        now = time.monotonic()
        if self.writer and self._summary_op is not None and self._due("summary", now):
            found = session.run(self._summary_op)
            self.writer.add_summary(found, step_of(session, self._step))
        if self._due("save", now):
            self._save(session)

    def _due(self, name: str, now: float) -> bool:
        if not self._seconds[name] or now < self._next[name]:
            return False
        self._next[name] = now + self._seconds[name]
        return True

    def _save(self, session: Any) -> None:
        path = os.path.join(str(self._logdir), "model.ckpt")
        self._saver.save(session, path, global_step=self._step)

    def finish(self, session: Any) -> None:
        """Saves for the last time."""
        if self._logdir:
            logging.info("Finished training! Saving model to disk.")
            self._save(session)
        if self.writer:
            self.writer.flush()
