"""tf.contrib.learn.learn_runner: makes an Experiment and runs one of its methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graphio.contrib.learn.experiment import Experiment
from graphio.contrib.learn.run_config import RunConfig
from graphio.contrib.training.hparam import HParams
from graphio.framework import api_boundary, refusals
from graphio.support import api_guard

__all__ = ["run", "tune"]


@api_guard.unguarded
def run(
    experiment_fn: Callable[..., Experiment], output_dir: str | None = None,
    schedule: str | None = None, run_config: RunConfig | None = None,
    hparams: HParams | None = None,
) -> Any:  # fmt: skip
    """Makes an Experiment and calls a method of it.

    Args:
        experiment_fn: called with output_dir, or with run_config and hparams.
        output_dir: a folder; or
        run_config: a RunConfig with model_dir, which the model must have as its config.
        schedule: the name of the method; None: train_and_evaluate.
        hparams: hyperparameters, with run_config.

    Returns:
        What the method returns.

    Raises:
        ValueError: both or neither of output_dir and run_config are given, hparams comes with
            output_dir, or there is no such method.
        TypeError: experiment_fn is not callable or makes no Experiment, or schedule is not a
            method.
        RuntimeError: the model has another config.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = _checked(experiment_fn)(run_config, hparams)
    else:
        if not output_dir:
            raise ValueError("Must specify an output directory")
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = _an_experiment(experiment_fn(output_dir=output_dir))
    name = schedule or "train_and_evaluate"
    if not hasattr(experiment, name):
        known = [n for n in dir(Experiment) if not n.startswith("_")]
        raise ValueError(
            f"Schedule references non-existent task {name}: there are {', '.join(known)}"
        )
    task = getattr(experiment, name)
    if not callable(task):
        raise TypeError(f"Schedule references non-callable member {name}")
    return task()


@api_guard.unguarded
def tune(experiment_fn: Callable[..., Experiment], tuner: Any) -> None:
    """Runs Experiments while the tuner has trials.

    Args:
        experiment_fn: called with run_config and hparams.
        tuner: its next_trial() says whether there is one; its run_experiment gets a function of
            run_config and hparams, checked as run's.
    """
    while tuner.next_trial():
        tuner.run_experiment(_checked(experiment_fn, needs_hparams=True))


def _an_experiment(made: Any) -> Experiment:
    if not isinstance(made, Experiment):
        raise TypeError(
            f"Experiment builder did not return an Experiment instance, got {type(made)} instead."
        )
    return made


def _checked(
    experiment_fn: Callable[..., Experiment], needs_hparams: bool = False
) -> Callable[..., Experiment]:
    """The function, with checks that the model has its settings."""

    def make(run_config: Any, hparams: Any) -> Experiment:
        if not isinstance(run_config, RunConfig):
            raise ValueError("`run_config` must be `tf.contrib.learn.RunConfig` instance")
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        if hparams is not None and not isinstance(hparams, HParams):
            raise ValueError("`hparams` must be `HParams` instance")
        if needs_hparams and hparams is None:
            raise ValueError("`hparams` cannot be `None`.")
        expected = run_config.uid()
        experiment = _an_experiment(experiment_fn(run_config, hparams))
        config = experiment.estimator.config
        if not hasattr(config, "uid"):
            raise RuntimeError(
                "Pass `run_config` argument of the `experiment_fn` to the model in Experiment, as "
                "its config."
            )
        if config.uid() != expected:
            raise RuntimeError(
                "`RunConfig` instance is expected to be used by the model inside the `Experiment`. "
                f"expected {expected}, but got {config.uid()}"
            )
        return experiment

    return make


api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
