"""The threads of a Supervisor: summaries, steps a second, checkpoints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from graphio.schema.summary_pb2 import SessionLog, Summary
from graphio.support import logging
from graphio.train.loops.coordinator import LooperThread
from graphio.train.loops.step_counter import global_step

if TYPE_CHECKING:
    from graphio.train.loops.supervisor import Supervisor

__all__ = ["SVStepCounterThread", "SVSummaryThread", "SVTimerCheckpointThread"]


class SVSummaryThread(LooperThread):
    """Writes summary_op's value every save_summaries_secs seconds.

    Args:
        sv: a Supervisor.
        sess: the session.
    """

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        """Writes one."""
        sv, step = self._sv, None
        if sv.global_step is None:
            content = self._sess.run(sv.summary_op)
        else:
            content, step = self._sess.run([sv.summary_op, sv.global_step])
        if sv.summary_writer:
            logging.info("Recording summary at step %s.", step)
            sv.summary_writer.add_summary(content, step)


class SVStepCounterThread(LooperThread):
    """Writes and logs the steps a second every save_summaries_secs seconds.

    Args:
        sv: a Supervisor.
        sess: the session.
        step_counter: what counts the steps; None: sv.global_step.
    """

    def __init__(self, sv: Supervisor, sess: Any, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._counter = sv.global_step if step_counter is None else step_counter
        self._tag = f"{self._counter.op.name}/sec"
        self._last = (0.0, 0)

    def start_loop(self) -> None:
        """Notes the time and the step."""
        self._last = time.time(), global_step(self._sess, self._counter)

    def run_loop(self) -> None:
        """Writes and logs the rate since the last call."""
        now, step = time.time(), global_step(self._sess, self._counter)
        (before, steps), self._last = self._last, (now, step)
        rate = (step - steps) / (now - before) if now > before else float("inf")
        if self._sv.summary_writer:
            summary = Summary(value=[Summary.Value(tag=self._tag, simple_value=rate)])
            self._sv.summary_writer.add_summary(summary, step)
        logging.log_first_n(logging.INFO, "%s: %g", 10, self._tag, rate)


class SVTimerCheckpointThread(LooperThread):
    """Saves a checkpoint every save_model_secs seconds.

    Args:
        sv: a Supervisor.
        sess: the session.
    """

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        """Saves one."""
        sv = self._sv
        logging.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(log, global_step(self._sess, sv.global_step))
