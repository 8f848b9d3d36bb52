"""Evaluation of checkpoints, once or as another process writes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.summary import ops as summary
from graphio.summary.writer import FileWriterCache
from graphio.support import api_guard, logging
from graphio.train.checkpoints.checkpoint_state import latest_checkpoint
from graphio.train.checkpoints.warm_starting import checkpoints_iterator
from graphio.train.loops.hooks import FinalOpsHook
from graphio.train.loops.monitored_session import MonitoredSession
from graphio.train.loops.scaffold import ChiefSessionCreator
from graphio.train.loops.session_run_hook import SessionRunArgs, SessionRunHook
from graphio.train.loops.step_counter import get_or_create_global_step, global_step
from graphio.variables import initializers
from graphio.variables.variable_scope import get_variable
from graphio.variables.variables import assign_add

__all__ = [
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "wait_for_new_checkpoint",
]


class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after a number of runs of its eval_ops.

    Args:
        num_evals: the number; None: until the data end.
        log_progress: whether the runs are logged; of 20 and more, every tenth part.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._count, self._logs = num_evals, log_progress
        self._every = 1 if num_evals is None or num_evals < 20 else num_evals // 10
        self._done: Any = None

    def count_by(self, updated_eval_step: Any) -> None:
        """Takes the tensor that has the number of runs."""
        self._done = updated_eval_step

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Fetches the number of runs."""
        return SessionRunArgs({"evals_completed": self._done})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Logs it, and ends the evaluation."""
        done = run_values.results["evals_completed"]
        if self._logs and (done % self._every == 0 or done == self._count):
            of = "" if self._count is None else f"/{self._count}"
            logging.info("Evaluation [%d%s]", done, of)
        if self._count is not None and done >= self._count:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries when a session ends.

    Args:
        log_dir: folder of the file; None where summary_writer is given.
        summary_writer: a FileWriter.
        summary_op: the summary; None: all of the graph's.
        feed_dict: for its run.

    Raises:
        ValueError: neither log_dir nor summary_writer is given.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._folder, self._writer = log_dir, summary_writer
        self._given, self._summary, self._feeds = summary_op, summary_op, feed_dict

    def begin(self) -> None:
        """Takes the graph's summaries."""
        if self._given is None:
            self._summary = summary.merge_all()
        self._step = get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Opens the file."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)

    def end(self, session: Any) -> None:
        """Writes the summary."""
        if self._summary is not None:
            written = session.run(self._summary, self._feeds)
            if self._writer:
                self._writer.add_summary(written, global_step(session, self._step))
        if self._writer:
            self._writer.flush()


@api_guard.makes_variables
def get_or_create_eval_step() -> Any:
    """The variable that counts runs of an evaluation: local, int64, in the collection EVAL_STEP.

    Raises:
        ValueError: the collection has several.
    """
    found = scopes.get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=initializers.zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


@api_guard.guarded
def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The path of the newest checkpoint of a folder, when there is another one.

    Args:
        checkpoint_dir: the folder.
        last_checkpoint: the path of the one that is known.
        seconds_to_sleep: time from one look at the folder to the next.
        timeout: seconds after which it gives None; None: it waits without end.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.time() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            logging.info("Found new checkpoint at %s", found)
            return found
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


class _Evaluation:
    """An evaluation: what it runs, and how often.

    Args:
        master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config: as
            evaluate_once's.
    """

    def __init__(
        self,
        master: str,
        scaffold: Any,
        eval_ops: Any,
        feed_dict: Any,
        final_ops: Any,
        final_ops_feed_dict: Any,
        hooks: Any,
        config: Any,
    ) -> None:
        step = get_or_create_eval_step()
        self._hooks = list(hooks or [])
        self._session = {"scaffold": scaffold, "master": master, "config": config}
        self._fetches, self._feeds = eval_ops, feed_dict
        if eval_ops is not None:
            counted = assign_add(step, 1)
            for hook in self._hooks:
                if isinstance(hook, StopAfterNEvalsHook):
                    hook.count_by(counted)
            self._fetches = [eval_ops, counted]
        self._final = FinalOpsHook(final_ops, final_ops_feed_dict)
        self._hooks.append(self._final)

    def of(self, path: str | None) -> Any:
        """The values of final_ops for a checkpoint."""
        creator = ChiefSessionCreator(checkpoint_filename_with_path=path, **self._session)
        with MonitoredSession(session_creator=creator, hooks=self._hooks) as session:
            self._log("Starting")
            while self._fetches is not None and not session.should_stop():
                session.run(self._fetches, self._feeds)
            self._log("Finished")
        return self._final.final_ops_values

    @staticmethod
    def _log(what: str) -> None:
        now = time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime())
        logging.info("%s evaluation at %s", what, now)


@api_guard.guarded
def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """Evaluates a checkpoint.

    Args:
        checkpoint_path: the checkpoint's prefix.
        master: the session's target.
        scaffold: a Scaffold; None: a default one.
        eval_ops: fetches that are run until a hook, such as StopAfterNEvalsHook, or the end of the
            data stops it; None: none.
        feed_dict: for their runs.
        final_ops: fetches that are run at the end.
        final_ops_feed_dict: for their run.
        hooks: list of hooks.
        config: of the session.

    Returns:
        The values of final_ops; None where there are none.
    """
    return _Evaluation(
        master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config
    ).of(checkpoint_path)


@api_guard.guarded
def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """evaluate_once for each new checkpoint of a folder.

    Args:
        checkpoint_dir: the folder.
        master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config: as
            evaluate_once's.
        eval_interval_secs: minimum time from one evaluation to the next.
        max_number_of_evaluations: after which it ends; None: never.
        timeout, timeout_fn: as tf.train.checkpoints_iterator's.

    Returns:
        The last values of final_ops.
    """
    evaluation = _Evaluation(
        master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config
    )
    values = None
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for count, path in enumerate(paths, 1):
        values = evaluation.of(path)
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values
