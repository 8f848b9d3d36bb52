"""Sessions that initialise or restore by themselves and call hooks around each run."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graphio.execution.session import Session
from graphio.framework import scopes, tracebacks
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph
from graphio.storage import stores
from graphio.support import api_guard, errors, logging
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.checkpoint_hook import CheckpointSaverHook
from graphio.train.loops.hooked_session import HookedSession, is_lost
from graphio.train.loops.hooks import StepCounterHook, SummarySaverHook
from graphio.train.loops.scaffold import ChiefSessionCreator, Scaffold, WorkerSessionCreator
from graphio.train.loops.session_run_hook import SessionRunHook
from graphio.train.loops.stop_signals import StopSignals

__all__ = ["MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession"]

_DEFAULT = object()


class _StepContext:
    """The argument of a function given to run_step_fn.

    Attributes:
        session: the session, for runs without hooks.
    """

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self.session, self._run = session, run_with_hooks_fn

    def run_with_hooks(self, *arguments: Any, **options: Any) -> Any:
        """As the monitored session's run."""
        return self._run(*arguments, **options)

    def request_stop(self) -> None:
        """Ends the step by StopIteration, which ends the monitored session's context cleanly."""
        raise StopIteration("step_fn has requested the iterations to stop.")


def _check_step_fn(step_fn: Callable[..., Any]) -> None:
    """ValueError if a function takes anything else than step_context."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(step_fn).parameters
    names = tuple(name for name, p in parameters.items() if p.kind in positional)
    if names not in (("step_context",), ("self", "step_context")):
        raise ValueError(
            "`step_fn` may either have one `step_context` argument, or `self` and `step_context` "
            f"arguments if it's an instance method. Got {names} instead."
        )


class MonitoredSession:
    """A session with hooks; use it as a context, and run while not should_stop().

    At the context's end the hooks' end is called, unless there was an error; OutOfRangeError and
    StopIteration end it cleanly. The graph is finalized while the session is there.

    AbortedError and UnavailableError, from a hook, a run or a thread of the coordinator's, say that
    the session is lost: a new one is made, from the newest checkpoint if the creator has a folder,
    and the run is done again. The errors of files are raised: they have an errno.

    Args:
        session_creator: None: ChiefSessionCreator().
        hooks: SessionRunHooks.
        stop_grace_period_secs: how long threads of the hooks may run after the end.
        stop_signals: signals after which should_stop() is true. At the session's end, after the
            hooks, the process gets the one that came, with its usual effect; a second one has that
            at once. None: none.
    """

    StepContext = _StepContext
    _recovers = True

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Iterable[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
        *,
        stop_signals: StopSignals | None = None,
    ) -> None:
        self._graph = scopes.get_default_graph()
        self._was_finalized = self._graph.finalized
        self._signals = stop_signals or StopSignals(())
        self._hooks = list(hooks or [])
        self._grace = stop_grace_period_secs
        self._ended = False
        self._live: HookedSession | None = None  # None: ended, or lost and not yet made again
        for hook in self._hooks:
            hook.begin()
        self._creator = session_creator or ChiefSessionCreator()
        self._open()
        try:
            self._signals.catch()
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is raised
                self._end(call_hooks=False)
            raise

    def __repr__(self) -> str:
        inside = "closed" if self._live is None else repr(self._live.session)
        hooks = ", ".join(type(hook).__name__ for hook in self._hooks) or "none"
        return f"<tf.train.{type(self).__name__} of {inside}, hooks: {hooks}>"

    def _open(self) -> HookedSession:
        """The session, made if it is not there."""
        if self._ended:
            raise RuntimeError("Attempted to use a closed Session.")
        while self._live is None:
            try:
                with self._graph.as_default():
                    self._live = HookedSession(self._creator, self._hooks, self._grace)
            except Exception as error:
                if not self._may_recover(error):
                    raise
        return self._live

    def _may_recover(self, error: Exception) -> bool:
        recovers = self._recovers and is_lost(error)
        if recovers:
            kind = type(error).__name__
            logging.warning("the session is lost and made again, after %s: %s", kind, error)
        return recovers

    def _recovering(self, call: Callable[[HookedSession], Any]) -> Any:
        """Makes a call, and repeats it with a new session where the session is lost."""
        while True:
            live = self._open()
            try:
                found = call(live)
            except Exception as error:
                if not self._may_recover(error):
                    raise
                self._close()
            else:
                if self._signals.caught is not None:
                    live.stop()
                return found

    @property
    def graph(self) -> Graph | None:
        """The graph; None after the end."""
        return None if self._live is None else self._live.session.graph

    def should_stop(self) -> bool:
        """Whether a hook or a signal has requested a stop, or the session has ended.

        A session that is lost is made again, and goes on.
        """
        if self._live is None or self._signals.caught is not None:
            return True
        try:
            return self._live.should_stop()
        except Exception as error:
            if not self._recovers:
                raise
            if not self._may_recover(error):
                return True  # close raises it
        self._close()
        self._open()
        return False

    @tracebacks.shortening
    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """As Session.run, with what the hooks fetch and feed.

        Raises:
            RuntimeError: the session has ended, should stop, or a tensor is fed twice.
        """
        return self._recovering(lambda live: live.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls a function with a context that has session, run_with_hooks and request_stop.

        Where the session is lost the function is called again. Then run_with_hooks runs the new
        session, while context.session stays the one that was lost, which refuses to run.

        Args:
            step_fn: its one argument is named step_context.

        Raises:
            ValueError: the function takes other arguments.
            RuntimeError: the session has ended.
            StopIteration: the function has called request_stop.
        """
        _check_step_fn(step_fn)
        session = self._open().session
        return self._recovering(lambda live: step_fn(_StepContext(session, live.run)))

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        clean = kind is not None and issubclass(kind, (errors.OutOfRangeError, StopIteration))
        try:
            self._end(call_hooks=kind is None or clean)
        except Exception:
            if kind is None or clean:
                raise
        return clean

    def close(self) -> None:
        """Calls the hooks' end and ends the session.

        Raises:
            RuntimeError: it has ended already; the end of the context ends it, too.
        """
        self._end(call_hooks=True)

    def _end(self, call_hooks: bool) -> None:
        if self._ended:
            raise RuntimeError("Session is already closed.")
        self._ended = True
        try:
            if call_hooks and self._live is not None:
                self._live.end()
        finally:
            try:
                self._close()
            finally:
                self._signals.release()
                if not self._was_finalized:
                    self._graph._unsafe_unfinalize()
        if call_hooks:
            self._signals.send_again()

    def _close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            try:
                live.close()
            except Exception as error:
                if not (self._recovers and is_lost(error)):
                    raise

    def raw_session(self) -> Session | None:
        """The session, for runs without hooks; None after the end."""
        return None if self._live is None else self._live.session


class SingularMonitoredSession(MonitoredSession):
    """A MonitoredSession made with the arguments of a ChiefSessionCreator. It makes no session
    again: AbortedError and UnavailableError are raised.

    Args:
        hooks: SessionRunHooks.
        scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: as
            ChiefSessionCreator's.
        stop_grace_period_secs: how long threads of the hooks may run after the end.
    """

    _recovers = False

    def __init__(
        self,
        hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, stop_grace_period_secs)


@api_guard.makes_variables
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = _DEFAULT,
    save_summaries_steps: Any = _DEFAULT,
    save_summaries_secs: Any = _DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _DEFAULT,
    summary_dir: str | None = None,
    *,
    asynchronous: bool = False,
    stop_signals: Iterable[int] = (),
    save_checkpoint_metrics: Mapping[str, Any] | None = None,
) -> MonitoredSession:
    """A MonitoredSession that saves checkpoints and summaries and goes on from the latest one.

    Args:
        master: the session's target.
        is_chief: False waits for variables that another process initialises, and saves nothing.
        checkpoint_dir: the folder; None: nothing is saved or restored.
        scaffold: None: an empty one.
        hooks: more hooks.
        chief_only_hooks: more hooks, if is_chief.
        save_checkpoint_secs: default 600; or
        save_checkpoint_steps: how often checkpoints are saved; both None: never.
        save_summaries_steps: default 100; or
        save_summaries_secs: how often summaries are written; both None: never.
        config: a ConfigProto.
        stop_grace_period_secs: how long threads of the hooks may run after the end.
        log_step_count_steps: how often steps a second are logged; None: never.
        max_wait_secs: the longest to wait if is_chief is False.
        summary_dir: the folder of event files; None: checkpoint_dir, if it is of this machine.
        asynchronous: True saves in the background, unless the scaffold or the collection SAVERS has
            a Saver.
        stop_signals: numbers of signals after which the session stops and saves, for instance
            [signal.SIGTERM]; then the process gets the signal with its usual effect.
        save_checkpoint_metrics: name to a tensor of one number, saved with the checkpoints: by them
            a scaffold's Saver(best_to_keep=...) chooses the best.

    Raises:
        ValueError: one of stop_signals cannot be caught; save_checkpoint_metrics where no
            checkpoints are saved.
    """
    chosen = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(chosen, master, config, max_wait_secs)
        return MonitoredSession(
            worker, hooks, stop_grace_period_secs, stop_signals=StopSignals(stop_signals)
        )
    if asynchronous and chosen.saver is None:
        if not scopes.get_default_graph().get_collection(GraphKeys.SAVERS):
            chosen._pieces["saver"] = Saver(defer_build=True, allow_empty=True, asynchronous=True)
    all_hooks: list[SessionRunHook] = list(chief_only_hooks or [])
    folder = summary_dir or _local(checkpoint_dir)
    if folder:
        steps, secs = _either(save_summaries_steps, save_summaries_secs, (100, None))
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=folder))
        if (steps and steps > 0) or (secs and secs > 0):
            all_hooks.append(SummarySaverHook(steps, secs, folder, scaffold=chosen))
    steps, secs = _either(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    if checkpoint_dir and ((steps and steps > 0) or (secs and secs > 0)):
        metrics = save_checkpoint_metrics
        all_hooks.append(
            CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=chosen, metrics=metrics)
        )
    elif save_checkpoint_metrics:
        raise ValueError(
            "save_checkpoint_metrics does nothing where no checkpoints are saved: give "
            "checkpoint_dir and save_checkpoint_steps or save_checkpoint_secs"
        )
    all_hooks.extend(hooks or [])
    creator = ChiefSessionCreator(chosen, master, config, checkpoint_dir)
    return MonitoredSession(
        creator, all_hooks, stop_grace_period_secs, stop_signals=StopSignals(stop_signals)
    )


def _local(checkpoint_dir: str | None) -> str | None:
    """The folder of event files: they grow, which objects of a store cannot."""
    if checkpoint_dir is None or not stores.is_remote(checkpoint_dir):
        return checkpoint_dir
    warnings.warn(
        f"no summaries are written: event files cannot be written to {checkpoint_dir!r}; give "
        "summary_dir, a folder of this machine",
        stacklevel=3,
    )
    return None


def _either(steps: Any, secs: Any, defaults: tuple[Any, Any]) -> tuple[Any, Any]:
    """(steps, seconds): the defaults where neither is given."""
    if steps is _DEFAULT and secs is _DEFAULT:
        return defaults
    return (None if steps is _DEFAULT else steps, None if secs is _DEFAULT else secs)
