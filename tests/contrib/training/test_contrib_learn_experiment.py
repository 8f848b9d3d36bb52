"""tf.contrib.learn.Experiment over a model of its interfaces, and export strategies: the calls are
those that the Python of TensorFlow 1.15.5 makes."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

import graphio as tf

learn = tf.contrib.learn


class Model(learn.Trainable, learn.Evaluable):  # type: ignore[misc]
    """Halves a variable in each step, and is evaluated as its value."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.calls = str(folder), []
        self.config = types.SimpleNamespace(is_chief=True, task_id=0)

    @property
    def model_dir(self) -> str:
        return self._folder

    def fit(self, steps: Any = None, max_steps: Any = None, monitors: Any = None, **given: Any):
        self.calls.append(("fit", steps, max_steps, given.get("input_fn")))
        with tf.Graph().as_default():
            w, step = tf.get_variable("w", initializer=8.0), tf.train.create_global_step()
            train = tf.group(w.assign(w / 2), step.assign_add(1))
            stop = tf.train.StopAtStepHook(steps, max_steps)
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=self._folder, hooks=[stop, *(monitors or [])],
                save_checkpoint_steps=1, save_summaries_steps=None, save_summaries_secs=None,
                log_step_count_steps=None,
            ) as session:  # fmt: skip
                while not session.should_stop():
                    session.run(train)
        return self

    def evaluate(self, name: Any = None, steps: Any = None, **given: Any) -> dict[str, float]:
        self.calls.append(("evaluate", name, steps, given["input_fn"]))
        load = tf.contrib.framework.load_variable
        path = given.get("checkpoint_path") or self._folder
        return {"loss": load(path, "w"), "global_step": load(path, "global_step")}


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return Model(tmp_path)


def made(model: Model, **options: Any) -> Any:
    return learn.Experiment(model, "train", "eval", eval_steps=7, eval_delay_secs=0, **options)


def test_a_model_is_trained_evaluated_and_exported(model: Model) -> None:
    exported = []

    def export(estimator: Any, path: Any, checkpoint_path: Any, eval_result: Any) -> str:
        exported.append((path, eval_result["loss"]))
        return "there"

    strategy = learn.ExportStrategy("mine", export)
    found, exports = made(
        model, train_steps=3, min_eval_frequency=0, export_strategies=strategy
    ).train_and_evaluate()
    assert found == {"loss": 1.0, "global_step": 3} and exports == ["there"]
    assert exported == [(f"{model.model_dir}/export/mine", 1.0)]
    assert model.calls == [("fit", None, 3, "train"), ("evaluate", None, 7, "eval")]


def test_new_checkpoints_are_evaluated_while_a_model_trains(model: Model) -> None:
    made(model, train_steps=4, check_interval_secs=None).train_and_evaluate()
    names = [call[:2] for call in model.calls]
    assert names[0] == ("fit", None) and len(names) > 3
    assert set(names[1:]) == {("evaluate", None)}
    model.calls.clear()
    made(model, train_steps=5).local_run()
    assert [call[0] for call in model.calls] == ["fit", "evaluate"]


def test_training_and_evaluation_take_turns(model: Model) -> None:
    found, exports = made(model, train_steps=20).continuous_train_and_eval()
    assert found["global_step"] == 20 and exports == []
    assert [call[:2] for call in model.calls[:2]] == [("fit", 2), ("evaluate", "one_pass")]
    assert len(model.calls) == 20
    seen = []

    def goes_on(metrics: Any, checkpoint_path: Any) -> bool:
        seen.append((metrics and metrics["global_step"], checkpoint_path))
        return len(seen) < 3

    made(model, train_steps_per_iteration=1).continuous_train_and_eval(goes_on)
    assert [step for step, _ in seen] == [None, 21, 22] and seen[0][1] is None
    with pytest.raises(ValueError, match="callable"):
        made(model).continuous_train_and_eval(3)


def test_a_predicate_gets_no_checkpoint_without_metrics(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "evaluate", lambda **given: {})
    paths: list[Any] = []

    def goes_on(metrics: Any, checkpoint_path: Any) -> bool:
        paths.append(checkpoint_path)
        return len(paths) < 3

    made(model, train_steps_per_iteration=1).continuous_train_and_eval(goes_on)
    assert paths == [None, None, None]


def test_checkpoints_of_another_process_are_evaluated(model: Model) -> None:
    model.fit(steps=2)
    model.calls.clear()
    made(model, train_steps=2).continuous_eval(throttle_delay_secs=0)
    assert model.calls == [("evaluate", "continuous", 7, "eval")]
    count = iter(range(3))
    made(model).continuous_eval_on_train_data(
        throttle_delay_secs=0, continuous_eval_predicate_fn=lambda found: next(count) < 2
    )
    assert model.calls[1:] == [("evaluate", "continuous_on_train_data", 7, "train")]


def test_single_parts_of_an_experiment(model: Model) -> None:
    one = made(model, train_steps=2)
    assert one.train() is model and one.evaluate(name="x")["loss"] == 2.0
    one.extend_train_hooks([tf.train.StopAtStepHook(last_step=3)])
    assert one.test() == {"loss": 1.0, "global_step": 3}
    assert [c[1:3] for c in model.calls] == [(None, 2), ("x", 7), (1, None), ("one_pass", 1)]
    strategy = learn.ExportStrategy("a", lambda estimator, path: path)
    assert one.reset_export_strategies([strategy]) == ()
    assert one.reset_export_strategies() == (strategy,)
    assert (one.estimator, one.train_steps, one.eval_steps) == (model, 2, 7)


def test_experiments_of_other_things_are_refused(model: Model) -> None:
    with pytest.raises(ValueError, match="Evaluable"):
        learn.Experiment(object(), None, None)
    with pytest.raises(ValueError, match="saving_listeners"):
        made(model, saving_listeners=[1])
    with pytest.raises(ValueError, match="must be an integer"):
        made(model, train_steps_per_iteration=0.5)
    with pytest.raises(ValueError, match="ExportStrategy"):
        made(model, export_strategies=[3])
    with pytest.raises(NotImplementedError, match="checkpoint_and_export"):
        made(model, checkpoint_and_export=True)
    with pytest.raises(TypeError, match="abstract"):
        learn.Trainable()


def test_old_exports_are_deleted(tmp_path: Path) -> None:
    given = []

    class Exported:
        def export_savedmodel(self, folder: str, input_fn: Any, **options: Any) -> str:
            given.append(options)
            path = Path(folder) / str(1_500_000_000 + len(given))
            path.mkdir(parents=True)
            return str(path)

    strategy = learn.make_export_strategy(lambda: None, "head", exports_to_keep=2)
    assert strategy is not None and strategy.name == "Servo"
    (tmp_path / "7").mkdir()  # not a time: another program's
    for _ in range(11):
        strategy.export(Exported(), str(tmp_path), checkpoint_path="c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1500000010", "1500000011", "7"]
    assert given[0]["checkpoint_path"] == "c"
    assert given[0]["default_output_alternative_key"] == "head"
    wrong = learn.ExportStrategy("x", lambda estimator, path, eval_result: 0)
    with pytest.raises(ValueError, match="must also accept checkpoint_path"):
        wrong.export(None, "")


def experiment_of(run_config: Any, hparams: Any) -> Any:
    model = Model(run_config.model_dir)
    model.config = run_config
    return made(model, train_steps=hparams.steps if hparams else 2, min_eval_frequency=0)


def test_a_runner_calls_a_method_of_an_experiment(tmp_path: Path) -> None:
    run, config = learn.learn_runner.run, learn.RunConfig(model_dir=str(tmp_path))
    assert run(experiment_of, run_config=config)[0] == {"loss": 2.0, "global_step": 2}
    hparams = tf.contrib.training.HParams(steps=3)
    assert isinstance(run(experiment_of, None, "train", config, hparams), Model)
    found = run(lambda output_dir: made(Model(Path(output_dir))), str(tmp_path), "evaluate")
    assert found == {"loss": 1.0, "global_step": 3}


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({}, ValueError, "Must set value"),
        ({"output_dir": "a", "run_config": 1}, ValueError, "Cannot provide both"),
        ({"output_dir": ""}, ValueError, "output directory"),
        ({"output_dir": "a", "hparams": 1}, ValueError, "hparams"),
        ({"run_config": 3}, ValueError, "RunConfig"),
        ({"run_config": learn.RunConfig()}, ValueError, "model_dir"),
        ({"experiment_fn": 3, "output_dir": "a"}, TypeError, "not callable"),
        ({"experiment_fn": lambda output_dir: 3, "output_dir": "a"}, TypeError, "int"),
        ({"run_config": learn.RunConfig(model_dir="a"), "schedule": "no"}, ValueError, "no: there"),
        ({"run_config": learn.RunConfig(model_dir="a"), "schedule": "train_steps"}, TypeError,
         "non-callable"),
    ],
)  # fmt: skip
def test_runs_of_no_experiment_are_refused(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        learn.learn_runner.run(**{"experiment_fn": experiment_of, **given})


def test_a_model_must_have_the_settings_of_its_run(model: Model) -> None:
    def with_config(config: Any) -> Any:
        model.config = config
        return lambda run_config, hparams: made(model)

    config = learn.RunConfig(model_dir=model.model_dir)
    for other in (model.config, learn.RunConfig(master="x", model_dir=model.model_dir)):
        with pytest.raises(RuntimeError, match="run_config|RunConfig"):
            learn.learn_runner.run(with_config(other), run_config=config)
    same = learn.RunConfig(model_dir=model.model_dir, save_summary_steps=3)
    assert same.uid() == config.uid() and same.uid([]) != config.uid([])


def test_a_tuner_runs_experiments_with_its_hyperparameters(tmp_path: Path) -> None:
    class Tuner:
        def __init__(self) -> None:
            self.left, self.losses = [2, 3], []

        def next_trial(self) -> bool:
            return bool(self.left)

        def run_experiment(self, make: Any) -> None:
            steps = self.left.pop(0)
            config = learn.RunConfig(model_dir=str(tmp_path / str(steps)))
            with pytest.raises(ValueError, match="cannot be `None`"):
                make(config, None)
            experiment = make(config, tf.contrib.training.HParams(steps=steps))
            self.losses.append(experiment.train_and_evaluate()[0]["loss"])

    tuner = Tuner()
    learn.learn_runner.tune(experiment_of, tuner)
    assert tuner.losses == [2.0, 1.0]


def test_settings_come_from_arguments_and_the_environment(monkeypatch: Any) -> None:
    config = learn.RunConfig(num_cores=3, save_checkpoints_steps=5)
    assert (config.save_checkpoints_secs, config.save_checkpoints_steps) == (None, 5)
    assert config.tf_config.intra_op_parallelism_threads == 3
    assert (learn.RunConfig().save_checkpoints_secs, config.master) == (600, "")
    environment = '{"task": {"type": "worker", "index": 2}, "model_dir": "/m"}'
    monkeypatch.setenv("TF_CONFIG", environment)
    config = learn.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 2, False)
    assert config.model_dir == "/m"
    with pytest.raises(ValueError, match="same value"):
        learn.RunConfig(model_dir="/other")
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}}')
    with pytest.raises(ValueError, match="several tasks"):
        learn.RunConfig()
