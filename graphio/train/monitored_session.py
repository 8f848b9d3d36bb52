"""Sessions that initialise or restore by themselves and call hooks around each run."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphio import scopes, tracebacks
from graphio.collections import GraphKeys
from graphio.config import RunOptions
from graphio.graph import Graph
from graphio.run_metadata import RunMetadata
from graphio.schema import errors, stores
from graphio.session import Session
from graphio.train.checkpoint_hook import CheckpointSaverHook
from graphio.train.coordinator import Coordinator
from graphio.train.hooks import StepCounterHook, SummarySaverHook
from graphio.train.saver import Saver
from graphio.train.scaffold import ChiefSessionCreator, Scaffold
from graphio.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from graphio.train.stop_signals import StopSignals

__all__ = ["MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession"]

_DEFAULT = object()


def _merged(given: Sequence[Any]) -> Any:
    """The most that any of several RunOptions asks for; None if there are none."""
    asked = [options for options in given if options is not None]
    if len(asked) < 2:
        return asked[0] if asked else None
    return RunOptions(
        trace_level=max(o.trace_level for o in asked),
        timeout_in_ms=max(o.timeout_in_ms for o in asked),
        output_partition_graphs=any(o.output_partition_graphs for o in asked),
    )


class _StepContext:
    """What a function given to run_step_fn gets.

    Attributes:
        session: the session, for runs without hooks.
    """

    def __init__(self, owner: MonitoredSession, session: Session) -> None:
        self.session, self._owner = session, owner

    def run_with_hooks(self, *arguments: Any, **options: Any) -> Any:
        """As the monitored session's run."""
        return self._owner.run(*arguments, **options)

    def request_stop(self) -> None:
        """Ends the step, and should_stop() is true."""
        self._owner._coordinator.request_stop()
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession:
    """A session with hooks; use it as a context, and run while not should_stop().

    At the context's end the hooks' end is called, unless there was an error; OutOfRangeError and
    StopIteration end it cleanly. The graph is finalized when the session is made.

    Args:
        session_creator: None: ChiefSessionCreator().
        hooks: SessionRunHooks.
        stop_grace_period_secs: how long threads of the hooks may run after the end.
        stop_signals: signals after which should_stop() is true. At the session's end, after the
            hooks, the process gets the one that came, with its usual effect; a second one has that
            at once. None: none.
    """

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Iterable[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
        *,
        stop_signals: StopSignals | None = None,
    ) -> None:
        self._signals = stop_signals or StopSignals(())
        self._hooks = list(hooks or [])
        self._grace = stop_grace_period_secs
        self._coordinator = Coordinator()
        for hook in self._hooks:
            hook.begin()
        creator = session_creator or ChiefSessionCreator()
        self._session: Session | None = creator.create_session()
        try:
            for hook in self._hooks:
                hook.after_create_session(self._session, self._coordinator)
            self._signals.catch()
        except BaseException:
            with contextlib.suppress(Exception):  # what happened first is told
                self._end(call_hooks=False)
            raise

    def __repr__(self) -> str:
        inside = "closed" if self._session is None else repr(self._session)
        hooks = ", ".join(type(hook).__name__ for hook in self._hooks) or "none"
        return f"<tf.train.{type(self).__name__} of {inside}, hooks: {hooks}>"

    @property
    def graph(self) -> Graph | None:
        """The graph; None after the end."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Whether a hook or a signal has requested a stop, or the session has ended."""
        stops = self._coordinator.should_stop() or self._signals.caught is not None
        return stops or self._session is None

    @tracebacks.shortening
    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """As Session.run, with what the hooks fetch and feed.

        Raises:
            RuntimeError: the session has ended, should stop, or a tensor is fed twice.
        """
        session = self._open()
        if self._coordinator.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), session)
        feeds = dict(feed_dict or {})
        asked: list[tuple[SessionRunHook, SessionRunArgs | None]] = []
        by_hooks: set[Any] = set()
        for hook in self._hooks:
            asked.append((hook, hook.before_run(context)))
            own = asked[-1][1].feed_dict if asked[-1][1] is not None else None
            self._add_feeds(feeds, own or {}, by_hooks)
        extra = [a.fetches for _, a in asked if a is not None and a.fetches is not None]
        options = _merged([options, *(a.options for _, a in asked if a is not None)])
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()
        found, *values = session.run([fetches, *extra], feeds, options, run_metadata)
        rest = iter(values)
        for hook, args in asked:
            has = args is not None and args.fetches is not None
            results = next(rest) if has else None
            hook.after_run(context, SessionRunValues(results, options, run_metadata))
        if context.stop_requested or self._signals.caught is not None:
            self._coordinator.request_stop()
        return found

    @staticmethod
    def _add_feeds(feeds: dict[Any, Any], own: Mapping[Any, Any], by_hooks: set[Any]) -> None:
        for key, value in own.items():
            if key in by_hooks:
                raise RuntimeError("Same tensor is fed by two hooks.")
            if key in feeds:
                raise RuntimeError("Same tensor is fed by a SessionRunHook and user.")
            by_hooks.add(key)
            feeds[key] = value

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls a function with a context that has session, run_with_hooks and request_stop."""
        return step_fn(_StepContext(self, self._open()))

    def _open(self) -> Session:
        if self._session is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._session

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
        """Calls the hooks' end and ends the session."""
        self._end(call_hooks=True)

    def _end(self, call_hooks: bool) -> None:
        if self._session is None:
            return
        try:
            if call_hooks:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            session, self._session = self._session, None
            self._coordinator.request_stop()
            try:
                self._coordinator.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
            finally:
                session.close()
                self._signals.release()
        if call_hooks:
            self._signals.send_again()

    def raw_session(self) -> Session | None:
        """The session, for runs without hooks; None after the end."""
        return self._session


class SingularMonitoredSession(MonitoredSession):
    """A MonitoredSession made with the arguments of a ChiefSessionCreator.

    Args:
        hooks: SessionRunHooks.
        scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: as
            ChiefSessionCreator's.
        stop_grace_period_secs: how long threads of the hooks may run after the end.
    """

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
        is_chief: must be True: there is one process.
        checkpoint_dir: the folder; None: nothing is saved or restored.
        scaffold: None: an empty one.
        hooks, chief_only_hooks: more hooks.
        save_checkpoint_secs: default 600; or
        save_checkpoint_steps: how often checkpoints are saved; both None: never.
        save_summaries_steps: default 100; or
        save_summaries_secs: how often summaries are written; both None: never.
        config: a ConfigProto.
        stop_grace_period_secs: how long threads of the hooks may run after the end.
        log_step_count_steps: how often steps a second are logged; None: never.
        max_wait_secs: accepted.
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
    if not is_chief:
        raise NotImplementedError("is_chief=False: there is one process, which is the chief")
    chosen = scaffold or Scaffold()
    if asynchronous and chosen.saver is None:
        if not scopes.get_default_graph().get_collection(GraphKeys.SAVERS):
            chosen.saver = Saver(defer_build=True, allow_empty=True, asynchronous=True)
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
        f"no summaries are written: event files cannot lie in {checkpoint_dir!r}; give "
        "summary_dir, a folder of this machine",
        stacklevel=3,
    )
    return None


def _either(steps: Any, secs: Any, defaults: tuple[Any, Any]) -> tuple[Any, Any]:
    """(steps, seconds): the defaults where neither is given."""
    if steps is _DEFAULT and secs is _DEFAULT:
        return defaults
    return (None if steps is _DEFAULT else steps, None if secs is _DEFAULT else secs)
