"""Evaluation of checkpoints: one, or each new one of a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from graphio.contrib.slim.services import USE_DEFAULT
from graphio.framework import dtypes
from graphio.framework.collections import GraphKeys, get_collection
from graphio.ops.array import surface as array
from graphio.summary import ops as summary
from graphio.summary.writer import FileWriter
from graphio.support import api_guard, logging
from graphio.train.checkpoints.checkpoint_state import latest_checkpoint
from graphio.train.checkpoints.saver import Saver
from graphio.train.checkpoints.warm_starting import checkpoints_iterator
from graphio.train.loops.hooks import FinalOpsHook
from graphio.train.loops.monitored_session import MonitoredSession
from graphio.train.loops.scaffold import ChiefSessionCreator, Scaffold
from graphio.train.loops.session_run_hook import SessionRunArgs, SessionRunHook
from graphio.train.loops.step_counter import get_or_create_global_step
from graphio.train.loops.step_counter import global_step as step_of
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_variable

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]


@api_guard.unguarded
def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The latest checkpoint of a folder, once it is another than last_checkpoint.

    Args:
        timeout: seconds to wait at most, after which the result is None; None: no limit.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            logging.info("Found new checkpoint at %s", found)
            return found
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


@api_guard.makes_variables
def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Iterable[SessionRunHook] | None = None,
) -> Any:
    """Evaluates a checkpoint: the value of final_op.

    Args:
        master: "".
        checkpoint_path: prefix of the checkpoint.
        logdir: folder of the summaries.
        num_evals: how often eval_op runs.
        initial_op, initial_op_feed_dict: to run before where the checkpoint lacks variables.
        eval_op, eval_op_feed_dict: to run, such as the updates of metrics; None: nothing.
        final_op, final_op_feed_dict: to run at the end, such as the values of metrics.
        summary_op, summary_op_feed_dict: written at the end; None: nothing; the default is all
            summaries.
        variables_to_restore: from the checkpoint; None: all.
        session_config: a ConfigProto.
        hooks: further ones.
    """
    scaffold = _scaffold(initial_op, initial_op_feed_dict, None, variables_to_restore)
    plan = _Evaluation(
        num_evals, eval_op, eval_op_feed_dict, final_op, final_op_feed_dict, logdir,
        _all_summaries(summary_op), summary_op_feed_dict, hooks,
    )  # fmt: skip
    return plan.run(scaffold, checkpoint_path, master, session_config)


@api_guard.makes_variables
def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Callable[[Any], Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
) -> Any:
    """Evaluates each new checkpoint of a folder: the last value of final_op.

    Args:
        checkpoint_dir: the folder.
        init_fn: a function of scaffold and session, called after initial_op.
        eval_interval_secs: time between the beginnings of two evaluations.
        max_number_of_evaluations: None: no limit.
        timeout: seconds to wait for a checkpoint, after which timeout_fn says whether to stop;
            without it that is the end. None: no limit.
        others: as evaluate_once's.
    """
    scaffold = _scaffold(initial_op, initial_op_feed_dict, init_fn, variables_to_restore)
    plan = _Evaluation(
        num_evals, eval_op, eval_op_feed_dict, final_op, final_op_feed_dict, logdir,
        _all_summaries(summary_op), summary_op_feed_dict, hooks,
    )  # fmt: skip
    value = None
    found = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, path in enumerate(found, 1):
        value = plan.run(scaffold, path, master, session_config)
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return value


def _all_summaries(summary_op: Any) -> Any:
    return summary.merge_all() if summary_op is USE_DEFAULT else summary_op


def _scaffold(initial_op: Any, feeds: Any, init_fn: Any, restored: Any) -> Scaffold:
    saver = None if restored is None else Saver(restored)
    return Scaffold(init_op=initial_op, init_feed_dict=feeds, init_fn=init_fn, saver=saver)


class _Evaluation:
    """The operations and hooks that run for each checkpoint."""

    def __init__(
        self,
        num_evals: int,
        eval_op: Any,
        feeds: Any,
        final_op: Any,
        final_feeds: Any,
        logdir: str | None,
        summary_op: Any,
        summary_feeds: Any,
        hooks: Iterable[SessionRunHook] | None,
    ) -> None:
        self._feeds = feeds
        self._runs = None
        step = _eval_step()
        self._hooks: list[SessionRunHook] = []
        if eval_op is not None:
            counted = array.identity(step.assign_add(1))
            self._runs = [eval_op, counted]
            self._hooks.append(_StopAfter(num_evals, counted))
        if summary_op is not None:
            self._hooks.append(_SummaryAtEnd(logdir, summary_op, summary_feeds))
        self._final = FinalOpsHook(final_op, final_feeds)
        self._hooks += [*(hooks or ()), self._final]

    def run(self, scaffold: Scaffold, path: str, master: str, config: Any) -> Any:
        """The value of final_op for a checkpoint."""
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=path)
        with MonitoredSession(session_creator=creator, hooks=self._hooks) as session:
            logging.info("Starting evaluation at %s", _now())
            while self._runs is not None and not session.should_stop():
                session.run(self._runs, self._feeds)
            logging.info("Finished evaluation at %s", _now())
        return self._final.final_ops_values


def _now() -> str:
    return time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime())


def _eval_step() -> Any:
    """The graph's counter of evaluations, a local variable."""
    found = get_collection(GraphKeys.EVAL_STEP)
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


class _StopAfter(SessionRunHook):
    """Stops after a number of evaluations."""

    def __init__(self, number: int, counted: Any) -> None:
        self._number, self._counted = number, counted

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs({"evals": self._counted})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done = int(run_values.results["evals"])
        logging.info("Evaluation [%d/%d]", done, self._number)
        if done >= self._number:
            run_context.request_stop()


class _SummaryAtEnd(SessionRunHook):
    """Writes summaries when a session ends."""

    def __init__(self, logdir: str | None, summary_op: Any, feeds: Any) -> None:
        if logdir is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._writer = FileWriter(logdir)
        self._summary_op, self._feeds = summary_op, feeds
        self._step: Any = None

    def begin(self) -> None:
        self._step = get_or_create_global_step()

    def end(self, session: Any) -> None:
        found = session.run(self._summary_op, self._feeds)
        self._writer.add_summary(found, step_of(session, self._step))
        self._writer.flush()
