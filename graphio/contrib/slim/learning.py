"""The training loop: prepares a session, runs steps, saves checkpoints and summaries."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from graphio.contrib.slim.training import (
    add_gradients_summaries,
    clip_gradient_norms,
    create_train_op,
    multiply_gradients,
)
from graphio.execution.config import RunOptions
from graphio.execution.run_metadata import RunMetadata
from graphio.framework import scopes
from graphio.framework.constants import constant
from graphio.observe.timeline import Timeline
from graphio.ops.control_flow.branches import group
from graphio.ops.math import comparison, elementwise
from graphio.storage import gfile
from graphio.summary import ops as summary
from graphio.support import api_guard, errors, logging
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.step_counter import get_or_create_global_step
from graphio.train.loops.supervisor import Supervisor
from graphio.variables.table_initializers import tables_initializer
from graphio.variables.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]


#: of arguments: train makes them by itself
USE_DEFAULT = Supervisor.USE_DEFAULT


@api_guard.unguarded
def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """Runs a step: the loss, and whether to stop.

    Args:
        train_step_kwargs: tensors `should_stop`, `should_log` and `should_trace`, each bool, and
            `logdir` for the traces; all may be left out.

    Raises:
        ValueError: there is should_trace without logdir.
    """
    start = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError(
                "logdir must be present in train_step_kwargs when should_trace is present"
            )
        if sess.run(train_step_kwargs["should_trace"]):
            options = RunOptions(trace_level=RunOptions.FULL_TRACE)
            metadata = RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.time() - start
    if metadata is not None:
        _write_trace(metadata, train_step_kwargs["logdir"], step)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = "should_stop" in train_step_kwargs and sess.run(train_step_kwargs["should_stop"])
    return loss, stop


def _write_trace(metadata: Any, logdir: str, step: int) -> None:
    path = os.path.join(logdir, f"tf_trace-{step}.json")
    logging.info("Writing trace to %s", path)
    with gfile.GFile(path, "w") as file:
        file.write(Timeline(metadata.step_stats).generate_chrome_trace_format())


@api_guard.makes_variables
def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = USE_DEFAULT,
    summary_op: Any = USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Trains until number_of_steps, the end of the data, or a step that says so: the last loss.

    If logdir has a checkpoint, training goes on from there. It is saved at the beginning, after
    the given times, and at the end.

    Args:
        train_op: gives the loss; see create_train_op.
        logdir: folder of checkpoints and summaries; None: nothing is saved.
        train_step_fn: a function of session, train_op, global_step and train_step_kwargs to the
            loss and whether to stop.
        train_step_kwargs: of train_step_fn; the default has should_stop, should_log and
            should_trace by number_of_steps, log_every_n_steps and trace_every_n_steps.
        log_every_n_steps: after how many steps the loss is logged; 0: never.
        graph: None: the default graph.
        global_step: None: the graph's, made if there is none.
        number_of_steps: None: no limit.
        init_op, init_feed_dict: to run where there is no checkpoint; then init_fn is called.
        local_init_op: to run in any case.
        ready_op: gives the names of variables without a value.
        summary_op: None: no summaries; the default is all of them.
        save_summaries_secs, save_interval_secs: time between summaries and checkpoints.
        summary_writer: None: no summaries.
        saver: None: of all variables.
        session_config: a ConfigProto.
        session_wrapper: from the session to that of the steps.
        trace_every_n_steps: after how many steps times are measured and written; None: never.
        ignore_live_threads: whether threads of queues may go on at the end.
        is_chief, sync_optimizer: a model runs in one process, so that they have their defaults.
        startup_delay_steps: without an effect on the chief.

    Raises:
        ValueError: train_op is None, an argument needs logdir, number_of_steps is not positive,
            or an argument is for several processes.
    """
    _check(train_op, logdir, number_of_steps, summary_op, saver, trace_every_n_steps)
    _check_one_process(is_chief, sync_optimizer)
    graph = graph or scopes.get_default_graph()
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or Saver()
        ready_operations = _ready_operations(local_init_op, ready_op)
        if init_op is USE_DEFAULT:
            init_op = global_variables_initializer()
        if summary_op is USE_DEFAULT:
            summary_op = summary.merge_all()
        if train_step_kwargs is USE_DEFAULT:
            train_step_kwargs = _step_options(
                step, number_of_steps, log_every_n_steps, trace_every_n_steps, logdir
            )
    supervisor = Supervisor(
        graph, init_op=init_op, init_feed_dict=init_feed_dict, logdir=logdir,
        summary_op=summary_op, summary_writer=summary_writer, global_step=step, saver=saver,
        save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs,
        init_fn=init_fn, **ready_operations,
    )  # fmt: skip
    if supervisor.summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    loss, again = None, True
    while again:
        again = False
        try:
            with supervisor.managed_session(
                master, config=session_config, start_standard_services=False
            ) as session:
                logging.info("Starting Session.")
                wrapped = session if session_wrapper is None else session_wrapper(session)
                if logdir:
                    supervisor.start_standard_services(wrapped)
                threads = supervisor.start_queue_runners(wrapped)
                loss = _steps(supervisor, wrapped, train_op, train_step_fn, step, train_step_kwargs)
                if logdir:
                    logging.info("Finished training! Saving model to disk.")
                    saver.save(wrapped, supervisor.save_path, global_step=step)
                    supervisor.stop(threads, ignore_live_threads=ignore_live_threads)
        except errors.AbortedError:
            logging.info("Retrying training!")
            again = True
    return loss


def _steps(
    supervisor: Supervisor, session: Any, train_op: Any, train_step_fn: Any, step: Any, options: Any
) -> Any:
    """Runs steps until one says so, or the data end: the last loss."""
    loss = None
    try:
        while not supervisor.should_stop():
            loss, stop = train_step_fn(session, train_op, step, options)
            if stop:
                logging.info("Stopping Training.")
                supervisor.request_stop()
                break
    except errors.OutOfRangeError as error:
        logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
    return loss


def _check(
    train_op: Any, logdir: Any, steps: Any, summary_op: Any, saver: Any, trace_every: Any
) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    given = {
        "summary_op": summary_op is not USE_DEFAULT and summary_op is not None,
        "saver": saver is not None,
        "trace_every_n_steps": trace_every is not None,
    }
    for argument, present in given.items():
        if logdir is None and present:
            raise ValueError(f"Cannot provide {argument} because logdir=None")
    if steps is not None and steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _check_one_process(is_chief: bool, sync_optimizer: Any) -> None:
    given = {"is_chief": not is_chief, "sync_optimizer": sync_optimizer is not None}
    for argument, other in given.items():
        if other:
            raise ValueError(
                f"{argument} is for training in several processes; a model runs in one: leave "
                f"{argument} out"
            )


def _ready_operations(local_init_op: Any, ready_op: Any) -> dict[str, Any]:
    with scopes.name_scope("init_ops"):
        if ready_op is USE_DEFAULT:
            ready_op = report_uninitialized_variables()
        if local_init_op is USE_DEFAULT:
            local_init_op = group(local_variables_initializer(), tables_initializer())
    return {"ready_op": ready_op, "local_init_op": local_init_op}


def _step_options(
    step: Any, steps: int | None, log_every: int, trace_every: int | None, logdir: Any
) -> dict[str, Any]:
    with scopes.name_scope("train_step"):
        read = step.read_value() if hasattr(step, "read_value") else step

        def every(number: int) -> Any:
            return comparison.equal(elementwise.mod(read, number), 0)

        stop = comparison.greater_equal(read, steps) if steps else constant(False)
        options: dict[str, Any] = {"should_stop": stop}
        if log_every > 0:
            options["should_log"] = every(log_every)
        if trace_every is not None:
            options |= {"should_trace": every(trace_every), "logdir": logdir}
    return options
