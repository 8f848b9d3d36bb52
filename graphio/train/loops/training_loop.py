"""Training from the newest checkpoint on, saved on the way: a loop, and one call for all of it."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphio.framework import api_boundary, scopes
from graphio.framework.graph import Graph, Operation
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.undo import Table
from graphio.model.export import reach
from graphio.schema import dtypes
from graphio.support import api_guard, errors
from graphio.train.checkpoints.saver import Saver
from graphio.train.checkpoints.user_state import Stateful
from graphio.train.loops.checkpoint_hook import CheckpointSaverHook
from graphio.train.loops.history import History
from graphio.train.loops.hooks import NanTensorHook, SecondOrStepTimer
from graphio.train.loops.loop_arguments import (
    check_best,
    check_best_metric,
    checked_metrics,
    checked_steps,
    require_feed,
)
from graphio.train.loops.monitored_session import MonitoredSession
from graphio.train.loops.progress import Progress, one_number
from graphio.train.loops.scaffold import ChiefSessionCreator, Scaffold
from graphio.train.loops.session_run_hook import SessionRunHook
from graphio.train.loops.step_counter import get_or_create_global_step
from graphio.train.loops.stop_signals import STOP_SIGNALS, StopSignals, checked_signals

__all__ = ["TrainingLoop", "train"]

Array = np.ndarray[Any, Any]
Feed = Mapping[Any, Any] | Callable[[int], Mapping[Any, Any]] | None
SAVE_SECS = 600.0  # where neither steps nor seconds are given
#: by operations that do not count their steps, the operation that does
_COUNTERS: Attachment[Table[tuple[Operation, ...], Operation]] = attachments.table("training_loops")
_CAN_BE_NAN = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}


class TrainingLoop:
    """Runs a training operation until a global step, and saves checkpoints.

        with tf.train.TrainingLoop(train_op, "run", steps=1000, metrics={"loss": loss}) as loop:
            for step in loop:
                metrics = loop.run({x: images[step], y: labels[step]})

    It goes on from the newest checkpoint of the folder, or from the one before if that is damaged,
    and initialises where there is none. It saves every so often, at the end, and when the process
    gets SIGTERM or SIGINT: then the running step is finished, its state saved, and the signal has
    its usual effect where the `with` ends (SIGTERM ends the process, SIGINT is a
    KeyboardInterrupt). A second signal ends the process at once. The end of the data
    (OutOfRangeError) ends the loop; another error leaves the checkpoints as they are.

    Args:
        train_op: what a step runs: an operation, tensor, or list of them. If it does not change the
            global step, the loop counts, and makes the global step if there is none.
        checkpoint_dir: the folder, made if it is not there, or a URL of an object store; None:
            nothing is saved or restored.
        steps: the global step, 0 or more, at which the training is over; one that was interrupted
            goes on to the same. None: until the data, or a hook, ends it.
        metrics: name to tensor; their values come with each step.
        save_steps: a checkpoint every so many steps, and
        save_secs: every so many seconds; both None: every 600 seconds.
        asynchronous, max_to_keep, objects: of the Saver, see there.
        best_to_keep, best_metric, best_mode: likewise; best_metric is one of metrics, of which
            those that are one number are then saved with the checkpoints.
        saver: or the Saver; it must have the global step.
        hooks: more SessionRunHooks.
        scaffold: a Scaffold: how to initialise.
        target, config: of the session.
        stop_on_nan: True raises NanLossDuringTrainingError when the metric "loss" is NaN, and
            InvalidArgumentError instead of saving variables that hold NaN.
        stop_signals: signals that end the loop; only in the main thread.
        history: a History, which gets each step's metrics that are one number, at the global step
            after it.
        progress: whether to show it: a progress bar, if tqdm is installed and stderr a terminal,
            else lines of tf.logging at INFO every ten seconds.

    Attributes:
        metrics: of the last step; where a training goes on, before its first step, the numbers
            that history has of the one before; else {}.

    Raises:
        TypeError: train_op is not an operation, tensor or list of them; steps is not an int,
            metrics not a dict.
        ValueError: saver is given and scaffold has one; the Saver lacks the global step; save_steps
            or save_secs is not above 0; steps is below 0; a signal cannot be caught; best_to_keep,
            best_metric or best_mode is as Saver refuses it, without effect, or no metric of these.
    """

    def __init__(
        self,
        train_op: Any,
        checkpoint_dir: str | os.PathLike[str] | None,
        *,
        steps: int | None = None,
        metrics: Mapping[str, Any] | None = None,
        save_steps: int | None = None,
        save_secs: float | None = None,
        asynchronous: bool = True,
        max_to_keep: int | None = 5,
        objects: Mapping[str, Stateful] | None = None,
        best_to_keep: int | None = None,
        best_metric: str | None = None,
        best_mode: str | None = None,
        saver: Saver | None = None,
        hooks: Iterable[SessionRunHook] = (),
        scaffold: Scaffold | None = None,
        target: str = "",
        config: Any = None,
        stop_on_nan: bool = True,
        stop_signals: Iterable[int] = STOP_SIGNALS,
        history: History | None = None,
        progress: bool = True,
    ) -> None:
        self._graph = _graph_of(train_op)
        with self._graph.as_default():
            self._train_op, self._step = _counting(train_op)
        self.metrics: dict[str, Any] = {}
        self._fetches, self._steps = checked_metrics(metrics), checked_steps(steps)
        self._folder = None if checkpoint_dir is None else os.fspath(checkpoint_dir)
        self._make_timer = functools.partial(_EitherTimer, save_secs, save_steps)
        self._make_timer()  # raises for a wrong number
        if saver is not None and scaffold is not None and scaffold.saver is not None:
            raise ValueError("saver is given, and scaffold has one: give one of them")
        self._scaffold = Scaffold(saver=saver, copy_from_scaffold=scaffold)
        best = {"best_to_keep": best_to_keep, "best_metric": best_metric, "best_mode": best_mode}
        check_best(best, max_to_keep, self._fetches, self._folder, self._scaffold.saver)
        self._make_saver = functools.partial(
            Saver,
            allow_empty=True,
            asynchronous=asynchronous,
            max_to_keep=max_to_keep,
            objects=objects,
            best_to_keep=best_to_keep,
            best_metric=best_metric,
            best_mode=best_mode,
        )
        self._target, self._config = target, config
        self._nan, self._hooks = stop_on_nan, list(hooks)
        self._signals, self._shows = checked_signals(stop_signals), progress
        self._history = history
        self._session: MonitoredSession | None = None
        self._creator: ChiefSessionCreator | None = None
        self._progress: Progress | None = None

    def __enter__(self) -> TrainingLoop:
        if self._session is not None:
            raise RuntimeError("the loop is running already")
        try:
            with self._graph.as_default():
                self._session = self._opened()
            if self._history is not None:
                known = self._history.at(self.step)
                self.metrics = {name: known[name] for name in self._fetches if name in known}
            if self._shows:
                self._progress = Progress(self.step, self._steps)
        except BaseException as error:
            session, self._session = self._session, None
            if session is not None:
                session.__exit__(type(error), error, None)
            self._let_go()
            raise
        return self

    def _opened(self) -> MonitoredSession:
        scaffold = self._scaffold
        if scaffold.saver is None:
            scaffold._pieces["saver"] = self._make_saver()
        if self._step.op.name not in scaffold.saver.to_proto().variable:
            raise ValueError(
                f"the Saver does not save the global step '{self._step.op.name}': make the global "
                "step (tf.train.get_or_create_global_step()) before the Saver"
            )
        best_metric = getattr(scaffold.saver, "best_metric", None)
        if best_metric is not None:
            check_best_metric(best_metric, self._fetches)
        creator = ChiefSessionCreator(scaffold, self._target, self._config, self._folder)
        self._creator = creator
        hooks: list[SessionRunHook] = []
        if self._nan:
            scaffold.saver.inspect = _refuse_nan
            if "loss" in self._fetches:
                hooks.append(NanTensorHook(self._fetches["loss"]))
        if self._folder is not None:
            metrics = {} if best_metric is None else self._fetches
            hooks.append(_Saving(self._folder, scaffold, self._make_timer(), creator, metrics))
        signals = StopSignals(self._signals)
        return _LoopSession(creator, [*hooks, *self._hooks], stop_signals=signals)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        if self._progress is not None:
            with contextlib.suppress(OSError):  # a terminal that is gone costs no checkpoint
                self._progress.close(self.step, self.metrics)
            self._progress = None
        session, self._session = self._running(), None
        try:
            return session.__exit__(kind, error, traceback)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Waits for a save in the background, whose error its next user gets. The Saver may be the
        program's own: it inspects nothing any more."""
        if self._scaffold.saver is not None:
            self._scaffold.saver.finish()
            self._scaffold.saver.inspect = None

    def _running(self) -> MonitoredSession:
        if self._session is None:
            raise RuntimeError(
                "the loop is not running: use it in `with loop:`, or call tf.train.train"
            )
        return self._session

    @property
    def session(self) -> Any:
        """The session, for runs other than training steps."""
        return self._running().raw_session()

    @property
    def restored(self) -> str | None:
        """The prefix of the checkpoint that the running loop began with; None: none."""
        self._running()
        return None if self._creator is None else self._creator.restored

    def should_stop(self) -> bool:
        """Whether a hook or a signal ends the running loop before the next step."""
        return self._running().should_stop()

    def restore(self, prefix: str | os.PathLike[str]) -> None:
        """Goes on from a checkpoint that the caller has chosen.

        Raises:
            OpError: as Saver.restore.
        """
        self._scaffold.saver.restore(self.session, prefix)

    @property
    def step(self) -> int:
        """The global step: how many are done."""
        return int(self.session.state.get(self._step.op.name))

    def __iter__(self) -> Iterator[int]:
        """The global step before each step, until the training is over."""
        while not self.should_stop():
            step = self.step
            if self._steps is not None and step >= self._steps:
                return
            yield step

    def run(self, feed_dict: Mapping[Any, Any] | None = None) -> dict[str, Any]:
        """Runs a step; returns the metrics."""
        fetches = [self._train_op, self._fetches]
        self.metrics = self._running().run(fetches, feed_dict)[1]
        if self._history is not None:
            self._history.add(self.step, one_number(self.metrics))
        if self._progress is not None and self._progress.due():
            self._progress.show(self.step, self.metrics)
        return self.metrics

    def fit(self, feed: Feed = None) -> None:
        """Runs all steps.

        Args:
            feed: a feed_dict, or a function that gives the one of a step; it is called with the
                global step before it, so that an interrupted training goes on with the same data.

        Raises:
            TypeError: feed is neither, or the function cannot be called with one argument.
        """
        require_feed(feed)
        for step in self:
            self.run(feed(step) if callable(feed) else feed)


def _begun(
    train_op: Any, checkpoint_dir: Any, feed: Any, options: Mapping[str, Any]
) -> TrainingLoop:
    """The TrainingLoop of a call of train, whose arguments are checked."""
    require_feed(feed)
    return TrainingLoop(train_op, checkpoint_dir, **options)


_begun.__qualname__ = "train"  # errors name the public function
_guarded_begin = api_boundary.rolling_back_variables(_begun)


@api_guard.unguarded  # a guard would keep other threads from building while the training runs
def train(
    train_op: Any,
    checkpoint_dir: str | os.PathLike[str] | None,
    steps: int | None = None,
    feed: Feed = None,
    **options: Any,
) -> dict[str, Any]:
    """Trains from the newest checkpoint of a folder on, and saves: TrainingLoop in one call.

        metrics = tf.train.train(
            train_op, "run", steps=1000, metrics={"loss": loss}, save_steps=100,
            feed=lambda step: {x: images[step], y: labels[step]},
        )

    Args:
        train_op, checkpoint_dir, steps, options: see TrainingLoop.
        feed: see TrainingLoop.fit.

    Returns:
        The metrics of the last step. If all steps were done before: history's values of the
        last one, {} without a history.

    Raises:
        TypeError, ValueError: see TrainingLoop and its fit.
    """
    loop = _guarded_begin(train_op, checkpoint_dir, feed, {"steps": steps, **options})
    with loop:
        loop.fit(feed)
    return loop.metrics


class _EitherTimer(SecondOrStepTimer):
    """It is time when so many steps or so many seconds have passed."""

    def __init__(self, secs: float | None, steps: int | None) -> None:
        for name, value in (("save_secs", secs), ("save_steps", steps)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}, expected more than 0")
        self._timers = []
        if steps is not None:
            self._timers.append(SecondOrStepTimer(every_steps=steps))
        if secs is not None or steps is None:
            self._timers.append(SecondOrStepTimer(SAVE_SECS if secs is None else secs))

    def reset(self) -> None:
        for timer in self._timers:
            timer.reset()

    def should_trigger_for_step(self, step: int) -> bool:
        return any(timer.should_trigger_for_step(step) for timer in self._timers)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        return [timer.update_last_triggered_step(step) for timer in self._timers][0]

    def last_triggered_step(self) -> int | None:
        return self._timers[0].last_triggered_step()


class _LoopSession(MonitoredSession):
    """Its errors end the loop, which counts steps and goes on from a checkpoint by itself."""

    _recovers = False


class _Saving(CheckpointSaverHook):
    """Does not save again at the start what was restored; of the metrics it saves the numbers."""

    def __init__(
        self,
        folder: str,
        scaffold: Scaffold,
        timer: SecondOrStepTimer,
        creator: Any,
        metrics: Mapping[str, Any],
    ) -> None:
        super().__init__(folder, save_secs=SAVE_SECS, scaffold=scaffold, metrics=metrics)
        self._timer, self._creator = timer, creator

    def after_run(self, run_context: Any, run_values: Any) -> None:
        before, measured = run_values.results
        results = [before, one_number(measured)]
        super().after_run(run_context, run_values._replace(results=results))

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._creator.restored is None:
            super().after_create_session(session, coord)
        else:
            self._timer.update_last_triggered_step(int(session.run(self._step)))


def _graph_of(train_op: Any) -> Graph:
    found = _operations(train_op)
    if not found:
        return scopes.get_default_graph().root
    return found[0].graph.root


def _operations(train_op: Any) -> list[Operation]:
    if isinstance(train_op, (list, tuple)):
        return [operation for each in train_op for operation in _operations(each)]
    if isinstance(train_op, Operation):
        return [train_op]
    if isinstance(getattr(train_op, "op", None), Operation):
        return [train_op.op]
    raise TypeError(f"train_op is {train_op!r}, expected an operation, a tensor or a list of them")


def _counting(train_op: Any) -> tuple[Any, Any]:
    """A train_op that changes the global step, and the global step."""
    step = get_or_create_global_step()
    operations = _operations(train_op)
    if any(_assigns(operation, step.op.name) for operation in reach(operations, set())[0]):
        return train_op, step
    # A loop finalizes the graph: a second one on it takes what the first has made.
    made = _COUNTERS.of(scopes.get_default_graph())
    if tuple(operations) not in made:
        with scopes.control_dependencies(operations):
            made[tuple(operations)] = step.assign_add(1).op
    return made[tuple(operations)], step


def _assigns(operation: Operation, variable: str) -> bool:
    if operation.attrs.get("variable") == variable and operation.op == "Assign":
        return True
    return any(_assigns(each, variable) for body in operation.bodies() for each in body.operations)


def _refuse_nan(values: Mapping[str, Array]) -> None:
    """Raises InvalidArgumentError if a variable holds NaN."""
    found = sorted(name for name, value in values.items() if _has_nan(value))
    if found:
        raise errors.InvalidArgumentError(
            message=f"the variables {', '.join(found)} hold NaN: they are not saved, earlier "
            "checkpoints stand"
        )


def _has_nan(array: Array) -> bool:
    if dtypes.of_numpy(array.dtype).name not in _CAN_BE_NAN:
        return False
    with np.errstate(all="ignore"):
        # The sum is NaN if one of them is; infinities of both signs make one, too.
        return bool(np.isnan(array.sum())) and bool(np.isnan(array).any())
