"""A session with the hooks that are called around each of its runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from graphio.execution.config import RunOptions
from graphio.execution.run_metadata import RunMetadata
from graphio.framework.collections import GraphKeys
from graphio.queues.queue_runner import start_queue_runners
from graphio.support import errors
from graphio.train.loops.coordinator import Coordinator
from graphio.train.loops.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

__all__ = ["HookedSession", "is_lost"]


def is_lost(error: BaseException) -> bool:
    """Whether an error says that a session is lost, so that another may do what it could not.

    An UnavailableError with an errno is a file's: another session would meet it, too.
    """
    kinds = (errors.AbortedError, errors.UnavailableError)
    return type(error) in kinds and getattr(error, "errno", None) is None


def _merged(given: Sequence[Any]) -> Any:
    """The most that any of several RunOptions asks for; None if there are none."""
    requested = [options for options in given if options is not None]
    if len(requested) < 2:
        return requested[0] if requested else None
    return RunOptions(
        trace_level=max(o.trace_level for o in requested),
        timeout_in_ms=max(o.timeout_in_ms for o in requested),
        output_partition_graphs=any(o.output_partition_graphs for o in requested),
    )


def _add_feeds(feeds: dict[Any, Any], own: Mapping[Any, Any], by_hooks: set[Any]) -> None:
    for key, value in own.items():
        if key in by_hooks:
            raise RuntimeError("Same tensor is fed by two hooks.")
        if key in feeds:
            raise RuntimeError("Same tensor is fed by a SessionRunHook and user.")
        by_hooks.add(key)
        feeds[key] = value


class HookedSession:
    """A session, its hooks, and the coordinator of their threads.

    Args:
        creator: makes the session, by create_session().
        hooks: their after_create_session is called.
        grace: how many seconds threads of the hooks may run after the end.

    Attributes:
        session: the session, for runs without hooks.
    """

    def __init__(self, creator: Any, hooks: Sequence[SessionRunHook], grace: float) -> None:
        self._hooks, self._grace = hooks, grace
        self._stops = False
        self._coordinator = Coordinator(clean_stop_exception_types=())
        self.session: Any = creator.create_session()
        try:
            if self.session.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(self.session, self._coordinator)
            for hook in hooks:
                hook.after_create_session(self.session, self._coordinator)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is raised
                self.close()
            raise

    def should_stop(self) -> bool:
        """Whether a hook has requested a stop, of a run or of the coordinator.

        Raises:
            Exception: what a thread has given the coordinator.
        """
        self._coordinator.raise_requested_exception()
        return self._stops or self._coordinator.should_stop()

    def stop(self) -> None:
        """should_stop is true from now on, and run refuses."""
        self._stops = True

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """As Session.run, with what the hooks fetch and feed.

        Raises:
            RuntimeError: the session should stop, or a tensor is fed twice.
        """
        try:
            return self._run(fetches, feed_dict, options, run_metadata)
        except Exception as error:
            self._raise_cause(error)
            raise

    def _raise_cause(self, error: Exception) -> None:
        """A thread may have lost the session first, so that the run failed in its turn."""
        if not is_lost(error):
            try:
                self._coordinator.raise_requested_exception()
            except Exception as cause:
                if is_lost(cause):
                    raise

    def _run(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        if self._stops:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self.session)
        feeds = dict(feed_dict or {})
        requested: list[tuple[SessionRunHook, SessionRunArgs | None]] = []
        by_hooks: set[Any] = set()
        for hook in self._hooks:
            requested.append((hook, hook.before_run(context)))
            own = requested[-1][1].feed_dict if requested[-1][1] is not None else None
            _add_feeds(feeds, own or {}, by_hooks)
        extra = [a.fetches for _, a in requested if a is not None and a.fetches is not None]
        options = _merged([options, *(a.options for _, a in requested if a is not None)])
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()
        found, *values = self.session.run([fetches, *extra], feeds, options, run_metadata)
        rest = iter(values)
        for hook, args in requested:
            has = args is not None and args.fetches is not None
            results = next(rest) if has else None
            hook.after_run(context, SessionRunValues(results, options, run_metadata))
        self._stops = self._stops or context.stop_requested
        return found

    def end(self) -> None:
        """Calls the hooks' end."""
        for hook in self._hooks:
            hook.end(self.session)

    def close(self) -> None:
        """Waits for the hooks' threads, and closes the session.

        Raises:
            Exception: what a thread has given the coordinator.
        """
        self._coordinator.request_stop()
        try:
            self._coordinator.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            self.session.close()
