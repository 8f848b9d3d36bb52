"""Experiment: trains and evaluates an object that is Trainable and Evaluable, and exports it."""

from __future__ import annotations

import abc
import inspect
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from graphio.contrib.learn import monitors
from graphio.framework.collections import GraphKeys
from graphio.storage import gfile
from graphio.support import api_guard, logging
from graphio.train.checkpoints.checkpoint_state import latest_checkpoint
from graphio.train.loops.hooks import GlobalStepWaiterHook

__all__ = ["Evaluable", "Experiment", "ExportStrategy", "Trainable", "make_export_strategy"]


class Evaluable(abc.ABC):
    """The interface of models that an Experiment evaluates."""

    @property
    @abc.abstractmethod
    def model_dir(self) -> str:
        """The folder of the checkpoints."""

    @abc.abstractmethod
    def evaluate(
        self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None,
        batch_size: int | None = None, steps: int | None = None, metrics: Any = None,
        name: str | None = None, checkpoint_path: str | None = None, hooks: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The metrics by names, with global_step."""


class Trainable(abc.ABC):
    """The interface of models that an Experiment trains."""

    @abc.abstractmethod
    def fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = None,
        batch_size: int | None = None, monitors: Any = None, max_steps: int | None = None,
    ) -> Any:  # fmt: skip
        """Trains the model, and returns it."""


class _ExportStrategy(NamedTuple):
    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None


class ExportStrategy(_ExportStrategy):
    """A name and a function that exports a model.

    Args:
        name: the folder of the exports.
        export_fn: called with the model and the folder, and with those of checkpoint_path,
            eval_result and strip_default_attrs that are its arguments; it returns the path.
        strip_default_attrs: given to export_fn.
    """

    __slots__ = ()

    def __new__(
        cls, name: str, export_fn: Callable[..., Any], strip_default_attrs: bool | None = None
    ) -> ExportStrategy:
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(
        self, estimator: Any, export_path: Any, checkpoint_path: Any = None, eval_result: Any = None
    ) -> Any:
        """Calls the function. Raises ValueError where it takes eval_result and not
        checkpoint_path."""
        known = inspect.signature(self.export_fn).parameters
        if "eval_result" in known and "checkpoint_path" not in known:
            raise ValueError("An export_fn accepting eval_result must also accept checkpoint_path.")
        given = {
            "checkpoint_path": checkpoint_path, "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }  # fmt: skip
        options = {name: value for name, value in given.items() if name in known}
        return self.export_fn(estimator, export_path, **options)


@api_guard.unguarded
def make_export_strategy(
    serving_input_fn: Callable[[], Any], default_output_alternative_key: str | None = None,
    assets_extra: Any = None, as_text: bool = False, exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:  # fmt: skip
    """An ExportStrategy named Servo, which calls the model's export_savedmodel.

    Args:
        serving_input_fn, default_output_alternative_key, assets_extra, as_text,
            strip_default_attrs: given to export_savedmodel.
        exports_to_keep: older folders, whose names are times as numbers of 10 digits, are deleted;
            None: none is.
    """

    def export_fn(
        estimator: Any, export_dir_base: Any, checkpoint_path: Any = None,
        strip_default_attrs: Any = False,
    ) -> Any:  # fmt: skip
        path = estimator.export_savedmodel(
            export_dir_base, serving_input_fn,
            default_output_alternative_key=default_output_alternative_key,
            assets_extra=assets_extra, as_text=as_text, checkpoint_path=checkpoint_path,
            strip_default_attrs=strip_default_attrs,
        )  # fmt: skip
        if exports_to_keep is not None:
            names = gfile.listdir(export_dir_base)
            made = sorted(name for name in names if len(name) == 10 and name.isdigit())
            old = made[: max(len(made) - exports_to_keep, 0)]
            for name in old:
                gfile.rmtree(os.path.join(export_dir_base, name))
        return path

    return ExportStrategy("Servo", export_fn, strip_default_attrs)


class Experiment:
    """Trains, evaluates and exports a model.

    Args:
        estimator: a Trainable that is Evaluable, too, with a config that has is_chief and task_id.
        train_input_fn, eval_input_fn: given to its fit and evaluate.
        eval_metrics: given to evaluate.
        train_steps: the last step; None: without end.
        eval_steps: steps of an evaluation; None: until the data end.
        train_monitors: monitors and hooks, given to fit as hooks.
        eval_hooks: given to evaluate.
        local_eval_frequency: the min_eval_frequency of local_run.
        eval_delay_secs: seconds before an evaluation begins.
        continuous_eval_throttle_secs: at least so many between two.
        min_eval_frequency: steps between evaluations while training; 0: none; None: 1.
        delay_workers_by_global_step: whether a worker waits for a step instead of seconds.
        export_strategies: an ExportStrategy, several, or None.
        train_steps_per_iteration: of continuous_train_and_eval; None: a tenth of train_steps, or
            1000.
        checkpoint_and_export: not supported but for False.
        saving_listeners: None, as for all but tf.estimator.Estimator.
        check_interval_secs: seconds between looks for a checkpoint while training.

    Raises:
        ValueError: the model is not Trainable and Evaluable, or an argument has another type.
        NotImplementedError: checkpoint_and_export.
    """

    def __init__(
        self, estimator: Any, train_input_fn: Any, eval_input_fn: Any, eval_metrics: Any = None,
        train_steps: int | None = None, eval_steps: int | None = 100, train_monitors: Any = None,
        eval_hooks: Any = None, local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120, continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None, delay_workers_by_global_step: bool = False,
        export_strategies: Any = None, train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False, saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ) -> None:  # fmt: skip
        for kind in (Evaluable, Trainable):
            if not isinstance(estimator, kind):
                raise ValueError(f"`estimator` must implement `tf.contrib.learn.{kind.__name__}`.")
        if saving_listeners is not None:
            raise ValueError("`saving_listeners` must be `None` with this estimator.")
        if not isinstance(train_steps_per_iteration, (int, type(None))):
            raise ValueError("`train_steps_per_iteration` must be an integer.")
        if checkpoint_and_export:
            raise NotImplementedError("Experiment: checkpoint_and_export=True is not supported")
        self._estimator = estimator
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._eval_metrics, self._train_steps = eval_metrics, train_steps
        self._eval_steps = eval_steps
        self._train_monitors, self._eval_hooks = list(train_monitors or []), list(eval_hooks or [])
        self._local_eval_frequency = local_eval_frequency
        self._delay, self._throttle = eval_delay_secs, continuous_eval_throttle_secs
        self._frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._waits_for_step = delay_workers_by_global_step
        self._strategies = _strategies(export_strategies)
        self._per_iteration, self._check_secs = train_steps_per_iteration, check_interval_secs

    estimator = property(lambda self: self._estimator)
    eval_metrics = property(lambda self: self._eval_metrics)
    train_steps = property(lambda self: self._train_steps)
    eval_steps = property(lambda self: self._eval_steps)

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Adds hooks or monitors to the training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(
        self, new_export_strategies: Any = None
    ) -> tuple[ExportStrategy, ...]:
        """Replaces the strategies, and returns the old ones."""
        old, self._strategies = self._strategies, _strategies(new_export_strategies)
        return old

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to train_steps.

        Args:
            delay_secs: seconds before it begins; None: 5 for each worker before this one, at most
                60.

        Returns:
            What the model's fit returns.
        """
        return self._train(delay_secs, [])

    def _train(self, delay_secs: float | None, more: list[Any]) -> Any:
        if delay_secs is None:
            task = getattr(self._estimator.config, "task_id", None) or 0
            delay_secs = min(60, task * 5)
            if self._waits_for_step:
                delay_secs = 0
                more = [*more, GlobalStepWaiterHook(int(8000.0 * math.log(task + 1)))]
        _wait(delay_secs)
        return self._fit([*self._train_monitors, *more], max_steps=self._train_steps)

    def _fit(self, hooks: Sequence[Any], **steps: int | None) -> Any:
        made = monitors.replace_monitors_with_hooks(hooks, self._estimator)
        given: dict[str, int | None] = {"steps": None, "max_steps": None, **steps}
        return self._estimator.fit(input_fn=self._train_input_fn, monitors=made, **given)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """The metrics of eval_steps; delay_secs: None: eval_delay_secs."""
        _wait(self._delay if delay_secs is None else delay_secs)
        return self._evaluate(name=name or "one_pass", hooks=self._eval_hooks)

    def _evaluate(self, **options: Any) -> Any:
        given = {
            "input_fn": self._eval_input_fn, "steps": self._eval_steps,
            "metrics": self._eval_metrics, "checkpoint_path": None, "hooks": None, **options,
        }  # fmt: skip
        return self._estimator.evaluate(**given)

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Trains, with evaluations of new checkpoints each min_eval_frequency steps.

        Returns:
            the metrics at the end, and what the export strategies return.
        """
        return self._train_and_evaluate(self._frequency)

    def local_run(self) -> tuple[Any, list[Any]]:
        """train_and_evaluate with local_eval_frequency."""
        return self._train_and_evaluate(self._local_eval_frequency)

    def _train_and_evaluate(self, frequency: int | None) -> tuple[Any, list[Any]]:
        watching = []
        if frequency:
            watching = [
                monitors.ValidationMonitor(
                    input_fn=self._eval_input_fn, eval_steps=self._eval_steps,
                    metrics=self._eval_metrics, every_n_steps=frequency,
                    check_interval_secs=self._check_secs, hooks=self._eval_hooks,
                )
            ]  # fmt: skip
        self._train(0, watching)
        found = self._evaluate(name=None, hooks=self._eval_hooks)
        return found, self._export(found)

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., bool] | None = None
    ) -> tuple[Any, list[Any] | None]:
        """Trains some steps and evaluates, in turn.

        Args:
            continuous_eval_predicate_fn: from the metrics, and the checkpoint where it takes two
                arguments, whether it goes on; both are None at first, the checkpoint also where
                there are no metrics. None: up to train_steps.

        Returns:
            the last metrics, and what the export strategies return.

        Raises:
            ValueError: the function is not callable.
        """
        goes_on = _predicate(continuous_eval_predicate_fn)
        each = self._per_iteration
        if each is None:
            each = 1000 if self._train_steps is None else int(self._train_steps / 10)
        found = exports = path = None
        while goes_on(found, path if found else None) and not self._has_ended(found):
            self._fit(self._train_monitors, steps=each)
            path = latest_checkpoint(self._estimator.model_dir)
            found = self._evaluate(name="one_pass", checkpoint_path=path, hooks=self._eval_hooks)
            exports = self._export(found)
        return found, exports

    def continuous_eval(
        self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None, name: str = "continuous",
    ) -> None:  # fmt: skip
        """Evaluates and exports checkpoints that another process saves, up to train_steps.

        Args:
            delay_secs: seconds before it begins; None: eval_delay_secs.
            throttle_delay_secs: seconds between evaluations; None: continuous_eval_throttle_secs.
            evaluate_checkpoint_only_once: whether a checkpoint is evaluated once.
            continuous_eval_predicate_fn: as continuous_train_and_eval's.
            name: given to evaluate.
        """
        self._watch(
            self._eval_input_fn, delay_secs, throttle_delay_secs, evaluate_checkpoint_only_once,
            _predicate(continuous_eval_predicate_fn), name, True,
        )  # fmt: skip

    def continuous_eval_on_train_data(
        self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:  # fmt: skip
        """continuous_eval of the data that are trained, without exports."""
        self._watch(
            self._train_input_fn, delay_secs, throttle_delay_secs, True,
            _predicate(continuous_eval_predicate_fn), name, False,
        )  # fmt: skip

    def _watch(
        self, input_fn: Any, delay: float | None, throttle: float | None, once: bool,
        goes_on: Callable[[Any, Any], bool], name: str, exports: bool,
    ) -> None:  # fmt: skip
        _wait(self._delay if delay is None else delay)
        pause = self._throttle if throttle is None else throttle
        found: Any = None
        previous: str | None = None
        while goes_on(found, previous) and not self._has_ended(found):
            began = time.time()
            path = latest_checkpoint(self._estimator.model_dir)
            if path is None or (once and path == previous):
                logging.info("There is no new checkpoint in %s.", self._estimator.model_dir)
                found = {}
            else:
                found = self._evaluate(
                    input_fn=input_fn, name=name, checkpoint_path=path, hooks=self._eval_hooks
                )
                if exports:
                    self._export(found or {}, path)
                previous = path
            _wait(pause - (time.time() - began))

    def test(self) -> Any:
        """One step of training, evaluation and export; the metrics."""
        self._fit(self._train_monitors, steps=1)
        found = self._evaluate(steps=1, name="one_pass")
        self._export(found)
        return found

    def _has_ended(self, found: Any) -> bool:
        reached = (found or {}).get(GraphKeys.GLOBAL_STEP)
        return bool(reached and self._train_steps and reached >= self._train_steps)

    def _export(self, found: Any, path: str | None = None) -> list[Any]:
        folder = os.path.join(self._estimator.model_dir, "export")
        return [
            strategy.export(self._estimator, os.path.join(folder, strategy.name), path, found)
            for strategy in self._strategies
        ]


def _strategies(given: Any) -> tuple[ExportStrategy, ...]:
    found = (given,) if isinstance(given, ExportStrategy) else tuple(given or ())
    for one in found:
        if not isinstance(one, ExportStrategy):
            raise ValueError(
                "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or "
                f"`None`, found {one}."
            )
    return found


def _predicate(given: Callable[..., bool] | None) -> Callable[[Any, Any], bool]:
    """A function of metrics and checkpoint: whether a loop goes on."""
    if given is None:
        return lambda found, path: True
    if not callable(given):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in inspect.signature(given).parameters:
        return lambda found, path: given(found, checkpoint_path=path)
    return lambda found, path: given(found)


def _wait(seconds: float) -> None:
    if seconds > 0:
        logging.info("Waiting %d secs.", seconds)
        time.sleep(seconds)
