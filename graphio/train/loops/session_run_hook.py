"""SessionRunHook: what a program adds to each run of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues"]


class SessionRunArgs(NamedTuple):
    """A hook's additions to a run: fetches, and values of tensors."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The values of a hook's fetches."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """A run as hooks see it.

    Attributes:
        original_args: the program's fetches and feeds, as SessionRunArgs.
        session: the session, for runs without hooks.
        stop_requested: whether a hook has requested a stop.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self.original_args, self.session = original_args, session
        self._stop_requested = False

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """should_stop() of the session is true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """The base of hooks; a subclass gives the methods that it needs."""

    def begin(self) -> None:
        """Called once, before the session is made; it may add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the session is made and the variables have values."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what to add to it, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run with the values of the hook's fetches."""

    def end(self, session: Any) -> None:
        """Called when the session ends without an error."""
