"""Runs of a graph with its variables initialized or restored; graph_training has train and
evaluate."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from graphio.contrib.framework.checkpoints import load_variable
from graphio.contrib.learn import monitors as monitors_lib
from graphio.contrib.learn.graph_training import (
    clear_summary_writers,
    evaluate,
    get_summary_writer,
    train,
)
from graphio.execution.session import Session
from graphio.framework import api_boundary, refusals, scopes
from graphio.queues.queue_runner import start_queue_runners
from graphio.support import api_guard
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.coordinator import Coordinator
from graphio.variables.table_initializers import tables_initializer
from graphio.variables.variables import global_variables_initializer, local_variables_initializer

__all__ = [
    "clear_summary_writers",
    "evaluate",
    "get_summary_writer",
    "infer",
    "load_variable",
    "monitors_lib",
    "run_feeds",
    "run_feeds_iter",
    "run_n",
    "train",
]


@api_guard.unguarded
def run_n(
    output_dict: dict[str, Any],
    feed_dict: dict[Any, Any] | None = None,
    restore_checkpoint_path: Any = None,
    n: int = 1,
) -> list[dict[str, Any]]:
    """Runs tensors n times with the same feeds. Arguments are those of run_feeds_iter.

    Returns:
        the values of each run.
    """
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


@api_guard.unguarded
def run_feeds(*args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """The values of run_feeds_iter as a list."""
    return list(run_feeds_iter(*args, **kwargs))


@api_guard.unguarded
def run_feeds_iter(
    output_dict: dict[str, Any],
    feed_dicts: Iterable[dict[Any, Any] | None],
    restore_checkpoint_path: Any = None,
) -> Iterator[dict[str, Any]]:
    """Runs tensors in a new session, once for each feed.

    Args:
        output_dict: tensors of one graph, by any keys.
        feed_dicts: the feeds of each run.
        restore_checkpoint_path: the variables' values; None: their initial ones.

    Yields:
        values by the keys of output_dict.

    Raises:
        ValueError: output_dict or feed_dicts is empty, or the tensors are of several graphs.
    """
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not feed_dicts:
        raise ValueError(f"feed_dicts is invalid: {feed_dicts}.")
    graph = scopes.graph_of(output_dict.values()) or scopes.get_default_graph()
    with graph.as_default(), Session(graph=graph) as session:
        if restore_checkpoint_path:
            Saver().restore(session, restore_checkpoint_path)
        else:
            session.run(global_variables_initializer())
        session.run([local_variables_initializer(), tables_initializer()])
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator)
        try:
            for feed in feed_dicts:
                yield session.run(output_dict, feed)
        finally:
            coordinator.request_stop()
            if threads:
                coordinator.join(threads, stop_grace_period_secs=120)


@api_guard.unguarded
def infer(
    restore_checkpoint_path: Any,
    output_dict: dict[str, Any],
    feed_dict: dict[Any, Any] | None = None,
) -> dict[str, Any]:
    """Values of tensors from one run. Arguments are those of run_feeds_iter."""
    return run_feeds(output_dict, [feed_dict], restore_checkpoint_path)[0]


api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
