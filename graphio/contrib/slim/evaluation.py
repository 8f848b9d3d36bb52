"""Evaluation of checkpoints as slim does it: that of tf.contrib.training, a number of times, with
summaries at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphio.contrib.training import evaluation
from graphio.contrib.training.evaluation import wait_for_new_checkpoint
from graphio.summary import ops as summary
from graphio.support import api_guard
from graphio.train.checkpoints.saver import Saver
from graphio.train.checkpoints.warm_starting import checkpoints_iterator
from graphio.train.loops.scaffold import Scaffold
from graphio.train.loops.session_run_hook import SessionRunHook

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

#: of summary_op: all summaries of the graph
_USE_DEFAULT = 0


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
    summary_op: Any = _USE_DEFAULT,
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
    return evaluation.evaluate_once(
        checkpoint_path, master,
        _scaffold(initial_op, initial_op_feed_dict, None, variables_to_restore), eval_op,
        eval_op_feed_dict, final_op, final_op_feed_dict,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), session_config,
    )  # fmt: skip


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
    summary_op: Any = _USE_DEFAULT,
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
    return evaluation.evaluate_repeatedly(
        checkpoint_dir, master,
        _scaffold(initial_op, initial_op_feed_dict, init_fn, variables_to_restore), eval_op,
        eval_op_feed_dict, final_op, final_op_feed_dict, eval_interval_secs,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), session_config,
        max_number_of_evaluations, timeout, timeout_fn,
    )  # fmt: skip


def _scaffold(initial_op: Any, feeds: Any, init_fn: Any, restored: Any) -> Scaffold:
    saver = None if restored is None else Saver(restored)
    return Scaffold(init_op=initial_op, init_feed_dict=feeds, init_fn=init_fn, saver=saver)


def _hooks(
    number: int,
    logdir: str | None,
    summary_op: Any,
    feeds: Any,
    others: Iterable[SessionRunHook] | None,
) -> list[SessionRunHook]:
    found: list[SessionRunHook] = [evaluation.StopAfterNEvalsHook(number)]
    if summary_op is _USE_DEFAULT:
        summary_op = summary.merge_all()
    if summary_op is not None:
        found.append(evaluation.SummaryAtEndHook(logdir, None, summary_op, feeds))
    return [*found, *(others or ())]
